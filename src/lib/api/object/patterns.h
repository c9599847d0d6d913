/* SPDX-License-Identifier: Apache-2.0 */
/* patterns.h - objects that others of their kind are held beside
 *
 * Most objects repeat another: jobs of one user, pods of one job, leases of
 * nodes. One of each sort is kept whole; of the others only what differs from
 * it is held (object_new_beside). For each kind, namespace and user the last
 * few that nothing was like are remembered.
 *
 * Owns:    references to the patterns it remembers; each object holds one to
 *          its own pattern, remembered or not.
 * Thread:  one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct json;
struct kind;
struct object;
struct patterns;

/* Life */
void patterns_free(struct patterns *p);
struct patterns *patterns_new(void) OWNED_BY(patterns_free);
DEFINE_CLEANUP(struct patterns, patterns_free)

/* A text as it is held beside a pattern. Borrowed until the next call. */
struct packing {
    const struct object *beside;
    const char *packed;
    size_t length;
};

/* Looks for one that the text is like. False: there is none, and the object
 * with that text should be added.
 */
bool patterns_pack(struct patterns *p,
                   const struct kind *kind,
                   const struct json *tree,
                   const char *text,
                   size_t length,
                   struct packing *ret);
void patterns_add(struct patterns *p,
                  const struct json *tree,
                  const struct object *object);
