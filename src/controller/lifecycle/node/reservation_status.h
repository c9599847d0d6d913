/* SPDX-License-Identifier: Apache-2.0 */
/* reservation_status.h - how a Reservation stands, by the clock and the cluster
 *
 * Of a number of nodes: keeps those that it has and that are ready, and takes
 * others for the rest. A flexible one begins when nothing but its own pods runs
 * on its nodes.
 *
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct json;
struct object;
struct object_cache;

/* The body of a merge patch of its status, or NULL when that is right as it is.
 * Wake: when it changes next by the clock alone.
 */
struct json *reservation_status_make(struct arena *arena,
                                     const struct object_cache *cache,
                                     const struct object *reservation,
                                     int64_t now_us,
                                     int64_t *ret_wake_us);

/* Whether it waits for its nodes to come free. */
bool reservation_status_is_waiting(const struct object *reservation,
                                   int64_t now_us);
