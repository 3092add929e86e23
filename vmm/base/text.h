/* SPDX-License-Identifier: Apache-2.0 */
/* text.h: text for people, made from bytes that may be hostile (all processes). */
#ifndef VMM_BASE_TEXT_H
#define VMM_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copy TEXT, cut to fit; always terminated. Returns false when it was cut. */
bool text_copy(char *to, size_t size, const char *text);

/*
 * Append PIECE at TO[*USED]; "..." instead when it would not leave room for that and a terminator,
 * and false then: TO is full. TO is not terminated.
 */
bool text_append(char *to, size_t to_size, size_t *used, const void *piece, size_t length);

/*
 * Escape SIZE bytes so that the result is printable ASCII on one line: \n, \r, \t, \\ and \xNN.
 * Cut (with "..." at the end) to fit into TO, which is always terminated; TO_SIZE is at least 8.
 */
void text_escape(char *to, size_t to_size, const void *bytes, size_t size);

/* Lower-case hexadecimal digits of SIZE bytes; TO has room for 2 * SIZE + 1. */
void text_hex(char *to, const uint8_t *bytes, size_t size);

/* Length in bytes (1 to 4) of the valid UTF-8 sequence at BYTES (RFC 3629), 0 when there is none.
 */
size_t text_utf8_length(const uint8_t *bytes, size_t size);

/*
 * True when one character (LENGTH bytes, from text_utf8_length()) can steer a terminal or change
 * the order in which the text around it is shown: C0 with \n and \t, DEL, C1, and the bidi controls
 * (Unicode's Bidi_Control: U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069).
 */
bool text_utf8_is_control(const uint8_t *bytes, size_t length);

#endif
