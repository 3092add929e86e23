/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_report.h: the lines of vmrun doctor; private to doctor*.c (supervisor). */
#ifndef VMM_SUPERVISOR_DOCTOR_REPORT_H
#define VMM_SUPERVISOR_DOCTOR_REPORT_H

#include <stddef.h>

enum report_grade {
    REPORT_PASS,
    REPORT_CAUTION,
    REPORT_FAIL,
};

enum { REPORT_LINES_MAX = 64, REPORT_TEXT_BYTES = 1200 };

struct report_line {
    enum report_grade grade;
    const char *subject;
    const char *remedy; /* NULL: none, or part of the text */
    char text[REPORT_TEXT_BYTES];
};

struct report {
    struct report_line lines[REPORT_LINES_MAX];
    size_t count;
};

void report_add(struct report *report, enum report_grade grade, const char *subject,
    const char *remedy, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* doctor_host.c: what the kernel offers, and what weakens isolation. */
void doctor_check_host(struct report *report);

#endif
