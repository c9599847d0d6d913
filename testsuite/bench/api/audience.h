/* SPDX-License-Identifier: Apache-2.0 */
/* audience.h - many watchers of the pods of namespace "bench"
 *
 * Thread: one of its own reads for all of them and counts; the calls are of
 *         the thread that made it.
 */
#pragma once

#include "lib/base/macro.h"

struct audience;
struct served;

void audience_free(struct audience *a);
struct audience *audience_new(const struct served *server, unsigned watchers)
    OWNED_BY(audience_free);

/* Until each has seen `events`; the seconds from the first event to there. */
double audience_wait(struct audience *a, unsigned long events);
