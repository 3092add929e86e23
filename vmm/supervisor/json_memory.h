/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_memory.h: memory for jansson that does not end at once when the host's does (supervisor).
 *
 * A run has a result whatever happens, so its memory is set aside: when malloc() fails, jansson is
 * served from a reserve inside the program, which costs nothing until it is touched. Only when that
 * is used up as well does an allocation fail; then `failed` is noted, and who built something asks
 * for it once at its end instead of at every put(). json_memory_use() is called once, before the
 * first JSON value.
 */
#ifndef VMM_SUPERVISOR_JSON_MEMORY_H
#define VMM_SUPERVISOR_JSON_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Enough for a result without its list of artifacts, and the text of it. */
enum { JSON_RESERVE_BYTES = 512 * 1024 };

void json_memory_use(void);

/* From here on: has an allocation failed? */
void json_memory_begin(void);
bool json_memory_failed(void);
/* Note that something for a JSON text could not be made for lack of memory. */
void json_memory_miss(void);

/* Free what json_dumps() returned. */
void json_memory_free(void *pointer);

static inline void json_auto_free(void *pointer_to_pointer)
{
    void *pointer;

    memcpy(&pointer, pointer_to_pointer, sizeof(pointer));
    json_memory_free(pointer);
}

#define AUTO_JSON_TEXT __attribute__((cleanup(json_auto_free)))

#endif
