/* SPDX-License-Identifier: Apache-2.0 */
/* evictions.h - ends pods so that others may run
 *
 * A victim is first told why (the condition DisruptionTarget, an event), then
 * deleted with its own grace. It keeps what it holds until it is gone.
 *
 * Owns:    the calls under way.
 * Thread:  the scheduler's.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct client;
struct clock;
struct evictions;
struct meters;
struct pod_view;
struct recorder;

void evictions_free(struct evictions *e);
struct evictions *evictions_new(struct client *client,
                                struct clock *clock,
                                struct recorder *recorder,
                                struct meters *meters) OWNED_BY(evictions_free);
DEFINE_CLEANUP(struct evictions, evictions_free)

/* One that is under way already is left alone. */
void evictions_add(struct evictions *e,
                   struct pod_view *victim,
                   const struct pod_view *preemptor,
                   const char *node_name);
size_t evictions_count(const struct evictions *e);
