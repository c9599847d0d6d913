/* SPDX-License-Identifier: Apache-2.0 */
/* relay_lookup.h - the addresses of a leader, found without blocking the loop
 *
 * Thread:  the loop's; a thread of its own asks for names.
 */
#pragma once

#include "lib/http/http_endpoint.h"

struct engine_leader;
struct loop;
struct relay_lookup;

/* The ports at which a leader listens. */
struct relay_target {
    struct http_endpoints plain, tls;
    char key[65]; /* "": no leader is known */
};

/* Finds the addresses of a leader, and calls `found` on the loop's thread,
 * or at once if no name is among them. A name that is not known is asked for again. Free
 * does not wait; new and free: the loop's thread.
 */
typedef void relay_found_fn(struct relay_target *target, void *arg);
void relay_target_fini(struct relay_target *target);
void relay_lookup_free(struct relay_lookup *lookup);
struct relay_lookup *relay_lookup_new(struct loop *loop, const struct engine_leader *leader,
                                      relay_found_fn *found, void *arg);
