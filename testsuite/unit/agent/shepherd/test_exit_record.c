/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/exit_record.h"

#include <check.h>

#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/shepherd/test_pod.h"

static char uid[] = "u-1";
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
    .peak_memory_bytes = INT64_C(1) << 40,
    .has_io = true,
    .read_bytes = INT64_C(1) << 41,
    .written_bytes = INT64_C(1) << 42,
};

START_TEST(a_record_is_read_as_it_was_written)
{
    struct test_pod p;
    struct exit_record *e;

    test_pod_init(&p);
    ck_assert_int_eq(exit_record_write(&whole, p.state_dir, p.run_dir, NULL),
                     0);

    e = test_pod_ending(&p);

    ck_assert_str_eq(e->message, words);
    ck_assert_int_eq(e->exit_code, 127);
    ck_assert(e->has_core && !e->was_oom);
    ck_assert_int_eq(e->peak_memory_bytes, INT64_C(1) << 40);
    ck_assert(e->has_io);
    ck_assert_int_eq(e->read_bytes, INT64_C(1) << 41);
    ck_assert_int_eq(e->written_bytes, INT64_C(1) << 42);
    ck_assert_ptr_null(e->cpus_allowed);
    exit_record_free(e);
    test_pod_fini(&p);
}
END_TEST

/* As shepherds of the release before wrote them. */
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
        ck_assert_int_eq(
            exit_record_write(&record, p.state_dir, p.run_dir, NULL),
            0);
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

    ck_assert_int_eq(
        exit_record_write(&whole, "/nonexistent/s", "/nonexistent/r", &err),
        -ENOENT);
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
        ck_assert_int_eq(file_write_atomic(path, 0600, text.text, length, NULL),
                         0);
        ck_assert_int_lt(exit_record_read(p.state_dir, p.run_dir, &e, NULL), 0);
    }
    ck_assert_ptr_null(e);
    test_pod_fini(&p);
}
END_TEST

SUITE("exit_record",
      a_record_is_read_as_it_was_written,
      a_job_that_lost_a_process_for_memory_has_not_succeeded,
      a_record_that_no_place_takes_is_an_error,
      a_torn_record_is_not_taken_for_one)
