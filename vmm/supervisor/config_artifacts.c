/* SPDX-License-Identifier: Apache-2.0 */
/* config_artifacts.c: values of [artifacts] that are more than a path or a number (supervisor). */
#include <string.h>

#include "supervisor/artifact_type.h"
#include "supervisor/config_keys.h"
#include "supervisor/config_value.h"
#include "supervisor/nearest.h"

/* ARTIFACT_DATA is what is left when nothing fits: not for a user to ask for. */
static int parse_type(const char *word, uint32_t *types, struct err *err)
{
    const char *near = NULL;

    for (uint32_t type = ARTIFACT_DATA + 1; type < ARTIFACT_TYPES; type++) {
        const char *name = artifact_type_name(type);

        if (strcmp(name, word) == 0) {
            *types |= 1U << type;
            return 0;
        }
        near = nearest(near, name, word);
    }
    return err_set(err, "unknown type %.40s%s%s%s; it must be png, jpeg, pdf, csv, json or text",
        word, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

int parse_artifact_types(struct config *config, const struct config_key *row,
    const struct config_item *item, struct err *err)
{
    struct text_list words = {0};
    int failed = value_list(item->value, &words, err);

    (void)row;
    config->artifacts_types = 0;
    if (failed == 0 && words.count == 0)
        failed = err_set(err, "it is empty; leave it out when any content will do");
    for (size_t i = 0; failed == 0 && i < words.count; i++)
        failed = parse_type(words.items[i], &config->artifacts_types, err);
    text_list_free(&words);
    return failed;
}
