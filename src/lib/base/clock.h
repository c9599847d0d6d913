/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - what time it is, handed in so that a test can decide it
 *
 * Durations are measured on the monotonic side, timestamps taken from the
 * real one. Microseconds, signed.
 *
 * Thread:  any.
 */
#pragma once

#include <stdint.h>

struct clock {
    int64_t (*monotonic_us)(struct clock *c);
    int64_t (*real_us)(struct clock *c); /* since 1970, UTC */
};

/* The machine's own. CLOCK_MONOTONIC and CLOCK_REALTIME. Thread: any. */
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

/* CLOCK_BOOTTIME: goes on while the machine sleeps. For fencing alone. */
int64_t clock_boottime_us(void);
