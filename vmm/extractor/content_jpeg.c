/* SPDX-License-Identifier: Apache-2.0 */
/* content_jpeg.c: is it a whole JPEG? See content_formats.h. Pixels are not looked at. */
#include "extractor/content_formats.h"

#include "base/num.h"

enum {
    JPEG_START = 0,   /* the first byte of the file */
    JPEG_MARKER = 1,  /* 0xff of a marker is due */
    JPEG_CODE = 2,    /* behind one or more 0xff */
    JPEG_LENGTH1 = 3, /* the two bytes of a segment's length */
    JPEG_LENGTH2 = 4,
    JPEG_SEGMENT = 5,
    JPEG_SCAN = 6,      /* entropy-coded data */
    JPEG_SCAN_CODE = 7, /* 0xff in it */
    JPEG_ENDED = 8,
};
enum { CODE_SOI = 0xd8, CODE_EOI = 0xd9, CODE_SOS = 0xda, CODE_RST0 = 0xd0, CODE_RST7 = 0xd7 };

/* C0 to CF begin a frame, but for DHT, JPG and DAC. */
static bool jpeg_is_frame(uint8_t code)
{
    return code >= 0xc0 && code <= 0xcf && code != 0xc4 && code != 0xc8 && code != 0xcc;
}

static void jpeg_code(struct jpeg_check *check, uint8_t code)
{
    bool first = check->marker == 0;

    if (code == 0xff) /* fill */
        return;
    check->marker = code;
    check->bad =
        first != (code == CODE_SOI) || code < 0xc0 || (code >= CODE_RST0 && code <= CODE_RST7);
    if (code == CODE_SOI)
        check->part = JPEG_MARKER;
    else if (code == CODE_EOI)
        check->part = JPEG_ENDED;
    else
        check->part = JPEG_LENGTH1;
    check->has_frame |= jpeg_is_frame(code);
    check->has_scan |= code == CODE_SOS;
}

/* In the scan: 0 is a stuffed byte, RST goes on, everything else ends it. */
static void jpeg_scan_code(struct jpeg_check *check, uint8_t code)
{
    if (code == 0 || (code >= CODE_RST0 && code <= CODE_RST7))
        check->part = JPEG_SCAN;
    else if (code != 0xff)
        jpeg_code(check, code);
}

static void jpeg_segment_ended(struct jpeg_check *check)
{
    check->part = check->marker == CODE_SOS ? JPEG_SCAN : JPEG_MARKER;
}

static void jpeg_byte(struct jpeg_check *check, uint8_t byte)
{
    switch (check->part) {
    case JPEG_START:
    case JPEG_MARKER:
        check->bad = byte != 0xff;
        check->part = JPEG_CODE;
        break;
    case JPEG_CODE:
        jpeg_code(check, byte);
        break;
    case JPEG_LENGTH1:
        check->left = (uint16_t)(byte << 8);
        check->part = JPEG_LENGTH2;
        break;
    case JPEG_LENGTH2:
        check->left = (uint16_t)(check->left | byte);
        check->bad = check->left < 2; /* it counts itself */
        check->left = (uint16_t)(check->left - 2);
        check->part = JPEG_SEGMENT;
        if (check->left == 0)
            jpeg_segment_ended(check);
        break;
    case JPEG_SCAN:
        if (byte == 0xff)
            check->part = JPEG_SCAN_CODE;
        break;
    case JPEG_SCAN_CODE:
        jpeg_scan_code(check, byte);
        break;
    default: /* something behind the end */
        check->bad = true;
        break;
    }
}

void jpeg_check_feed(struct jpeg_check *check, const uint8_t *bytes, size_t size)
{
    size_t i = 0;

    while (i < size && !check->bad) {
        if (check->part == JPEG_SEGMENT) {
            size_t step = size_min(size - i, check->left);

            check->left = (uint16_t)(check->left - step);
            i += step;
            if (check->left == 0)
                jpeg_segment_ended(check);
        } else {
            jpeg_byte(check, bytes[i++]);
        }
    }
}

bool jpeg_check_end(const struct jpeg_check *check)
{
    return !check->bad && check->part == JPEG_ENDED && check->has_frame && check->has_scan;
}
