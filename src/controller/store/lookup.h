/* SPDX-License-Identifier: Apache-2.0 */
/* lookup.h - which objects have a value: a hash from values to entries
 *
 * An entry stands under the value of each head, once when they agree. Values
 * are not kept but asked of the objects again, so that a hundred thousand
 * distinct ones cost little.
 *
 * Thread:     the loop's.
 * Invariant:  under head h stand the entries whose heads[h] has the value.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/store/store.h"
#include "lib/base/macro.h"

struct entry;
struct lookup;

/* Life. `slot` is the lookup's place in an entry's postings. */
void lookup_free(struct lookup *l);
struct lookup *lookup_new(const struct store_index *index, unsigned slot)
    OWNED_BY(lookup_free);

/* Change: called just before the entry's head becomes the object (or NULL). */
void lookup_set(struct lookup *l,
                struct entry *entry,
                enum store_head head,
                const struct object *object);

/* Look. The visitor changes nothing in here. */
void lookup_visit(const struct lookup *l,
                  enum store_head head,
                  const char *value,
                  store_visit_fn *visit,
                  void *context);

bool lookup_is_of(const struct lookup *l, const struct kind *kind);

/* The object's value, or NULL; of a NULL object too. */
const char *lookup_value(const struct lookup *l,
                         const struct object *object,
                         char buffer[64]);
