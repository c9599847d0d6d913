/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/pods/files/gpu_use.h"
#include "testsuite/lib/suite.h"

static void
add(struct gpu_use *use, int64_t at_us, int64_t milli, int64_t bytes)
{
    gpu_use_add(
        use, &(struct gpu_use_sample){
                 .milli = milli, .count = 2, .bytes = bytes, .total_bytes = 100, .at_us = at_us});
}

START_TEST(a_sample_counts_once)
{
    struct gpu_use use = {0};

    ck_assert_int_eq(gpu_use_mean_milli(&use), 0);
    add(&use, 1, 500, 30);
    add(&use, 1, 500, 30);
    add(&use, 2, 1001, 20);
    ck_assert_int_eq(use.samples, 2);
    ck_assert_int_eq(gpu_use_mean_milli(&use), 751);
    ck_assert_int_eq(use.peak_bytes, 30);
    ck_assert_int_eq(use.count, 2);
}
END_TEST

/* The directory may have been another pod's; a write may have been cut off. */
START_TEST(sums_are_read_by_a_later_agent_for_the_same_pod_only)
{
    char dir[] = "/tmp/kiln-gpu-use.XXXXXX", path[64];
    struct gpu_use use = {0}, read;

    ck_assert_ptr_nonnull(mkdtemp(dir));
    gpu_use_read(dir, "u1", &read);
    ck_assert_int_eq(read.samples, 0);
    add(&use, 1, 2000, INT64_C(1) << 60);
    ck_assert_int_eq(gpu_use_write(&use, dir, "u1"), 0);
    add(&use, 2, 1000, 5);
    ck_assert_int_eq(gpu_use_write(&use, dir, "u1"), 0);
    gpu_use_read(dir, "u1", &read);
    ck_assert_int_eq(read.samples, 2);
    ck_assert_int_eq(gpu_use_mean_milli(&read), 1500);
    ck_assert_int_eq(read.peak_bytes, INT64_C(1) << 60);
    ck_assert_int_eq(read.total_bytes, 100);
    add(&read, 1, 0, 0); /* another agent's clock */
    ck_assert_int_eq(gpu_use_mean_milli(&read), 1000);

    gpu_use_read(dir, "u2", &read);
    ck_assert_int_eq(read.samples, 0);
    snprintf(path, sizeof(path), "%s/" GPU_USE_FILE, dir);
    ck_assert_int_eq(truncate(path, 10), 0);
    gpu_use_read(dir, "u1", &read);
    ck_assert_int_eq(read.samples, 0);
    unlink(path);
    rmdir(dir);
    ck_assert_int_lt(gpu_use_write(&use, dir, "u1"), 0);
}
END_TEST

SUITE("gpu_use", a_sample_counts_once, sums_are_read_by_a_later_agent_for_the_same_pod_only)
