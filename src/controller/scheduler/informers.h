/* SPDX-License-Identifier: Apache-2.0 */
/* informers.h - report to the scheduler what happens in the cluster
 *
 * Owns:     the informers.
 * Thread:   the scheduler's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct client;
struct informers;
struct scheduler;

/* Life. The informers start at once; `synced` is called when all of them have
 * synced.
 */
void informers_free(struct informers *t);
struct informers *informers_new(struct scheduler *scheduler, struct client *client,
                                void (*synced)(void *context), void *context)
    OWNED_BY(informers_free);
DEFINE_CLEANUP(struct informers, informers_free)

bool informers_has_synced(const struct informers *t);
