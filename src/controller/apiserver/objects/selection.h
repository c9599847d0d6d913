/* SPDX-License-Identifier: Apache-2.0 */
/* selection.h - finds the objects that a request selects, in the cheapest way
 *
 * Objects are found by name, by an index of the store, or by visiting all of
 * the kind in order. Lists, deletions of collections and the first state of a
 * watch use this.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/api/object/object.h"

struct request;

/* Whether the object is in the request's namespace and matches its selectors.
 */
bool selection_has(const struct request *q, const struct object *object);

typedef bool selection_visit_fn(const struct object *object, void *context);

/* Visits all published objects that the request may select, until `visit`
 * returns false: those from an index, or all of the namespace. The caller
 * checks labels and fields.
 */
void selection_visit_candidates(const struct request *q, selection_visit_fn *visit, void *context);

/* How far a selection was visited. Starts zeroed, or with a key. */
struct selection_place {
    char after[OBJECT_KEY_SIZE]; /* a key; "": at the beginning, or at the end
                                  */
    bool is_in_order;            /* an index has too many: visit all of the kind */
};

/* Visits the objects that the request selects after `place`, in the order of
 * keys, at `revision` (0: now), until `visit` returns false. At most `most`
 * objects are examined; the result of an index is visited whole unless it has
 * thousands. `place` is set to where the next call continues. Returns -ESTALE
 * as store_list.
 */
int selection_visit_some(const struct request *q, struct selection_place *place, int64_t revision,
                         size_t most, selection_visit_fn *visit, void *context);

/* Finds the index of the kind that answers the request's field selector, and
 * its value. Returns -1 if there is none.
 */
int selection_find_index(const struct request *q, const char **ret_value);
