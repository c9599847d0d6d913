/* SPDX-License-Identifier: Apache-2.0 */
/* typed_tree.h - trees by the types of their field table: which places they
 * fill, how two differ, one laid over the other, one without some places
 *
 * What a table says is atomic is one place; other lists and maps have one for
 * each element. The results share parts with the trees given.
 *
 * Thread: any.
 * Source: sigs.k8s.io/structured-merge-diff, package typed.
 */
#pragma once

#include "lib/json/field_set.h"

struct arena;
struct json;
struct record;

/* The places that the tree fills. */
struct field_set *typed_tree_places(struct arena *arena,
                                    const struct record *record,
                                    const struct json *tree);

/* How the second differs from the first. */
struct typed_difference {
    struct field_set *removed;
    struct field_set *modified;
    struct field_set *added;
};
void typed_tree_compare(struct arena *arena,
                        const struct record *record,
                        const struct json *was,
                        const struct json *is,
                        struct typed_difference *ret_difference);

/* The second laid over the first. */
struct json *typed_tree_merge(struct arena *arena,
                              const struct record *record,
                              const struct json *below,
                              const struct json *above);

/* The tree without those places and what lies below them. A container that is
 * empty then becomes null.
 */
struct json *typed_tree_remove(struct arena *arena,
                               const struct record *record,
                               const struct json *tree,
                               const struct field_set *places);

/* The set with the members of structs that lead to its places. */
struct field_set *typed_tree_complete(struct arena *arena,
                                      const struct record *record,
                                      const struct field_set *set);
