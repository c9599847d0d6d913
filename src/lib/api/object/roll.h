/* SPDX-License-Identifier: Apache-2.0 */
/* roll.h - objects of one kind by namespace and name, which are their own
 *
 * A map that needs no copy of its keys: sixteen bytes a place. The references
 * are whose the roll is; it only points.
 *
 * Thread:  one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct object;
struct roll;

/* Life. Free lets go of no object. */
void roll_free(struct roll *r);
struct roll *roll_new(void) OWNED_BY(roll_free);
DEFINE_CLEANUP(struct roll, roll_free)

/* Change. Put returns what stood there, or NULL; remove what stood there. Both
 * may be called while the roll is walked: what is removed does not come any
 * more, what is put may or may not.
 */
const struct object *roll_put(struct roll *r, const struct object *object);
const struct object *
roll_remove(struct roll *r, const char *namespace, const char *name);

/* Look. NULL namespace: none. Next begins at 0, and goes on while true. */
const struct object *
roll_find(const struct roll *r, const char *namespace, const char *name);
size_t roll_count(const struct roll *r);
bool
roll_next(const struct roll *r, size_t *at, const struct object **ret_object);
