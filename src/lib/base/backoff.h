/* SPDX-License-Identifier: Apache-2.0 */
/* backoff.h - delays that double with each attempt, up to a limit
 *
 * The unit is the caller's. A delay that many processes begin at the same moment
 * needs a random part, too (informer.c).
 *
 * Thread: any; no state.
 */
#pragma once

#include <stdint.h>

/* The delay after `delay`, which is 0 before the first. */
static inline int64_t
backoff_next(int64_t delay, int64_t first, int64_t most)
{
    if (delay == 0)
        return first < most ? first : most;
    return delay > most - delay ? most : 2 * delay;
}

/* The delay of somebody who has waited so long: a share of that time, so that the
 * end of a long wait is noticed late only in proportion, and attempts grow rarer.
 */
static inline int64_t
backoff_share(int64_t waited, int64_t share, int64_t first, int64_t most)
{
    int64_t delay = waited / share;

    return delay < first ? first : delay > most ? most : delay;
}

/* The delay after so many attempts: 0 after none, `first` after one, whatever
 * `most` is.
 */
static inline int64_t
backoff_after(int64_t attempts, int64_t first, int64_t most)
{
    int64_t delay = attempts > 0 ? first : 0;

    for (int64_t i = 1; i < attempts && delay > 0; i++) {
        if (delay > most - delay)
            return most;
        delay += delay;
    }
    return delay;
}
