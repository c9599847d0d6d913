/* SPDX-License-Identifier: Apache-2.0 */
/* mapping.h - the members of an object while it is being read
 *
 * It finds duplicates in constant time however many members there are, and
 * keeps the members that merge keys (<<) bring until the mapping's own members
 * are known, which take precedence.
 *
 * Thread:  one at a time.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct arena;
struct json;
struct json_member;
struct map;

struct mapping {
    struct json_member *members;
    size_t count;
    size_t capacity;
    struct map *names; /* name to place + 1; NULL while there are few */
    const struct json **merged;
    size_t n_merged;
    size_t merged_capacity;
};

/* Life: starts as {0}; finish makes the object. */
void mapping_fini(struct mapping *m);
struct json *mapping_finish(struct mapping *m, struct arena *arena);

/* Change. Add does not look for the name; merge takes an object, of which the
 * first to be merged counts first. Names and values are borrowed.
 */
void mapping_add(struct mapping *m, const char *name, struct json *value);
void mapping_merge(struct mapping *m, const struct json *object);

/* Look: the member, until the next change, or NULL. */
struct json_member *mapping_find(struct mapping *m, const char *name);
