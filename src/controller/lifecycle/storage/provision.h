/* SPDX-License-Identifier: Apache-2.0 */
/* provision.h - the object of a volume that a node's agent is to make
 *
 * Thread:  the lifecycle loop's.
 */
#pragma once

struct arena;
struct json;
struct object;
struct object_cache;

/* The body of the volume that asks the node's agent to make it for the claim.
 */
struct json *provision_body(struct arena *arena, const struct object *claim,
                            const struct object *class, const struct object *node);

/* A ready node with enough free scratch for a claim that waits for no pod; or
 * NULL.
 */
const struct object *provision_choose(struct object_cache *cache, const struct object *claim,
                                      const struct object *class);
