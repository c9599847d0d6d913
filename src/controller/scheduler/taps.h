/* SPDX-License-Identifier: Apache-2.0 */
/* taps.h - tells the scheduler what happens in the cluster, from informers
 *
 * Owns:     the informers.
 * Thread:   the scheduler's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct client;
struct taps;
struct scheduler;

/* Life. Starts at once; `synced` runs when every kind has. */
void taps_free(struct taps *t);
struct taps *taps_new(struct scheduler *scheduler,
                      struct client *client,
                      void (*synced)(void *context),
                      void *context) OWNED_BY(taps_free);
DEFINE_CLEANUP(struct taps, taps_free)

bool taps_has_synced(const struct taps *t);
