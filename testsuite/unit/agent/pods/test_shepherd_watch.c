/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent sends to the shepherd of a running pod, when events come twice, late or in another
 * order, and what it does when the shepherd is gone. This process is the shepherd: what it
 * is sent waits as signals.
 */
#include <check.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/pods/agent_context.h"
#include "agent/pods/files/blobs.h"
#include "agent/pods/pod_run_state.h"
#include "agent/shepherd/files/live_record.h"
#include "agent/shepherd/handover.h"
#include "agent/shepherd/launch.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/client/event_recorder.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/run_loop.h"

static struct {
    char dir[64];
    struct fake_client *api;
    struct agent_context agent;
    struct blobs *blobs;
    struct pod_run *run;
    unsigned n_launched, n_ended;
    char *uid;
    int64_t keeps_limit, frozen_at_us;
    bool was_told;
} world;

static void
over(UNUSED struct pod_run *run, UNUSED void *context)
{
}

/* Steps that do not end keep the run from cleaning up, for which it would want workers. */
static bool
end_steps(UNUSED const char *uid, UNUSED void *context)
{
    world.n_ended++;
    return false;
}

static const struct object *
put(const char *meta, const char *spec)
{
    CLEANUP_FREE char *json = xasprintf(
        "{\"metadata\":{\"name\":\"job-7-0\",\"namespace\":\"physics\",\"uid\":\"uid-1\"%s},"
        "\"spec\":{\"nodeName\":\"n1\",\"securityContext\":{\"runAsUser\":1001},%s"
        "\"containers\":[{\"name\":\"main\",\"command\":[\"true\"]}]},"
        "\"status\":{\"phase\":\"Running\"}}",
        meta, spec);

    return fake_client_put(world.api, &pod_kind, json);
}

#define ANNOTATIONS(text) ",\"annotations\":{" text "}"
#define SIGNALS(list)     ANNOTATIONS("\"kiln.hpc/signals\":\"" list "\"")
#define DELETED(grace)                                 \
    ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"," \
    "\"deletionGracePeriodSeconds\":" #grace

static void
write_live(enum live_phase phase)
{
    CLEANUP_FREE char *dir = xasprintf("%s/pods/%s", world.dir, world.uid);
    const struct live_record live = {
        .pod_uid = world.uid,
        .boot_id = (char[]){"boot"},
        .phase = phase,
        .shepherd_pid = getpid(),
        .job_pid = getpid(),
        .started_at_us = clock_real_us(&clock_system),
        .started_boot_us = clock_boottime_us(),
        .keeps_limit = world.keeps_limit,
        .frozen_at_us = world.frozen_at_us,
    };

    (void)mkdir(dir, 0700);
    ck_assert_int_eq(live_record_write(&live, dir, NULL), 0);
}

/* A run whose shepherd has just been started, as a pod of this text. */
static void
begin(const char *meta, const char *spec)
{
    CLEANUP_FREE char *pods = NULL;
    const struct object *pod;
    sigset_t set;

    memset(&world, 0, sizeof(world));
    world.keeps_limit = LIVE_CAN_SIGNAL;
    snprintf(world.dir, sizeof(world.dir), "/tmp/shepherd-watch-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(world.dir));
    pods = xasprintf("%s/pods", world.dir);
    ck_assert_int_eq(mkdir(pods, 0700), 0);
    sigemptyset(&set);
    sigaddset(&set, HANDOVER_SIGNAL);
    ck_assert_int_eq(sigprocmask(SIG_BLOCK, &set, NULL), 0);

    world.api = fake_client_new();
    pod = put(meta, spec);
    world.uid = xstrdup(pod->meta->uid);
    world.agent = (struct agent_context){
        .event_recorder =
            event_recorder_new(fake_client_client(world.api), &clock_system, "kiln-agent", "n1"),
        .loop = fake_client_client(world.api)->loop,
        .client = fake_client_client(world.api),
        .clock = &clock_system,
        .node = "n1",
        .boot_id = "boot",
        .state_dir = world.dir,
        .run_dir = world.dir,
        .tmp_dir = world.dir,
        .end_steps = end_steps,
    };
    world.blobs = blobs_new(world.agent.client);
    world.run = pod_run_new(&(struct pod_run_settings){.agent = &world.agent,
                                                       .blobs = world.blobs,
                                                       .over = over,
                                                       .n_launched = &world.n_launched},
                            pod);
}

static void
end(void)
{
    CLEANUP_FREE char *command = xasprintf("rm -rf '%s'", world.dir);

    pod_run_free(world.run);
    blobs_free(world.blobs);
    event_recorder_free(world.agent.event_recorder);
    fake_client_free(world.api);
    free(world.uid);
    ck_assert_int_eq(system(command), 0);
}

static void
launch(int pidfd)
{
    world.run->pidfd = pidfd;
    pod_run_set_phase(world.run, POD_RUN_LAUNCHED);
    shepherd_watch_begin(world.run);
}

/* The job runs. */
static void
run(void)
{
    launch((int)syscall(SYS_pidfd_open, getpid(), 0));
    ck_assert_int_ge(world.run->pidfd, 0);
    write_live(LIVE_RUNNING);
    shepherd_watch_poll(world.run);
    ck_assert_int_eq(world.run->phase, POD_RUN_RUNNING);
}

/* What the shepherd was sent since the last time, as "TERM KILL limit:7 freeze thaw USR1#2". */
static const char *
take_sent(void)
{
    static char text[256];
    const struct timespec now = {0};
    siginfo_t info;
    sigset_t set;
    size_t at = 0;

    sigemptyset(&set);
    sigaddset(&set, HANDOVER_SIGNAL);
    text[0] = '\0';
    while (sigtimedwait(&set, &info, &now) >= 0) {
        const uint64_t value = (uint64_t)(uintptr_t)info.si_value.sival_ptr;
        const unsigned kind = (unsigned)(value & 0xff00);
        const char *space = at > 0 ? " " : "";

        if (kind == HANDOVER_IS_LIMIT)
            at += (size_t)snprintf(text + at, sizeof(text) - at, "%slimit:%d", space,
                                   (int)HANDOVER_LIMIT_OF(value));
        else if (kind == HANDOVER_IS_FREEZE)
            at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", space,
                                   HANDOVER_FREEZE_OF(value) ? "freeze" : "thaw");
        else if (kind == HANDOVER_IS_USER_SIGNAL)
            at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s#%d", space,
                                   sigabbrev_np(HANDOVER_USER_SIGNAL_SIGNO(value)),
                                   (int)HANDOVER_USER_SIGNAL_SEQUENCE(value));
        else
            at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", space,
                                   sigabbrev_np(HANDOVER_SIGNO((int)value)));
    }
    return text;
}

START_TEST(a_deletion_that_comes_twice_is_one_order_to_end)
{
    begin("", "");
    run();
    ck_assert_str_eq(take_sent(), "");
    pod_run_update(world.run, put(DELETED(30), ""));
    pod_run_update(world.run, put(DELETED(30), ""));
    ck_assert_str_eq(take_sent(), "TERM");
    ck_assert_int_eq(world.run->kill_state, POD_RUN_NOT_KILLED);
    end();
}
END_TEST

START_TEST(the_shortest_grace_period_counts_whichever_comes_first)
{
    begin("", "");
    run();
    pod_run_update(world.run, put(DELETED(30), ""));
    ck_assert_str_eq(take_sent(), "TERM");
    pod_run_update(world.run, put(DELETED(600), ""));
    ck_assert_int_eq(world.run->deadline.delete_grace_us, INT64_C(30000000));
    pod_run_update(world.run, put(DELETED(0), ""));
    ck_assert_str_eq(take_sent(), "KILL");
    ck_assert_int_eq(world.run->kill_state, POD_RUN_KILLED);

    pod_run_update(world.run, put(DELETED(30), "")); /* an older one, late */
    ck_assert_str_eq(take_sent(), "");
    end();
}
END_TEST

START_TEST(a_deletion_before_the_job_was_seen_ends_it_too)
{
    begin("", "");
    launch((int)syscall(SYS_pidfd_open, getpid(), 0));
    pod_run_update(world.run, put(DELETED(0), ""));
    ck_assert_str_eq(take_sent(), "KILL");
    end();
}
END_TEST

START_TEST(a_pod_that_the_api_has_forgotten_is_killed_without_grace)
{
    begin("", "\"terminationGracePeriodSeconds\":600,");
    run();
    pod_run_note_forgotten(world.run);
    ck_assert_str_eq(take_sent(), "KILL");
    end();
}
END_TEST

START_TEST(a_signal_of_the_user_is_sent_once_however_its_list_arrives)
{
    begin(SIGNALS("1:USR1:All"), "");
    run();
    ck_assert_str_eq(take_sent(), "USR1#1");
    pod_run_update(world.run, put(SIGNALS("1:USR1:All 2:USR2:All"), ""));
    ck_assert_str_eq(take_sent(), "USR2#2");
    pod_run_update(world.run, put(SIGNALS("1:USR1:All"), "")); /* an older one, late */
    pod_run_update(world.run, put(SIGNALS("1:USR1:All 2:USR2:All"), ""));
    ck_assert_str_eq(take_sent(), "");
    pod_run_update(world.run, put(SIGNALS("2:USR2:All 3:HUP:All"), ""));
    ck_assert_str_eq(take_sent(), "HUP#3");
    end();
}
END_TEST

START_TEST(a_signal_before_the_job_runs_is_sent_when_it_does)
{
    begin("", "");
    launch((int)syscall(SYS_pidfd_open, getpid(), 0));
    pod_run_update(world.run, put(SIGNALS("1:USR1:All"), ""));
    ck_assert_str_eq(take_sent(), "");
    write_live(LIVE_RUNNING);
    shepherd_watch_poll(world.run);
    ck_assert_str_eq(take_sent(), "USR1#1");
    end();
}
END_TEST

START_TEST(a_time_limit_that_has_passed_is_the_shepherds_business)
{
    begin("", "\"activeDeadlineSeconds\":3600,");
    run();
    pod_run_update(world.run, put("", "\"activeDeadlineSeconds\":1,"));
    ck_assert_str_eq(take_sent(), "limit:1");
    world.run->deadline.started_us -= INT64_C(2000000);
    shepherd_watch_enforce(world.run);
    ck_assert_str_eq(take_sent(), ""); /* it has sent SIGTERM by itself */
    ck_assert_int_ne(world.run->exceeded_at_us, 0);
    end();
}
END_TEST

START_TEST(a_shepherd_of_an_earlier_release_is_sent_the_end_of_a_changed_limit)
{
    begin("", "\"activeDeadlineSeconds\":3600,");
    world.keeps_limit = 1;
    run();
    pod_run_update(world.run, put("", "\"activeDeadlineSeconds\":1,"));
    (void)take_sent();
    world.run->deadline.started_us -= INT64_C(2000000);
    shepherd_watch_enforce(world.run);
    shepherd_watch_enforce(world.run);
    ck_assert_str_eq(take_sent(), "TERM");
    end();
}
END_TEST

START_TEST(a_freeze_is_asked_for_until_the_record_shows_it)
{
    begin("", "");
    run();
    pod_run_update(world.run, put(ANNOTATIONS("\"kiln.hpc/freeze\":\"root\""), ""));
    ck_assert_str_eq(take_sent(), "freeze");
    shepherd_watch_check_freeze(world.run); /* the message may have been lost */
    ck_assert_str_eq(take_sent(), "freeze");
    world.frozen_at_us = clock_real_us(&clock_system);
    write_live(LIVE_RUNNING);
    world.run->s.holding_changed = over;
    shepherd_watch_check_freeze(world.run);
    ck_assert_str_eq(take_sent(), "");
    ck_assert(world.run->deadline.is_frozen);

    pod_run_update(world.run, put("", ""));
    ck_assert_str_eq(take_sent(), "thaw");
    end();
}
END_TEST

START_TEST(a_pod_that_is_ending_is_not_frozen)
{
    begin("", "");
    run();
    pod_run_update(world.run, put(DELETED(30), ""));
    ck_assert_str_eq(take_sent(), "TERM");
    pod_run_update(world.run, put(DELETED(30) ANNOTATIONS("\"kiln.hpc/freeze\":\"root\""), ""));
    ck_assert_str_eq(take_sent(), "");
    end();
}
END_TEST

/* It may be gone before the agent has seen the job, and before the agent was there. */
START_TEST(the_end_of_the_shepherd_is_the_end_of_the_pod)
{
    pid_t shepherd = fork();

    ck_assert_int_ge(shepherd, 0);
    if (shepherd == 0)
        _exit(0);
    begin("", "");
    launch((int)syscall(SYS_pidfd_open, shepherd, 0));
    run_loop_until(world.api, world.run->phase == POD_RUN_ENDED);
    ck_assert_uint_ge(world.n_ended, 1);
    ck_assert_int_eq(world.run->pidfd, -1);

    /* What comes after that is for nobody. */
    pod_run_update(world.run, put(SIGNALS("1:USR1:All"), "\"activeDeadlineSeconds\":1,"));
    pod_run_update(world.run, put(DELETED(0), ""));
    ck_assert_str_eq(take_sent(), "");
    end();
}
END_TEST

SUITE("shepherd_watch", a_deletion_that_comes_twice_is_one_order_to_end,
      the_shortest_grace_period_counts_whichever_comes_first,
      a_deletion_before_the_job_was_seen_ends_it_too,
      a_pod_that_the_api_has_forgotten_is_killed_without_grace,
      a_signal_of_the_user_is_sent_once_however_its_list_arrives,
      a_signal_before_the_job_runs_is_sent_when_it_does,
      a_time_limit_that_has_passed_is_the_shepherds_business,
      a_shepherd_of_an_earlier_release_is_sent_the_end_of_a_changed_limit,
      a_freeze_is_asked_for_until_the_record_shows_it, a_pod_that_is_ending_is_not_frozen,
      the_end_of_the_shepherd_is_the_end_of_the_pod)
