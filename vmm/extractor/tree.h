/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.h: which names there are already, and where each of them is exported (extractor). Names are
 * hostile; those that arrive here are NAME_GOOD (names.h).
 *
 * Memory is fixed when the tree is made: names are remembered as keyed hashes of 96 bits in a table
 * of open addressing. The key is random, so that a guest can neither make two names meet nor fill
 * one place of the table.
 *
 * A name is exported where it says, but for a component that is not plain text or that differs from
 * a neighbour in case or normal form only (fold.h): that one is called f-N, N counting up over the
 * whole archive, and what is below it lies in f-N too.
 */
#ifndef VMM_EXTRACTOR_TREE_H
#define VMM_EXTRACTOR_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "extractor/names.h"

enum {
    TREE_ENTRIES_MAX = 65536,
    TREE_ALIAS_BYTES = 16, /* "f-65536" and more, with its terminator */
    /* At worst every component is a short one that became an alias. */
    TREE_PATH_BYTES = NAME_MAX_BYTES + NAME_DEPTH_MAX * TREE_ALIAS_BYTES + 1,
};

struct tree;

/* Where a name is exported. */
struct tree_place {
    char path[TREE_PATH_BYTES];   /* below the output directory, terminated */
    char alias[TREE_ALIAS_BYTES]; /* what the last component is called instead, or "" */
};

/*
 * Draw the key of all tables of this process, once. tree_make() does it where nobody did; a process
 * whose jail has no getrandom() does it before.
 */
int tree_draw_key(struct err *err);

/* Room for ENTRY_COUNT names, at most TREE_ENTRIES_MAX. Freed by tree_free(), which takes NULL. */
struct tree *tree_make(uint64_t entry_count, struct err *err);
void tree_free(struct tree *tree);

/* True when NAME was added as a directory. */
bool tree_has_dir(const struct tree *tree, const uint8_t *name, size_t size);

/*
 * Add a name, which must not be there yet and whose directory must be. The caller counts: no more
 * than ENTRY_COUNT are added.
 */
int tree_add(struct tree *tree, const uint8_t *name, size_t size, bool is_dir,
    struct tree_place *place, struct err *err);

#endif
