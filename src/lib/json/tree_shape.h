/* SPDX-License-Identifier: Apache-2.0 */
/* tree_shape.h - how field managers own a value of a typed tree: as one field,
 * or by its members or elements separately; and the path elements of these
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
        SHAPE_LIST, /* of structs identified by keys */
    } form;
    const struct record *of; /* of a STRUCT; of the elements of a LIST, or of a
                              * MAP */
    const char *keys;        /* LIST: "containerPort,protocol" */
};

/* The field of a struct, or NULL. */
const struct field *tree_shape_field(const struct tree_shape *shape, const char *name);
struct tree_shape tree_shape_of_member(const struct tree_shape *shape, const char *name);
struct tree_shape tree_shape_of_element(const struct tree_shape *shape);
bool tree_shape_is_list(const struct tree_shape *shape);

/* The value if it has the JSON type of the shape; otherwise NULL, which counts
 * as empty.
 */
const struct json *tree_shape_fit(const struct tree_shape *shape, const struct json *value);

/* Path elements, in the arena: "f:name"; "v:1", "k:{...}". */
const char *tree_element_of_member(struct arena *arena, const char *name);
const char *tree_element_of_item(struct arena *arena, const struct tree_shape *shape,
                                 const struct json *item);

/* The path elements of a list, and the index of each item. */
struct tree_elements {
    const char **names; /* in the list's order */
    struct stand {
        const char *name;
        uint32_t at;
    } * sorted;
    uint32_t count;
};

struct tree_elements tree_elements_of(struct arena *arena, const struct tree_shape *shape,
                                      const struct json *list);

/* The index of the first item with that element, or -1. */
int64_t tree_elements_find(const struct tree_elements *e, const char *element);
