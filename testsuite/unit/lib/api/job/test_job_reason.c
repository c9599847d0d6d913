/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/job_reason.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

#define NOW_US INT64_C(1795421000000000) /* 2026-11-23 08:03:20 UTC */
#define MINUTE INT64_C(60000000)

/* A job with its pod, and the texts about it. */
struct scene {
    struct job job;
    struct pod pod;
    struct pod_spec spec;
    struct container container;
    struct string_entry limit;
    struct job_condition condition;
    struct pod_condition pod_condition;
    struct job_run run;
    struct pod_cause cause;
    int64_t limit_s;
    bool has_no_pod;
    bool is_other; /* another user asks */
};

static void
scene_init(struct scene *s)
{
    memset(s, 0, sizeof(*s));
    s->limit = (struct string_entry){"memory", "50Mi"};
    s->limit_s = 3;
    s->container.resources.limits.items = &s->limit;
    s->container.resources.limits.count = 1;
    s->spec.containers.items = &s->container;
    s->spec.containers.count = 1;
    s->spec.active_deadline_seconds = &s->limit_s;
    s->job.spec.template_.spec = &s->spec;
    s->pod.spec = s->spec;
}

static void
end_with(struct scene *s, const char *reason, const char *message)
{
    s->condition = (struct job_condition){
        .type = "Failed",
        .status = "True",
        .reason = reason,
        .message = message,
    };
    s->job.status.conditions.items = &s->condition;
    s->job.status.conditions.count = 1;
}

static void
remember_run(struct scene *s, const char *reason, const char *message)
{
    s->has_no_pod = true;
    s->run = (struct job_run){
        .pod_name = "job-1-0", .node_name = "real", .reason = reason, .message = message};
    s->job.status.last_run = &s->run;
}

static void
assert_says(const struct scene *s, const char *code, const char *words)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    enum job_reason reason = job_reason_find(
        &(struct job_reason_facts){
            .job = &s->job,
            .pod = s->has_no_pod ? NULL : &s->pod,
            .now_us = NOW_US,
            .is_whole = !s->is_other,
            .is_utc = true,
        },
        &out);

    ck_assert_str_eq(job_reason_name(reason), code);
    ck_assert_str_eq(out.text, words);
}

/* Codes as they appear in a status. */
START_TEST(codes_have_names_that_are_read_back)
{
    for (unsigned i = JOB_REASON_RESOURCES; i < JOB_REASON_COUNT; i++) {
        struct scene s;

        scene_init(&s);
        s.cause.code = job_reason_name((enum job_reason)i);
        s.cause.message = "words";
        s.pod.status.cause = &s.cause;
        assert_says(&s, s.cause.code, "words");
    }
}
END_TEST

START_TEST(a_code_of_a_later_release_is_another)
{
    struct scene s;

    scene_init(&s);
    s.cause = (struct pod_cause){.code = "NotYetKnown", .message = "words"};
    s.pod.status.cause = &s.cause;
    assert_says(&s, "Other", "words");
}
END_TEST

/* The end of a run, by the reason of its pod. */
START_TEST(ends_are_told_by_what_was_too_much)
{
    static const struct {
        const char *reason, *message;
        int64_t exit_code, signal;
        const char *code, *words;
    } ends[] = {
        {"OOMKilled", NULL, 0, 0, "OutOfMemory", "over 50 MiB"},
        {"DeadlineExceeded", NULL, 0, 15, "TimeLimit", "over 0:03"},
        {"Error", NULL, 3, 0, "NonZeroExitCode", "exit code 3"},
        {"Error", NULL, 137, 0, "NonZeroExitCode", "exit code 137 (128 and SIGKILL)"},
        {"Error", NULL, 0, 9, "RaisedSignal", "killed by signal 9 (SIGKILL)"},
        {"Error", NULL, 0, 0, "Other", "it failed"},
        {"NodeLost", "Its node ...", 0, 0, "NodeDown", "node real was lost"},
        {"NodeRebooted", NULL, 0, 0, "NodeDown", "node real was restarted"},
        {"NodeShutdown", NULL, 0, 0, "NodeDown", "node real was shut down"},
        {"PrologFailed", "prolog: exit 1", 0, 0, "Prolog", "the prolog of node real failed"},
        {"StartError", "no directory /home/u1; make it", 0, 0, "JobLaunchFailure",
         "no directory /home/u1"},
        {"Preempted", "preempted by job 51 of u2", 0, 0, "Preempted", "preempted by job 51 of u2"},
        {"PodDeleted", NULL, 0, 0, "PodDeleted", "its pod was deleted"},
        {"Terminated", NULL, 0, 0, "PodDeleted", "ended on request, with exit code 0"},
        {"CalledOff", NULL, 125, 0, "PodDeleted", "ended on request before it had started"},
        {"Terminated", NULL, 3, 0, "NonZeroExitCode", "exit code 3"},
    };

    for (unsigned i = 0; i < ARRAY_SIZE(ends); i++) {
        struct scene s;

        scene_init(&s);
        end_with(&s, "BackoffLimitExceeded", "Job has reached ...");
        remember_run(&s, ends[i].reason, ends[i].message);
        s.run.exit_code = ends[i].exit_code;
        s.run.signal = ends[i].signal;
        assert_says(&s, ends[i].code, ends[i].words);
    }
}
END_TEST

START_TEST(other_users_do_not_read_paths)
{
    struct scene s;

    scene_init(&s);
    end_with(&s, "BackoffLimitExceeded", NULL);
    remember_run(&s, "StartError", "no directory /home/u1");
    s.is_other = true;
    assert_says(&s, "JobLaunchFailure", "it could not be started");
    remember_run(&s, "Preempted", "preempted by job 51 of u2");
    assert_says(&s, "Preempted", "preempted by another job");
}
END_TEST

START_TEST(the_jobs_own_end_goes_before_its_pods)
{
    struct scene s;

    scene_init(&s);
    remember_run(&s, "Error", NULL);
    end_with(&s, "Cancelled", "Cancelled by u1");
    assert_says(&s, "Cancelled", "cancelled by u1");
    s.job.spec.active_deadline_seconds = &s.limit_s;
    s.limit_s = 3600;
    end_with(&s, "DeadlineExceeded", "Job was active longer than ...");
    assert_says(&s, "DeadLine", "not done within 1:00:00");
}
END_TEST

START_TEST(indexes_that_failed_say_how_one_of_them_has)
{
    struct scene s;

    scene_init(&s);
    end_with(&s, "FailedIndexes", "Job has failed indexes");
    remember_run(&s, NULL, NULL);
    s.run.exit_code = 3;
    assert_says(&s, "NonZeroExitCode", "exit code 3");

    s.run.exit_code = 0;
    s.run.reason = "Completed";
    assert_says(&s, "Other", "Job has failed indexes");
}
END_TEST

START_TEST(the_pod_that_is_furthest_stands_for_its_job)
{
    static const struct {
        const char *phase, *node;
        int64_t deleted_at_us;
    } rising[] = {
        {"Succeeded", "n1", 0}, {"Failed", "n1", 0},  {"Running", "n1", 1},
        {"Pending", NULL, 0},   {"Pending", "n1", 0}, {"Running", "n1", 0},
    };
    struct pod pods[ARRAY_SIZE(rising)] = {0};
    struct pod newer;

    for (unsigned i = 0; i < ARRAY_SIZE(rising); i++) {
        pods[i].status.phase = rising[i].phase;
        pods[i].spec.node_name = rising[i].node;
        pods[i].meta.deleted_at_us = rising[i].deleted_at_us;
        pods[i].meta.created_at_us = 100 - i;
    }
    for (unsigned i = 1; i < ARRAY_SIZE(rising); i++) {
        ck_assert_ptr_eq(job_reason_prefer(&pods[i - 1], &pods[i]), &pods[i]);
        ck_assert_ptr_eq(job_reason_prefer(&pods[i], &pods[i - 1]), &pods[i]);
    }

    newer = pods[1];
    newer.meta.created_at_us++;
    ck_assert_ptr_eq(job_reason_prefer(&pods[1], &newer), &newer);
    ck_assert_ptr_eq(job_reason_prefer(&newer, &pods[1]), &newer);
    ck_assert_ptr_eq(job_reason_prefer(NULL, &pods[0]), &pods[0]);
}
END_TEST

/* All have a node; one of them is what the others wait for. */
START_TEST(a_gang_that_is_not_prepared_names_the_node_it_waits_for)
{
    struct string_entry barrier = {ANNOTATION_START_BARRIER, "2"};
    struct pod_condition prepared = {.type = CONDITION_PREPARED, .status = "True"};
    struct scene s;
    struct pod other;

    scene_init(&s);
    s.pod.meta.annotations.items = &barrier;
    s.pod.meta.annotations.count = 1;
    s.pod.status.phase = "Pending";
    other = s.pod;
    other.spec.node_name = "n1";
    other.status.conditions.items = &prepared;
    other.status.conditions.count = 1;
    s.pod.spec.node_name = "n3";

    ck_assert_ptr_eq(job_reason_prefer(&other, &s.pod), &s.pod);
    ck_assert_ptr_eq(job_reason_prefer(&s.pod, &other), &s.pod);
    assert_says(&s, "StartBlocked", "waits for node n3 to be prepared");
}
END_TEST

START_TEST(a_pod_that_waits_says_what_its_scheduler_wrote)
{
    struct scene s;

    scene_init(&s);
    s.cause = (struct pod_cause){
        .code = "Resources", .message = "waits for 2 CPUs on real", .from_us = NOW_US + 3 * MINUTE};
    s.pod.status.cause = &s.cause;
    assert_says(&s, "Resources", "waits for 2 CPUs on real, from about 08:06");
    s.cause.from_us = NOW_US + 24 * 60 * MINUTE;
    assert_says(&s, "Resources", "waits for 2 CPUs on real, from about Nov 24 08:03");
    s.cause.from_us = NOW_US - MINUTE;
    assert_says(&s, "Resources", "waits for 2 CPUs on real");
}
END_TEST

START_TEST(a_reason_ends_with_its_cause)
{
    struct scene s;

    scene_init(&s);
    s.cause =
        (struct pod_cause){.code = "AssocGrpCpuLimit", .message = "quota chem: 4 CPUs used of 4"};
    s.job.status.cause = &s.cause;
    s.has_no_pod = true;
    assert_says(&s, "AssocGrpCpuLimit", "quota chem: 4 CPUs used of 4");
    s.has_no_pod = false;
    s.job.status.cause = NULL;
    assert_says(&s, "None", "");
    s.pod.spec.node_name = "real";
    s.pod.status.phase = "Running";
    remember_run(&s, "Preempted", "preempted by job 51 of u2");
    s.has_no_pod = false;
    assert_says(&s, "None", "");
    s.pod.status.phase = "Unknown";
    assert_says(&s, "NodeDown", "node real is silent");
}
END_TEST

START_TEST(a_job_that_was_preempted_and_waits_says_both)
{
    struct scene s;

    scene_init(&s);
    remember_run(&s, "Preempted", "preempted by job 51 of u2");
    assert_says(&s, "Preempted", "preempted by job 51 of u2");
    s.has_no_pod = false;
    s.cause = (struct pod_cause){.code = "Resources", .message = "waits for 2 CPUs on real"};
    s.pod.status.cause = &s.cause;
    assert_says(&s, "Resources", "preempted by job 51 of u2; waits for 2 CPUs on real");
    /* The job's own failure is no reason to wait. */
    s.run.reason = "Error";
    assert_says(&s, "Resources", "waits for 2 CPUs on real");
}
END_TEST

START_TEST(holds_and_begin_times_are_told)
{
    struct string_entry by = {"kiln.hpc/held-by", "root"};
    struct scene s;

    scene_init(&s);
    s.has_no_pod = true;
    s.job.spec.begin_at_us = NOW_US + 60 * MINUTE;
    assert_says(&s, "BeginTime", "not to begin before 09:03");
    s.job.spec.suspend = true;
    assert_says(&s, "JobHeldUser", "held by its user");
    s.job.meta.annotations.items = &by;
    s.job.meta.annotations.count = 1;
    assert_says(&s, "JobHeldAdmin", "held by operator root");
}
END_TEST

START_TEST(a_hold_names_its_holder_to_its_owner)
{
    struct string_entry notes[] = {{"kiln.hpc/hold", "u1"}, {"kiln.hpc/user", "u1"}};
    struct scene s;

    scene_init(&s);
    s.has_no_pod = true;
    s.job.meta.annotations.items = notes;
    s.job.meta.annotations.count = ARRAY_SIZE(notes);
    assert_says(&s, "JobHeldUser", "held by user u1");
    notes[0].value = "root";
    assert_says(&s, "JobHeldAdmin", "held by operator root");
    /* An operator of a former release has suspended a job that its user holds.
     */
    notes[0].value = "u1";
    notes[1] = (struct string_entry){"kiln.hpc/held-by", "root"};
    s.job.spec.suspend = true;
    assert_says(&s, "JobHeldAdmin", "held by operator root");
    s.job.spec.suspend = false;
    notes[1] = (struct string_entry){"kiln.hpc/user", "u1"};
    notes[0].value = "root";
    s.is_other = true;
    assert_says(&s, "JobHeldAdmin", "held by an operator");
    notes[0].value = "u1";
    assert_says(&s, "JobHeldUser", "held by its user");
    /* The node's report of a running job is more important than the hold. */
    s.has_no_pod = false;
    s.pod.spec.node_name = "real";
    s.pod.status.phase = "Unknown";
    assert_says(&s, "NodeDown", "node real is silent");
}
END_TEST

START_TEST(amounts_are_short)
{
    static const struct {
        int64_t limit_s;
        const char *memory, *late, *large;
    } limits[] = {
        {59, "1000", "over 0:59", "over 1000 bytes"},
        {3600, "1Gi", "over 1:00:00", "over 1 GiB"},
        {90061, "1.5Gi", "over 1-01:01:01", "over 1.5 GiB"},
        {86400 * 30, "1023Gi", "over 30-00:00:00", "over 1023 GiB"},
    };

    for (unsigned i = 0; i < ARRAY_SIZE(limits); i++) {
        struct scene s;

        scene_init(&s);
        end_with(&s, "BackoffLimitExceeded", NULL);
        s.limit.value = limits[i].memory;
        s.limit_s = limits[i].limit_s;
        remember_run(&s, "DeadlineExceeded", NULL);
        assert_says(&s, "TimeLimit", limits[i].late);
        remember_run(&s, "OOMKilled", NULL);
        assert_says(&s, "OutOfMemory", limits[i].large);
    }
}
END_TEST

SUITE("api/job_reason", codes_have_names_that_are_read_back, a_code_of_a_later_release_is_another,
      ends_are_told_by_what_was_too_much, other_users_do_not_read_paths,
      the_jobs_own_end_goes_before_its_pods, indexes_that_failed_say_how_one_of_them_has,
      the_pod_that_is_furthest_stands_for_its_job,
      a_gang_that_is_not_prepared_names_the_node_it_waits_for,
      a_pod_that_waits_says_what_its_scheduler_wrote, a_reason_ends_with_its_cause,
      a_job_that_was_preempted_and_waits_says_both, holds_and_begin_times_are_told,
      a_hold_names_its_holder_to_its_owner, amounts_are_short)
