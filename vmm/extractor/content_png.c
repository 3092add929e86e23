/* SPDX-License-Identifier: Apache-2.0 */
/* content_png.c: is it a whole PNG? See content_formats.h. Pixels are not looked at. */
#include "extractor/content_formats.h"

#include <string.h>
#include <zlib.h>

#include "base/num.h"

enum { PNG_SIGNATURE = 0, PNG_CHUNK = 1, PNG_DATA = 2, PNG_CRC = 3 };
enum { PNG_HEADER_BYTES = 13, PNG_CHUNK_MAX = 0x7fffffff };

static uint32_t png_u32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static bool png_is_letter(uint8_t byte)
{
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
}

/* Length and type of a chunk are in `head`. */
static void png_chunk(struct png_check *check)
{
    const uint8_t *type = check->head + 4;
    bool is_header = memcmp(type, "IHDR", 4) == 0;

    check->left = png_u32(check->head);
    check->bad = check->left > PNG_CHUNK_MAX || check->ended || is_header == check->has_header ||
                 (is_header && check->left != PNG_HEADER_BYTES);
    for (int i = 0; i < 4; i++)
        check->bad |= !png_is_letter(type[i]);
    check->has_header = true;
    check->has_data |= memcmp(type, "IDAT", 4) == 0;
    if (memcmp(type, "IEND", 4) == 0) {
        check->bad |= check->left != 0;
        check->ended = true;
    }
    check->crc = (uint32_t)crc32(0, type, 4);
    check->part = check->left ? PNG_DATA : PNG_CRC;
}

/* `head` is full. */
static void png_head(struct png_check *check)
{
    switch (check->part) {
    case PNG_SIGNATURE:
        check->bad = memcmp(check->head, "\x89PNG\r\n\x1a\n", 8) != 0;
        check->part = PNG_CHUNK;
        break;
    case PNG_CHUNK:
        png_chunk(check);
        break;
    default:
        check->bad = png_u32(check->head) != check->crc;
        check->part = PNG_CHUNK;
        break;
    }
}

void png_check_feed(struct png_check *check, const uint8_t *bytes, size_t size)
{
    while (size > 0 && !check->bad) {
        size_t step;

        if (check->part == PNG_DATA) {
            step = (size_t)u64_min(size, check->left);
            check->crc = (uint32_t)crc32(check->crc, bytes, (uInt)step);
            check->left -= (uint32_t)step;
            if (check->left == 0)
                check->part = PNG_CRC;
        } else {
            size_t want = check->part == PNG_CRC ? 4 : 8;

            step = size_min(size, want - check->have);
            memcpy(check->head + check->have, bytes, step);
            check->have += step;
            if (check->have == want) {
                check->have = 0;
                png_head(check);
            }
        }
        bytes += step;
        size -= step;
    }
}

bool png_check_end(const struct png_check *check)
{
    return !check->bad && check->ended && check->has_data && check->part == PNG_CHUNK &&
           check->have == 0;
}
