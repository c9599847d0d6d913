/* SPDX-License-Identifier: Apache-2.0 */
/* fake_clock.h - a clock that only the test advances
 *
 *   struct fake_clock time = FAKE_CLOCK;
 *   struct queue *q = queue_new(&time.clock);
 *   fake_clock_advance(&time, 5 * FAKE_SECOND);
 *
 * Begins at FAKE_BEGIN, 2024-01-01T00:00:00Z, with the monotonic clock at one
 * hour. Setting only the wall clock simulates an administrator or NTP.
 */
#pragma once

#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/macro.h"

#define FAKE_SECOND INT64_C(1000000)
#define FAKE_BEGIN  (INT64_C(1704067200) * FAKE_SECOND)

struct fake_clock {
    struct clock clock;
    int64_t monotonic_us;
    int64_t real_us;
};

static inline int64_t
fake_clock_monotonic_us(struct clock *c)
{
    return container_of(c, struct fake_clock, clock)->monotonic_us;
}

static inline int64_t
fake_clock_real_us(struct clock *c)
{
    return container_of(c, struct fake_clock, clock)->real_us;
}

#define FAKE_CLOCK                                                                         \
    {                                                                                      \
        .clock = {.monotonic_us = fake_clock_monotonic_us, .real_us = fake_clock_real_us}, \
        .monotonic_us = 3600 * FAKE_SECOND, .real_us = FAKE_BEGIN,                         \
    }

/* Advances both clocks by this much. */
static inline void
fake_clock_advance(struct fake_clock *fake, int64_t us)
{
    fake->monotonic_us += us;
    fake->real_us += us;
}
