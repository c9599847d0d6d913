/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/status_patch.h"

#include <check.h>
#include <string.h>

#include "agent/pods/observation.h"
#include "agent/shepherd/files/exit_record.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "lib/json/strategic.h"
#include "testsuite/lib/suite.h"

#define POD                                                                 \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"," \
    "\"namespace\":\"d\",\"uid\":\"u1\"},\"spec\":{\"containers\":"         \
    "[{\"name\":\"main\",\"image\":\"host\"}]},\"status\":{\"phase\":"      \
    "\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\","               \
    "\"status\":\"True\",\"lastTransitionTime\":\"2024-01-01T00:00:00Z\"}]}}"

static struct arena *arena;
static const struct object *pod;

static void
begin(void)
{
    arena = arena_new(0);
    ck_assert_int_eq(object_parse(&pod_kind, POD, strlen(POD), &pod, NULL), 0);
}

static void
finish(void)
{
    object_unref(pod);
    arena_free(arena);
}

/* Applies the patch to the present pod as the API would, and checks the result
 * by the kind's table.
 */
static const struct object *
applied_to(const struct object *there, const struct json *patch)
{
    struct json *tree = object_tree(there, arena);
    struct record_notes notes;
    struct error err = {0};

    ck_assert_msg(strategic_merge(arena, pod_kind.record, tree, patch, &err) == 0, "%s", err.text);
    ck_assert_msg(record_normalize(pod_kind.record, arena, tree, &notes, &err) == 0, "%s",
                  err.text);
    ck_assert_msg(notes.n_unknown == 0, "unknown: %s", notes.unknown[0]);
    return object_new(&pod_kind, tree);
}

static const struct object *
applied(const struct json *patch)
{
    return applied_to(pod, patch);
}

/* The scheduler wrote the condition while the report was on its way. */
START_TEST(a_condition_that_came_meanwhile_stays)
{
    static const char target[] = "{\"status\":{\"conditions\":[{\"type\":\"DisruptionTarget\","
                                 "\"status\":\"True\",\"reason\":\"PreemptionByScheduler\"}]}}";
    const struct object *preempted, *now;

    begin();
    preempted = applied(json_parse(arena, target, strlen(target), NULL, NULL));
    now = applied_to(
        preempted,
        status_patch_make_running(arena, pod, &(struct status_patch_running){.started_at_us = 1}));

    ck_assert_ptr_nonnull(pod_find_condition(pod_of(now), "DisruptionTarget"));
    ck_assert_ptr_nonnull(pod_find_condition(pod_of(now), "PodScheduled"));
    ck_assert_ptr_nonnull(pod_find_condition(pod_of(now), "Ready"));
    object_unref(now);
    object_unref(preempted);
    finish();
}
END_TEST

START_TEST(a_running_pod_is_ready_and_keeps_the_conditions_of_others)
{
    const struct object *now;

    begin();
    now = applied(status_patch_make_running(arena, pod,
                                            &(struct status_patch_running){
                                                .boot_id = "b",
                                                .started_at_us = 1000000,
                                                .cpus = "2-3",
                                                .memory_nodes = "0",
                                            }));

    ck_assert_str_eq(pod_of(now)->status.phase, "Running");
    ck_assert_str_eq(pod_find_condition(pod_of(now), "Ready")->status, "True");
    ck_assert_ptr_nonnull(pod_find_condition(pod_of(now), "PodScheduled"));
    ck_assert_str_eq(pod_of(now)->status.observed->cpus, "2-3");
    object_unref(now);
    finish();
}
END_TEST

/* A former agent may have reported it. */
START_TEST(a_prepared_pod_of_a_gang_waits_and_keeps_the_conditions_of_others)
{
    const struct object *now;
    struct container_state state;

    begin();
    now = applied(status_patch_make_prepared(arena, pod, 1000000));

    ck_assert(pod_is_prepared(pod_of(now)));
    ck_assert_ptr_nonnull(pod_find_condition(pod_of(now), "PodScheduled"));
    ck_assert_str_eq(pod_of(now)->status.phase, "Pending");
    ck_assert(pod_main_state(pod_of(now), &state));
    ck_assert_str_eq(state.reason, REASON_WAITS_FOR_GANG);
    object_unref(now);
    finish();
}
END_TEST

START_TEST(a_pod_that_is_over_its_limit_is_ending_until_its_end)
{
    struct status_patch_running running = {
        .started_at_us = 1000000, .ending = {.reason = "DeadlineExceeded", .since_us = 9000000}};
    const struct object *now, *later;

    begin();
    now = applied(status_patch_make_running(arena, pod, &running));
    ck_assert(pod_is_ending(pod_of(now)));
    ck_assert_str_eq(pod_of(now)->status.ending->reason, "DeadlineExceeded");
    ck_assert_int_eq(pod_of(now)->status.ending->since_us, 9000000);

    object_unref(pod);
    pod = now;
    running.ending.since_us = 10000000;
    later = applied(status_patch_make_running(arena, pod, &running));
    ck_assert_int_eq(pod_of(later)->status.ending->since_us, 9000000);
    object_unref(later);

    running.ending.reason = NULL;
    later = applied(status_patch_make_running(arena, pod, &running));
    ck_assert(pod_is_ending(pod_of(later)));
    object_unref(later);

    later = applied(status_patch_make_end(arena, pod, &(struct status_patch_end){0}));
    ck_assert_ptr_null(pod_of(later)->status.ending);
    ck_assert(!pod_is_ending(pod_of(later)));
    object_unref(later);
    finish();
}
END_TEST

START_TEST(an_end_is_told_with_its_phase_reason_and_exit_code)
{
    static const struct {
        struct exit_record exit_record;
        const char *reason; /* of the report */
        const char *phase, *state_reason;
        int64_t code, signal;
    } cases[] = {
        {{.exit_code = 0, .started_at_us = 1}, NULL, "Succeeded", "Completed", 0, 0},
        {{.exit_code = 3, .started_at_us = 1}, NULL, "Failed", "Error", 3, 0},
        {{.exit_code = 143, .signal = 15, .started_at_us = 1}, NULL, "Failed", "Error", 143, 15},
        {{.exit_code = 0, .was_ended = true, .started_at_us = 1},
         NULL,
         "Failed",
         "Terminated",
         0,
         0},
        {{.exit_code = 3, .was_ended = true, .started_at_us = 1},
         NULL,
         "Failed",
         "Terminated",
         3,
         0},
        {{.exit_code = 143, .was_ended = true, .started_at_us = 1},
         NULL,
         "Failed",
         "Error",
         143,
         0},
        {{.exit_code = 0, .was_ended = true, .was_oom = true, .started_at_us = 1},
         NULL,
         "Failed",
         "OOMKilled",
         0,
         0},
        {{.exit_code = 137, .signal = 9, .was_oom = true, .started_at_us = 1},
         NULL,
         "Failed",
         "OOMKilled",
         137,
         9},
        {{.exit_code = 0, .started_at_us = 1},
         "DeadlineExceeded",
         "Failed",
         "DeadlineExceeded",
         0,
         0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct container_state state;
        const struct object *now;

        begin();
        now = applied(status_patch_make_end(arena, pod,
                                            &(struct status_patch_end){
                                                .exit_record = &cases[i].exit_record,
                                                .reason = cases[i].reason,
                                                .now_us = 5000000,
                                                .boot_id = "b",
                                            }));
        ck_assert(pod_main_state(pod_of(now), &state));
        ck_assert(state.terminated);
        ck_assert_str_eq(pod_of(now)->status.phase, cases[i].phase);
        ck_assert_str_eq(state.reason, cases[i].state_reason);
        ck_assert_int_eq(state.exit_code, cases[i].code);
        ck_assert_int_eq(state.signal, cases[i].signal);
        object_unref(now);
        finish();
    }
}
END_TEST

START_TEST(a_pod_that_could_not_start_says_why)
{
    const struct object *now;
    char step[] = "working directory";
    char message[] = "'/nope' is not there";
    struct exit_record e = {
        .failed_step = step,
        .message = message,
        .exit_code = 125,
    };

    begin();
    now = applied(status_patch_make_end(arena, pod, &(struct status_patch_end){.exit_record = &e}));

    ck_assert_str_eq(pod_of(now)->status.phase, "Failed");
    ck_assert_str_eq(pod_of(now)->status.message, message);
    object_unref(now);
    finish();
}
END_TEST

START_TEST(a_pod_that_was_called_off_never_started)
{
    char step[] = EXIT_RECORD_CALLED_OFF;
    struct exit_record e = {.failed_step = step, .exit_code = 137, .signal = 9};
    struct container_state state = {0};
    const struct object *now;

    begin();
    now = applied(status_patch_make_end(
        arena, pod, &(struct status_patch_end){.exit_record = &e, .now_us = 5000000}));

    ck_assert(pod_main_state(pod_of(now), &state) && state.terminated);
    ck_assert_int_eq(state.started_at_us, 0);
    ck_assert_int_eq(state.finished_at_us, 5000000);
    object_unref(now);
    finish();
}
END_TEST

START_TEST(a_job_that_could_not_be_started_has_not_started_after_its_end)
{
    char step[] = "output";
    struct exit_record e = {.failed_step = step, .exit_code = 125, .ended_at_us = 4000000};
    struct container_state state = {0};
    const struct object *now;

    begin();
    now = applied(status_patch_make_end(
        arena, pod, &(struct status_patch_end){.exit_record = &e, .now_us = 5000000}));

    ck_assert(pod_main_state(pod_of(now), &state) && state.terminated);
    ck_assert_int_eq(state.started_at_us, 4000000);
    ck_assert_int_eq(state.finished_at_us, 4000000);
    object_unref(now);
    finish();
}
END_TEST

START_TEST(a_pod_lost_with_its_node_carries_the_mark_of_a_disruption)
{
    const struct object *now;

    begin();
    now = applied(status_patch_make_end(arena, pod,
                                        &(struct status_patch_end){
                                            .reason = "NodeRebooted",
                                            .message = "the node was restarted",
                                            .is_disruption = true,
                                            .now_us = 1000000,
                                        }));

    ck_assert_ptr_nonnull(pod_find_condition(pod_of(now), "DisruptionTarget"));
    ck_assert_str_eq(pod_of(now)->status.reason, "NodeRebooted");
    object_unref(now);
    finish();
}
END_TEST

/* The live record is gone when an agent was killed between cleaning up and the report. */
START_TEST(the_exit_record_alone_tells_how_long_a_pod_was_suspended)
{
    struct exit_record e = {.started_at_us = 1, .ended_at_us = 9000000, .frozen_us = 5000000};
    const struct object *now;

    begin();
    now = applied(status_patch_make_end(arena, pod, &(struct status_patch_end){.exit_record = &e}));

    ck_assert_int_eq(pod_of(now)->status.frozen_us, 5000000);
    object_unref(now);
    finish();
}
END_TEST

/* The controller set the reason while the agent could not receive events. */
START_TEST(conditions_of_a_silent_node_are_taken_back_unseen)
{
    struct exit_record e = {.exit_code = 69, .started_at_us = 1};
    struct json *patches[2];

    begin();
    patches[0] = status_patch_make_running(arena, pod, &(struct status_patch_running){0});
    patches[1] = status_patch_make_end(arena, pod, &(struct status_patch_end){.exit_record = &e});
    for (size_t i = 0; i < ARRAY_SIZE(patches); i++) {
        struct json *tree = json_dup(arena, object_tree(pod, arena));
        struct json *status = json_make_object(arena, tree, "status");

        json_set_string(arena, status, "reason", "NodeLost");
        json_set_string(arena, status, "message", "not heard of");
        ck_assert_int_eq(strategic_merge(arena, pod_kind.record, tree, patches[i], NULL), 0);
        ck_assert_ptr_null(json_get_path(tree, "status.reason"));
        ck_assert_ptr_null(json_get_path(tree, "status.message"));
    }
    finish();
}
END_TEST

#define TOLD_TO_LEAVE                                                          \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\","    \
    "\"namespace\":\"d\",\"uid\":\"u1\"},\"spec\":{\"containers\":[{\"name\":" \
    "\"main\",\"image\":\"host\"}]},\"status\":{\"phase\":\"Running\","        \
    "\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\","      \
    "\"reason\":\"PreemptionByScheduler\"}]}}"

/* The Job recreates the pod because of this condition. */
START_TEST(a_pod_that_was_told_to_leave_still_says_why_when_it_has)
{
    static const bool is_disruption[] = {false, true};

    for (size_t i = 0; i < ARRAY_SIZE(is_disruption); i++) {
        const struct object *now;
        const struct pod_condition *c;

        arena = arena_new(0);
        ck_assert_int_eq(object_parse(&pod_kind, TOLD_TO_LEAVE, strlen(TOLD_TO_LEAVE), &pod, NULL),
                         0);
        now = applied(status_patch_make_end(arena, pod,
                                            &(struct status_patch_end){
                                                .reason = "Terminated",
                                                .is_disruption = is_disruption[i],
                                                .now_us = 1000000,
                                            }));
        c = pod_find_condition(pod_of(now), "DisruptionTarget");

        ck_assert_ptr_nonnull(c);
        ck_assert_str_eq(c->reason, "PreemptionByScheduler");
        object_unref(now);
        finish();
    }
}
END_TEST

START_TEST(the_observed_placement_and_its_fault_are_reported)
{
    const struct observation seen = {
        .processes = 3,
        .cpus = {{0x1c}},
        .memory_nodes = {{0x1}},
        .has_memory = true,
        .bytes = 200,
        .bytes_elsewhere = 3,
    };
    const struct pod_condition *c;
    const struct observed *o;
    const struct object *now;

    begin();
    now = applied(status_patch_make_running(arena, pod,
                                            &(struct status_patch_running){
                                                .boot_id = "b",
                                                .started_at_us = 1000000,
                                                .cpus = "2-3",
                                                .seen = &seen,
                                                .seen_at_us = 2000000,
                                                .broken = {"Misplaced", "runs on CPU 4"},
                                                .now_us = 2000000,
                                            }));
    o = pod_of(now)->status.observed;
    c = pod_find_condition(pod_of(now), "AllocationBroken");

    ck_assert_str_eq(o->cpus, "2-4");
    ck_assert_str_eq(o->memory_nodes, "0");
    ck_assert_int_eq(*o->local_memory_percent, 98);
    ck_assert_int_eq(o->processes, 3);
    ck_assert_int_eq(o->at_us, 2000000);
    ck_assert_str_eq(c->status, "True");
    ck_assert_str_eq(c->reason, "Misplaced");
    ck_assert_str_eq(c->message, "runs on CPU 4");

    /* After another run: reported once, until it is right. */
    object_unref(pod);
    pod = now;
    now = applied(status_patch_make_running(arena, pod,
                                            &(struct status_patch_running){
                                                .boot_id = "b",
                                                .started_at_us = 1000000,
                                                .now_us = 3000000,
                                            }));
    c = pod_find_condition(pod_of(now), "AllocationBroken");
    ck_assert_str_eq(c->status, "False");
    ck_assert_int_eq(c->last_transition_at_us, 3000000);
    object_unref(now);
    finish();
}
END_TEST

SUITE("status_patch", a_condition_that_came_meanwhile_stays,
      a_running_pod_is_ready_and_keeps_the_conditions_of_others,
      a_prepared_pod_of_a_gang_waits_and_keeps_the_conditions_of_others,
      a_pod_that_is_over_its_limit_is_ending_until_its_end,
      the_observed_placement_and_its_fault_are_reported,
      an_end_is_told_with_its_phase_reason_and_exit_code, a_pod_that_could_not_start_says_why,
      a_pod_that_was_called_off_never_started,
      a_job_that_could_not_be_started_has_not_started_after_its_end,
      a_pod_lost_with_its_node_carries_the_mark_of_a_disruption,
      the_exit_record_alone_tells_how_long_a_pod_was_suspended,
      conditions_of_a_silent_node_are_taken_back_unseen,
      a_pod_that_was_told_to_leave_still_says_why_when_it_has)
