/* SPDX-License-Identifier: Apache-2.0 */
/* object_map.h - objects of one kind by their own namespace and name
 *
 * A map that does not copy its keys: sixteen bytes per slot. The owner of the
 * map holds the references; the map only has pointers.
 *
 * Thread:  one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct object;
struct object_map;

/* Life. Free releases no object. */
void object_map_free(struct object_map *m);
struct object_map *object_map_new(void) OWNED_BY(object_map_free);
DEFINE_CLEANUP(struct object_map, object_map_free)

/* Put and remove return the object that had the key before, or NULL.
 * Both may be called during a walk: a removed object does not appear any more,
 * an added one may or may not appear.
 */
const struct object *object_map_put(struct object_map *m, const struct object *object);
const struct object *object_map_remove(struct object_map *m, const char *namespace,
                                       const char *name);

/* `namespace` NULL: cluster-scoped. For next, `at` begins at 0; it
 * returns false after the last object.
 */
const struct object *object_map_find(const struct object_map *m, const char *namespace,
                                     const char *name);
size_t object_map_count(const struct object_map *m);
bool object_map_next(const struct object_map *m, size_t *at, const struct object **ret_object);
