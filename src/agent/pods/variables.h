/* SPDX-License-Identifier: Apache-2.0 */
/* variables.h - environment variables in the order of insertion, each name once
 *
 * Thread: any, one at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct arena;
struct map;

/* The texts are in the arena. */
struct variables {
    struct arena *arena;
    struct map *places; /* name to index + 1 */
    const char **items; /* "NAME=value" */
    size_t count, capacity;
};

void variables_init(struct variables *v, struct arena *arena);
void variables_fini(struct variables *v);

/* variables_set replaces a former value; variables_find returns NULL for an
 * unset name.
 */
void variables_set(struct variables *v, const char *name, const char *value);
void variables_set_number(struct variables *v, const char *name, int64_t n);
const char *variables_find(const struct variables *v, const char *name);
