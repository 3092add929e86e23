/* SPDX-License-Identifier: Apache-2.0 */
/*
 * content.h: what the bytes of one file are, judged while they pass (extractor). They are hostile;
 * nothing is decoded, unpacked or shown, and memory is bounded whatever they say.
 *
 * png, jpeg and pdf are whole files of their format: structure from the first byte to the last,
 * with nothing behind it, so that a second file cannot hide there. text is UTF-8 without control
 * characters but for tab, line feed, form feed and carriage return; csv is text whose name says so;
 * json is text that a strict parser takes, nested at most CONTENT_JSON_DEPTH_MAX deep. What is one
 * of these and, for a lenient reader, a ZIP archive or a PDF as well, is none of them: data.
 */
#ifndef VMM_EXTRACTOR_CONTENT_H
#define VMM_EXTRACTOR_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/ipc.h"

enum { CONTENT_JSON_DEPTH_MAX = 256 };

struct content;

/* There is one, so one file at a time. Never NULL. */
struct content *content_begin(
    const uint8_t *name, size_t name_bytes, uint64_t size_bytes, uint32_t types);

/* The next bytes of the file, holes as zeroes. */
void content_feed(struct content *content, const uint8_t *bytes, size_t size);
void content_feed_zeroes(struct content *content, uint64_t count);

/*
 * After the last byte: what the file is. True when that is one of TYPES (bits; 0: any), and what
 * its name says where that ends in .png, .jpg, .jpeg, .pdf, .csv, .tsv, .json, .txt, .log or .md.
 */
bool content_end(struct content *content, enum artifact_type *type);

/* The file is not wanted any more; content_begin() may be called again. */
void content_drop(struct content *content);

#endif
