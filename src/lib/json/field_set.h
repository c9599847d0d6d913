/* SPDX-License-Identifier: Apache-2.0 */
/* field_set.h - a set of fields of an object, such as those that a manager owns
 *
 * A tree of path elements in the syntax of FieldsV1: "f:NAME" a member,
 * "k:{...}" an element of a list by its keys, "v:..." one by its value, "i:N"
 * one by its index. An element is a member of the set, or is only on the path
 * to members. All memory is from the arena passed in, and sets share parts:
 * change a set only while it is being built.
 *
 * Thread: one at a time; sets live in one arena.
 * Source: sigs.k8s.io/structured-merge-diff, package fieldpath.
 */
#pragma once

#include <stdbool.h>

struct arena;
struct error;
struct json;

struct field_set {
    const char *element; /* NULL: the root */
    bool is_member;
    struct field_set **children; /* sorted by element */
    unsigned count, capacity;
};

/* Build. Make returns the child and creates it if it is missing. Insert adds a
 * path of elements.
 */
struct field_set *field_set_new(struct arena *arena);
struct field_set *field_set_make(struct arena *arena, struct field_set *set, const char *element);
void field_set_insert(struct arena *arena, struct field_set *set, const char *const *path,
                      unsigned n);

/* Both accept NULL. */
const struct field_set *field_set_find(const struct field_set *set, const char *element);
bool field_set_is_empty(const struct field_set *set);

/* Combine. Difference removes the fields of `b`; without also removes the
 * fields below them.
 */
struct field_set *field_set_union(struct arena *arena, const struct field_set *a,
                                  const struct field_set *b);
struct field_set *field_set_intersection(struct arena *arena, const struct field_set *a,
                                         const struct field_set *b);
struct field_set *field_set_difference(struct arena *arena, const struct field_set *a,
                                       const struct field_set *b);
struct field_set *field_set_without(struct arena *arena, const struct field_set *a,
                                    const struct field_set *b);

/* FieldsV1. Decode: -EINVAL for a value that is not FieldsV1. */
int field_set_decode(struct arena *arena, const struct json *fields, struct field_set **ret_set,
                     struct error *err);
struct json *field_set_encode(struct arena *arena, const struct field_set *set);

/* Visits each field of the set with a readable path:
 * `.spec.containers[name="a"].image`.
 */
typedef void field_set_visit_fn(const char *path, void *context);
void field_set_visit(const struct field_set *set, field_set_visit_fn *visit, void *context);
