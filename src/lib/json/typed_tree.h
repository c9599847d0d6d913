/* SPDX-License-Identifier: Apache-2.0 */
/* typed_tree.h - trees with the types of their field table: the fields that a
 * tree sets, differences of two trees, merging, removing fields
 *
 * A value that the table declares atomic is one field; other lists and maps
 * have one field for each element. The results share parts with the input
 * trees.
 *
 * Thread: any.
 * Source: sigs.k8s.io/structured-merge-diff, package typed.
 */
#pragma once

#include "lib/json/field_set.h"

struct arena;
struct json;
struct record;

/* The fields that the tree sets. */
struct field_set *typed_tree_places(struct arena *arena, const struct record *record,
                                    const struct json *tree);

/* The differences of the second tree from the first. */
struct typed_difference {
    struct field_set *removed;
    struct field_set *modified;
    struct field_set *added;
};
void typed_tree_compare(struct arena *arena, const struct record *record, const struct json *was,
                        const struct json *is, struct typed_difference *ret_difference);

/* Merges `above` over `below`. */
struct json *typed_tree_merge(struct arena *arena, const struct record *record,
                              const struct json *below, const struct json *above);

/* The tree without those fields and the fields below them. A container that
 * becomes empty is replaced by null.
 */
struct json *typed_tree_remove(struct arena *arena, const struct record *record,
                               const struct json *tree, const struct field_set *places);

/* The set, extended by the struct members on the paths to its fields. */
struct field_set *typed_tree_complete(struct arena *arena, const struct record *record,
                                      const struct field_set *set);
