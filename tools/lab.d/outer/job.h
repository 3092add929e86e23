/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host side asks of the outer machine: the strings of one FRAME_JOB.
 *
 *   tree=PATH     the working tree: where its 9p share is mounted (required)
 *   tree9p=OPTS   mount options of that share
 *   root9p=OPTS   mount options of the share of the host's /
 *   cwd=PATH      directory the command starts in (required)
 *   user=1        run the command as an unprivileged user
 *   stdin=1       the command's stdin is fed by FRAME_STDIN; without it, /dev/null
 *   env=NAME=VAL  one environment variable, later ones win
 *   arg=BYTES     one element of the command's argv (at least one)
 */
#ifndef LAB_JOB_H
#define LAB_JOB_H

#include <stdbool.h>
#include <stddef.h>

struct job {
    const char *tree;
    const char *tree_options;
    const char *root_options;
    const char *cwd;
    bool user;
    bool use_stdin;
    char **env; /* NULL-terminated, defaults first */
    char **arg; /* NULL-terminated */
};

/* Points into bytes, which stay the caller's and must outlive the job. Ends the lab on a bad job.
 */
void job_parse(struct job *job, char *bytes, size_t length);

#endif
