/* SPDX-License-Identifier: Apache-2.0 */
/*
 * content_formats.h: one checker for each format, private to content*.c (extractor). All are state
 * machines that take the file in pieces of any size and keep a few bytes.
 */
#ifndef VMM_EXTRACTOR_CONTENT_FORMATS_H
#define VMM_EXTRACTOR_CONTENT_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* RFC 3629. All zeroes at the start. */
struct text_check {
    bool bad;
    uint8_t need; /* bytes that the character still lacks */
    uint8_t low, high;
};
void text_check_feed(struct text_check *check, const uint8_t *bytes, size_t size);
bool text_check_end(const struct text_check *check);

/* W3C PNG (third edition), 5: signature, then chunks, IHDR first, IEND last. Zeroes at the start.
 */
struct png_check {
    bool bad, has_header, has_data, ended;
    uint8_t head[8]; /* signature, chunk header, or CRC */
    size_t have;
    uint8_t part;  /* enum in content_png.c */
    uint32_t left; /* of the chunk's data */
    uint32_t crc;
};
void png_check_feed(struct png_check *check, const uint8_t *bytes, size_t size);
bool png_check_end(const struct png_check *check);

/* ITU T.81, annex B: markers from SOI to EOI. Zeroes at the start. */
struct jpeg_check {
    bool bad, has_frame, has_scan;
    uint8_t part; /* enum in content_jpeg.c */
    uint8_t marker;
    uint16_t left; /* of the segment */
};
void jpeg_check_feed(struct jpeg_check *check, const uint8_t *bytes, size_t size);
bool jpeg_check_end(const struct jpeg_check *check);

/* ISO 32000: "%PDF-N.N" at the start, "%%EOF" and nothing but white space at the end. */
struct pdf_check {
    bool bad;
    uint64_t at;
    uint8_t matched; /* bytes of "%%EOF" */
};
void pdf_check_feed(struct pdf_check *check, const uint8_t *bytes, size_t size);
bool pdf_check_end(const struct pdf_check *check);

/* APPNOTE.TXT 4.3.16: an end of central directory that a reader would accept. */
enum { ZIP_END_BYTES = 22 };
struct zip_check {
    bool found;
    uint64_t at; /* bytes seen */
    uint64_t size_bytes;
    uint8_t tail[ZIP_END_BYTES - 1];
    size_t tail_bytes;
};
void zip_check_feed(struct zip_check *check, const uint8_t *bytes, size_t size);

/* RFC 8259, by yajl. NULL when there is no memory. */
struct json_check;
struct json_check *json_check_make(void);
void json_check_feed(struct json_check *check, const uint8_t *bytes, size_t size);
bool json_check_end(struct json_check *check);
void json_check_free(struct json_check *check); /* takes NULL */

#endif
