/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/hardware/gpu_meter.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

#define INTERVAL_MS 600000 /* the first measurement is the only one */

/* Builds the fake library. NULL: there is no compiler. The caller removes it. */
static char *
build_library(void)
{
    const char *source = getenv("top_srcdir");
    char directory[] = "/tmp/kiln-nvml.XXXXXX";
    CLEANUP_FREE char *command = NULL;
    char *path;

    ck_assert_ptr_nonnull(mkdtemp(directory));
    path = xasprintf("%s/libnvidia-ml.so.1", directory);
    command = xasprintf("cc -shared -fPIC -o %s %s/testsuite/unit/agent/hardware/fake_nvml.c "
                        "2>/dev/null",
                        path, source != NULL ? source : ".");
    if (system(command) == 0)
        return path;
    rmdir(directory);
    free(path);
    return NULL;
}

static void
remove_library(char *path)
{
    CLEANUP_FREE char *command = xasprintf("rm -r \"$(dirname %s)\"", path);

    ck_assert_int_eq(system(command), 0);
    free(path);
}

/* Waits for the first reading. */
static bool
wait_for_reading(struct gpu_meter *meter, unsigned minor, int64_t wait_us,
                 struct gpu_reading *ret_reading)
{
    const int64_t until = clock_monotonic_us(&clock_system) + wait_us;

    while (!gpu_meter_read(meter, minor, ret_reading)) {
        if (clock_monotonic_us(&clock_system) > until)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    return true;
}

START_TEST(the_use_of_a_gpu_is_found_by_its_device_file)
{
    char *library = build_library();
    CLEANUP(gpu_meter_freep) struct gpu_meter *meter = NULL;
    struct gpu_reading reading = {0};

    if (library == NULL)
        return;
    meter = gpu_meter_new(library, INTERVAL_MS);
    ck_assert(wait_for_reading(meter, 0, 20000000, &reading));
    ck_assert_uint_eq(reading.busy_percent, 25);
    ck_assert_uint_eq(reading.memory_bytes, UINT64_C(1) << 30);
    ck_assert_uint_eq(reading.memory_total_bytes, UINT64_C(80) << 30);
    ck_assert(gpu_meter_read(meter, 1, &reading));
    ck_assert_uint_eq(reading.busy_percent, 75);
    ck_assert_uint_eq(reading.memory_bytes, UINT64_C(2) << 30);
    ck_assert(!gpu_meter_read(meter, 2, &reading));
    remove_library(library);
}
END_TEST

START_TEST(without_the_library_nothing_is_known)
{
    CLEANUP(gpu_meter_freep)
    struct gpu_meter *meter = gpu_meter_new("/nonexistent/libnvidia-ml.so.1", INTERVAL_MS);
    struct gpu_reading reading;

    ck_assert_ptr_nonnull(meter);
    ck_assert(!wait_for_reading(meter, 0, 50000, &reading));
}
END_TEST

START_TEST(a_call_that_blocks_delays_nobody)
{
    char *library = build_library();
    struct gpu_meter *meter;
    struct gpu_reading reading;

    if (library == NULL)
        return;
    setenv("FAKE_NVML_BLOCKS", "1", 1);
    meter = gpu_meter_new(library, INTERVAL_MS);
    ck_assert(!wait_for_reading(meter, 0, 200000, &reading));
    gpu_meter_free(meter);
    remove_library(library);
}
END_TEST

SUITE("gpu_meter", the_use_of_a_gpu_is_found_by_its_device_file,
      without_the_library_nothing_is_known, a_call_that_blocks_delays_nobody)
