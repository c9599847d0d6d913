/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/steps/step_log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/fd.h"
#include "testsuite/lib/suite.h"

#define POD "1-2-3"

static char dir[] = "/tmp/kiln-step-log.XXXXXX";

static void
make_dir(void)
{
    memcpy(dir + strlen(dir) - 6, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void
remove_dir(void)
{
    step_log_remove(dir, POD);
    rmdir(dir);
}

static void
begin(int64_t id, unsigned cpu, bool overlaps)
{
    struct step_log_entry e = {.id = id, .overlaps = overlaps};

    bitset_add(&e.cpus, cpu);
    ck_assert_int_eq(step_log_begin(dir, POD, &e, NULL), 0);
}

static void
append(const char *text)
{
    CLEANUP_FREE char *path = xasprintf("%s/" POD, dir);
    CLEANUP_FD int fd = open(path, O_WRONLY | O_APPEND);

    ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
}

START_TEST(the_owner_is_noted_and_older_agents_noted_none)
{
    struct step_log_entry *entries = NULL;
    unsigned n = 0;
    int64_t next = 0;

    make_dir();
    ck_assert_int_eq(
        step_log_begin(dir, POD,
                       &(struct step_log_entry){.id = 4, .memory_bytes = 77, .owner = 1234}, NULL),
        0);
    append("begin 5 x 1 - 88\nbegin 6 x 1\n");
    ck_assert_int_eq(step_log_read(dir, POD, &entries, &n, &next), 0);
    ck_assert_uint_eq(n, 3);
    ck_assert_uint_eq(entries[0].owner, 1234);
    ck_assert_int_eq(entries[0].memory_bytes, 77);
    ck_assert_uint_eq(entries[1].owner, 0);
    ck_assert_int_eq(entries[1].memory_bytes, 88);
    ck_assert_uint_eq(entries[2].owner, 0);
    ck_assert(bitset_has(&entries[2].cpus, 1));
    free(entries);
    remove_dir();
}
END_TEST

START_TEST(the_next_agent_finds_the_steps_that_have_not_ended)
{
    struct step_log_entry *entries = NULL;
    unsigned n = 0;
    int64_t next = 0;

    make_dir();
    begin(0, 3, false);
    ck_assert_int_eq(
        step_log_run(dir, POD, &(struct step_log_entry){.id = 0, .pid = 77, .ticks = 12345}, NULL),
        0);
    begin(1, 4, false);
    step_log_end(dir, POD, 1);
    begin(2, 5, true);

    ck_assert_int_eq(step_log_read(dir, POD, &entries, &n, &next), 0);
    ck_assert_int_eq(next, 3);
    ck_assert_uint_eq(n, 2);
    ck_assert_int_eq(entries[0].id, 0);
    ck_assert_int_eq(entries[0].pid, 77);
    ck_assert_int_eq(entries[0].ticks, 12345);
    ck_assert(bitset_has(&entries[0].cpus, 3));
    ck_assert(!entries[0].overlaps);
    ck_assert_int_eq(entries[1].id, 2);
    ck_assert_int_eq(entries[1].pid, 0);
    ck_assert(entries[1].overlaps);
    free(entries);
    remove_dir();
}
END_TEST

START_TEST(an_id_is_not_given_out_again_after_all_steps_have_ended)
{
    struct step_log_entry *entries = NULL;
    unsigned n = 0;
    int64_t next = 0;

    make_dir();
    for (int64_t id = 0; id < 100; id++) {
        begin(id, 1, false);
        step_log_end(dir, POD, id);
    }

    ck_assert_int_eq(step_log_read(dir, POD, &entries, &n, &next), 0);
    ck_assert_int_eq(next, 100);
    ck_assert_uint_eq(n, 0);
    free(entries);
    remove_dir();
}
END_TEST

START_TEST(a_log_of_many_steps_stays_small)
{
    struct step_log_entry *entries = NULL;
    unsigned n = 0;
    int64_t next = 0;
    CLEANUP_FREE char *path = NULL;
    struct stat s;

    make_dir();
    begin(0, 3, false);
    ck_assert_int_eq(
        step_log_run(dir, POD, &(struct step_log_entry){.id = 0, .pid = 7, .ticks = 8}, NULL), 0);
    for (int64_t id = 1; id < 100000; id++) {
        begin(id, 1, false);
        step_log_end(dir, POD, id);
    }
    path = xasprintf("%s/%s", dir, POD);

    ck_assert_int_eq(stat(path, &s), 0);
    ck_assert_int_lt(s.st_size, 1200000);
    ck_assert_int_eq(step_log_read(dir, POD, &entries, &n, &next), 0);
    ck_assert_int_eq(next, 100000);
    ck_assert_uint_eq(n, 1);
    ck_assert_int_eq(entries[0].id, 0);
    ck_assert_int_eq(entries[0].pid, 7);
    ck_assert_int_eq(entries[0].ticks, 8);
    ck_assert(bitset_has(&entries[0].cpus, 3));
    free(entries);
    remove_dir();
}
END_TEST

START_TEST(lines_that_are_torn_or_malformed_are_ignored)
{
    struct step_log_entry *entries = NULL;
    unsigned n = 0;
    int64_t next = 0;

    make_dir();
    begin(0, 1, false);
    append("nonsense\nbegin x\nbegin -4 x 1\nbegin 9 x 1-\nrun 8 1 1\nend 12\n\nbegin 7 x 1");

    ck_assert_int_eq(step_log_read(dir, POD, &entries, &n, &next), 0);
    ck_assert_int_eq(next, 1);
    ck_assert_uint_eq(n, 1);
    free(entries);
    remove_dir();
}
END_TEST

/* The disk takes a part of the line of a step, which is not started then; later it has room. */
START_TEST(a_line_that_a_full_disk_has_cut_does_not_spoil_the_next_one)
{
    struct step_log_entry *entries = NULL;
    const struct step_log_entry cut = {.id = 1};
    struct rlimit limit;
    struct stat st;
    CLEANUP_FREE char *path = NULL;
    unsigned n = 0;
    int64_t next = 0;

    make_dir();
    path = xasprintf("%s/" POD, dir);
    begin(0, 1, false);
    ck_assert_int_eq(stat(path, &st), 0);
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = (rlim_t)st.st_size + 7;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_lt(step_log_begin(dir, POD, &cut, NULL), 0);
    limit.rlim_cur = limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    begin(2, 3, false);

    ck_assert_int_eq(step_log_read(dir, POD, &entries, &n, &next), 0);
    ck_assert_uint_eq(n, 2);
    ck_assert_int_eq(entries[1].id, 2);
    ck_assert_int_eq(next, 3);
    free(entries);
    remove_dir();
}
END_TEST

START_TEST(a_pod_without_a_step_has_no_log)
{
    struct step_log_entry *entries = NULL;
    unsigned n = 0;
    int64_t next = 0;

    make_dir();
    ck_assert_int_eq(step_log_read(dir, POD, &entries, &n, &next), -ENOENT);
    ck_assert_ptr_null(entries);
    remove_dir();
}
END_TEST

SUITE("step_log", the_owner_is_noted_and_older_agents_noted_none,
      the_next_agent_finds_the_steps_that_have_not_ended,
      an_id_is_not_given_out_again_after_all_steps_have_ended, a_log_of_many_steps_stays_small,
      lines_that_are_torn_or_malformed_are_ignored,
      a_line_that_a_full_disk_has_cut_does_not_spoil_the_next_one, a_pod_without_a_step_has_no_log)
