/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal_filter.h: the last thing between task output and a terminal (supervisor; the input is
 * hostile). The scribe escapes already; this holds even when the scribe was taken over. What
 * passes: newline, tab, printable ASCII, and valid UTF-8 from U+00A0 on but for bidirectional
 * controls and line separators. Every other byte becomes \xNN.
 */
#ifndef VMM_SUPERVISOR_TERMINAL_FILTER_H
#define VMM_SUPERVISOR_TERMINAL_FILTER_H

#include <stddef.h>
#include <stdint.h>

enum { TERMINAL_FILTER_GROWTH = 4, TERMINAL_FILTER_PENDING_MAX = 4 };

struct terminal_filter {
    uint8_t
        pending[TERMINAL_FILTER_PENDING_MAX]; /* start of a character that is not complete yet */
    size_t pending_count;
};

/*
 * Filter SIZE bytes into OUT, which has room for GROWTH * (SIZE + PENDING_MAX) bytes. Returns the
 * number of bytes written. With SIZE 0 what is pending comes out.
 */
size_t terminal_filter(
    struct terminal_filter *filter, const uint8_t *bytes, size_t size, uint8_t *out);

#endif
