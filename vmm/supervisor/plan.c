/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c: see plan.h. Paths are the user's; file contents are checked in plan_file.c. */
#include "supervisor/plan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "supervisor/host.h"
#include "supervisor/host_memory.h"
#include "supervisor/input_open.h"
#include "supervisor/arch/arch.h"
#include "supervisor/plan_file.h"

char *plan_programs_directory(void)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    char *slash;

    if (length < 0)
        return text_clone(".", 1);
    path[length] = '\0';
    slash = strrchr(path, '/');
    return text_clone(path, slash == path ? 1 : (size_t)(slash - path));
}

char *plan_installed_path(const char *programs, const char *path)
{
    const char *slash = strrchr(programs, '/');

    if (!slash || slash == programs)
        return text_format("%s/../%s", programs, path);
    return text_format("%.*s/%s", (int)(slash - programs), programs, path);
}

static int plan_no_memory(struct err *err)
{
    return err_set(err, "out of memory while the run was planned");
}

static void plan_name_run(struct plan *plan)
{
    uint8_t random[4] = {0};
    char digits[2 * sizeof(random) + 1], stamp[20];
    time_t now = time(NULL);
    struct tm utc;

    /* Only has to differ between runs; must not wait for entropy. */
    if (getrandom(random, sizeof(random), GRND_INSECURE) != sizeof(random))
        memcpy(random, &(pid_t){getpid()}, sizeof(random));
    text_hex(digits, random, sizeof(random));
    gmtime_r(&now, &utc);
    strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &utc);
    snprintf(plan->run_id, sizeof(plan->run_id), "%s-%s", stamp, digits);
}

/* Replace {name} and {run} in [output] dir. */
static int plan_name_output(struct plan *plan, const struct plan_request *request, struct err *err)
{
    const struct config *config = plan->config;
    AUTO_FREE char *out = text_clone("", 0);

    if (request->output) {
        plan->output = text_clone(request->output, strlen(request->output));
        return plan->output ? 0 : plan_no_memory(err);
    }
    for (const char *at = config->output; out && *at;) {
        size_t length = strcspn(at, "{");
        const char *with = "";
        char *longer;

        if (strncmp(at + length, "{name}", 6) == 0)
            with = config->name;
        else if (strncmp(at + length, "{run}", 5) == 0)
            with = plan->run_id;
        else if (at[length])
            return config_err(config, err, "output", "dir",
                "\"%s\": what can stand in braces is "
                "{name} and {run}",
                config->output);
        longer = text_format("%s%.*s%s", out, (int)length, at, with);
        free(out);
        out = longer;
        at += length;
        if (*at)
            at = strchr(at, '}') + 1;
    }
    plan->output = out ? config_path(config, out) : NULL;
    return plan->output ? 0 : plan_no_memory(err);
}

/* The output directory must not exist, or be an empty directory. */
static int plan_check_output(const struct plan *plan, struct err *err)
{
    DIR *directory = opendir(plan->output);
    const struct dirent *entry;
    bool empty = true;

    if (!directory && errno == ENOENT)
        return 0;
    if (!directory)
        return err_sys(
            err, "output directory %s: it must be new or an empty directory", plan->output);
    while ((entry = readdir(directory)))
        empty = empty && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0);
    closedir(directory);
    if (!empty)
        return err_set(err,
            "output directory %s: it exists and is not empty; remove it or name "
            "another with --output",
            plan->output);
    return 0;
}

/* [machine] workdir, or the nearest directory above the output that exists already. */
static int plan_open_disk_directory(struct plan *plan, struct err *err)
{
    const struct config *config = plan->config;
    AUTO_FREE char *path = NULL;

    if (config->disk_directory) {
        path = config_path(config, config->disk_directory);
        if (!path)
            return plan_no_memory(err);
        plan->disk_dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (plan->disk_dir_fd < 0)
            return config_err(config, err, "machine", "workdir",
                "%s: cannot open the directory: %s", path, strerror(errno));
        return plan_check_disk_directory(plan, path, err);
    }
    path = text_clone(plan->output, strlen(plan->output));
    if (!path)
        return plan_no_memory(err);
    while ((plan->disk_dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
        char *slash = strrchr(path, '/');

        if (errno != ENOENT || strcmp(path, "/") == 0 || strcmp(path, ".") == 0)
            return err_sys(err, "output directory %s: cannot open %s", plan->output, path);
        if (slash)
            slash[slash == path ? 1 : 0] = '\0';
        else
            snprintf(path, strlen(path) + 1, ".");
    }
    return plan_check_disk_directory(plan, path, err);
}

static int plan_open_inputs(struct plan *plan, struct err *err)
{
    const struct config *config = plan->config;

    for (size_t i = 0; i < config->input_count; i++) {
        const struct config_input *input = &config->inputs[i];
        AUTO_FREE char *path = config_path(config, input->source);
        enum input_links links = config->input_follow ? INPUT_ANYWHERE_LINKS : INPUT_ANYWHERE;
        struct stat status;

        if (!path)
            return plan_no_memory(err);
        plan->input_fds[i] = input_open(AT_FDCWD, path, links, &status, err);
        if (plan->input_fds[i] >= 0 && input->unpack && !S_ISREG(status.st_mode))
            err_set(err, "it is a directory, and [input_options] unpack wants a .tar or .tar.gz");
        if (err_is_set(err))
            return err_wrap(err, "%s: [input] %s: %s", input->where, input->destination, path);
    }
    return 0;
}

static int plan_open_programs(struct plan *plan, const char *directory, struct err *err)
{
    static const char *const names[] = {"vmrun-monitor", "vmrun-scribe", "vmrun-extractor"};

    plan->programs_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (plan->programs_fd < 0)
        return err_sys(err, "cannot open %s, the directory of vmrun's executables", directory);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (faccessat(plan->programs_fd, names[i], X_OK, 0) < 0)
            return err_sys(err,
                "%s/%s: cannot be executed; it must lie beside vmrun (build it with "
                "make)",
                directory, names[i]);
    }
    return 0;
}

/* The files that came with vmrun, or those that the task names instead. */
static int plan_open_guest(struct plan *plan, const char *programs, struct err *err)
{
    const struct config *config = plan->config;

    plan->kernel_path = config->kernel ? config_path(config, config->kernel)
                                       : plan_installed_path(programs, "kernel/vmlinux");
    plan->initramfs_path = config->initramfs
                               ? config_path(config, config->initramfs)
                               : plan_installed_path(programs, "guest/initramfs.cpio");
    plan->template_path = plan_installed_path(programs, "guest/scratch.ext4");
    if (!plan->kernel_path || !plan->initramfs_path || !plan->template_path)
        return plan_no_memory(err);
    if (plan_open_kernel(plan, err) < 0 || plan_open_initramfs(plan, err) < 0 ||
        plan_check_memory(plan, err) < 0)
        return -1;
    return plan_open_template(plan, err);
}

int plan_make(struct plan *plan, const struct config *config, const struct plan_request *request,
    struct err *err)
{
    AUTO_FREE char *programs = plan_programs_directory();
    bool fits;

    *plan = (struct plan){.config = config,
        .console = request->console,
        .programs_fd = -1,
        .kvm_fd = -1,
        .kernel_fd = -1,
        .initramfs_fd = -1,
        .template_fd = -1,
        .image_fd = -1,
        .stdin_fd = -1,
        .disk_dir_fd = -1};
    for (size_t i = 0; i < CONFIG_INPUTS_MAX; i++)
        plan->input_fds[i] = -1;
    if (!programs)
        return plan_no_memory(err);
    plan_name_run(plan);
    fits = text_copy(plan->cmdline, sizeof(plan->cmdline), host_kernel_cmdline(request->console));
    must(fits);
    if (plan_name_output(plan, request, err) < 0 || plan_check_output(plan, err) < 0 ||
        plan_open_disk_directory(plan, err) < 0 || plan_open_inputs(plan, err) < 0 ||
        plan_open_image(plan, err) < 0 || plan_open_stdin(plan, err) < 0 ||
        plan_open_programs(plan, programs, err) < 0 || plan_open_guest(plan, programs, err) < 0)
        return -1;
    if (request->dry)
        return 0;
    plan->kvm_fd = host_open_kvm(err);
    if (plan->kvm_fd < 0)
        return -1;
    return host_check_native(plan->programs_fd, plan->kvm_fd, err);
}

uint64_t plan_host_memory_bytes(const struct plan *plan)
{
    const struct config *config = plan->config;
    uint64_t bytes = run_memory_bytes(config);
    struct statfs system;

    if (plan->disk_dir_fd >= 0 && fstatfs(plan->disk_dir_fd, &system) == 0 &&
        system.f_type == TMPFS_MAGIC)
        bytes += config->disk_bytes + config->artifacts_total_bytes;
    return bytes;
}

void plan_free(struct plan *plan)
{
    int *fds[] = {&plan->programs_fd, &plan->kvm_fd, &plan->kernel_fd, &plan->initramfs_fd,
        &plan->template_fd, &plan->image_fd, &plan->stdin_fd, &plan->disk_dir_fd};

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        fd_close(fds[i]);
    for (size_t i = 0; i < CONFIG_INPUTS_MAX; i++)
        fd_close(&plan->input_fds[i]);
    free(plan->output);
    free(plan->kernel_path);
    free(plan->initramfs_path);
    free(plan->template_path);
    *plan = (struct plan){0};
}
