/* SPDX-License-Identifier: Apache-2.0 */
/* shared_demands.h - demands of pods, one for many that ask for the same
 *
 * A demand has room for all devices and page sizes that there may be, and most
 * pods that wait ask for what others do. The last few different ones are
 * remembered; a pod that asks for one of them shares it.
 *
 * Owns:    a reference to each demand that it remembers; each view has one to
 *          its own.
 * Thread:  one at a time; counted without atomics.
 */
#pragma once

#include "lib/base/macro.h"

struct demand;
struct shared_demands;

/* Life */
void shared_demands_free(struct shared_demands *s);
struct shared_demands *shared_demands_new(void) OWNED_BY(shared_demands_free);
DEFINE_CLEANUP(struct shared_demands, shared_demands_free)

/* A demand as that one, and a reference to it; `s` NULL: shared with nobody. One
 * that borrows from its pod is not shared.
 */
const struct demand *shared_demands_get(struct shared_demands *s,
                                        const struct demand *demand);
void shared_demand_unref(const struct demand *demand);
