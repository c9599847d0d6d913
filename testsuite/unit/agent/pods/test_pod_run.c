/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/pod_run.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/pods/agent_context.h"
#include "agent/pods/files/blobs.h"
#include "agent/pods/pod_run_state.h"
#include "agent/shepherd/files/live_record.h"
#include "lib/api/node/topology.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/client/event_recorder.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/run_loop.h"

#define POD(annotations)                                                   \
    "{\"metadata\":{\"name\":\"job-7-0\",\"namespace\":\"physics\","       \
    "\"annotations\":{" annotations "},\"ownerReferences\":[{"             \
    "\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"job-7\","     \
    "\"uid\":\"j\",\"controller\":true}]},"                                \
    "\"spec\":{\"nodeName\":\"n1\",\"securityContext\":"                   \
    "{\"runAsUser\":1001,\"runAsGroup\":100},\"containers\":[{"            \
    "\"name\":\"main\",\"command\":[\"true\"]}]},"                         \
    "\"status\":{\"phase\":\"Pending\",\"allocation\":{\"cpus\":\"2-3\"}}" \
    "}"

static struct {
    struct fake_client *api;
    struct topology topology;
    struct agent_context agent;
    struct event_recorder *event_recorder;
    struct blobs *blobs;
    struct pod_run *run;
    unsigned over;
    unsigned n_launched;
} world;

static void
over(struct pod_run *run, void *context)
{
    (void)run;
    (void)context;
    world.over++;
}

static void
begin(const char *pod)
{
    const struct object *object;

    memset(&world, 0, sizeof(world));
    world.api = fake_client_new();
    object = fake_client_put(world.api, &pod_kind, pod);
    world.topology.pus.words[0] = 0xff;
    world.event_recorder =
        event_recorder_new(fake_client_client(world.api), &clock_system, "kiln-agent", "n1");
    world.agent = (struct agent_context){
        .event_recorder = world.event_recorder,
        .loop = fake_client_client(world.api)->loop,
        .client = fake_client_client(world.api),
        .clock = &clock_system,
        .node = "n1",
        .topology = &world.topology,
        .boot_id = "boot",
        .state_dir = "/nowhere",
        .run_dir = "/nowhere",
        .tmp_dir = "/nowhere",
        .min_uid = 1000,
    };
    world.blobs = blobs_new(world.agent.client);
    world.run = pod_run_new(&(struct pod_run_settings){.agent = &world.agent,
                                                       .blobs = world.blobs,
                                                       .over = over,
                                                       .n_launched = &world.n_launched},
                            object);
}

static const char *
phase_of_pod(void)
{
    return pod_of(fake_client_find(world.api, &pod_kind, "physics", "job-7-0"))->status.phase;
}

START_TEST(a_refusal_is_told_and_then_it_is_over)
{
    begin(POD(""));
    pod_run_refuse(world.run, "Refused", "the node is full");
    ck_assert_uint_eq(world.over, 0);

    fake_client_run(world.api);

    ck_assert_uint_eq(world.over, 1);
    ck_assert_str_eq(phase_of_pod(), "Failed");
    ck_assert_uint_eq(fake_client_count(world.api, &event_kind), 1);
    pod_run_free(world.run);
    blobs_free(world.blobs);
    event_recorder_free(world.event_recorder);
    fake_client_free(world.api);
}
END_TEST

/* An agent that ends handles no answer, so a pending call must not keep the
 * run.
 */
START_TEST(a_freed_run_reports_nothing_more)
{
    begin(POD(""));
    pod_run_refuse(world.run, "Refused", "the node is full");

    pod_run_free(world.run);

    fake_client_run(world.api);
    ck_assert_str_eq(phase_of_pod(), "Pending");
    ck_assert_uint_eq(world.over, 0);
    blobs_free(world.blobs);
    event_recorder_free(world.event_recorder);
    fake_client_free(world.api);
}
END_TEST

START_TEST(a_deletion_that_is_confirmed_when_it_is_freed_is_not_any_more)
{
    begin(POD(""));
    pod_run_update(world.run, fake_client_put(world.api, &pod_kind,
                                              "{\"metadata\":{\"name\":\"job-7-0\","
                                              "\"namespace\":\"physics\",\"uid\":\"uid-1\","
                                              "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},"
                                              "\"spec\":{\"containers\":[{\"name\":\"main\"}]}}"));
    pod_run_resume(world.run);

    pod_run_free(world.run);

    fake_client_run(world.api);
    ck_assert_uint_eq(fake_client_count(world.api, &pod_kind), 1);
    blobs_free(world.blobs);
    event_recorder_free(world.event_recorder);
    fake_client_free(world.api);
}
END_TEST

START_TEST(a_script_that_is_fetched_when_it_is_freed_is_not_waited_for)
{
    begin(POD("\"kiln.hpc/script\":\"sha256:s\""));
    pod_run_resume(world.run);
    ck_assert_int_eq(world.run->phase, POD_RUN_PREPARING);

    pod_run_free(world.run);
    blobs_free(world.blobs);

    fake_client_run(world.api);
    ck_assert_uint_eq(world.over, 0);
    event_recorder_free(world.event_recorder);
    fake_client_free(world.api);
}
END_TEST

START_TEST(a_report_that_was_not_sent_before_the_end_is_dropped)
{
    begin(POD(""));
    world.run->live = xnew(struct live_record);
    world.run->live->started_at_us = clock_real_us(&clock_system);
    status_report_request(world.run, REPORT_RUNNING);
    pod_run_refuse(world.run, "Refused", "the node is full");

    ck_assert_int_eq(world.run->reporting, REPORT_END);
    fake_client_run(world.api);

    ck_assert_str_eq(phase_of_pod(), "Failed");
    ck_assert_uint_eq(world.over, 1);
    pod_run_free(world.run);
    blobs_free(world.blobs);
    event_recorder_free(world.event_recorder);
    fake_client_free(world.api);
}
END_TEST

static void
ignore_question(void *context)
{
    (void)context;
}

static void
end(void)
{
    pod_run_free(world.run);
    blobs_free(world.blobs);
    event_recorder_free(world.event_recorder);
    fake_client_free(world.api);
}

/* When the 404 arrives, it is unknown whether the pod was deleted, or the
 * controller serves another cluster.
 */
START_TEST(an_end_that_nobody_wants_to_know_is_kept_until_the_pod_is_gone)
{
    begin(POD(""));
    world.agent.ask_if_forgotten = ignore_question;
    fake_client_fail(world.api, CLIENT_STRATEGIC_PATCH, "status", 404, "NotFound");
    pod_run_refuse(world.run, "Refused", "the node is full");
    fake_client_run(world.api);
    ck_assert_uint_eq(world.over, 0);

    pod_run_report_now(world.run); /* our cluster is back */
    run_loop_until(world.api, world.over > 0);

    ck_assert_str_eq(phase_of_pod(), "Failed");
    end();
}
END_TEST

START_TEST(the_end_of_a_pod_that_is_gone_is_told_to_nobody)
{
    begin(POD(""));
    world.agent.ask_if_forgotten = ignore_question;
    fake_client_fail(world.api, CLIENT_STRATEGIC_PATCH, "status", 404, "NotFound");
    pod_run_refuse(world.run, "Refused", "the node is full");
    fake_client_run(world.api);
    ck_assert_uint_eq(world.over, 0);

    pod_run_note_forgotten(world.run);

    ck_assert_uint_eq(world.over, 1);
    ck_assert_str_eq(phase_of_pod(), "Pending");
    end();
}
END_TEST

START_TEST(the_end_of_an_orphan_is_its_last_word)
{
    begin(POD(""));
    world.agent.ask_if_forgotten = ignore_question;
    fake_client_fail(world.api, CLIENT_STRATEGIC_PATCH, "status", 404, "NotFound");
    pod_run_set_orphan(world.run, true);
    pod_run_refuse(world.run, "Refused", "the node is full");
    fake_client_run(world.api);

    ck_assert_uint_eq(world.over, 1);
    end();
}
END_TEST

/* The answer to a report that was on its way comes after the controller has given up
 * the pod. The pod still runs, so there is no end to report.
 */
START_TEST(a_pod_that_was_given_up_is_reported_no_more)
{
    begin(POD(""));
    world.run->live = xnew(struct live_record);
    world.run->live->started_at_us = clock_real_us(&clock_system);
    pod_run_set_phase(world.run, POD_RUN_LAUNCHED);
    pod_run_set_phase(world.run, POD_RUN_RUNNING);
    status_report_request(world.run, REPORT_RUNNING);

    pod_run_update(world.run, fake_client_put(world.api, &pod_kind,
                                              "{\"metadata\":{\"name\":\"job-7-0\","
                                              "\"namespace\":\"physics\",\"uid\":\"uid-1\"},"
                                              "\"spec\":{\"containers\":[{\"name\":\"main\"}]},"
                                              "\"status\":{\"phase\":\"Failed\"}}"));
    fake_client_run(world.api);
    status_report_repeat(world.run);
    fake_client_run(world.api);

    ck_assert_uint_eq(fake_client_calls(world.api, CLIENT_STRATEGIC_PATCH, "status"), 1);
    ck_assert(pod_run_is_abandoned(world.run));
    ck_assert(pod_run_holds_cores(world.run));
    ck_assert_uint_eq(world.over, 0);
    end();
}
END_TEST

/* By the watch, and by the answer to a report or a confirmation. */
START_TEST(a_pod_may_be_forgotten_twice)
{
    begin(POD(""));
    pod_run_note_forgotten(world.run);
    pod_run_note_forgotten(world.run);

    ck_assert(pod_run_is_forgotten(world.run));
    ck_assert(pod_run_is_abandoned(world.run));
    ck_assert(!pod_run_is_orphan(world.run));
    end();
}
END_TEST

/* Returns how a process ends that does this to a run that is DONE. */
static int
end_of(void (*act)(void))
{
    int status = 0;
    pid_t child = fork();

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        act();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

static void
run_again(void)
{
    pod_run_set_phase(world.run, POD_RUN_RUNNING);
}

static void
run_again_in_production(void)
{
    unsetenv("KILN_ABORT_ON_FAULT");
    run_again();
    if (world.run->phase != POD_RUN_RUNNING)
        _exit(1);
}

static void
remember_forgotten(void)
{
    pod_run_set_api_state(world.run, POD_RUN_FORGOTTEN);
    pod_run_set_api_state(world.run, POD_RUN_KNOWN);
}

static void
kill_unkillable(void)
{
    pod_run_set_kill_state(world.run, POD_RUN_UNKILLABLE);
}

START_TEST(a_move_that_no_table_has_is_a_fault)
{
    void (*const faults[])(void) = {run_again, remember_forgotten, kill_unkillable};

    begin(POD(""));
    pod_run_set_phase(world.run, POD_RUN_DONE);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        const int status = end_of(faults[i]);

        ck_assert(WIFSIGNALED(status));
        ck_assert_int_eq(WTERMSIG(status), SIGABRT);
    }
    ck_assert_int_eq(end_of(run_again_in_production), 0);
    end();
}
END_TEST

static bool
is_prepared_in_api(void)
{
    return pod_is_prepared(pod_of(fake_client_find(world.api, &pod_kind, "physics", "job-7-0")));
}

/* Nothing is reported before its shepherd is prepared, and nothing twice. */
START_TEST(a_pod_of_a_gang_is_reported_as_prepared_once)
{
    begin(POD("\"kiln.hpc/start-barrier\":\"4\""));
    world.run->live = xnew(struct live_record);
    pod_run_advance_start(world.run);
    fake_client_run(world.api);
    ck_assert(!is_prepared_in_api());

    world.run->live->is_prepared = 1;
    for (int i = 0; i < 3; i++) {
        pod_run_advance_start(world.run);
        fake_client_run(world.api);
    }

    ck_assert(is_prepared_in_api());
    ck_assert_uint_eq(fake_client_calls(world.api, CLIENT_STRATEGIC_PATCH, "status"), 1);
    ck_assert_str_eq(phase_of_pod(), "Pending");
    end();
}
END_TEST

/* By an agent that was restarted: the earlier one has reported it. */
START_TEST(a_prepared_pod_is_not_reported_again_after_a_restart)
{
    begin(POD("\"kiln.hpc/start-barrier\":\"4\""));
    world.run->live = xnew(struct live_record);
    world.run->live->is_prepared = 1;
    pod_run_advance_start(world.run);
    fake_client_run(world.api);
    pod_run_update(world.run, fake_client_find(world.api, &pod_kind, "physics", "job-7-0"));
    world.run->wanted = world.run->reported = REPORT_NOTHING;

    pod_run_advance_start(world.run);
    fake_client_run(world.api);

    ck_assert_uint_eq(fake_client_calls(world.api, CLIENT_STRATEGIC_PATCH, "status"), 1);
    end();
}
END_TEST

SUITE("pod_run", an_end_that_nobody_wants_to_know_is_kept_until_the_pod_is_gone,
      the_end_of_a_pod_that_is_gone_is_told_to_nobody, the_end_of_an_orphan_is_its_last_word,
      a_report_that_was_not_sent_before_the_end_is_dropped, a_refusal_is_told_and_then_it_is_over,
      a_freed_run_reports_nothing_more,
      a_deletion_that_is_confirmed_when_it_is_freed_is_not_any_more,
      a_script_that_is_fetched_when_it_is_freed_is_not_waited_for,
      a_pod_of_a_gang_is_reported_as_prepared_once,
      a_prepared_pod_is_not_reported_again_after_a_restart,
      a_pod_that_was_given_up_is_reported_no_more, a_pod_may_be_forgotten_twice,
      a_move_that_no_table_has_is_a_fault)
