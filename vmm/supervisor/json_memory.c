/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_memory.c: see json_memory.h. Global state: the reserve, as jansson's allocator has no
 * context. Blocks are handed out one behind the other and come back all at once, when the last of
 * them is freed: what is built without memory is built, written and dropped.
 */
#include "supervisor/json_memory.h"

#include <jansson.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/num.h"

static alignas(max_align_t) uint8_t reserve[JSON_RESERVE_BYTES];
static size_t reserve_used;
static size_t reserve_blocks; /* handed out and not freed yet */
static bool any_failed;

static bool is_reserved(const void *pointer)
{
    uintptr_t at = (uintptr_t)pointer, start = (uintptr_t)reserve;

    return at >= start && at < start + sizeof(reserve);
}

static void *reserve_take(size_t size)
{
    void *block = reserve + reserve_used;

    if (size > sizeof(reserve) - reserve_used) {
        any_failed = true;
        return NULL;
    }
    reserve_used +=
        size_min((size_t)align_up(size, alignof(max_align_t)), sizeof(reserve) - reserve_used);
    reserve_blocks++;
    return block;
}

static void *json_memory_take(size_t size)
{
    void *block = malloc(size);

    return block ? block : reserve_take(size);
}

void json_memory_free(void *pointer)
{
    if (!is_reserved(pointer)) {
        free(pointer);
        return;
    }
    if (--reserve_blocks == 0)
        reserve_used = 0;
}

void json_memory_use(void)
{
    json_set_alloc_funcs(json_memory_take, json_memory_free);
}

void json_memory_begin(void)
{
    any_failed = false;
}

void json_memory_miss(void)
{
    any_failed = true;
}

bool json_memory_failed(void)
{
    return any_failed;
}
