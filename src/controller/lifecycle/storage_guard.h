/* SPDX-License-Identifier: Apache-2.0 */
/* storage_guard.h - claims and volumes that are deleted go when nobody uses
 * them any more: a claim with its last pod, a volume when it is not bound
 *
 * Owns:    its informers of claims and volumes.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct client;
struct loop;
struct stock;
struct storage_guard;

/* Life. Made before stock_start. */
void storage_guard_free(struct storage_guard *g);
struct storage_guard *
storage_guard_new(struct loop *loop, struct client *client, struct stock *stock)
    OWNED_BY(storage_guard_free);
DEFINE_CLEANUP(struct storage_guard, storage_guard_free)
