/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/clock.h"

#include <time.h>

#include "testsuite/lib/suite.h"

START_TEST(monotonic_time_never_goes_back)
{
    int64_t before = clock_monotonic_us(&clock_system);

    for (int i = 0; i < 1000; i++) {
        int64_t now = clock_monotonic_us(&clock_system);

        ck_assert_int_ge(now, before);
        before = now;
    }
}
END_TEST

START_TEST(real_time_is_microseconds_since_1970)
{
    int64_t before = (int64_t)time(NULL) - 1;
    int64_t now = clock_real_us(&clock_system) / 1000000;

    ck_assert_int_ge(now, before);
    ck_assert_int_le(now, (int64_t)time(NULL) + 1);
}
END_TEST

START_TEST(boot_time_has_run_at_least_as_long_as_monotonic_time)
{
    int64_t monotonic = clock_monotonic_us(&clock_system);

    ck_assert_int_ge(clock_boottime_us(), monotonic);
}
END_TEST

SUITE("clock", monotonic_time_never_goes_back, real_time_is_microseconds_since_1970,
      boot_time_has_run_at_least_as_long_as_monotonic_time)
