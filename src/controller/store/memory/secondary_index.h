/* SPDX-License-Identifier: Apache-2.0 */
/* secondary_index.h - the objects that have a value: a hash from values to
 * entries
 *
 * An entry is in the index with the value of each of its heads, and once if
 * these agree. The index does not store values but computes them again from the
 * objects, so that a hundred thousand distinct values cost little memory.
 *
 * Thread:     the loop's.
 * Invariant:  a value's entries for head h are those whose heads[h] has it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/store/memory/store_types.h"
#include "lib/base/macro.h"

struct entry;
struct kind_index;
struct secondary_index;

/* Life. `slot` is the index's position in an entry's postings. */
void secondary_index_free(struct secondary_index *l);
struct secondary_index *secondary_index_new(const struct kind_index *index, unsigned slot)
    OWNED_BY(secondary_index_free);

/* Called just before the object (or NULL) is set as the entry's head.
 */
void secondary_index_set(struct secondary_index *l, struct entry *entry, enum store_head head,
                         const struct object *object);

/* The visitor must not change the index. */
void secondary_index_visit(const struct secondary_index *l, enum store_head head, const char *value,
                           store_visit_fn *visit, void *context);
