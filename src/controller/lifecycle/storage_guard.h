/* SPDX-License-Identifier: Apache-2.0 */
/* storage_guard.h - claims and volumes that are deleted go when nobody uses
 * them any more: a claim with its last pod, a volume when it is not bound
 *
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct client;
struct loop;
struct stock;
struct storage_guard;
struct warehouse;

/* Life. Made before stock and warehouse are started. */
void storage_guard_free(struct storage_guard *g);
struct storage_guard *storage_guard_new(struct loop *loop,
                                        struct client *client,
                                        struct stock *stock,
                                        struct warehouse *warehouse)
    OWNED_BY(storage_guard_free);
DEFINE_CLEANUP(struct storage_guard, storage_guard_free)
