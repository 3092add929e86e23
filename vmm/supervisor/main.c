/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c: vmrun, the supervisor: the only process of a run that has the user's rights. This is the
 * only file that prints errors. A run, in order: options.c, config.c, plan.c, disks.c, supervise.c,
 * verdict.c, result.c; task.c calls them.
 */
#include <stdio.h>

#include "base/clock.h"
#include "supervisor/doctor.h"
#include "supervisor/options.h"
#include "supervisor/task.h"
#include "supervisor/verdict.h"
#include "supervisor/version.h"

static void say(const char *text)
{
    fprintf(stderr, "vmrun: %s\n", text);
}

static int run_command(const struct options *options, uint64_t began_ns, struct text_list *errors)
{
    switch (options->command) {
    case COMMAND_HELP:
        fputs(options_help, stdout);
        return 0;
    case COMMAND_VERSION:
        puts("vmrun " VMRUN_VERSION);
        return 0;
    case COMMAND_DOCTOR:
        return doctor_run(options->json, options->quiet, stdout);
    case COMMAND_RUN:
        break;
    }
    return task_run(options, began_ns, errors, options->quiet ? NULL : say);
}

int main(int argc, char **argv)
{
    uint64_t began_ns = clock_mono_ns();
    struct text_list errors = {0};
    struct options options;
    struct err err = ERR_INIT;
    int code = VERDICT_EXIT_VMRUN;

    if (options_parse(&options, argc, argv, &err) < 0)
        text_list_add(&errors, err.text);
    else
        code = run_command(&options, began_ns, &errors);
    for (size_t i = 0; i < errors.count; i++)
        say(errors.items[i]);
    text_list_free(&errors);
    options_free(&options);
    return code;
}
