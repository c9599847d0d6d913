/* SPDX-License-Identifier: Apache-2.0 */
/* shared_demands.h - one copy of a demand for all pods that ask for the same
 *
 * A demand has room for all devices and page sizes that there may be, and most
 * pending pods ask for the same as others. The latest demand of each hash value
 * is kept; a pod with an equal demand shares it.
 *
 * Owns:    a reference to each demand that is kept; each pod view owns one
 *          reference to its own demand.
 * Thread:  one at a time; reference counts are not atomic.
 */
#pragma once

#include "lib/base/macro.h"

struct demand;
struct shared_demands;

/* Life */
void shared_demands_free(struct shared_demands *s);
struct shared_demands *shared_demands_new(void) OWNED_BY(shared_demands_free);
DEFINE_CLEANUP(struct shared_demands, shared_demands_free)

/* Returns a demand equal to `demand`, and a reference to it. With `s` NULL the
 * result is shared with no other pod. A demand with a GPU model borrows from
 * its pod and is never shared.
 */
const struct demand *shared_demands_get(struct shared_demands *s, const struct demand *demand);
void shared_demand_unref(const struct demand *demand);
