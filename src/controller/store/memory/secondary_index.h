/* SPDX-License-Identifier: Apache-2.0 */
/* secondary_index.h - which objects have a value: a hash from values to entries
 *
 * An entry stands under the value of each of its heads, and once when these
 * agree. The index does not keep values but computes them from the objects
 * again, so that a hundred thousand distinct ones cost little.
 *
 * Thread:     the loop's.
 * Invariant:  under head h stand the entries whose heads[h] has the value.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/store/memory/store_types.h"
#include "lib/base/macro.h"

struct entry;
struct kind_index;
struct secondary_index;

/* Life. `slot` is the index's place in an entry's postings. */
void secondary_index_free(struct secondary_index *l);
struct secondary_index *secondary_index_new(const struct kind_index *index,
                                            unsigned slot)
    OWNED_BY(secondary_index_free);

/* Change: called just before the entry's head becomes the object (or NULL). */
void secondary_index_set(struct secondary_index *l,
                         struct entry *entry,
                         enum store_head head,
                         const struct object *object);

/* Look. The visitor changes nothing in here. */
void secondary_index_visit(const struct secondary_index *l,
                           enum store_head head,
                           const char *value,
                           store_visit_fn *visit,
                           void *context);
