/* SPDX-License-Identifier: Apache-2.0 */
/* job_pack.c: see job_pack.h. */
#include "supervisor/job_pack.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/num.h"
#include "wire/job.h"

/* What every program needs to find others and a place of its own; [env] replaces them. */
static const char *const default_env[] = {
    "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
    "HOME=/task",
};

static void put_text(struct writer *writer, enum job_tag tag, const char *text)
{
    job_put_bytes(writer, tag, text, strlen(text));
}

static void put_list(struct writer *writer, enum job_tag tag, const struct text_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        put_text(writer, tag, list->items[i]);
}

static bool env_has(const struct text_list *env, const char *pair)
{
    size_t length = (size_t)(strchr(pair, '=') - pair) + 1;

    for (size_t i = 0; i < env->count; i++) {
        if (strncmp(env->items[i], pair, length) == 0)
            return true;
    }
    return false;
}

static void put_export_caps(struct writer *writer, const struct config *config)
{
    job_put_number(writer, JOB_EXPORT_TOTAL_BYTES, config->artifacts_total_bytes);
    job_put_number(writer, JOB_EXPORT_FILE_BYTES, config->artifacts_file_bytes);
    job_put_number(writer, JOB_EXPORT_FILES, config->artifacts_files);
    job_put_number(writer, JOB_EXPORT_DEPTH, config->artifacts_depth);
}

int job_pack(const struct config *config, uint64_t clock_ns, struct writer *writer, struct err *err)
{
    put_list(writer, JOB_ARG, &config->argv);
    for (size_t i = 0; i < sizeof(default_env) / sizeof(default_env[0]); i++) {
        if (!env_has(&config->env, default_env[i]))
            put_text(writer, JOB_ENV, default_env[i]);
    }
    put_list(writer, JOB_ENV, &config->env);
    put_text(writer, JOB_WORKDIR, config->workdir);
    put_text(writer, JOB_HOSTNAME, config->hostname);
    job_put_number(writer, JOB_UID, config->uid);
    job_put_number(writer, JOB_GID, config->gid);
    job_put_number(writer, JOB_CLOCK_NS, clock_ns);
    job_put_number(writer, JOB_WALL_NS, config->wall_ns);
    job_put_number(writer, JOB_MEMORY_BYTES, config->task_memory_bytes);
    job_put_number(writer, JOB_PROCESSES, config->processes);
    job_put_number(writer, JOB_OPEN_FILES, config->open_files);
    job_put_number(writer, JOB_STDIN, config->stdin_kind != STDIN_NONE);
    job_put_number(writer, JOB_IMPORT, config->input_count > 0);
    put_list(writer, JOB_COLLECT, &config->collect);
    job_put_number(writer, JOB_ROOT_OVERLAY, config->root_overlay);
    job_put_number(writer, JOB_SCRATCH_BYTES, align_up(config->disk_bytes, 4096));
    job_put_number(writer, JOB_CPU_NS, config->cpu_ns);
    job_put_number(writer, JOB_IDLE_NS, config->idle_ns);
    job_put_number(writer, JOB_INODES, config->inodes);
    put_list(writer, JOB_UNPACK, &config->unpack);
    job_put_number(writer, JOB_UNPACK_BYTES, config->input_total_bytes);
    job_put_number(writer, JOB_UNPACK_FILES, config->input_files);
    job_put_number(writer, JOB_UNPACK_DEPTH, config->input_depth);
    put_export_caps(writer, config);
    if (writer->failed)
        return err_set(err, "%s: command and environment together are larger than %d bytes",
            config->path, WIRE_JOB_MAX_BYTES);
    return 0;
}

/* A sealed file of what was packed. */
static int job_file(const struct writer *writer, const uint8_t *bytes, struct err *err)
{
    AUTO_FD int fd = memfd_create("job", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return err_sys(err, "cannot create memory for the job");
    if (fd_write_all(fd, bytes, writer->used) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
        return err_sys(err, "cannot write the job");
    return fd_take(&fd);
}

int job_make(const struct config *config, struct err *err)
{
    AUTO_FREE uint8_t *bytes = malloc(WIRE_JOB_MAX_BYTES);
    struct writer writer;

    if (!bytes)
        return err_sys(err, "cannot write the job");
    writer = writer_make(bytes, WIRE_JOB_MAX_BYTES);
    if (job_pack(config, clock_real_ns(), &writer, err) < 0)
        return -1;
    return job_file(&writer, bytes, err);
}

int job_make_salvage(const struct config *config, struct err *err)
{
    AUTO_FREE uint8_t *bytes = malloc(WIRE_JOB_MAX_BYTES);
    struct writer writer;

    if (!bytes)
        return err_sys(err, "cannot write the job");
    writer = writer_make(bytes, WIRE_JOB_MAX_BYTES);
    job_put_number(&writer, JOB_SALVAGE, 1);
    put_list(&writer, JOB_COLLECT, &config->collect);
    put_export_caps(&writer, config);
    must(!writer.failed); /* at most JOB_COLLECTS_MAX paths */
    return job_file(&writer, bytes, err);
}
