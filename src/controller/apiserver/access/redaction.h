/* SPDX-License-Identifier: Apache-2.0 */
/* redaction.h - a pod or job as other users may see it
 *
 * Shape, state, owner, node and times stay; command, environment, script,
 * paths and output go.
 *
 * Thread:  the loop's.
 */
#pragma once

struct arena;
struct json;
struct object;

/* The tree of the object without what is its owner's. In the arena. */
struct json *redaction_tree(struct arena *arena, const struct object *object);
