/* SPDX-License-Identifier: Apache-2.0 */
/* event_guard_fuzz.c: a line that passes is one member of an object, and has one of three names. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/err.h"
#include "supervisor/event_guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *object;
    json_t *root;

    if (!event_guard_passes(data, size))
        return 0;
    object = malloc(size + 3);
    must(object != NULL);
    object[0] = '{';
    memcpy(object + 1, data, size);
    memcpy(object + 1 + size, "}", 2);
    root = json_loadb(object, size + 2, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    must(root != NULL && json_object_size(root) == 1);
    must(json_object_get(root, "text") || json_object_get(root, "b64") ||
         json_object_get(root, "cut"));
    json_decref(root);
    free(object);
    return 0;
}
