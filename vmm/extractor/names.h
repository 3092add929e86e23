/* SPDX-License-Identifier: Apache-2.0 */
/* names.h: what a name in the archive may be (extractor). Pure; names are hostile bytes without
 * NUL. */
#ifndef VMM_EXTRACTOR_NAMES_H
#define VMM_EXTRACTOR_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    NAME_MAX_BYTES = 1024,          /* of a whole path */
    NAME_COMPONENT_MAX_BYTES = 255, /* NAME_MAX of Linux */
    NAME_DEPTH_MAX = 128,           /* components; the setup may ask for fewer, not for more */
};

enum name_verdict {
    NAME_GOOD = 1,
    NAME_TOO_LONG = 2, /* path or component: skipped, and so is everything below it */
    NAME_TOO_DEEP = 3, /* the same */
    NAME_BROKEN = 4,   /* not a relative path of plain components: ERR says which rule */
};

/* A path of at most MAX_DEPTH components. */
enum name_verdict name_judge(const uint8_t *name, size_t size, uint32_t max_depth, struct err *err);

/* Bytes up to the next '/' or to the end. */
size_t name_component(const uint8_t *name, size_t size);

/* True when a component may be a file name on the host: UTF-8 without controls (text.h). */
bool component_is_plain(const uint8_t *component, size_t size);

#endif
