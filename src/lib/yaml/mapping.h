/* SPDX-License-Identifier: Apache-2.0 */
/* mapping.h - the members of an object while it is being read
 *
 * Finds duplicates in constant time. Members from merge keys (<<) are kept
 * until the mapping's own members, which take precedence, are known.
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
    struct map *names; /* name to index + 1; NULL while there are few */
    const struct json **merged;
    size_t n_merged;
    size_t merged_capacity;
};

/* Life. Initialize it with {0}; finish makes the object. */
void mapping_fini(struct mapping *m);
struct json *mapping_finish(struct mapping *m, struct arena *arena);

/* Add does not check for duplicates; merge takes an object, and the
 * object merged first takes precedence. Names and values are borrowed.
 */
void mapping_add(struct mapping *m, const char *name, struct json *value);
void mapping_merge(struct mapping *m, const struct json *object);

/* The member, valid until the next change, or NULL. */
struct json_member *mapping_find(struct mapping *m, const char *name);
