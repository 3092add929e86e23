/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_dir.h: the run directory (supervisor): what tells `vmrun gc` that a run was killed, and what
 * it left half-made.
 *
 * A run directory, BASE/run-ID, lies in a 0700 base of the user's own and holds three files:
 *
 *     lock     empty. The supervisor and each child have it open and share its flock; everyone has
 *              opened it anew, so that a child that was taken over can release its own share only.
 *     state    where the output directory is; written once, before anything half-made is in there.
 *     cgroup   beside what cgroup that of the children is (jail/cgroup.h); only where there may be
 * one.
 *
 * A run directory whose lock nobody shares is of a run that is over. Half-made entries of the
 * output directory carry the run's ID in their names, so that those of one run are never those of
 * another.
 */
#ifndef VMM_SUPERVISOR_RUN_DIR_H
#define VMM_SUPERVISOR_RUN_DIR_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { RUN_NAME_BYTES = 40 };

#define RUN_PREFIX      "run-"
#define RUN_LOCK_FILE   "lock"
#define RUN_STATE_FILE  "state"
#define RUN_CGROUP_FILE "cgroup"

struct run_dir {
    int base_fd;
    int fd;
    int lock_fd;
    char name[RUN_NAME_BYTES]; /* "run-ID" */
};

#define RUN_DIR_INIT                                                                               \
    {                                                                                              \
        .base_fd = -1, .fd = -1, .lock_fd = -1                                                     \
    }

/* The places where a base may be, best first: $XDG_RUNTIME_DIR/vmrun, /tmp/vmrun-UID. */
enum { RUN_BASES = 2 };
enum { RUN_BASE_BYTES = PATH_MAX };
/* Place number I; false when there is none (no XDG_RUNTIME_DIR of the caller's own). */
bool run_base_path(int i, char path[RUN_BASE_BYTES]);

/*
 * Open the base at PATH, or make it. Refused unless it is a directory, not a link, of the caller's
 * own, that nobody else may enter. Without CREATE a missing one is -1 with errnum ENOENT.
 */
int run_base_open(const char *path, bool create, struct err *err);

/* Make and lock the directory of the run RUN_ID in the first base that there can be. */
int run_dir_create(struct run_dir *run, const char *run_id, struct err *err);
/* The same in BASE_FD (taken over). */
int run_dir_create_in(struct run_dir *run, int base_fd, const char *run_id, struct err *err);

/* Note where the output directory is. */
int run_dir_record(const struct run_dir *run, int output_fd, struct err *err);

/* Note the path SELF, before a cgroup is made beside it. */
int run_dir_record_cgroup(const struct run_dir *run, const char *self, struct err *err);

/* A share of the lock for a child: an open file of its own. Returns the fd or -1. */
int run_dir_share(const struct run_dir *run, struct err *err);

/* The run is over and has left nothing: remove it and close. Safe on any state. */
void run_dir_remove(struct run_dir *run);
/* Close only. */
void run_dir_close(struct run_dir *run);

/* ---- for gc ---------------------------------------------------------------------------------- */

enum run_claim {
    RUN_CLAIMED, /* the lock is ours alone; RUN is open */
    RUN_IN_USE,
    RUN_GONE,    /* removed by somebody else meanwhile */
    RUN_FOREIGN, /* not a directory, or not of the caller's own */
    RUN_ERROR,
};

/* Take the run directory NAME of BASE_FD (not taken over), unless somebody shares its lock. */
enum run_claim run_dir_claim(struct run_dir *run, int base_fd, const char *name, struct err *err);

/* Remove the claimed RUN with whatever is in it and close. */
int run_dir_discard(struct run_dir *run, uint64_t *budget, struct err *err);

struct run_record {
    uint64_t device, inode; /* of the output directory */
    char path[PATH_MAX];    /* absolute, without links when it was written */
};

/* False when there is none, or not one that a run wrote. */
bool run_dir_read_record(int run_fd, struct run_record *record);

/* The path of run_dir_record_cgroup(); false when there is none. */
bool run_dir_read_cgroup(int run_fd, char self[PATH_MAX]);

#endif
