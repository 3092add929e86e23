/* SPDX-License-Identifier: Apache-2.0 */
/* content_text.c: is it text, and does it end as a PDF or a ZIP does? See content_formats.h. */
#include "extractor/content_formats.h"

#include <string.h>

#include "base/num.h"

/* The first byte of a character: what may follow it. Over-long forms, surrogates and C1 may not. */
static void text_begin(struct text_check *check, uint8_t byte)
{
    check->low = 0x80;
    check->high = 0xbf;
    if (byte < 0x80) {
        bool blank = byte == '\t' || byte == '\n' || byte == '\f' || byte == '\r';

        check->bad = (byte < 0x20 && !blank) || byte == 0x7f;
        return;
    }
    if (byte < 0xc2 || byte > 0xf4) {
        check->bad = true;
        return;
    }
    check->need = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
    if (byte == 0xc2)
        check->low = 0xa0;
    if (byte == 0xe0)
        check->low = 0xa0;
    if (byte == 0xed)
        check->high = 0x9f;
    if (byte == 0xf0)
        check->low = 0x90;
    if (byte == 0xf4)
        check->high = 0x8f;
}

void text_check_feed(struct text_check *check, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size && !check->bad; i++) {
        uint8_t byte = bytes[i];

        if (check->need == 0) {
            if (byte < 0x20 || byte > 0x7e)
                text_begin(check, byte);
            continue;
        }
        check->bad = byte < check->low || byte > check->high;
        check->need--;
        check->low = 0x80;
        check->high = 0xbf;
    }
}

bool text_check_end(const struct text_check *check)
{
    return !check->bad && check->need == 0;
}

void pdf_check_feed(struct pdf_check *check, const uint8_t *bytes, size_t size)
{
    static const char start[] = "%PDF-0.0", end[] = "%%EOF";

    for (size_t i = 0; i < size && !check->bad; i++) {
        uint8_t byte = bytes[i];

        if (check->at < sizeof(start) - 1) {
            bool digit = byte >= '0' && byte <= '9';

            check->bad = start[check->at] == '0' ? !digit : byte != start[check->at];
        }
        check->at++;
        if (check->matched == sizeof(end) - 1 &&
            (byte == '\n' || byte == '\r' || byte == ' ' || byte == '\t'))
            continue;
        if (check->matched < sizeof(end) - 1 && byte == end[check->matched])
            check->matched++;
        else if (byte == '%')
            check->matched = check->matched == 2 ? 2 : 1;
        else
            check->matched = 0;
    }
}

bool pdf_check_end(const struct pdf_check *check)
{
    return !check->bad && check->at > 8 && check->matched == 5;
}

/* RECORD begins at AT. Random bytes hardly ever pass; what every reader wants to see does. */
static bool zip_is_end(const struct zip_check *check, const uint8_t *record, uint64_t at)
{
    uint64_t directory_bytes = le32_load(record + 12), directory_at = le32_load(record + 16);
    uint16_t comment_bytes = le16_load(record + 20);

    return memcmp(record, "PK\5\6", 4) == 0 && le16_load(record + 4) == le16_load(record + 6) &&
           directory_bytes + directory_at <= at &&
           at + ZIP_END_BYTES + comment_bytes <= check->size_bytes;
}

static void zip_search(struct zip_check *check, const uint8_t *bytes, size_t size, uint64_t at)
{
    const uint8_t *from = bytes;

    while (!check->found && size - (size_t)(from - bytes) >= ZIP_END_BYTES) {
        size_t left = size - (size_t)(from - bytes);
        const uint8_t *found = memmem(from, left - ZIP_END_BYTES + 4, "PK\5\6", 4);

        if (!found)
            return;
        check->found = zip_is_end(check, found, at + (uint64_t)(found - bytes));
        from = found + 1;
    }
}

void zip_check_feed(struct zip_check *check, const uint8_t *bytes, size_t size)
{
    uint8_t seam[2 * (ZIP_END_BYTES - 1)]; /* the last bytes and the next ones */
    size_t more = size_min(size, ZIP_END_BYTES - 1);
    size_t kept;

    memcpy(seam, check->tail, check->tail_bytes);
    memcpy(seam + check->tail_bytes, bytes, more);
    zip_search(check, seam, check->tail_bytes + more, check->at - check->tail_bytes);
    zip_search(check, bytes, size, check->at);
    check->at += size;
    if (size >= ZIP_END_BYTES - 1) {
        memcpy(check->tail, bytes + size - (ZIP_END_BYTES - 1), ZIP_END_BYTES - 1);
        check->tail_bytes = ZIP_END_BYTES - 1;
        return;
    }
    kept = size_min(check->tail_bytes + size, ZIP_END_BYTES - 1);
    memmove(check->tail, seam + check->tail_bytes + size - kept, kept);
    check->tail_bytes = kept;
}
