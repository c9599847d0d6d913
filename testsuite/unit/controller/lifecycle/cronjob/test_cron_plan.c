/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/cronjob/cron_plan.h"

#include <check.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

#define NOW_S    INT64_C(1767226200) /* 2026-01-01T00:10:00Z */
#define MINUTES  "29453770"          /* of it */
#define MAX_JOBS 8u

struct fixture {
    struct arena *arena;
    const struct object *cron_job;
    const struct object *jobs[MAX_JOBS];
    struct cron_situation s;
    struct cron_plan plan;
};

static const struct object *
parse(const struct kind *kind, const char *text)
{
    const struct object *object = NULL;
    struct error err = {0};

    ck_assert_msg(object_parse(kind, text, strlen(text), &object, &err) == 0, "%s", err.text);
    return object;
}

static void
begin(struct fixture *f, const char *spec, const char *status)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"apiVersion\":\"batch/v1\",\"kind\":\"CronJob\",\"metadata\":"
                  "{\"name\":\"c\",\"namespace\":\"d\",\"uid\":\"u\","
                  "\"creationTimestamp\":\"2026-01-01T00:00:30Z\"},\"spec\":{"
                  "\"schedule\":\"*/5 * * * *\",\"concurrencyPolicy\":\"Allow\","
                  "\"jobTemplate\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":"
                  "{\"template\":{\"spec\":{\"containers\":[]}}}}%s},\"status\":{%s}}",
                  spec, status);

    memset(f, 0, sizeof(*f));
    f->arena = arena_new(0);
    f->cron_job = parse(&cron_job_kind, text);
    f->s.cron_job = f->cron_job;
    f->s.jobs = f->jobs;
    f->s.now_s = NOW_S;
}

static void
add_job(struct fixture *f, const char *name, const char *condition)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":"
                  "\"%s\",\"namespace\":\"d\",\"uid\":\"%s\",\"creationTimestamp\":"
                  "\"2026-01-01T00:0%zu:00Z\"},\"spec\":{\"template\":{\"spec\":{"
                  "\"containers\":[]}}},\"status\":{%s%s%s}}",
                  name, name, f->s.n_jobs,
                  *condition != '\0' ? "\"conditions\":[{\"status\":\"True\",\"type\":\"" : "",
                  condition, *condition != '\0' ? "\"}]" : "");

    f->jobs[f->s.n_jobs++] = parse(&job_kind, text);
}

static void
end(struct fixture *f)
{
    for (size_t i = 0; i < f->s.n_jobs; i++)
        object_unref(f->jobs[i]);
    object_unref(f->cron_job);
    arena_free(f->arena);
}

START_TEST(the_last_time_that_was_missed_is_due)
{
    struct fixture f;

    begin(&f, "", "");
    cron_plan_make(&f.s, f.arena, &f.plan);
    ck_assert_int_eq(f.plan.due_s, NOW_S);
    ck_assert_uint_eq(f.plan.missed, 2);
    ck_assert_int_eq(f.plan.wake_s, NOW_S + 300);
    ck_assert_ptr_null(f.plan.status);
    end(&f);
}
END_TEST

START_TEST(a_time_has_one_job_whatever_is_forgotten)
{
    struct fixture f;

    /* Known from the status, from memory, or from the Job itself. */
    begin(&f, "", "\"lastScheduleTime\":\"2026-01-01T00:10:00Z\"");
    cron_plan_make(&f.s, f.arena, &f.plan);
    ck_assert_int_eq(f.plan.due_s, 0);
    end(&f);
    begin(&f, "", "");
    f.s.last_s = NOW_S;
    cron_plan_make(&f.s, f.arena, &f.plan);
    ck_assert_int_eq(f.plan.due_s, 0);
    end(&f);
    begin(&f, "", "");
    add_job(&f, "c-" MINUTES, "");
    cron_plan_make(&f.s, f.arena, &f.plan);
    ck_assert_int_eq(f.plan.due_s, 0);
    ck_assert_str_eq(json_get_text(f.plan.status, "lastScheduleTime"), "2026-01-01T00:10:00Z");
    ck_assert_uint_eq(json_count(json_get(f.plan.status, "active")), 1);
    end(&f);
}
END_TEST

START_TEST(a_clock_that_leaps_makes_one_job_or_none)
{
    struct fixture f;

    /* A day ahead: the last time of that day, once. */
    begin(&f, "", "\"lastScheduleTime\":\"2026-01-01T00:10:00Z\"");
    f.s.now_s = NOW_S + 86400 + 7;
    cron_plan_make(&f.s, f.arena, &f.plan);
    ck_assert_int_eq(f.plan.due_s, NOW_S + 86400);
    ck_assert_uint_gt(f.plan.missed, CRON_MISSED_MAX);

    /* Ten minutes back: nothing again until it is later than before. */
    f.s.now_s = NOW_S - 600;
    cron_plan_make(&f.s, f.arena, &f.plan);
    ck_assert_int_eq(f.plan.due_s, 0);
    ck_assert_int_eq(f.plan.wake_s, NOW_S + 300);
    ck_assert_ptr_null(f.plan.status);
    end(&f);
}
END_TEST

START_TEST(a_clock_that_was_years_ahead_holds_no_schedule_up)
{
    struct fixture f;

    begin(&f, "", "\"lastScheduleTime\":\"2036-01-01T00:10:00Z\"");
    f.s.now_s = NOW_S + 7;
    f.s.last_s = f.s.not_before_s = NOW_S + 10 * INT64_C(31557600);
    cron_plan_make(&f.s, f.arena, &f.plan);
    ck_assert_int_eq(f.plan.due_s, 0);
    ck_assert_str_eq(json_get_text(f.plan.status, "lastScheduleTime"), "2026-01-01T00:10:07Z");
    end(&f);

    /* Now the status has the time; memory is unchanged. */
    begin(&f, "", "\"lastScheduleTime\":\"2026-01-01T00:10:07Z\"");
    f.s.last_s = f.s.not_before_s = NOW_S + 10 * INT64_C(31557600);
    f.s.now_s = NOW_S + 299;
    cron_plan_make(&f.s, f.arena, &f.plan);
    ck_assert_int_eq(f.plan.due_s, 0);
    ck_assert_int_eq(f.plan.wake_s, NOW_S + 300);
    f.s.now_s = NOW_S + 300;
    cron_plan_make(&f.s, f.arena, &f.plan);
    ck_assert_int_eq(f.plan.due_s, NOW_S + 300);
    end(&f);

    /* The CronJob was created at that time, and had no Job. */
    begin(&f, "", "");
    f.s.now_s = NOW_S - 86400;
    cron_plan_make(&f.s, f.arena, &f.plan);
    ck_assert_int_eq(f.plan.due_s, 0);
    ck_assert_str_eq(json_get_text(f.plan.status, "lastScheduleTime"), "2025-12-31T00:10:00Z");
    end(&f);
}
END_TEST

START_TEST(a_suspended_or_late_schedule_makes_nothing)
{
    struct fixture f;

    begin(&f, ",\"suspend\":true", "");
    cron_plan_make(&f.s, f.arena, &f.plan);
    ck_assert_int_eq(f.plan.due_s, 0);
    end(&f);
    begin(&f, ",\"startingDeadlineSeconds\":60", "");
    f.s.now_s = NOW_S + 61;
    cron_plan_make(&f.s, f.arena, &f.plan);
    ck_assert_int_eq(f.plan.due_s, 0);
    f.s.now_s = NOW_S + 59;
    cron_plan_make(&f.s, f.arena, &f.plan);
    ck_assert_int_eq(f.plan.due_s, NOW_S);
    end(&f);
    begin(&f, "", "");
    f.s.not_before_s = NOW_S;
    cron_plan_make(&f.s, f.arena, &f.plan);
    ck_assert_int_eq(f.plan.due_s, 0);
    end(&f);
}
END_TEST

#define ACTIVE                                                               \
    "\"lastScheduleTime\":\"2026-01-01T00:05:00Z\",\"active\":[{\"name\":\"" \
    "c-1\",\"uid\":\"c-1\"}]"

START_TEST(a_job_that_goes_on_is_left_forbids_or_is_replaced)
{
    struct fixture f;

    begin(&f, "", ACTIVE);
    add_job(&f, "c-1", "");
    cron_plan_make(&f.s, f.arena, &f.plan);
    ck_assert_int_eq(f.plan.due_s, NOW_S);
    ck_assert_uint_eq(f.plan.n_remove, 0);
    end(&f);
    begin(&f, ",\"concurrencyPolicy\":\"Forbid\"", ACTIVE);
    add_job(&f, "c-1", "");
    cron_plan_make(&f.s, f.arena, &f.plan);
    ck_assert_int_eq(f.plan.due_s, 0);
    ck_assert(f.plan.is_waiting);
    end(&f);
    begin(&f, ",\"concurrencyPolicy\":\"Replace\"", ACTIVE);
    add_job(&f, "c-1", "");
    cron_plan_make(&f.s, f.arena, &f.plan);
    ck_assert_int_eq(f.plan.due_s, NOW_S);
    ck_assert_uint_eq(f.plan.n_remove, 1);
    end(&f);
}
END_TEST

START_TEST(the_oldest_that_ended_go_once_the_status_tells_of_all)
{
    struct fixture f;

    begin(&f,
          ",\"suspend\":true,\"successfulJobsHistoryLimit\":1,"
          "\"failedJobsHistoryLimit\":0",
          "");
    add_job(&f, "manual-1", "Complete");
    add_job(&f, "manual-2", "Failed");
    add_job(&f, "manual-3", "Complete");
    cron_plan_make(&f.s, f.arena, &f.plan);
    ck_assert_ptr_null(f.plan.status);
    ck_assert_uint_eq(f.plan.n_remove, 2);
    ck_assert_str_eq(f.plan.remove[0]->meta->name, "manual-1");
    ck_assert_str_eq(f.plan.remove[1]->meta->name, "manual-2");
    add_job(&f, "c-" MINUTES, "Complete");
    cron_plan_make(&f.s, f.arena, &f.plan);
    ck_assert_ptr_nonnull(f.plan.status);
    ck_assert_uint_eq(f.plan.n_remove, 0);
    end(&f);
}
END_TEST

START_TEST(a_job_carries_its_minute_its_owner_and_the_templates_labels)
{
    struct fixture f;
    const struct json *job, *owner;

    begin(&f, ",\"timeZone\":\"UTC\"", "");
    job = cron_plan_job(f.cron_job, NULL, NOW_S, f.arena);
    ck_assert_str_eq(json_path_text(job, "metadata.name"), "c-" MINUTES);
    ck_assert_str_eq(json_path_text(job, "metadata.labels.a"), "b");
    owner = json_at(json_get_path(job, "metadata.ownerReferences"), 0);
    ck_assert_str_eq(json_get_text(owner, "uid"), "u");
    ck_assert(json_is_true(json_get(owner, "controller")));
    ck_assert_ptr_nonnull(json_get_path(job, "spec.template"));
    end(&f);
}
END_TEST

SUITE("cron plan", the_last_time_that_was_missed_is_due, a_time_has_one_job_whatever_is_forgotten,
      a_clock_that_leaps_makes_one_job_or_none, a_clock_that_was_years_ahead_holds_no_schedule_up,
      a_suspended_or_late_schedule_makes_nothing, a_job_that_goes_on_is_left_forbids_or_is_replaced,
      the_oldest_that_ended_go_once_the_status_tells_of_all,
      a_job_carries_its_minute_its_owner_and_the_templates_labels)
