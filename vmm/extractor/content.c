/* SPDX-License-Identifier: Apache-2.0 */
/* content.c: see content.h. Which checkers run, and what their answers mean together. */
#include "extractor/content.h"

#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "extractor/content_formats.h"

/* Readers look for "%PDF-" in so many bytes at the start (ISO 32000-1, implementation notes). */
enum { CONTENT_HEAD_BYTES = 1024 + 4, CONTENT_ZERO_BYTES = 64 * 1024 };

struct content {
    uint32_t types;
    uint32_t named; /* bit of the type that the name says; 0: none that we know */
    uint8_t head[CONTENT_HEAD_BYTES];
    size_t head_bytes;
    struct text_check text;
    struct png_check png;
    struct jpeg_check jpeg;
    struct pdf_check pdf;
    struct zip_check zip;
    struct json_check *json; /* NULL: not asked */
};

static uint32_t bit(enum artifact_type type)
{
    return 1U << type;
}

static uint32_t content_named(const uint8_t *name, size_t size)
{
    static const struct {
        const char *ending;
        enum artifact_type type;
    } endings[] = {{".png", ARTIFACT_PNG}, {".jpg", ARTIFACT_JPEG}, {".jpeg", ARTIFACT_JPEG},
        {".pdf", ARTIFACT_PDF}, {".csv", ARTIFACT_CSV}, {".tsv", ARTIFACT_CSV},
        {".json", ARTIFACT_JSON}, {".txt", ARTIFACT_TEXT}, {".log", ARTIFACT_TEXT},
        {".md", ARTIFACT_TEXT}};

    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        size_t length = strlen(endings[i].ending);

        if (size >= length &&
            strncasecmp((const char *)name + size - length, endings[i].ending, length) == 0)
            return bit(endings[i].type);
    }
    return 0;
}

struct content *content_begin(
    const uint8_t *name, size_t name_bytes, uint64_t size_bytes, uint32_t types)
{
    static struct content content;

    memset(&content, 0, sizeof(content));
    content.types = types;
    content.named = content_named(name, name_bytes);
    content.zip.size_bytes = size_bytes;
    /* Without a name that says so, a parser is worth its time only when somebody asks for JSON. */
    if (content.named == bit(ARTIFACT_JSON) || (content.named == 0 && (types & bit(ARTIFACT_JSON))))
        content.json = json_check_make();
    return &content;
}

void content_feed(struct content *content, const uint8_t *bytes, size_t size)
{
    size_t head = size_min(size, sizeof(content->head) - content->head_bytes);

    memcpy(content->head + content->head_bytes, bytes, head);
    content->head_bytes += head;
    text_check_feed(&content->text, bytes, size);
    png_check_feed(&content->png, bytes, size);
    jpeg_check_feed(&content->jpeg, bytes, size);
    pdf_check_feed(&content->pdf, bytes, size);
    if (!content->png.bad || !content->jpeg.bad || !content->pdf.bad)
        zip_check_feed(&content->zip, bytes, size);
    if (content->json && !content->text.bad)
        json_check_feed(content->json, bytes, size);
}

void content_feed_zeroes(struct content *content, uint64_t count)
{
    static const uint8_t zeroes[CONTENT_ZERO_BYTES];

    while (count > 0) {
        size_t step = (size_t)u64_min(count, sizeof(zeroes));

        content_feed(content, zeroes, step);
        count -= step;
    }
}

static bool content_starts(const struct content *content, const char *magic)
{
    size_t length = strlen(magic);

    return content->head_bytes >= length && memcmp(content->head, magic, length) == 0;
}

/* All that the file is, as bits; none when a lenient reader would take it for something else too.
 */
static uint32_t content_found(const struct content *content)
{
    uint32_t found = 0;
    bool is_pdf = pdf_check_end(&content->pdf);

    if (!content_starts(content, "%PDF-") && memmem(content->head, content->head_bytes, "%PDF-", 5))
        return 0;
    if (!content->zip.found) {
        found |= png_check_end(&content->png) ? bit(ARTIFACT_PNG) : 0;
        found |= jpeg_check_end(&content->jpeg) ? bit(ARTIFACT_JPEG) : 0;
        found |= is_pdf ? bit(ARTIFACT_PDF) : 0;
    }
    /* Formats that can be written in text alone. */
    if (text_check_end(&content->text) && !content_starts(content, "%PDF-") &&
        !content_starts(content, "%!PS") && !content_starts(content, "GIF87a") &&
        !content_starts(content, "GIF89a")) {
        found |= bit(ARTIFACT_TEXT);
        if (content->named == bit(ARTIFACT_CSV))
            found |= bit(ARTIFACT_CSV);
        if (content->json && json_check_end(content->json))
            found |= bit(ARTIFACT_JSON);
    }
    return found;
}

bool content_end(struct content *content, enum artifact_type *type)
{
    static const enum artifact_type order[] = {
        ARTIFACT_PNG, ARTIFACT_JPEG, ARTIFACT_PDF, ARTIFACT_CSV, ARTIFACT_JSON, ARTIFACT_TEXT};
    uint32_t found = content_found(content);
    uint32_t wanted = content->types;

    /* What the name says comes first; then what was asked for; then what it is. */
    if (found & content->named)
        found = content->named;
    else if (found & wanted)
        found &= wanted;
    *type = ARTIFACT_DATA;
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]) && *type == ARTIFACT_DATA; i++) {
        if (found & bit(order[i]))
            *type = order[i];
    }
    content_drop(content);
    return wanted == 0 ||
           ((wanted & bit(*type)) && (content->named == 0 || content->named == bit(*type)));
}

void content_drop(struct content *content)
{
    json_check_free(content->json);
    content->json = NULL;
}
