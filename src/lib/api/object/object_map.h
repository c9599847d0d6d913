/* SPDX-License-Identifier: Apache-2.0 */
/* object_map.h - objects of one kind by their own namespace and name
 *
 * A map that needs no copy of its keys: sixteen bytes a place. The owner of
 * the map holds the references; the map only points.
 *
 * Thread:  one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct object;
struct object_map;

/* Life. Free lets go of no object. */
void object_map_free(struct object_map *r);
struct object_map *object_map_new(void) OWNED_BY(object_map_free);
DEFINE_CLEANUP(struct object_map, object_map_free)

/* Change. Put returns what stood there, or NULL; remove what stood there. Both
 * may be called while the object_map is walked: what is removed does not come
 * any more, what is put may or may not.
 */
const struct object *object_map_put(struct object_map *r,
                                    const struct object *object);
const struct object *object_map_remove(struct object_map *r,
                                       const char *namespace,
                                       const char *name);

/* Look. NULL namespace: none. Next begins at 0, and goes on while true. */
const struct object *object_map_find(const struct object_map *r,
                                     const char *namespace,
                                     const char *name);
size_t object_map_count(const struct object_map *r);
bool object_map_next(const struct object_map *r,
                     size_t *at,
                     const struct object **ret_object);
