/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h: the first stage: task.ini as values (supervisor; the input is the user's).
 *
 * Everything is checked here that can be checked without a look at the host: names, units, ranges,
 * keys that contradict each other. One table (config_keys.c) says which keys there are, what is
 * right for each, and what holds when it is absent.
 */
#ifndef VMM_SUPERVISOR_CONFIG_H
#define VMM_SUPERVISOR_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ipc/ipc.h"
#include "supervisor/digest.h"
#include "supervisor/text_list.h"

enum {
    CONFIG_KEYS_MAX = 64,
    CONFIG_INPUTS_MAX = 256,
    CONFIG_NAME_MAX_BYTES = 63,
    INPUT_DEPTH_MAX = 64,
};

enum config_stdin {
    STDIN_NONE,
    STDIN_INHERIT,
    STDIN_FILE,
};

/* One file or directory that the task finds below /task. */
struct config_input {
    char *destination; /* relative to /task, cleaned of "." and doubled slashes */
    char *source;      /* as written: absolute or relative to the ini file */
    char *where;       /* "task.ini:7" */
    bool unpack;       /* a .tar or .tar.gz: the guest makes a directory of it */
};

struct config_setting {
    size_t row;  /* of config_keys */
    char *key;   /* as written */
    char *value; /* as written */
    char *where; /* "task.ini:14", "--set", "default" */
};

struct config {
    char *path;      /* of the ini file, as the user named it */
    char *directory; /* that relative paths start from */
    uint8_t sha256[DIGEST_BYTES];

    char *name;
    char *command;  /* as written; argv is made of it at the end */
    uint32_t shell; /* 0 or 1: by /bin/sh -c */
    struct text_list argv;
    char *workdir;
    uint64_t uid, gid;
    uint32_t stdin_kind; /* enum config_stdin */
    char *stdin_path;    /* STDIN_FILE only */
    char *hostname;

    struct text_list env; /* NAME=value */

    char *image;
    uint8_t image_sha256[DIGEST_BYTES];
    bool image_has_sha256;
    uint32_t root_overlay; /* 0 or 1 */

    uint64_t vcpus;
    uint64_t memory_bytes;
    char *kernel;       /* NULL: the one that came with vmrun */
    char *initramfs;    /* the same */
    uint32_t hardware;  /* enum ipc_hardware */
    uint32_t hugepages; /* enum ipc_hugepages */
    struct ipc_cpu_bit cpu_mask[IPC_CPU_MASK_MAX];
    uint32_t cpu_mask_count;
    char *disk_directory;          /* NULL: the file system of the output */
    uint32_t disk_on_tmpfs;        /* 0 or 1 */
    uint32_t allow_weaker_jail;    /* 0 or 1 */
    uint32_t jail_debug;           /* 0 or 1 */
    uint32_t first_uid, uid_count; /* of the jails' processes when root runs vmrun */

    uint64_t wall_ns;
    uint64_t boot_ns;
    uint64_t task_memory_bytes; /* 0 while parsing: derived from memory_bytes afterwards */
    uint64_t processes;
    uint64_t open_files;
    uint64_t disk_bytes;
    uint64_t cpu_ns; /* these three too are derived when absent: config_check.c */
    uint64_t idle_ns;
    uint64_t inodes;
    uint64_t stdout_bytes;
    uint64_t stderr_bytes;

    struct config_input inputs[CONFIG_INPUTS_MAX]; /* sorted by destination */
    size_t input_count;
    uint32_t input_follow;      /* 0 or 1 */
    struct text_list unpack;    /* destinations of inputs, cleaned */
    uint64_t input_total_bytes; /* 0 while parsing: derived from disk_bytes afterwards */
    uint64_t input_files;
    uint64_t input_depth;

    struct text_list collect;  /* patterns (wire/pattern.h) relative to /task, cleaned */
    struct text_list required; /* the same; each at or below one of collect */
    struct text_list optional; /* of collect: may be missing */
    uint64_t artifacts_total_bytes;
    uint64_t artifacts_file_bytes;
    uint64_t artifacts_files;
    uint64_t artifacts_depth;
    uint32_t salvage; /* 0 or 1 */
    uint32_t artifacts_types;  /* bits 1 << enum artifact_type; 0: any content */
    uint32_t artifacts_refuse; /* 0 or 1: one entry that cannot come refuses all */
    uint32_t artifacts_bundle; /* 0 or 1: one tar.gz instead of a directory */

    char *output; /* {name} and {run} not replaced yet */

    /* Per row of config_keys: "task.ini:14", or NULL for the default. */
    char *where[CONFIG_KEYS_MAX];

    /* Every key that has a value, for people; what was replaced is not among them. */
    struct config_setting *settings;
    size_t setting_count;
};

/*
 * Read the file at PATH, then SETS ("section.key=value", from the command line), which replace what
 * the file says. Every problem becomes one line of PROBLEMS. Returns 0, or -1 when there are
 * problems; CONFIG is to be freed in both cases.
 */
int config_load(struct config *config, const char *path, const struct text_list *sets,
    struct text_list *problems);

/* The same from memory; PATH only appears in messages and in CONFIG. */
int config_parse(struct config *config, const char *path, const char *bytes, size_t size,
    const struct text_list *sets, struct text_list *problems);

void config_free(struct config *config);

/* Where the key was set: "task.ini:14" or "--set"; NULL when the default holds. */
const char *config_where(const struct config *config, const char *section, const char *key);

/* A path as the task file has it: relative to the directory of that. To be freed. */
char *config_path(const struct config *config, const char *path);

/*
 * Set ERR to "task.ini:14: [image] path: " and the message; without the line when the value is the
 * default. Returns -1.
 */
int config_err(const struct config *config, struct err *err, const char *section, const char *key,
    const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
