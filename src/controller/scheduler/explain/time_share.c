/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/explain/time_share.h"

#include "lib/base/clock.h"

bool
time_share_is_open(struct time_share *share)
{
    int64_t now_us = clock_monotonic_us(share->clock);
    int64_t windows = (now_us - share->began_us) / share->window_us;

    if (windows > 0) {
        share->began_us += windows * share->window_us;
        share->spent_us = windows < share->spent_us / share->most_us + 1
                              ? share->spent_us - windows * share->most_us
                              : 0;
        if (share->spent_us < 0)
            share->spent_us = 0;
    }
    return share->spent_us < share->most_us;
}

int64_t
time_share_begin(const struct time_share *share)
{
    return clock_monotonic_us(share->clock);
}

void
time_share_end(struct time_share *share, int64_t began_us)
{
    share->spent_us += clock_monotonic_us(share->clock) - began_us;
}
