/* SPDX-License-Identifier: Apache-2.0 */
/* field_set.h - a set of places in an object: what somebody owns of it
 *
 * A tree of path elements, each in the words of FieldsV1: "f:NAME" a member,
 * "k:{...}" an element of a list by its keys, "v:..." one by its value,
 * "i:N" one by its place. An element is in the set itself, or only leads to
 * others that are. Everything is in the arena given, and sets share parts:
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
    struct field_set **children; /* in order of their elements */
    unsigned count, capacity;
};

/* Build. Make: the child, new if need be. Insert: a path of elements. */
struct field_set *field_set_new(struct arena *arena);
struct field_set *
field_set_make(struct arena *arena, struct field_set *set, const char *element);
void field_set_insert(struct arena *arena,
                      struct field_set *set,
                      const char *const *path,
                      unsigned n);

/* Look. Both take NULL. */
const struct field_set *field_set_find(const struct field_set *set,
                                       const char *element);
bool field_set_is_empty(const struct field_set *set);

/* Combine. Difference takes away the places of `b`; without also takes what
 * lies below them.
 */
struct field_set *field_set_union(struct arena *arena,
                                  const struct field_set *a,
                                  const struct field_set *b);
struct field_set *field_set_intersection(struct arena *arena,
                                         const struct field_set *a,
                                         const struct field_set *b);
struct field_set *field_set_difference(struct arena *arena,
                                       const struct field_set *a,
                                       const struct field_set *b);
struct field_set *field_set_without(struct arena *arena,
                                    const struct field_set *a,
                                    const struct field_set *b);

/* FieldsV1. Decode: -EINVAL for what is none. */
int field_set_decode(struct arena *arena,
                     const struct json *fields,
                     struct field_set **ret_set,
                     struct error *err);
struct json *field_set_encode(struct arena *arena, const struct field_set *set);

/* Each place of the set as people read it: `.spec.containers[name="a"].image`.
 */
typedef void field_set_visit_fn(const char *path, void *context);
void field_set_visit(const struct field_set *set,
                     field_set_visit_fn *visit,
                     void *context);
