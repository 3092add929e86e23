/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mem.h: memory that frees itself (all processes).
 *
 *     AUTO_FREE char *text = strdup("x");   freed when it leaves scope
 *     return take(&text);                   handed over instead
 */
#ifndef VMM_BASE_MEM_H
#define VMM_BASE_MEM_H

#include <stdlib.h>
#include <string.h>

static inline void mem_auto_free(void *pointer_to_pointer)
{
    void *pointer;

    memcpy(&pointer, pointer_to_pointer, sizeof(pointer));
    free(pointer);
}

#define AUTO_FREE __attribute__((cleanup(mem_auto_free)))

/* The value of *POINTER, which becomes NULL. */
#define take(pointer)                                                                              \
    __extension__({                                                                                \
        __typeof__(*(pointer)) taken_ = *(pointer);                                                \
        *(pointer) = NULL;                                                                         \
        taken_;                                                                                    \
    })

#endif
