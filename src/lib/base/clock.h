/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - the current time, passed in so that tests can set it
 *
 * Durations are measured with the monotonic clock, timestamps are taken from
 * the real one. Both are in microseconds, signed.
 *
 * Thread:  any.
 */
#pragma once

#include <stdint.h>

struct clock {
    int64_t (*monotonic_us)(struct clock *c);
    int64_t (*real_us)(struct clock *c); /* since 1970, UTC */
};

/* The system's clocks: CLOCK_MONOTONIC and CLOCK_REALTIME. Thread: any. */
extern struct clock clock_system;

static inline int64_t
clock_monotonic_us(struct clock *c)
{
    return c->monotonic_us(c);
}

static inline int64_t
clock_real_us(struct clock *c)
{
    return c->real_us(c);
}

/* CLOCK_BOOTTIME, which goes on while the machine is suspended, and cannot be
 * set: for fencing, and for the time limits of jobs, which outlive an agent.
 */
int64_t clock_boottime_us(void);
