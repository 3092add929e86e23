/* SPDX-License-Identifier: Apache-2.0 */
/* names.c: see names.h. Input is what the guest calls its files: hostile. */
#include "extractor/names.h"

#include <string.h>

#include "base/text.h"

size_t name_component(const uint8_t *name, size_t size)
{
    const uint8_t *slash = memchr(name, '/', size);

    return slash ? (size_t)(slash - name) : size;
}

static enum name_verdict name_refuse(
    const uint8_t *name, size_t size, const char *rule, struct err *err)
{
    char shown[128];

    text_escape(shown, sizeof(shown), name, size);
    err_set(err, "the name \"%s\" %s", shown, rule);
    return NAME_BROKEN;
}

enum name_verdict name_judge(const uint8_t *name, size_t size, uint32_t max_depth, struct err *err)
{
    uint32_t depth = 0;
    bool too_long = size > NAME_MAX_BYTES;
    size_t at = 0;

    if (size == 0)
        return name_refuse(name, size, "is empty", err);
    if (name[0] == '/')
        return name_refuse(name, size, "is an absolute path", err);
    /* One turn more than there are slashes: an empty component after the last one is seen too. */
    for (;;) {
        size_t length = name_component(name + at, size - at);

        if (length == 0)
            return name_refuse(name, size, "has an empty component", err);
        if (length <= 2 && memcmp(name + at, "..", length) == 0)
            return name_refuse(name, size, "has a \".\" or \"..\" component", err);
        if (length > NAME_COMPONENT_MAX_BYTES)
            too_long = true;
        depth++;
        at += length;
        if (at == size)
            break;
        at++;
    }
    if (too_long)
        return NAME_TOO_LONG;
    return depth > max_depth || depth > NAME_DEPTH_MAX ? NAME_TOO_DEEP : NAME_GOOD;
}

bool component_is_plain(const uint8_t *component, size_t size)
{
    size_t at = 0;

    while (at < size) {
        size_t length = text_utf8_length(component + at, size - at);

        if (length == 0 || text_utf8_is_control(component + at, length))
            return false;
        at += length;
    }
    return true;
}
