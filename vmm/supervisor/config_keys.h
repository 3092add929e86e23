/* SPDX-License-Identifier: Apache-2.0 */
/* config_keys.h: the table of all keys, private to config.c and config_keys.c (supervisor). */
#ifndef VMM_SUPERVISOR_CONFIG_KEYS_H
#define VMM_SUPERVISOR_CONFIG_KEYS_H

#include "supervisor/config.h"

/* One assignment, from a line of the file or from --set. */
struct config_item {
    const char *key; /* as written; differs from the row's in [env], [input] and argv.N */
    const char *value;
    const char *where; /* "task.ini:14" or "--set" */
    bool replaces;     /* may replace an earlier value of the same key */
};

struct config_word {
    const char *word; /* NULL ends the list */
    uint32_t value;
};

struct config_key {
    const char *section;
    const char *key; /* "*": any name; "argv.N": numbered */
    int (*parse)(struct config *config, const struct config_key *row,
        const struct config_item *item, struct err *err);
    size_t offset;                   /* of the field, for the plain parsers */
    uint64_t min, max;               /* of the field, for numbers */
    const struct config_word *words; /* for choices */
    const char *fallback;            /* parsed when the key is absent; NULL: nothing is */
    const char *help;
};

/* config_artifacts.c: names of types of content. */
int parse_artifact_types(struct config *config, const struct config_key *row,
    const struct config_item *item, struct err *err);

extern const struct config_key config_keys[];
extern const size_t config_key_count;

/* The row for KEY in SECTION; NULL when there is none. */
const struct config_key *config_key_find(const char *section, const char *key);

/* In config_value.c: "FIRST-LAST", user IDs; both ends count. */
int config_parse_uids(struct config *config, const struct config_key *row,
    const struct config_item *item, struct err *err);

#endif
