/* SPDX-License-Identifier: Apache-2.0 */
/* selection.h - which objects a selection means, found the cheapest way
 *
 * Objects are found by name, by an index of the store, or by going through all
 * of the kind in order. Lists, deletions of collections and the first state of
 * a watch use it.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/api/object/object.h"

struct request;

/* Whether it is in the request's namespace and selectors. */
bool selection_has(const struct request *q, const struct object *object);

typedef bool selection_visit_fn(const struct object *object, void *context);

/* Visits all that may be selected, now, until false: those that an index finds,
 * or all of the namespace; labels and fields are yet to be looked at.
 */
void selection_visit_candidates(const struct request *q,
                                selection_visit_fn *visit,
                                void *context);

/* How far a selection was visited. Begins zeroed, or with a key. */
struct selection_place {
    char after[OBJECT_KEY_SIZE]; /* "": at the beginning, or at the end */
    bool is_in_order; /* an index has too many: all of the kind are visited */
};

/* Visits what the request selects, in order of keys, behind the place, at
 * `revision` (0: now), until false. No more than so many objects are looked at;
 * what an index answers is visited whole, unless it is thousands. The place
 * becomes the one to go on from. -ESTALE as store_list.
 */
int selection_visit_some(const struct request *q,
                         struct selection_place *place,
                         int64_t revision,
                         size_t most,
                         selection_visit_fn *visit,
                         void *context);

/* Which of the kind's indexes answers the request's field selector, and the
 * value: -1 if there is none.
 */
int selection_find_index(const struct request *q, const char **ret_value);
