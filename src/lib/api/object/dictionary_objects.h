/* SPDX-License-Identifier: Apache-2.0 */
/* dictionary_objects.h - objects that others are compressed against
 *
 * Most objects repeat another: jobs of one user, pods of one job, leases of
 * nodes. One of each sort is kept whole; of the others only what differs from
 * it is held (object_new_packed). For each kind, namespace and user the last
 * few that nothing was like are remembered.
 *
 * Owns:    references to the dictionaries it remembers; each object holds one
 *          to its own dictionary, remembered or not.
 * Thread:  one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct json;
struct kind;
struct object;
struct dictionary_objects;

/* Life */
void dictionary_objects_free(struct dictionary_objects *p);
struct dictionary_objects *dictionary_objects_new(void)
    OWNED_BY(dictionary_objects_free);
DEFINE_CLEANUP(struct dictionary_objects, dictionary_objects_free)

/* A text, compressed against that of another object. Borrowed until the next
 * call.
 */
struct packed_text {
    const struct object *beside;
    const char *packed;
    size_t length;
};

/* Looks for one that the text is like. False: there is none, and the object
 * with that text should be added.
 */
bool dictionary_objects_pack(struct dictionary_objects *p,
                             const struct kind *kind,
                             const struct json *tree,
                             const char *text,
                             size_t length,
                             struct packed_text *ret);

/* The same for what becomes of an object. */
bool dictionary_objects_pack_next(struct dictionary_objects *p,
                                  const struct object *before,
                                  const char *text,
                                  size_t length,
                                  struct packed_text *ret);
void dictionary_objects_add(struct dictionary_objects *p,
                            const struct json *tree,
                            const struct object *object);
