/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/usage_reporter.h"

#include <semaphore.h>
#include <stdlib.h>

#include "agent/pods/agent_context.h"
#include "agent/pods/files/spare_dirs.h"
#include "agent/pods/pods.h"
#include "lib/api/node/topology.h"
#include "lib/base/clock.h"
#include "lib/client/client.h"
#include "lib/client/event_recorder.h"
#include "lib/loop/loop.h"
#include "lib/loop/workers.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/run_loop.h"

static sem_t may_go_on;

static void
wait_here(void *arg)
{
    (void)arg;
    while (sem_wait(&may_go_on) < 0)
        ;
}

static void
left(void *context)
{
    (void)context;
}

/* The only worker is busy when the reporter measures for the first time, and goes on
 * when the agent ends.
 */
START_TEST(a_measurement_that_waits_for_a_worker_may_outlast_the_reports)
{
    struct fake_client *api = fake_client_new();
    struct loop *loop = fake_client_client(api)->loop;
    struct event_recorder *recorder =
        event_recorder_new(fake_client_client(api), &clock_system, "kiln-agent", "n1");
    char *place = scratch_new();
    struct topology topology = {0};
    struct spare_dirs *spare_dirs = spare_dirs_new(place);
    struct workers *workers = workers_new(1);
    struct agent_context agent = {
        .workers = workers,
        .spare_dirs = spare_dirs,
        .event_recorder = recorder,
        .loop = loop,
        .client = fake_client_client(api),
        .clock = &clock_system,
        .node = "n1",
        .topology = &topology,
        .boot_id = "boot",
        .state_dir = place,
        .run_dir = place,
        .tmp_dir = place,
    };
    struct pods *pods = pods_new(&agent, left, NULL);
    struct usage_reporter *reporter = usage_reporter_new(&agent, pods, NULL, 100);
    int64_t began_us = clock_monotonic_us(&clock_system);

    ck_assert_int_eq(sem_init(&may_go_on, 0, 0), 0);
    workers_submit(workers, NULL, wait_here, NULL, NULL);
    usage_reporter_start(reporter);
    while (clock_monotonic_us(&clock_system) < began_us + 500000)
        run_loop_step(api);

    usage_reporter_stop(reporter);
    pods_free(pods);
    ck_assert_int_eq(sem_post(&may_go_on), 0);
    workers_free(workers);
    loop_drain(loop);
    usage_reporter_free(reporter);

    event_recorder_free(recorder);
    spare_dirs_free(spare_dirs);
    scratch_freep(&place);
    fake_client_free(api);
    sem_destroy(&may_go_on);
}
END_TEST

SUITE("usage_reporter", a_measurement_that_waits_for_a_worker_may_outlast_the_reports)
