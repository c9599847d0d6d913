/* SPDX-License-Identifier: Apache-2.0 */
/* step_hold.h - the connections between kalloc and the job that it holds (HOLD, AWAIT)
 *
 * Owns:   the connections.
 * Thread: the loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct loop;
struct step_asked;
struct step_channel;
struct step_hold;

/* Of one job. Free ends all that came so. */
void step_hold_free(struct step_hold *h);
struct step_hold *step_hold_new(struct loop *loop) OWNED_BY(step_hold_free);

/* Takes a connection of the job's owner, or refuses it. */
void step_hold_take(struct step_hold *h, struct step_channel *connection TAKES,
                    const struct step_asked *asked);
