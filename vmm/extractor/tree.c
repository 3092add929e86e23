/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c: see tree.h. */
#include "extractor/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/num.h"
#include "base/sha256.h"
#include "base/text.h"
#include "extractor/fold.h"

enum { TREE_KEY_BYTES = 12 };

/* What is remembered of a name: bits of `value`, which is 0 in a free place. */
enum {
    TREE_USED = 1 << 0,
    TREE_DIR = 1 << 1,
    TREE_ALIAS_SHIFT = 2,
};

struct tree_key {
    uint8_t bytes[TREE_KEY_BYTES];
};

struct tree_slot {
    struct tree_key key;
    uint32_t value;
};

enum { KEY_BYTES = 32 };

static struct {
    bool drawn;
    uint8_t bytes[KEY_BYTES];
} process_key;

struct tree {
    struct sha256 keyed; /* has already taken the random key */
    uint32_t alias_count;
    uint64_t used_count;
    uint64_t slot_count; /* a power of two, at least twice what is used at most */
    struct tree_slot *slots;
};

/*
 * Two kinds of keys: TRUE is who a name is (its directory's true key, its own bytes); SHOWN is a
 * place in a directory that a file name takes (the directory's true key, the folded exported name).
 */
enum tree_domain { TREE_TRUE = 1, TREE_SHOWN = 2 };

static struct tree_key tree_hash(const struct tree *tree, enum tree_domain domain,
    const struct tree_key *parent, const uint8_t *bytes, size_t size)
{
    struct sha256 hash = tree->keyed;
    uint8_t digest[SHA256_BYTES];
    uint8_t kind = (uint8_t)domain;
    struct tree_key key;

    sha256_add(&hash, &kind, 1);
    sha256_add(&hash, parent->bytes, sizeof(parent->bytes));
    sha256_add(&hash, bytes, size);
    sha256_end(&hash, digest);
    memcpy(key.bytes, digest, sizeof(key.bytes));
    return key;
}

static struct tree_key tree_hash_shown(
    const struct tree *tree, const struct tree_key *parent, const uint8_t *component, size_t size)
{
    uint32_t folded[FOLD_MAX];
    size_t count = fold_name(folded, component, size);

    return tree_hash(tree, TREE_SHOWN, parent, (const uint8_t *)folded, count * sizeof(folded[0]));
}

/* The slot of KEY, or the free one where it belongs. Ends: at least half of the slots are free. */
static struct tree_slot *tree_slot(const struct tree *tree, const struct tree_key *key)
{
    uint64_t at = le64_load(key->bytes) & (tree->slot_count - 1);

    while (tree->slots[at].value != 0 &&
           memcmp(tree->slots[at].key.bytes, key->bytes, sizeof(key->bytes)) != 0)
        at = (at + 1) & (tree->slot_count - 1);
    return &tree->slots[at];
}

static void tree_put(struct tree *tree, const struct tree_key *key, uint32_t value)
{
    struct tree_slot *slot = tree_slot(tree, key);

    must(slot->value == 0 && tree->used_count < tree->slot_count / 2);
    slot->key = *key;
    slot->value = value | TREE_USED;
    tree->used_count++;
}

int tree_draw_key(struct err *err)
{
    if (!process_key.drawn && getrandom(process_key.bytes, KEY_BYTES, 0) != KEY_BYTES)
        return err_sys(err, "cannot get random bytes");
    process_key.drawn = true;
    return 0;
}

struct tree *tree_make(uint64_t entry_count, struct err *err)
{
    struct tree *tree;

    must(entry_count <= TREE_ENTRIES_MAX);
    if (tree_draw_key(err) < 0)
        return NULL;
    tree = calloc(1, sizeof(*tree));
    if (!tree) {
        err_sys(err, "no memory for the table of names");
        return NULL;
    }
    /* An entry takes two keys: its true one and its shown one. */
    tree->slot_count = 64;
    while (tree->slot_count < 4 * entry_count)
        tree->slot_count *= 2;
    tree->slots = calloc(tree->slot_count, sizeof(*tree->slots));
    if (!tree->slots) {
        err_sys(err, "no memory for a table of %llu names", (unsigned long long)entry_count);
        tree_free(tree);
        return NULL;
    }
    sha256_begin(&tree->keyed);
    sha256_add(&tree->keyed, process_key.bytes, KEY_BYTES);
    return tree;
}

void tree_free(struct tree *tree)
{
    if (!tree)
        return;
    free(tree->slots);
    free(tree);
}

/* A walk from the root to the directory of a name. */
struct walk {
    struct tree_key dir;      /* true key of the directory */
    const uint8_t *component; /* the last component */
    size_t component_bytes;
    char path[TREE_PATH_BYTES]; /* exported path so far, "" or with a '/' at its end */
    size_t path_bytes;
};

static void walk_append(struct walk *walk, const void *bytes, size_t size)
{
    must(size < sizeof(walk->path) - walk->path_bytes);
    memcpy(walk->path + walk->path_bytes, bytes, size);
    walk->path_bytes += size;
    walk->path[walk->path_bytes] = '\0';
}

static size_t alias_text(char text[TREE_ALIAS_BYTES], uint32_t number)
{
    int length = snprintf(text, TREE_ALIAS_BYTES, "f-%u", number);

    must(length > 0 && length < TREE_ALIAS_BYTES);
    return (size_t)length;
}

/* False when a component but the last is not a known directory. */
static bool tree_walk(const struct tree *tree, const uint8_t *name, size_t size, struct walk *walk)
{
    size_t at = 0;

    memset(&walk->dir, 0, sizeof(walk->dir));
    walk->path_bytes = 0;
    walk->path[0] = '\0';
    for (;;) {
        size_t length = name_component(name + at, size - at);
        char alias[TREE_ALIAS_BYTES];
        const struct tree_slot *slot;

        walk->component = name + at;
        walk->component_bytes = length;
        if (at + length == size)
            return true;
        walk->dir = tree_hash(tree, TREE_TRUE, &walk->dir, name + at, length);
        slot = tree_slot(tree, &walk->dir);
        if (!(slot->value & TREE_DIR))
            return false;
        if (slot->value >> TREE_ALIAS_SHIFT)
            walk_append(walk, alias, alias_text(alias, slot->value >> TREE_ALIAS_SHIFT));
        else
            walk_append(walk, name + at, length);
        walk_append(walk, "/", 1);
        at += length + 1;
    }
}

bool tree_has_dir(const struct tree *tree, const uint8_t *name, size_t size)
{
    struct walk walk;
    struct tree_key key;

    if (!tree_walk(tree, name, size, &walk))
        return false;
    key = tree_hash(tree, TREE_TRUE, &walk.dir, walk.component, walk.component_bytes);
    return tree_slot(tree, &key)->value & TREE_DIR;
}

/* Take the place of the exported name in its directory; false when it is taken. */
static bool tree_take_shown(
    struct tree *tree, const struct tree_key *dir, const uint8_t *shown, size_t size)
{
    struct tree_key key = tree_hash_shown(tree, dir, shown, size);

    if (tree_slot(tree, &key)->value != 0)
        return false;
    tree_put(tree, &key, 0);
    return true;
}

/* An alias that is free in DIR. Ends: no more names are taken than were added. */
static uint32_t tree_take_alias(
    struct tree *tree, const struct tree_key *dir, char alias[TREE_ALIAS_BYTES])
{
    for (;;) {
        size_t length = alias_text(alias, ++tree->alias_count);

        if (tree_take_shown(tree, dir, (const uint8_t *)alias, length))
            return tree->alias_count;
    }
}

static int tree_refuse(const uint8_t *name, size_t size, const char *rule, struct err *err)
{
    char shown[128];

    text_escape(shown, sizeof(shown), name, size);
    return err_set(err, "the name \"%s\" %s", shown, rule);
}

int tree_add(struct tree *tree, const uint8_t *name, size_t size, bool is_dir,
    struct tree_place *place, struct err *err)
{
    uint32_t value = is_dir ? TREE_DIR : 0;
    struct tree_key key;
    struct walk walk;

    if (!tree_walk(tree, name, size, &walk))
        return tree_refuse(name, size, "lies in a directory that was not declared", err);
    key = tree_hash(tree, TREE_TRUE, &walk.dir, walk.component, walk.component_bytes);
    if (tree_slot(tree, &key)->value != 0)
        return tree_refuse(name, size, "is there twice", err);
    place->alias[0] = '\0';
    if (!component_is_plain(walk.component, walk.component_bytes) ||
        !tree_take_shown(tree, &walk.dir, walk.component, walk.component_bytes)) {
        value |= tree_take_alias(tree, &walk.dir, place->alias) << TREE_ALIAS_SHIFT;
        walk_append(&walk, place->alias, strlen(place->alias));
    } else {
        walk_append(&walk, walk.component, walk.component_bytes);
    }
    tree_put(tree, &key, value);
    memcpy(place->path, walk.path, walk.path_bytes + 1);
    return 0;
}
