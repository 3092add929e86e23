/* SPDX-License-Identifier: Apache-2.0 */
/* job_read.h: the job (wire/job.h) as a value. Pure: no I/O, no allocation. */
#ifndef AGENT_JOB_READ_H
#define AGENT_JOB_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "export.h"
#include "wire/job.h"

/* Strings are terminated and lie in the payload that the job was read from. */
struct job {
    size_t arg_count;
    size_t env_count;
    size_t collect_count;
    size_t unpack_count;
    char *args[JOB_ARGS_MAX + 1]; /* NULL after the last, as execve wants them */
    char *envs[JOB_ENVS_MAX + 1];
    const char *collects[JOB_COLLECTS_MAX];
    const char *unpacks[JOB_UNPACKS_MAX];
    const char *workdir;
    const char *hostname; /* "vmrun" when the job names none */
    uint32_t uid;
    uint32_t gid;
    uint64_t clock_ns;
    uint64_t wall_ns;
    uint64_t memory_bytes;
    uint64_t processes;
    uint64_t open_files;
    uint64_t scratch_bytes;
    uint64_t cpu_ns;
    uint64_t idle_ns;
    uint64_t inodes;
    uint64_t unpack_bytes;
    uint64_t unpack_files;
    uint64_t unpack_depth;
    struct export_caps export_caps;
    bool stdin_stream;
    bool import;
    bool root_overlay;
    bool salvage; /* then there are collects, and nothing else */
};

/*
 * Read SIZE payload BYTES into JOB. The bytes are changed in place (strings get terminators) and
 * must live as long as JOB. Fails on a malformed, missing or impossible field, naming it.
 */
int job_read(struct job *job, uint8_t *bytes, size_t size, struct err *err);

#endif
