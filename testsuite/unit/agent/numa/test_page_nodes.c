/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/numa/page_nodes.h"

#include <check.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/bitset.h"
#include "lib/base/sanitizer.h"
#include "testsuite/lib/suite.h"

#define MIB   (1u << 20)
#define PAGES (64u * MIB / 4096)

/* Whether the kernel answers; a sandbox may forbid it. A sanitizer maps
 * terabytes, whose pages cannot all be asked for.
 */
static bool
can_ask(void)
{
    struct bitset none = {0};
    struct page_count count = {0};
    int r;

    if (IS_SANITIZED)
        return false;
    r = page_nodes_count("/proc", getpid(), &none, 1, &count);
    ck_assert(r == 0 || r == -ENOSYS || r == -EPERM);
    return r == 0;
}

static struct bitset
first_64(void)
{
    struct bitset set = {0};

    for (unsigned i = 0; i < 64; i++)
        bitset_add(&set, i);
    return set;
}

/* 64 MiB that are in memory, and a GiB that has never been touched. */
static char *
map_memory(void)
{
    char *there = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *absent = mmap(NULL, 1024 * (size_t)MIB, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    ck_assert_ptr_ne(there, MAP_FAILED);
    ck_assert_ptr_ne(absent, MAP_FAILED);
    memset(there, 1, 64 * MIB);
    return there;
}

START_TEST(pages_are_where_the_kernel_put_them)
{
    struct bitset all = first_64(), none = {0};
    struct page_count count = {0}, wrong = {0};

    if (!can_ask())
        return;
    map_memory();
    ck_assert_int_eq(page_nodes_count("/proc", getpid(), &all, UINT64_MAX, &count), 0);
    ck_assert_uint_ge(count.found, PAGES);
    ck_assert_uint_gt(count.asked, count.found);
    ck_assert_uint_eq(count.elsewhere, 0);

    ck_assert_int_eq(page_nodes_count("/proc", getpid(), &none, UINT64_MAX, &wrong), 0);
    ck_assert_uint_eq(wrong.elsewhere, wrong.found);
}
END_TEST

START_TEST(of_much_memory_every_nth_page_is_asked_for)
{
    struct bitset all = first_64();
    struct page_count whole = {0}, part = {0};
    double share, part_share;

    if (!can_ask())
        return;
    map_memory();
    page_nodes_count("/proc", getpid(), &all, UINT64_MAX, &whole);
    page_nodes_count("/proc", getpid(), &all, 10000, &part);
    ck_assert_uint_le(part.asked, 10001);
    ck_assert_uint_ge(part.asked, 5000);
    share = (double)whole.found / (double)whole.asked;
    part_share = (double)part.found / (double)part.asked;
    ck_assert_double_le(part_share, share + 0.02);
    ck_assert_double_ge(part_share, share - 0.02);
}
END_TEST

START_TEST(another_process_can_be_asked_for_until_it_is_gone)
{
    struct bitset all = first_64();
    struct page_count count = {0};
    pid_t child;
    int r;

    if (!can_ask())
        return;
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        pause();
        _exit(0);
    }
    r = page_nodes_count("/proc", child, &all, UINT64_MAX, &count);
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert_int_eq(r, 0);
    ck_assert_uint_gt(count.found, 0);
    ck_assert_int_eq(page_nodes_count("/proc", child, &all, 10, &count), -ENOENT);
}
END_TEST

START_TEST(moving_to_where_all_pages_are_changes_nothing)
{
    struct bitset all = first_64();

    if (can_ask())
        ck_assert_int_eq(page_nodes_move(getpid(), &all, NULL), 0);
}
END_TEST

SUITE("page nodes", pages_are_where_the_kernel_put_them, of_much_memory_every_nth_page_is_asked_for,
      another_process_can_be_asked_for_until_it_is_gone,
      moving_to_where_all_pages_are_changes_nothing)
