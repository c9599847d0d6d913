/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/hardware/machine_load.h"

#include <string.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

static void
put(const char *root, const char *path, const char *text)
{
    CLEANUP_FREE char *directory = xasprintf("%s/proc", root);
    CLEANUP_FREE char *whole = xasprintf("%s%s", root, path);

    ck_assert_int_eq(dir_make(directory, 0755, NULL), 0);
    ck_assert_int_eq(file_write_atomic(whole, 0644, text, strlen(text), NULL), 0);
}

START_TEST(idle_cpus_and_files_not_used_of_late_do_not_count)
{
    CLEANUP(scratch_freep) char *root = scratch_new();
    struct machine_load load;

    put(root, "/proc/stat", "cpu  10 20 30 1000 2000 40 50 7 8 9\ncpu0 1\n");
    put(root, "/proc/meminfo",
        "MemTotal:  1000 kB\nMemFree:  100 kB\nInactive(anon): 7 kB\n"
        "Inactive(file):  200 kB\n");

    ck_assert_int_eq(machine_load_read(root, &load, NULL), 0);

    ck_assert_uint_eq(load.cpu_us, 150 * UINT64_C(1000000) / (uint64_t)sysconf(_SC_CLK_TCK));
    ck_assert_uint_eq(load.memory_bytes, 700 * 1024);
}
END_TEST

START_TEST(a_proc_without_figures_is_an_error)
{
    CLEANUP(scratch_freep) char *root = scratch_new();
    struct machine_load load;

    ck_assert_int_lt(machine_load_read(root, &load, NULL), 0);
    put(root, "/proc/stat", "intr 1\n");
    ck_assert_int_lt(machine_load_read(root, &load, NULL), 0);
}
END_TEST

SUITE("machine load", idle_cpus_and_files_not_used_of_late_do_not_count,
      a_proc_without_figures_is_an_error)
