/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.h: the payload of WIRE_JOB: what the agent has to do. Written by the supervisor, carried by
 * the monitor without a look inside, read by the agent. No I/O and no allocation.
 *
 * A list of fields, each u32 tag, u32 length, then LENGTH bytes (no padding, no terminator).
 * Numbers are u64 little-endian. Order is free except among fields of the same tag. Tags that may
 * repeat: ARG, ENV, COLLECT, UNPACK. An unknown or doubled tag is an error: both sides come from
 * one tree.
 */
#ifndef VMM_WIRE_JOB_H
#define VMM_WIRE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/err.h"

enum job_tag {
    JOB_ARG = 1,     /* argv, at least one, in order */
    JOB_ENV = 2,     /* NAME=value, in order */
    JOB_WORKDIR = 3, /* absolute path in the guest */
    JOB_HOSTNAME = 4,
    JOB_UID = 5,            /* number */
    JOB_GID = 6,            /* number */
    JOB_CLOCK_NS = 7,       /* number: host CLOCK_REALTIME when the job was made */
    JOB_WALL_NS = 8,        /* number: end the task that long after its start */
    JOB_MEMORY_BYTES = 9,   /* number: memory.max of the task's cgroup */
    JOB_PROCESSES = 10,     /* number: pids.max */
    JOB_OPEN_FILES = 11,    /* number: RLIMIT_NOFILE */
    JOB_STDIN = 12,         /* number: 0 = /dev/null, 1 = the STDIN stream */
    JOB_IMPORT = 13,        /* number: 1 when there is an import disk to unpack below /task */
    JOB_COLLECT = 14,       /* artifact: pattern (pattern.h) below /task; may mean directories */
    JOB_ROOT_OVERLAY = 15,  /* number: 1 = overlay over /, upper on scratch; 0 = read-only */
    JOB_SCRATCH_BYTES = 16, /* number: grow the scratch file system to this size */
    JOB_CPU_NS = 17,        /* number: end the task when all of it has used that much CPU time */
    JOB_IDLE_NS = 18,       /* number: end the task when it has written nothing for that long */
    JOB_INODES = 19,        /* number: files and directories that it may have on scratch */
    JOB_UNPACK = 20,       /* an input that is a .tar or .tar.gz: becomes a directory of its name */
    JOB_UNPACK_BYTES = 21, /* number: content of all files of one archive */
    JOB_UNPACK_FILES = 22, /* number: its entries */
    JOB_UNPACK_DEPTH = 23, /* number: components of a name in it */
    JOB_SALVAGE = 24,      /* number: 1 = run nothing, export from a scratch disk that was left */
    /* Caps of the export: numbers. The extractor enforces them, the agent says what they met. */
    JOB_EXPORT_TOTAL_BYTES = 25,
    JOB_EXPORT_FILE_BYTES = 26,
    JOB_EXPORT_FILES = 27, /* files and directories */
    JOB_EXPORT_DEPTH = 28, /* components of a path */
    JOB_TAG_LAST = JOB_EXPORT_DEPTH,
};

/* Limits of a job. config_keys.c and the agent's job_read.c hold to them, not job_next(). */
enum {
    JOB_ARGS_MAX = 16384,
    JOB_ENVS_MAX = 16384,
    JOB_STRING_MAX_BYTES = 131071, /* MAX_ARG_STRLEN less its terminator */
    JOB_COLLECTS_MAX = 256,
    JOB_UNPACKS_MAX = 256,
    JOB_PATH_MAX_BYTES = 4095,
};

/* Append a field; the writer's `failed` says whether it fitted. */
void job_put_bytes(struct writer *writer, enum job_tag tag, const void *bytes, size_t size);
void job_put_number(struct writer *writer, enum job_tag tag, uint64_t value);

struct job_field {
    enum job_tag tag;
    uint64_t number;      /* for tags that carry a number */
    const uint8_t *bytes; /* for the others; inside the payload, not terminated */
    size_t size;
};

/*
 * The next field. Returns 1 and fills FIELD, 0 at the end, -1 on a malformed field. SEEN is a bit
 * set of tags, zero at the first call: a second field of a tag that must not repeat is an error.
 */
int job_next(struct reader *reader, uint32_t *seen, struct job_field *field, struct err *err);

#endif
