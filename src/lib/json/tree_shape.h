/* SPDX-License-Identifier: Apache-2.0 */
/* tree_shape.h - how a value of a typed tree is owned by field managers: as one
 * field, or by its members or elements one by one, and what these are called
 *
 * Thread: any.
 * Source: sigs.k8s.io/structured-merge-diff.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct field;
struct json;
struct record;

struct tree_shape {
    enum {
        SHAPE_LEAF,
        SHAPE_STRUCT,
        SHAPE_MAP,
        SHAPE_SET,
        SHAPE_LIST, /* of structs that keys tell apart */
    } form;
    const struct record *of; /* STRUCT; the elements of LIST, perhaps of MAP */
    const char *keys;        /* LIST: "containerPort,protocol" */
};

/* The field of a struct, or NULL. */
const struct field *tree_shape_field(const struct tree_shape *shape,
                                     const char *name);
struct tree_shape tree_shape_of_member(const struct tree_shape *shape,
                                       const char *name);
struct tree_shape tree_shape_of_element(const struct tree_shape *shape);
bool tree_shape_is_list(const struct tree_shape *shape);

/* The value as far as it is what the shape wants; else NULL, as good as empty. */
const struct json *tree_shape_fit(const struct tree_shape *shape,
                                  const struct json *value);

/* Elements of paths, in the arena: "f:name"; "v:1", "k:{...}". */
const char *tree_element_of_member(struct arena *arena, const char *name);
const char *tree_element_of_item(struct arena *arena,
                                 const struct tree_shape *shape,
                                 const struct json *item);

/* Those of a list, and where each stands. */
struct tree_elements {
    const char **names; /* in the list's order */
    struct stand {
        const char *name;
        uint32_t at;
    } * sorted;
    uint32_t count;
};

struct tree_elements tree_elements_of(struct arena *arena,
                                      const struct tree_shape *shape,
                                      const struct json *list);

/* The first that stands for the element, or -1. */
int64_t tree_elements_find(const struct tree_elements *e, const char *element);
