/* SPDX-License-Identifier: Apache-2.0 */
/* remnant.h - what a pod leaves on its node that nobody else counts, as an entry
 * of Node.status.remnants
 *
 * Its process may run yet, though the API has forgotten the pod or given it up.
 *
 * Thread:  any.
 */
#pragma once

#include <stdint.h>

struct arena;
struct json;
struct object;

/* Its name, what it asks for and what it was given, and since when. */
struct json *
remnant_make(struct arena *arena, const struct object *pod, int64_t now_us);
