/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/clock.h"

#include <time.h>

#include "lib/base/macro.h"

static int64_t
read_us(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t
system_monotonic_us(UNUSED struct clock *c)
{
    return read_us(CLOCK_MONOTONIC);
}

static int64_t
system_real_us(UNUSED struct clock *c)
{
    return read_us(CLOCK_REALTIME);
}

int64_t
clock_boottime_us(void)
{
    return read_us(CLOCK_BOOTTIME);
}

struct clock clock_system = {
    .monotonic_us = system_monotonic_us,
    .real_us = system_real_us,
};
