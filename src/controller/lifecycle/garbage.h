/* SPDX-License-Identifier: Apache-2.0 */
/* garbage.h - the loop that removes what nobody owns any more
 *
 * Pods whose controlling Job is gone (background propagation) are deleted; the
 * finalizers `orphan` and `foregroundDeletion` of Jobs are worked off; what a
 * terminating namespace holds is deleted, and then its own finalizer lifted.
 *
 * Thread: the lifecycle loop's.
 * See:    upstream's garbage collector and namespace controller, of whose
 *         rules these are the part for the kinds that Kiln's own loops make.
 */
#pragma once

#include "lib/base/macro.h"

struct client;
struct garbage;
struct loop;
struct stock;

void garbage_free(struct garbage *garbage);
struct garbage *garbage_new(struct loop *loop,
                            struct client *client,
                            struct stock *stock) OWNED_BY(garbage_free);
DEFINE_CLEANUP(struct garbage, garbage_free)
