/* SPDX-License-Identifier: Apache-2.0 */
/* job_read.c: see job_read.h. Input: the supervisor's, trusted, but checked all the same. */
#include "job_read.h"

#include <string.h>

enum { JOB_HOSTNAME_MAX_BYTES = 64 }; /* __NEW_UTS_LEN */

/*
 * The string of FIELD with a terminator behind it: moved down by one byte, into the length of its
 * own field, which has been read. NULL when it is too long.
 */
static char *job_string(uint8_t *bytes, const struct job_field *field, size_t size_max)
{
    uint8_t *to = bytes + (field->bytes - bytes) - 1;

    if (field->size > size_max)
        return NULL;
    memmove(to, field->bytes, field->size);
    to[field->size] = '\0';
    return (char *)to;
}

static bool job_append(char **list, size_t *count, size_t count_max, char *string)
{
    if (!string || *count == count_max)
        return false;
    list[(*count)++] = string;
    return true;
}

/* "." or components separated by single slashes, none of them "." or "..". */
static bool job_collect_valid(const char *path)
{
    if (strcmp(path, ".") == 0)
        return true;
    for (;;) {
        size_t length = strcspn(path, "/");

        if (length == 0 || (length == 1 && path[0] == '.') ||
            (length == 2 && path[0] == '.' && path[1] == '.'))
            return false;
        if (path[length] == '\0')
            return true;
        path += length + 1;
    }
}

static bool job_take_string(struct job *job, uint8_t *bytes, const struct job_field *field)
{
    char *string = job_string(bytes, field, JOB_STRING_MAX_BYTES);
    bool is_path = string && field->size <= JOB_PATH_MAX_BYTES;

    switch (field->tag) {
    case JOB_ARG:
        return job_append(job->args, &job->arg_count, JOB_ARGS_MAX, string);
    case JOB_ENV:
        return string && strchr(string, '=') &&
               job_append(job->envs, &job->env_count, JOB_ENVS_MAX, string);
    case JOB_COLLECT:
        if (!is_path || !job_collect_valid(string) || job->collect_count == JOB_COLLECTS_MAX)
            return false;
        job->collects[job->collect_count++] = string;
        return true;
    case JOB_UNPACK:
        if (!is_path || !job_collect_valid(string) || job->unpack_count == JOB_UNPACKS_MAX)
            return false;
        job->unpacks[job->unpack_count++] = string;
        return true;
    case JOB_WORKDIR:
        job->workdir = string;
        return is_path && string[0] == '/';
    case JOB_HOSTNAME:
        job->hostname = string;
        return string && field->size >= 1 && field->size <= JOB_HOSTNAME_MAX_BYTES;
    default:
        return false;
    }
}

static bool job_take_flag(bool *flag, uint64_t value)
{
    *flag = value != 0;
    return value <= 1;
}

/* UINT32_MAX is "no change" to the kernel's id calls. */
static bool job_take_id(uint32_t *id, uint64_t value)
{
    *id = (uint32_t)value;
    return value < UINT32_MAX;
}

static bool job_take_limit(uint64_t *limit, uint64_t value)
{
    *limit = value;
    return value != 0;
}

static bool job_take_number(struct job *job, const struct job_field *field)
{
    switch (field->tag) {
    case JOB_UID:
        return job_take_id(&job->uid, field->number);
    case JOB_GID:
        return job_take_id(&job->gid, field->number);
    case JOB_CLOCK_NS:
        return job_take_limit(&job->clock_ns, field->number);
    case JOB_WALL_NS:
        return job_take_limit(&job->wall_ns, field->number);
    case JOB_MEMORY_BYTES:
        return job_take_limit(&job->memory_bytes, field->number);
    case JOB_PROCESSES:
        return job_take_limit(&job->processes, field->number);
    case JOB_OPEN_FILES:
        return job_take_limit(&job->open_files, field->number);
    case JOB_SCRATCH_BYTES:
        return job_take_limit(&job->scratch_bytes, field->number);
    case JOB_CPU_NS:
        return job_take_limit(&job->cpu_ns, field->number);
    case JOB_IDLE_NS:
        return job_take_limit(&job->idle_ns, field->number);
    case JOB_INODES:
        return job_take_limit(&job->inodes, field->number);
    case JOB_UNPACK_BYTES:
        return job_take_limit(&job->unpack_bytes, field->number);
    case JOB_UNPACK_FILES:
        return job_take_limit(&job->unpack_files, field->number);
    case JOB_UNPACK_DEPTH:
        return job_take_limit(&job->unpack_depth, field->number);
    case JOB_EXPORT_TOTAL_BYTES:
        return job_take_limit(&job->export_caps.total_bytes, field->number);
    case JOB_EXPORT_FILE_BYTES:
        return job_take_limit(&job->export_caps.file_bytes, field->number);
    case JOB_EXPORT_FILES:
        return job_take_limit(&job->export_caps.files, field->number);
    case JOB_EXPORT_DEPTH:
        return job_take_limit(&job->export_caps.depth, field->number);
    case JOB_STDIN:
        return job_take_flag(&job->stdin_stream, field->number);
    case JOB_IMPORT:
        return job_take_flag(&job->import, field->number);
    case JOB_SALVAGE:
        return job_take_flag(&job->salvage, field->number);
    case JOB_ROOT_OVERLAY:
        return job_take_flag(&job->root_overlay, field->number);
    default:
        return false;
    }
}

int job_read(struct job *job, uint8_t *bytes, size_t size, struct err *err)
{
    static const enum job_tag required[] = {JOB_ARG, JOB_WORKDIR, JOB_UID, JOB_GID, JOB_CLOCK_NS,
        JOB_WALL_NS, JOB_MEMORY_BYTES, JOB_PROCESSES, JOB_OPEN_FILES, JOB_SCRATCH_BYTES, JOB_CPU_NS,
        JOB_IDLE_NS, JOB_INODES, JOB_UNPACK_BYTES, JOB_UNPACK_FILES, JOB_UNPACK_DEPTH};
    struct reader reader = reader_make(bytes, size);
    struct job_field field;
    uint32_t seen = 0;
    int more;

    memset(job, 0, sizeof(*job));
    job->hostname = "vmrun";
    job->export_caps = (struct export_caps)EXPORT_CAPS_NONE;
    while ((more = job_next(&reader, &seen, &field, err)) > 0) {
        bool good =
            field.bytes ? job_take_string(job, bytes, &field) : job_take_number(job, &field);

        if (!good)
            return err_set(
                err, "field %u of the job has a value that cannot be", (unsigned)field.tag);
    }
    if (more < 0)
        return -1;
    if (job->salvage)
        return job->collect_count > 0 ? 0 : err_set(err, "the job has nothing to salvage");
    for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++) {
        if (!(seen & (1U << required[i])))
            return err_set(err, "the job lacks field %u", (unsigned)required[i]);
    }
    return 0;
}
