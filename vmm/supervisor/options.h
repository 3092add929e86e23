/* SPDX-License-Identifier: Apache-2.0 */
/* options.h: the command line of vmrun (supervisor; the input is the user's). */
#ifndef VMM_SUPERVISOR_OPTIONS_H
#define VMM_SUPERVISOR_OPTIONS_H

#include <stdbool.h>

#include "base/err.h"
#include "supervisor/text_list.h"

enum options_command {
    COMMAND_RUN,
    COMMAND_DOCTOR,
    COMMAND_GC,
    COMMAND_HELP,
    COMMAND_VERSION,
};

struct options {
    enum options_command command;
    const char *config;       /* --config; set for COMMAND_RUN */
    struct text_list configs; /* every --config */
    unsigned jobs;            /* --jobs; 0: not given */
    bool member;              /* one run of a batch: our own lines go to BATCH_MEMBER_FD */
    bool dry_run;             /* gc */
    const char *output;       /* --output or NULL */
    struct text_list sets;    /* --set, in order */
    bool console;
    bool quiet;
    bool verbose;
    bool json; /* doctor */
};

enum { OPTIONS_JOBS_MAX = 256 };

/* OPTIONS is to be freed in both cases; its strings are ARGV's. */
int options_parse(struct options *options, int argc, char **argv, struct err *err);
void options_free(struct options *options);

/* What --help prints. */
extern const char options_help[];

#endif
