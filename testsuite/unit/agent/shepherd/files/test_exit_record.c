/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/files/exit_record.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/shepherd/test_pod.h"

static char uid[] = "uid-1"; /* of test_pod.h */
static char boot[] = "b-1";
static char step[] = "program";
static char words[] = "running 'x': not found";

static const struct exit_record whole = {
    .pod_uid = uid,
    .boot_id = boot,
    .failed_step = step,
    .message = words,
    .error_number = 2,
    .exit_code = 127,
    .has_core = true,
    .elapsed_us = 12,
    .frozen_us = 4,
    .peak_memory_bytes = INT64_C(1) << 40,
    .has_rss = true,
    .rss_bytes = INT64_C(1) << 39,
    .cache_bytes = INT64_C(1) << 38,
    .has_io = true,
    .read_bytes = INT64_C(1) << 41,
    .written_bytes = INT64_C(1) << 42,
};

START_TEST(a_record_is_read_as_it_was_written)
{
    struct test_pod p;
    struct exit_record *e;

    test_pod_init(&p);
    ck_assert_int_eq(exit_record_write(&whole, p.state_dir, p.run_dir, NULL), 0);

    e = test_pod_ending(&p);

    ck_assert_str_eq(e->message, words);
    ck_assert_int_eq(e->exit_code, 127);
    ck_assert(e->has_core && !e->was_oom);
    ck_assert_int_eq(e->peak_memory_bytes, INT64_C(1) << 40);
    ck_assert(e->has_rss);
    ck_assert_int_eq(e->rss_bytes, INT64_C(1) << 39);
    ck_assert_int_eq(e->cache_bytes, INT64_C(1) << 38);
    ck_assert(e->has_io);
    ck_assert_int_eq(e->read_bytes, INT64_C(1) << 41);
    ck_assert_int_eq(e->written_bytes, INT64_C(1) << 42);
    ck_assert_ptr_null(e->cpus_allowed);
    exit_record_free(e);
    test_pod_fini(&p);
}
END_TEST

/* Like records of shepherds of the previous release. */
START_TEST(a_job_that_lost_a_process_for_memory_has_not_succeeded)
{
    static const struct {
        int64_t own, code;
    } cases[] = {{0, 137}, {3, 3}, {137, 137}};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct exit_record record = {
            .pod_uid = uid,
            .boot_id = boot,
            .exit_code = cases[i].own,
            .was_oom = true,
            .oom_kills = 2,
        };
        struct exit_record *e;
        struct test_pod p;

        test_pod_init(&p);
        ck_assert_int_eq(exit_record_write(&record, p.state_dir, p.run_dir, NULL), 0);
        e = test_pod_ending(&p);
        ck_assert(e->was_oom);
        ck_assert_int_eq(e->oom_kills, 2);
        ck_assert_int_eq(e->exit_code, cases[i].code);
        ck_assert_int_eq(e->signal, 0);
        exit_record_free(e);
        test_pod_fini(&p);
    }
}
END_TEST

START_TEST(a_record_that_no_place_takes_is_an_error)
{
    struct error err = {0};

    ck_assert_int_eq(exit_record_write(&whole, "/nonexistent/s", "/nonexistent/r", &err), -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "/nonexistent/s/exit"));
}
END_TEST

START_TEST(a_torn_record_is_not_taken_for_one)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct test_pod p;
    CLEANUP_FREE char *path = NULL;
    struct exit_record *e = NULL;

    test_pod_init(&p);
    path = xasprintf("%s/exit", p.state_dir);
    exit_record_format(&whole, &text);
    for (size_t length = 0; length < text.length; length += 7) {
        ck_assert_int_eq(file_write_atomic(path, 0600, text.text, length, NULL), 0);
        ck_assert_int_lt(exit_record_read(p.state_dir, p.run_dir, uid, &e, NULL), 0);
    }
    ck_assert_ptr_null(e);
    test_pod_fini(&p);
}
END_TEST

static ino_t
inode_of(const char *directory)
{
    CLEANUP_FREE char *path = xasprintf("%s/" EXIT_RECORD_FILE, directory);
    struct stat st;

    return stat(path, &st) == 0 ? st.st_ino : 0;
}

START_TEST(a_record_is_written_over_that_of_the_pod_before)
{
    struct exit_record next = {
        .pod_uid = (char[]){"uid-2"},
        .boot_id = boot,
        .exit_code = 3,
    };
    struct exit_record *e = NULL;
    struct test_pod p;
    ino_t inode;

    test_pod_init(&p);
    ck_assert_int_eq(exit_record_write(&whole, p.state_dir, p.run_dir, NULL), 0);
    inode = inode_of(p.state_dir);
    ck_assert_uint_ne(inode, 0);
    ck_assert_int_eq(exit_record_read(p.state_dir, p.run_dir, "uid-2", &e, NULL), -ENOENT);

    ck_assert_int_eq(exit_record_write(&next, p.state_dir, p.run_dir, NULL), 0);

    ck_assert_uint_eq(inode_of(p.state_dir), inode);
    ck_assert_int_eq(exit_record_read(p.state_dir, p.run_dir, uid, &e, NULL), -ENOENT);
    ck_assert_int_eq(exit_record_read(p.state_dir, p.run_dir, "uid-2", &e, NULL), 0);
    ck_assert_int_eq(e->exit_code, 3);
    ck_assert_ptr_null(e->message);
    exit_record_free(e);
    test_pod_fini(&p);
}
END_TEST

START_TEST(a_blank_record_is_none)
{
    struct exit_record *e = NULL;
    struct test_pod p;

    test_pod_init(&p);
    ck_assert_int_eq(exit_record_blank(p.state_dir), -ENOENT);
    ck_assert_int_eq(exit_record_write(&whole, p.state_dir, p.run_dir, NULL), 0);
    ck_assert_int_eq(exit_record_blank(p.state_dir), 0);

    ck_assert_int_eq(exit_record_read(p.state_dir, p.run_dir, uid, &e, NULL), -ENOENT);
    test_pod_fini(&p);
}
END_TEST

/* The disk has written that many bytes of the record and of the former one. */
START_TEST(a_mix_of_two_records_after_a_crash_is_none)
{
    struct exit_record second = whole;
    char first_bytes[1024], second_bytes[1024];
    struct exit_record *e = NULL;
    struct test_pod p;
    CLEANUP_FREE char *path = NULL;
    CLEANUP_FD int fd = -1;

    test_pod_init(&p);
    path = xasprintf("%s/" EXIT_RECORD_FILE, p.state_dir);
    second.elapsed_us = 13;
    ck_assert_int_eq(exit_record_write(&whole, p.state_dir, p.run_dir, NULL), 0);
    fd = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(pread(fd, first_bytes, 1024, 0), 1024);
    ck_assert_int_eq(exit_record_write(&second, p.state_dir, p.run_dir, NULL), 0);
    ck_assert_int_eq(pread(fd, second_bytes, 1024, 0), 1024);
    ck_assert_int_ne(memcmp(first_bytes, second_bytes, 512), 0);

    ck_assert_int_eq(pwrite(fd, first_bytes, 512, 0), 512);
    ck_assert_int_eq(exit_record_read(p.state_dir, p.run_dir, uid, &e, NULL), -ENOENT);
    ck_assert_int_eq(pwrite(fd, first_bytes, 1024, 0), 1024);
    ck_assert_int_eq(exit_record_read(p.state_dir, p.run_dir, uid, &e, NULL), 0);
    exit_record_free(e);
    test_pod_fini(&p);
}
END_TEST

START_TEST(a_record_that_is_too_long_for_the_file_has_one_of_its_own)
{
    char long_words[4000];
    struct exit_record record = whole;
    CLEANUP_FREE char *path = NULL;
    struct exit_record *e;
    struct test_pod p;

    test_pod_init(&p);
    path = xasprintf("%s/exit", p.state_dir);
    memset(long_words, 'x', sizeof(long_words) - 1);
    long_words[sizeof(long_words) - 1] = '\0';
    record.message = long_words;
    ck_assert_int_eq(exit_record_write(&record, p.state_dir, p.run_dir, NULL), 0);

    e = test_pod_ending(&p);

    ck_assert_int_eq(access(path, F_OK), 0);
    ck_assert_str_eq(e->message, long_words);
    exit_record_free(e);
    test_pod_fini(&p);
}
END_TEST

SUITE("exit_record", a_record_is_read_as_it_was_written,
      a_job_that_lost_a_process_for_memory_has_not_succeeded,
      a_record_that_no_place_takes_is_an_error, a_torn_record_is_not_taken_for_one,
      a_record_is_written_over_that_of_the_pod_before, a_blank_record_is_none,
      a_mix_of_two_records_after_a_crash_is_none,
      a_record_that_is_too_long_for_the_file_has_one_of_its_own)
