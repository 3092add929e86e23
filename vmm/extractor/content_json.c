/* SPDX-License-Identifier: Apache-2.0 */
/*
 * content_json.c: is it JSON? See content_formats.h. yajl keeps what it needs of a token that goes
 * on in the next piece, and a byte for each open bracket: a hostile file would make it keep all of
 * the file. It is fed in small pieces and left alone once it has taken JSON_MEMORY_MAX, so it never
 * has much more than twice that.
 */
#include "extractor/content_formats.h"

#include <errno.h>
#include <stdlib.h>
#include <yajl/yajl_parse.h>

#include "base/num.h"
#include "extractor/content.h"

enum { JSON_PIECE_BYTES = 4096, JSON_MEMORY_MAX = 256 << 10 };

struct json_check {
    yajl_handle parser;
    bool bad;
    size_t memory_bytes;
    size_t depth;
};

/* In front of each allocation; as large as what malloc aligns to. */
union json_size {
    size_t bytes;
    max_align_t align;
};

/*
 * yajl does not ask whether it got memory, and has no way back. The process ends with what says so
 * to the supervisor, as main() would end it: nothing of this export is published then.
 */
_Noreturn static void json_without_memory(void)
{
    _Exit(ENOMEM);
}

static void *json_realloc(void *context, void *pointer, size_t size)
{
    struct json_check *check = context;
    union json_size *old = pointer ? (union json_size *)pointer - 1 : NULL;
    size_t old_bytes = old ? old->bytes : 0;
    union json_size *grown = realloc(old, sizeof(*grown) + size);

    if (!grown)
        json_without_memory();
    grown->bytes = size;
    check->memory_bytes += size - old_bytes;
    return grown + 1;
}

static void *json_malloc(void *context, size_t size)
{
    return json_realloc(context, NULL, size);
}

static void json_release(void *context, void *pointer)
{
    struct json_check *check = context;
    union json_size *old = pointer ? (union json_size *)pointer - 1 : NULL;

    if (old)
        check->memory_bytes -= old->bytes;
    free(old);
}

/* 0 makes yajl stop. */
static int json_opens(void *context)
{
    struct json_check *check = context;

    return ++check->depth <= CONTENT_JSON_DEPTH_MAX;
}

static int json_closes(void *context)
{
    struct json_check *check = context;

    check->depth--;
    return 1;
}

struct json_check *json_check_make(void)
{
    static const yajl_callbacks callbacks = {.yajl_start_map = json_opens,
        .yajl_end_map = json_closes,
        .yajl_start_array = json_opens,
        .yajl_end_array = json_closes};
    struct json_check *check = calloc(1, sizeof(*check));
    yajl_alloc_funcs functions = {
        .malloc = json_malloc, .realloc = json_realloc, .free = json_release, .ctx = check};

    if (!check)
        json_without_memory();
    check->parser = yajl_alloc(&callbacks, &functions, check);
    return check;
}

void json_check_feed(struct json_check *check, const uint8_t *bytes, size_t size)
{
    while (size > 0 && !check->bad) {
        size_t step = size_min(size, JSON_PIECE_BYTES);

        check->bad = yajl_parse(check->parser, bytes, step) != yajl_status_ok ||
                     check->memory_bytes > JSON_MEMORY_MAX;
        bytes += step;
        size -= step;
    }
}

bool json_check_end(struct json_check *check)
{
    return !check->bad && yajl_complete_parse(check->parser) == yajl_status_ok;
}

void json_check_free(struct json_check *check)
{
    if (!check)
        return;
    yajl_free(check->parser);
    free(check);
}
