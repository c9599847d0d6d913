/* SPDX-License-Identifier: Apache-2.0 */
/* reservation_status.h - the status of a Reservation, by the clock and the
 * cluster
 *
 * A Reservation of a number of nodes keeps those of its nodes that are ready,
 * and takes other nodes for the rest. A flexible Reservation begins when
 * nothing but its own pods runs on its nodes.
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

/* The body of a merge patch of the status, or NULL when the status is up to
 * date. ret_wake_us: when the status changes next by the clock alone.
 */
struct json *reservation_status_make(struct arena *arena, const struct object_cache *cache,
                                     const struct object *reservation, int64_t now_us,
                                     int64_t *ret_wake_us);

/* Whether the Reservation waits for its nodes to become free. */
bool reservation_status_is_waiting(const struct object *reservation, int64_t now_us);
