/* SPDX-License-Identifier: Apache-2.0 */
/* powers.c: all that the extractor can still do when it reads the first byte of the disk. */
#include "extractor/powers.h"

#include <linux/landlock.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "ipc/ipc.h"

static const struct powers_call calls[] = {
    POWERS_CALL(read, "the gate"),
    POWERS_CALL(pread64, "the export disk"),
    POWERS_CALL(openat2, "a new file; the directory of one; beneath the output directory only"),
    POWERS_CALL(mkdirat, "a directory"),
    POWERS_CALL(pwrite64, "content of a file"),
    POWERS_CALL(ftruncate, "a hole at the end of a file"),
    POWERS_CALL(close, "a finished file"),
    POWERS_CALL(unlinkat, "a file that the agent could not finish"),
    POWERS_CALL(fsync, "what was written is on the disk before it is reported"),
    POWERS_CALL(syncfs, "the same, for more than a few files"),
    POWERS_CALL(sendmsg, "records to the supervisor"),
    POWERS_CALL(brk, "memory"),
    POWERS_CALL_IF(mmap, "memory where the heap cannot grow", {POWERS_LACKS, 2, PROT_EXEC}),
    POWERS_CALL(write, "what must() says before it ends the process"),
    POWERS_CALL(exit_group, "the end"),
    POWERS_END,
};

static const struct powers_thread thread = {.name = "extractor", .calls = calls};

static const struct powers_limit limits[] = {
    {RLIMIT_CORE, 0, "artifacts are nobody else's"},
    {RLIMIT_MEMLOCK, 0, "nothing is locked"},
    {RLIMIT_AS, POWERS_ORDERED, "the table of names grows with [artifacts] max_files"},
    {RLIMIT_DATA, POWERS_ORDERED, "a hash of each name, buffers of fixed sizes"},
    {RLIMIT_FSIZE, POWERS_ORDERED, "[artifacts] max_file"},
    {RLIMIT_NOFILE, POWERS_ORDERED, "one file, one directory, and up to 16 that wait to be synced"},
    {RLIMIT_CPU, POWERS_ORDERED, "hashing takes time"},
    {RLIMIT_NPROC, POWERS_ORDERED, "itself"},
};

static const struct powers_path paths[] = {
    {EXTRACTOR_FD_OUT,
        LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_WRITE_FILE |
            LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |
            LANDLOCK_ACCESS_FS_READ_DIR /* to sync one, its fd must be readable */ |
            (1ULL << 14) /* TRUNCATE, ABI 3 */,
        "files and directories are created there, read back for a bundle, removed when incomplete"},
};

const struct powers extractor_powers = {
    .name = "vmrun-extractor",
    .threads = {&thread},
    .limits = limits,
    .limit_count = sizeof(limits) / sizeof(limits[0]),
    .paths = paths,
    .path_count = sizeof(paths) / sizeof(paths[0]),
};
