/* SPDX-License-Identifier: Apache-2.0 */
/* options.c: see options.h. */
#include "supervisor/options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/nearest.h"

const char options_help[] =
    "vmrun runs one untrusted program in one throw-away virtual machine.\n"
    "\n"
    "  vmrun --config tools/examples/hello/task.ini\n"
    "  vmrun --config task.ini --output results --set limits.wall=5m\n"
    "  vmrun --jobs 4 --config a.ini --config b.ini --output results\n"
    "  vmrun doctor\n"
    "\n"
    "Usage: vmrun --config FILE [OPTION]...\n"
    "       vmrun --config FILE --config FILE... [--jobs N] [OPTION]...\n"
    "       vmrun doctor [--json] [-q]\n"
    "       vmrun gc [--dry-run] [-q] [-v]    remove what killed runs left\n"
    "       vmrun image verify FILE [--json]  print the SHA-256 of an image\n"
    "\n"
    "  -c, --config FILE        the task; several: each is a run of its own\n"
    "  -o, --output DIR         where the results go: a new or empty directory;\n"
    "                           with several tasks DIR/NAME for each\n"
    "  -j, --jobs N             several tasks: N at once (default: one per CPU)\n"
    "  -s, --set SECTION.KEY=V  replace a value of the task; can be repeated\n"
    "      --check              run nothing: show every value and what is needed\n"
    "      --plan               the same, and the machine and processes it would be\n"
    "      --json               stdout is the result (check, plan, errors) as JSON\n"
    "      --events             stdout is JSON lines: what happens and is printed\n"
    "      --exit-code=status   exit with 0 ok, 1 task failed, 2 limit, 3 nothing is\n"
    "                           known of the task, 64 wrong usage or task file\n"
    "      --timing             where the time went, on stderr\n"
    "      --console            record the guest kernel's console as well (slower)\n"
    "  -q, --quiet              only the task's output and errors\n"
    "  -v, --verbose            also what happens when\n"
    "  -n, --dry-run            gc: only say what would be removed\n"
    "      --version            print the version\n"
    "  -h, --help               print this\n"
    "\n"
    "The exit code is the task's own; 124: time limit; 125: vmrun or the guest\n"
    "failed; 126, 127: the command cannot be executed, was not found; 128+N: signal\n"
    "N, 137 also for memory. result.json in the output directory says which. Of\n"
    "several tasks: the first code that is not 0, in the order given.\n";

enum {
    OPTION_CONSOLE = 256,
    OPTION_VERSION,
    OPTION_JSON,
    OPTION_DOCTOR,
    OPTION_MEMBER,
    OPTION_EXIT_CODE,
    OPTION_CHECK,
    OPTION_PLAN,
    OPTION_EVENTS,
    OPTION_TIMING
};

static const struct option long_options[] = {
    {"config", required_argument, NULL, 'c'},
    {"output", required_argument, NULL, 'o'},
    {"set", required_argument, NULL, 's'},
    {"console", no_argument, NULL, OPTION_CONSOLE},
    {"quiet", no_argument, NULL, 'q'},
    {"verbose", no_argument, NULL, 'v'},
    {"json", no_argument, NULL, OPTION_JSON},
    {"version", no_argument, NULL, OPTION_VERSION},
    {"doctor", no_argument, NULL, OPTION_DOCTOR},
    {"check", no_argument, NULL, OPTION_CHECK},
    {"plan", no_argument, NULL, OPTION_PLAN},
    {"events", no_argument, NULL, OPTION_EVENTS},
    {"timing", no_argument, NULL, OPTION_TIMING},
    {"exit-code", required_argument, NULL, OPTION_EXIT_CODE},
    {"help", no_argument, NULL, 'h'},
    {"jobs", required_argument, NULL, 'j'},
    {"dry-run", no_argument, NULL, 'n'},
    {"batch-member", no_argument, NULL, OPTION_MEMBER}, /* between vmrun and itself */
    {NULL, 0, NULL, 0},
};

static const char short_options[] = ":c:o:s:j:nqvh";

/* What was read last is not an option of ours, or lacks its value. */
static int option_err(int code, char **argv, struct err *err)
{
    const char letter[] = {'-', (char)optopt, '\0'};
    /* A letter that is unknown may stand in a word with others, which is not behind optind yet. */
    bool is_letter =
        code == '?' && optopt > 0 && optopt < OPTION_CONSOLE && !strchr(short_options, optopt);
    const char *written = is_letter ? letter : argv[optind - 1];
    const char *near = NULL;

    if (code == ':')
        return err_set(err, "%s: needs a value; see vmrun --help", written);
    for (const struct option *option = long_options; option->name; option++) {
        if (strncmp(written, "--", 2) == 0)
            near = nearest(near, option->name, written + 2);
    }
    return err_set(err, "%s: unknown option; %s%s%s", written, near ? "did you mean --" : "",
        near ? near : "see vmrun --help", near ? "?" : "");
}

static int option_take_jobs(struct options *options, struct err *err)
{
    char *end;
    unsigned long jobs = strtoul(optarg, &end, 10);

    if (optarg[0] < '0' || optarg[0] > '9' || *end || jobs < 1 || jobs > OPTIONS_JOBS_MAX)
        return err_set(
            err, "--jobs %s: it must be a number from 1 to %d", optarg, OPTIONS_JOBS_MAX);
    options->jobs = (unsigned)jobs;
    return 0;
}

/* The field that an option without a value sets, or NULL. */
static bool *option_flag(struct options *options, int code)
{
    switch (code) {
    case OPTION_CONSOLE:
        return &options->console;
    case 'q':
        return &options->quiet;
    case 'v':
        return &options->verbose;
    case 'n':
        return &options->dry_run;
    case OPTION_JSON:
        return &options->json;
    case OPTION_EVENTS:
        return &options->events;
    case OPTION_TIMING:
        return &options->timing;
    case OPTION_MEMBER:
        return &options->member;
    default:
        return NULL;
    }
}

static int option_take(struct options *options, int code, char **argv, struct err *err)
{
    bool *flag = option_flag(options, code);

    if (flag) {
        *flag = true;
        return 0;
    }
    switch (code) {
    case 'c':
        if (!options->config)
            options->config = optarg;
        return text_list_keep(&options->configs, optarg, err);
    case 'o':
        if (options->output || optarg[0] == '\0')
            return err_set(err, "--output: give one directory");
        options->output = optarg;
        return 0;
    case 's':
        return text_list_keep(&options->sets, optarg, err);
    case 'h':
        options->command = COMMAND_HELP;
        return 0;
    case OPTION_VERSION:
        options->command = COMMAND_VERSION;
        return 0;
    case OPTION_DOCTOR:
        options->command = COMMAND_DOCTOR;
        return 0;
    case 'j':
        return option_take_jobs(options, err);
    case OPTION_CHECK:
        options->show = options->show == SHOW_PLAN ? SHOW_PLAN : SHOW_CHECK;
        return 0;
    case OPTION_PLAN:
        options->show = SHOW_PLAN;
        return 0;
    case OPTION_EXIT_CODE:
        options->exit_status = strcmp(optarg, "status") == 0;
        if (!options->exit_status && strcmp(optarg, "task") != 0)
            return err_set(err, "--exit-code %s: it must be task or status", optarg);
        return 0;
    default:
        return option_err(code, argv, err);
    }
}

static int options_check(const struct options *options, struct err *err)
{
    bool several = options->configs.count > 1;

    if (options->dry_run && options->command == COMMAND_RUN)
        return err_set(err, "--dry-run: it belongs to vmrun gc");
    if (options->command == COMMAND_RUN && !options->config)
        return err_set(err, "which task? Name it with --config FILE; see vmrun --help");
    if (options->quiet && options->verbose)
        return err_set(err, "--quiet and --verbose: use one of them");
    if (options->json && options->events)
        return err_set(err, "--json and --events: stdout can be one of them");
    if (options->events && (options->command != COMMAND_RUN || options->show != SHOW_NOTHING))
        return err_set(err, "--events: there are none without a run");
    if (several && (options->json || options->events || options->show != SHOW_NOTHING))
        return err_set(err, "--json, --events, --check and --plan: they take one --config");
    return 0;
}

/* The words that are no options. */
static int options_take_command(struct options *options, int argc, char **argv, struct err *err)
{
    const char *word = optind < argc ? argv[optind] : "";

    if (strcmp(word, "doctor") == 0) {
        options->command = COMMAND_DOCTOR;
        optind++;
    } else if (strcmp(word, "gc") == 0) {
        options->command = COMMAND_GC;
        optind++;
    } else if (strcmp(word, "image") == 0) {
        if (argc - optind < 3 || strcmp(argv[optind + 1], "verify") != 0)
            return err_set(err, "image: write vmrun image verify FILE");
        options->command = COMMAND_IMAGE_VERIFY;
        options->image = argv[optind + 2];
        optind += 3;
    }
    return 0;
}

int options_parse(struct options *options, int argc, char **argv, struct err *err)
{
    int code;

    *options = (struct options){.command = COMMAND_RUN};
    opterr = 0;
    optind = 0; /* getopt(3): everything anew, also what was left of a word */
    while ((code = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
        struct err problem = ERR_INIT;

        if (option_take(options, code, argv, &problem) < 0 && !err_is_set(err))
            *err = problem;
    }
    if (err_is_set(err))
        return -1;
    if (options_take_command(options, argc, argv, err) < 0)
        return -1;
    if (optind < argc)
        return err_set(err, "%s: unexpected argument; a task is named with --config %s",
            argv[optind], argv[optind]);
    return options_check(options, err);
}

void options_free(struct options *options)
{
    text_list_free(&options->sets);
    text_list_free(&options->configs);
}
