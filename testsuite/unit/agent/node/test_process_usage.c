/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/process_usage.h"

#include <string.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

/* A process whose name has unusual characters. Times are in ticks. */
static void
put(const char *root, int pid, int parent,
    const char *times, /* of the process, and of waited-for children */
    int pages)
{
    CLEANUP_FREE char *directory = xasprintf("%s/proc/%d", root, pid);
    CLEANUP_FREE char *path = xasprintf("%s/stat", directory);
    CLEANUP_FREE char *text = xasprintf("%d (a) b 7) S %d 1 1 0 -1 4194560 9 9 9 9 %s 20 0 1 0 99 "
                                        "123456 %d 18446744073709551615 1 1\n",
                                        pid, parent, times, pages);

    ck_assert_int_eq(dir_make(directory, 0755, NULL), 0);
    ck_assert_int_eq(file_write_atomic(path, 0644, text, strlen(text), NULL), 0);
}

START_TEST(all_below_an_ancestor_count_for_it)
{
    CLEANUP(scratch_freep) char *root = scratch_new();
    struct process_usage list[] = {{.ancestor = 50}, {.ancestor = 10}};
    uint64_t tick_us = UINT64_C(1000000) / (uint64_t)sysconf(_SC_CLK_TCK);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    put(root, 1, 0, "9 9 9 9", 9);
    put(root, 10, 1, "100 100 3 4", 50); /* the ancestor: only 3 and 4 */
    put(root, 11, 10, "1 2 0 0", 5);
    /* a child of this process was waited for */
    put(root, 12, 11, "10 20 5 6", 7);
    put(root, 50, 1, "7 7 0 0", 9);
    put(root, 60, 1, "70 70 70 70", 9); /* not a descendant */

    ck_assert_int_eq(process_usage_read(root, list, 2), 0);

    ck_assert_int_eq(list[0].ancestor, 10);
    ck_assert(list[0].is_there && list[1].is_there);
    ck_assert_uint_eq(list[0].cpu_user_us, (3 + 1 + 10 + 5) * tick_us);
    ck_assert_uint_eq(list[0].cpu_system_us, (4 + 2 + 20 + 6) * tick_us);
    ck_assert_uint_eq(list[0].memory_bytes, 12 * page);
    ck_assert_uint_eq(list[1].cpu_user_us, 0);
    ck_assert_uint_eq(list[1].memory_bytes, 0);
}
END_TEST

START_TEST(an_ancestor_that_is_gone_is_said)
{
    CLEANUP(scratch_freep) char *root = scratch_new();
    struct process_usage list[] = {{.ancestor = 10}};

    put(root, 11, 10, "1 2 0 0", 5);
    /* a cycle, as reading a changing /proc may produce */
    put(root, 12, 13, "1 2 0 0", 5);
    put(root, 13, 12, "1 2 0 0", 5);

    ck_assert_int_eq(process_usage_read(root, list, 1), 0);

    ck_assert(!list[0].is_there);
}
END_TEST

START_TEST(this_machine_can_be_read)
{
    struct process_usage list[] = {{.ancestor = getpid()}};

    ck_assert_int_eq(process_usage_read("", list, 1), 0);
    ck_assert(list[0].is_there);
}
END_TEST

SUITE("process_usage", all_below_an_ancestor_count_for_it, an_ancestor_that_is_gone_is_said,
      this_machine_can_be_read)
