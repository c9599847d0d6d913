/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/time_share.h"

#include <time.h>

#include "lib/base/clock.h"

/* Each window that passes pays off `most_us` of the time overspent. */
static void
begin_window(struct time_share *share, int64_t now_us)
{
    int64_t windows = (now_us - share->began_us) / share->window_us;

    if (windows <= 0)
        return;
    share->began_us += windows * share->window_us;
    share->spent_us = windows < share->spent_us / share->most_us + 1
                          ? share->spent_us - windows * share->most_us
                          : 0;
    if (share->spent_us < 0)
        share->spent_us = 0;
}

int64_t
time_share_wait_us(struct time_share *share)
{
    int64_t now_us = clock_monotonic_us(share->clock);

    begin_window(share, now_us);
    if (share->spent_us < share->most_us)
        return 0;
    return share->began_us + share->spent_us / share->most_us * share->window_us - now_us;
}

bool
time_share_is_open(struct time_share *share)
{
    return time_share_wait_us(share) == 0;
}

int64_t
time_share_begin(const struct time_share *share)
{
    return clock_monotonic_us(share->clock);
}

void
time_share_end(struct time_share *share, int64_t began_us)
{
    time_share_add(share, clock_monotonic_us(share->clock) - began_us);
}

void
time_share_add(struct time_share *share, int64_t took_us)
{
    share->spent_us += took_us;
}

int64_t
time_share_thread_cpu_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}
