/* SPDX-License-Identifier: Apache-2.0 */
/* gc.h: `vmrun gc`: removes what killed runs left (supervisor). */
#ifndef VMM_SUPERVISOR_GC_H
#define VMM_SUPERVISOR_GC_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisor/text_list.h"

/* Files that one gc removes of one run at most; what is left then needs another. */
enum { GC_FILES_MAX = 1000000 };

struct gc_request {
    bool dry_run;                  /* say what would be removed, and leave it */
    bool verbose;                  /* also what is left alone, and why */
    uint64_t files_max;            /* GC_FILES_MAX */
    void (*say)(const char *text); /* never NULL */
};

/*
 * Go through every base. Safe while runs start, go on and end, and while another gc runs. ERRORS
 * gets what could not be removed. Returns the exit code: 0, or 125 when there were errors.
 */
int gc_run(const struct gc_request *request, struct text_list *errors);

/* The same for one base; it is not closed. Returns how many run directories were removed. */
uint64_t gc_base(
    const struct gc_request *request, int base_fd, const char *base_path, struct text_list *errors);

#endif
