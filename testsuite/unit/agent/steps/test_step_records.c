/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/steps/step_records.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/api/cluster/step_record.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

#define POD "1-2-3"

struct place {
    char *dir;
    struct step_records *records;
    struct arena *arena;
};

static const struct step_records_pod pod = {"default", "job-7-0", POD};

static void
reopen(struct place *p)
{
    step_records_free(p->records);
    p->records = NULL;
    ck_assert_int_eq(step_records_open(p->dir, &p->records, NULL), 0);
}

static void
place_init(struct place *p)
{
    *p = (struct place){.dir = scratch_new(), .arena = arena_new(0)};
    reopen(p);
}

static void
place_fini(struct place *p)
{
    step_records_free(p->records);
    arena_free(p->arena);
    scratch_freep(&p->dir);
}

static struct step_record
step_of(int64_t id)
{
    return (struct step_record){
        .id = id,
        .name = "hostname",
        .tasks = 2,
        .start_at_us = 1000000,
        .observed_at_us = 1000000,
        .state = "Running",
    };
}

static void
begin(struct place *p, int64_t id)
{
    const struct step_record s = step_of(id);

    step_records_begin(p->records, &pod, &s);
}

static void
end(struct place *p, int64_t id, const char *state)
{
    static const int64_t seven = 7;
    struct step_record s = step_of(id);

    s.state = state;
    s.end_at_us = s.observed_at_us = 2000000;
    s.exit_code = &seven;
    step_records_end(p->records, POD, &s);
}

/* The batch of the pod in the next report. */
static const struct step_batch *
collect(struct place *p)
{
    struct step_report report;

    step_records_collect(p->records, p->arena, &report);
    ck_assert_uint_eq(report.pods.count, 1);
    return &report.pods.items[0];
}

static bool
has_file(const struct place *p)
{
    CLEANUP_FREE char *path = xasprintf("%s/" POD, p->dir);

    return access(path, F_OK) == 0;
}

START_TEST(an_unacknowledged_record_is_sent_again_also_by_the_next_agent)
{
    struct place p;
    const struct step_batch *batch;

    place_init(&p);
    begin(&p, 0);
    begin(&p, 1);
    end(&p, 0, "Failed");
    batch = collect(&p);
    ck_assert_uint_eq(batch->steps.count, 2);
    ck_assert_str_eq(batch->namespace, "default");
    ck_assert_str_eq(batch->steps.items[0].state, "Failed");
    ck_assert_int_eq(*batch->steps.items[0].exit_code, 7);

    reopen(&p);
    batch = collect(&p);
    ck_assert_uint_eq(batch->steps.count, 2);
    ck_assert_str_eq(batch->steps.items[1].state, "Running");
    ck_assert_str_eq(batch->steps.items[1].name, "hostname");
    step_records_acknowledge(p.records, POD);
    ck_assert(!step_records_have_news(p.records));
    ck_assert(!step_records_have_news(p.records));

    reopen(&p); /* only what the controller does not need to be told again is forgotten */
    batch = collect(&p);
    ck_assert_uint_eq(batch->steps.count, 1);
    ck_assert_int_eq(batch->steps.items[0].id, 1);
    place_fini(&p);
}
END_TEST

START_TEST(a_change_after_the_report_is_not_acknowledged_with_it)
{
    struct place p;

    place_init(&p);
    begin(&p, 0);
    ck_assert_uint_eq(collect(&p)->steps.count, 1);
    end(&p, 0, "Completed");
    begin(&p, 1);
    step_records_acknowledge(p.records, POD);
    ck_assert_uint_eq(collect(&p)->steps.count, 2);
    step_records_acknowledge(p.records, POD);
    ck_assert(!step_records_have_news(p.records));
    place_fini(&p);
}
END_TEST

START_TEST(the_first_to_end_a_step_is_known_to_the_next_agent)
{
    struct place p;
    const struct step_record *known;

    place_init(&p);
    begin(&p, 0);
    step_records_acknowledge(p.records, POD);
    ck_assert(step_records_cancel(p.records, POD, 0, 1001, 1500000));
    ck_assert(!step_records_cancel(p.records, POD, 0, 0, 1600000));
    ck_assert(!step_records_cancel(p.records, POD, 7, 0, 1600000));
    ck_assert(step_records_have_news(p.records));
    reopen(&p);
    known = step_records_find(p.records, POD, 0);
    ck_assert_ptr_nonnull(known);
    ck_assert_str_eq(known->state, "Running");
    ck_assert_int_eq(*known->ended_by, 1001);
    end(&p, 0, "Cancelled");
    ck_assert(!step_records_cancel(p.records, POD, 0, 0, 3000000));
    ck_assert_ptr_null(collect(&p)->steps.items[0].ended_by);
    place_fini(&p);
}
END_TEST

START_TEST(a_step_ends_once)
{
    struct place p;

    place_init(&p);
    begin(&p, 0);
    end(&p, 0, "Failed");
    end(&p, 0, "Completed");
    begin(&p, 0);
    ck_assert_ptr_null(step_records_find(p.records, POD, 0));
    ck_assert_str_eq(collect(&p)->steps.items[0].state, "Failed");
    place_fini(&p);
}
END_TEST

START_TEST(a_pod_that_is_over_is_forgotten_when_all_is_known)
{
    struct place p;
    const struct step_batch *batch;

    place_init(&p);
    begin(&p, 0);
    step_records_close(p.records, POD, "Cancelled", 3000000);
    reopen(&p);
    batch = collect(&p);
    ck_assert_uint_eq(batch->steps.count, 1);
    ck_assert_str_eq(batch->steps.items[0].state, "Cancelled");
    ck_assert_int_eq(batch->steps.items[0].end_at_us, 3000000);
    ck_assert(has_file(&p));
    step_records_acknowledge(p.records, POD);
    ck_assert(!has_file(&p));
    ck_assert(!step_records_have_news(p.records));
    place_fini(&p);
}
END_TEST

static bool
is_none_here(UNUSED const char *uid, UNUSED void *context)
{
    return false;
}

START_TEST(steps_of_a_pod_that_the_next_agent_does_not_have_have_ended)
{
    struct place p;

    place_init(&p);
    begin(&p, 0);
    reopen(&p);
    step_records_close_others(p.records, is_none_here, NULL, "NodeFailed", 3000000);
    ck_assert_str_eq(collect(&p)->steps.items[0].state, "NodeFailed");
    place_fini(&p);
}
END_TEST

START_TEST(a_report_and_a_pod_are_bounded_and_the_rest_is_counted)
{
    struct place p;
    unsigned n = 0;
    const struct step_batch *batch;

    place_init(&p);
    for (int64_t id = STEP_RECORDS_MOST - STEP_REPORT_STEPS_MOST - 5; id < STEP_RECORDS_MOST + 3;
         id++)
        begin(&p, id);
    batch = collect(&p);
    ck_assert_uint_eq(batch->steps.count, STEP_REPORT_STEPS_MOST);
    ck_assert_int_eq(batch->omitted, 3);
    n += batch->steps.count;
    step_records_acknowledge(p.records, POD);
    batch = collect(&p);
    n += batch->steps.count;
    ck_assert_uint_eq(n, STEP_REPORT_STEPS_MOST + 5);
    reopen(&p);
    ck_assert_int_eq(collect(&p)->omitted, 3);
    place_fini(&p);
}
END_TEST

START_TEST(a_report_of_steps_with_long_commands_is_not_too_large_for_the_controller)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct place p;
    struct step_report report;
    char quotes[STEP_TEXT_MOST + 1];
    struct step_record s;

    memset(quotes, '"', STEP_TEXT_MOST);
    quotes[STEP_TEXT_MOST] = '\0';
    place_init(&p);
    for (int64_t id = 0; id < STEP_REPORT_STEPS_MOST; id++) {
        s = step_of(id);
        s.name = s.command = s.nodes = quotes;
        step_records_begin(p.records, &pod, &s);
    }
    step_records_collect(p.records, p.arena, &report);
    json_print(record_encode(&step_report_record, p.arena, &report), &text);

    ck_assert_uint_lt(text.length, 3145728); /* BODY_LIMIT */
    ck_assert_uint_gt(report.pods.items[0].steps.count, 500);
    place_fini(&p);
}
END_TEST

START_TEST(a_file_of_many_steps_stays_small)
{
    struct place p;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP_FREE char *path = NULL;

    place_init(&p);
    path = xasprintf("%s/" POD, p.dir);
    for (int64_t id = 0; id < STEP_RECORDS_MOST; id++) {
        begin(&p, id);
        end(&p, id, "Completed");
        if (id % 100 == 0) {
            arena_free(p.arena);
            p.arena = arena_new(0);
            (void)collect(&p);
            step_records_acknowledge(p.records, POD);
        }
    }
    ck_assert_int_eq(file_read(path, 2u << 20, &text, NULL), 0);
    ck_assert_uint_gt(text.length, 0);
    place_fini(&p);
}
END_TEST

/* The disk takes a part of a change, and has room later. */
START_TEST(a_line_that_a_full_disk_has_cut_does_not_spoil_the_next_one)
{
    struct place p;
    struct rlimit limit;
    struct stat st;
    CLEANUP_FREE char *path = NULL;

    place_init(&p);
    path = xasprintf("%s/" POD, p.dir);
    begin(&p, 0);
    ck_assert_int_eq(stat(path, &st), 0);
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = (rlim_t)st.st_size + 7;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    begin(&p, 1); /* in memory only */
    limit.rlim_cur = limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    begin(&p, 2);

    reopen(&p);
    ck_assert_uint_eq(collect(&p)->steps.count, 2);
    place_fini(&p);
}
END_TEST

START_TEST(a_torn_line_is_ignored)
{
    struct place p;
    CLEANUP_FREE char *path = NULL;
    static const char torn[] = "{\"step\":9,\"sta";
    int fd;

    place_init(&p);
    begin(&p, 0);
    path = xasprintf("%s/" POD, p.dir);
    fd = open(path, O_WRONLY | O_APPEND);
    ck_assert_int_eq(fd_write_all(fd, torn, strlen(torn)), 0);
    close(fd);
    reopen(&p);
    begin(&p, 1);
    reopen(&p);
    ck_assert_uint_eq(collect(&p)->steps.count, 2);
    place_fini(&p);
}
END_TEST

SUITE("step_records", an_unacknowledged_record_is_sent_again_also_by_the_next_agent,
      a_change_after_the_report_is_not_acknowledged_with_it,
      the_first_to_end_a_step_is_known_to_the_next_agent, a_step_ends_once,
      a_pod_that_is_over_is_forgotten_when_all_is_known,
      steps_of_a_pod_that_the_next_agent_does_not_have_have_ended,
      a_report_and_a_pod_are_bounded_and_the_rest_is_counted, a_file_of_many_steps_stays_small,
      a_torn_line_is_ignored, a_line_that_a_full_disk_has_cut_does_not_spoil_the_next_one,
      a_report_of_steps_with_long_commands_is_not_too_large_for_the_controller)
