/* SPDX-License-Identifier: Apache-2.0 */
/* audience.h - many watchers of the pods of namespace "bench"
 *
 * Thread: a thread of its own reads for all of them and counts; the calls
 *         belong to the thread that created it.
 */
#pragma once

#include "lib/base/macro.h"

struct audience;
struct served;

void audience_free(struct audience *a);
struct audience *audience_new(const struct served *server, unsigned watchers)
    OWNED_BY(audience_free);

/* Waits until each watcher has seen `events`; returns the seconds since the
 * first event.
 */
double audience_wait(struct audience *a, unsigned long events);
