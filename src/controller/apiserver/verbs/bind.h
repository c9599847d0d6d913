/* SPDX-License-Identifier: Apache-2.0 */
/* bind.h - what a binding writes
 *
 * Called by:  held_pods.c.
 * Thread:     the loop's.
 */
#pragma once

#include "controller/apiserver/objects/binding_check.h"

struct json;
struct object;

/* The pod's tree with the node and the allocation of the member's binding. */
struct json *bind_make_tree(struct bind_member *m, const struct object *pod,
                            const struct json *old_tree);
