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
    COMMAND_IMAGE_VERIFY,
    COMMAND_HELP,
    COMMAND_VERSION,
};

/* What is shown of a task instead of running it. */
enum options_show {
    SHOW_NOTHING, /* it is run */
    SHOW_CHECK,   /* --check: its configuration, resolved */
    SHOW_PLAN,    /* --plan: that, and the machine and processes that would be */
};

struct options {
    enum options_command command;
    const char *config;       /* --config; set for COMMAND_RUN */
    struct text_list configs; /* every --config */
    unsigned jobs;            /* --jobs; 0: not given */
    bool member;              /* one run of a batch: our own lines go to BATCH_MEMBER_FD */
    bool dry_run;             /* gc */
    const char *image;        /* image verify */
    const char *output;       /* --output or NULL */
    struct text_list sets;    /* --set, in order */
    bool console;
    bool quiet;
    bool verbose;
    bool json;
    bool events;
    bool timing;
    enum options_show show; /* instead of running */
    bool exit_status;       /* --exit-code=status */
};

enum { OPTIONS_JOBS_MAX = 256 };

/*
 * OPTIONS is to be freed in both cases; its strings are ARGV's. After an error, which is the first,
 * what could be understood is set all the same: how an error is reported is an option too.
 */
int options_parse(struct options *options, int argc, char **argv, struct err *err);
void options_free(struct options *options);

/* What --help prints. */
extern const char options_help[];

#endif
