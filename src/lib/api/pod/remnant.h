/* SPDX-License-Identifier: Apache-2.0 */
/* remnant.h - what a removed pod still holds on its node, as an entry of
 * Node.status.remnants
 *
 * The pod's process may still run although the API has forgotten the pod or
 * given it up.
 *
 * Thread:  any.
 */
#pragma once

#include <stdint.h>

struct arena;
struct json;
struct object;

/* Makes the entry: the pod's name, its requests and allocation, and the time.
 */
struct json *remnant_make(struct arena *arena, const struct object *pod, int64_t now_us);
