/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/pods.h"

#include <sys/stat.h>
#include <unistd.h>

#include "agent/pods/agent_context.h"
#include "agent/pods/files/spare_dirs.h"
#include "agent/shepherd/files/exit_record.h"
#include "lib/api/node/topology.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/client/client.h"
#include "lib/client/event_recorder.h"
#include "lib/loop/loop.h"
#include "lib/loop/workers.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/run_loop.h"

static struct {
    struct fake_client *api;
    char *place;
    char *run;
    struct topology topology;
    struct agent_context agent;
    struct event_recorder *event_recorder;
    struct spare_dirs *spare_dirs;
    struct workers *workers;
    struct pods *pods;
} world;

static void
left(void *context)
{
    (void)context;
}

static void
make_directory(const char *parent, const char *name)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", parent, name);

    ck_assert_int_eq(mkdir(path, 0700), 0);
}

static void
begin(void)
{
    memset(&world, 0, sizeof(world));
    world.api = fake_client_new();
    world.topology.pus.words[0] = 0xff;
    world.event_recorder =
        event_recorder_new(fake_client_client(world.api), &clock_system, "kiln-agent", "n1");
    world.place = scratch_new();
    world.run = xasprintf("%s/run", world.place);
    make_directory(world.place, "pods");
    make_directory(world.place, "run");
    make_directory(world.place, "run/pods");
    world.spare_dirs = spare_dirs_new(world.place);
    world.workers = workers_new(1);
    world.agent = (struct agent_context){
        .workers = world.workers,
        .spare_dirs = world.spare_dirs,
        .event_recorder = world.event_recorder,
        .loop = fake_client_client(world.api)->loop,
        .client = fake_client_client(world.api),
        .clock = &clock_system,
        .node = "n1",
        .topology = &world.topology,
        .boot_id = "boot",
        .state_dir = world.place,
        .run_dir = world.run,
        .tmp_dir = world.place,
        .min_uid = 1000,
    };
    world.pods = pods_new(&world.agent, left, NULL);
}

static void
end(void)
{
    pods_free(world.pods);
    event_recorder_free(world.event_recorder);
    workers_free(world.workers);
    /* completed work of the workers */
    loop_drain(fake_client_client(world.api)->loop);
    spare_dirs_free(world.spare_dirs);
    free(world.run);
    scratch_freep(&world.place);
    fake_client_free(world.api);
}

/* A pod of this node with these CPUs, whose script has to be fetched. */
static void
bind_pod(const char *name, const char *cpus)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"physics\","
                  "\"uid\":\"uid-%s\",\"annotations\":{\"kiln.hpc/script\":"
                  "\"sha256:s\"},\"ownerReferences\":[{\"apiVersion\":\"batch/v1\","
                  "\"kind\":\"Job\",\"name\":\"job-7\",\"uid\":\"j\","
                  "\"controller\":true}]},\"spec\":{\"nodeName\":\"n1\","
                  "\"securityContext\":{\"runAsUser\":1001,\"runAsGroup\":100},"
                  "\"containers\":[{\"name\":\"main\",\"command\":[\"true\"]}]},"
                  "\"status\":{\"phase\":\"Pending\",\"allocation\":{\"cpus\":\"%s\"}}}",
                  name, name, cpus);

    fake_client_put(world.api, &pod_kind, text);
}

static const struct pod *
find(const char *name)
{
    return pod_of(fake_client_find(world.api, &pod_kind, "physics", name));
}

static bool
is_refused_for_overlap(const char *name)
{
    const char *reason = find(name)->status.reason;

    return reason != NULL && strcmp(reason, "AllocationOverlap") == 0;
}

/* The informer decides which of the two comes first. */
START_TEST(cores_that_a_pod_here_has_are_refused_to_another_and_that_is_said)
{
    const struct pod *refused, *kept;
    const struct pod_condition *c;

    begin();
    bind_pod("one", "2-3");
    bind_pod("other", "3-4");
    bind_pod("third", "5");
    for (int i = 0; i < 3; i++)
        fake_client_fail(world.api, CLIENT_GET, "script", 503, "Unavailable");
    pods_start(world.pods);
    run_loop_until(world.api, is_refused_for_overlap("one") || is_refused_for_overlap("other"));

    refused = find(is_refused_for_overlap("one") ? "one" : "other");
    kept = find(is_refused_for_overlap("one") ? "other" : "one");
    ck_assert_str_eq(refused->status.phase, "Failed");
    ck_assert_str_eq(refused->status.reason, "AllocationOverlap");
    ck_assert_ptr_nonnull(strstr(refused->status.message, "both have the CPUs 3"));
    c = pod_find_condition(refused, "AllocationBroken");
    ck_assert_ptr_nonnull(c);
    ck_assert_str_eq(c->status, "True");
    ck_assert_str_eq(c->reason, "AllocationOverlap");
    ck_assert_ptr_nonnull(pod_find_condition(refused, "DisruptionTarget"));
    ck_assert_ptr_null(pod_find_condition(kept, "AllocationBroken"));
    ck_assert(!is_refused_for_overlap("third"));
    ck_assert_uint_ge(fake_client_count(world.api, &event_kind), 1);
    end();
}
END_TEST

/* The agent starts between the events of the pod's end and its deletion, or
 * receives one event after it has reported the other.
 */
START_TEST(a_pod_that_is_over_holds_nothing_when_it_is_heard_of_again)
{
    CLEANUP_FREE char *there = NULL;
    struct error err = {0};
    struct exit_record e = {.pod_uid = (char[]){"uid-gone"}, .boot_id = (char[]){"boot"}};

    begin();
    make_directory(world.place, "pods/uid-gone");
    there = xasprintf("%s/pods/uid-gone", world.place);
    ck_assert_msg(exit_record_write(&e, there, there, &err) == 0, "%s", err.text);
    fake_client_put(world.api, &pod_kind,
                    "{\"metadata\":{\"name\":\"gone\",\"namespace\":"
                    "\"physics\",\"uid\":\"uid-gone\",\"deletionTimestamp\":"
                    "\"2026-01-01T00:00:00Z\"},\"spec\":{\"nodeName\":\"n1\","
                    "\"containers\":[{\"name\":\"main\"}]},\"status\":{"
                    "\"phase\":\"Failed\",\"allocation\":{\"cpus\":\"2-3\"}}}");
    pods_start(world.pods);
    fake_client_run(world.api);
    bind_pod("next", "2-3");
    fake_client_run(world.api);

    ck_assert(!is_refused_for_overlap("next"));
    ck_assert_uint_eq(fake_client_calls(world.api, CLIENT_DELETE, NULL), 1);
    end();
}
END_TEST

/* An agent is killed after it has cleaned up after the pod and before it has reported
 * the end; the cores were lent to another pod, which starts first.
 */
START_TEST(the_end_of_a_pod_is_told_though_another_has_its_cores_by_now)
{
    CLEANUP_FREE char *there = NULL;
    struct error err = {0};
    struct exit_record e = {.pod_uid = (char[]){"uid-gone"},
                            .boot_id = (char[]){"boot"},
                            .started_at_us = 1,
                            .ended_at_us = 2};

    begin();
    bind_pod("next", "2-3");
    fake_client_fail(world.api, CLIENT_GET, "script", 503, "Unavailable");
    pods_start(world.pods);
    fake_client_run(world.api);
    make_directory(world.place, "pods/uid-gone");
    there = xasprintf("%s/pods/uid-gone", world.place);
    ck_assert_msg(exit_record_write(&e, there, there, &err) == 0, "%s", err.text);
    fake_client_put(world.api, &pod_kind,
                    "{\"metadata\":{\"name\":\"gone\",\"namespace\":\"physics\","
                    "\"uid\":\"uid-gone\"},\"spec\":{\"nodeName\":\"n1\","
                    "\"containers\":[{\"name\":\"main\"}]},\"status\":{"
                    "\"phase\":\"Running\",\"allocation\":{\"cpus\":\"2-3\"}}}");
    run_loop_until(world.api, strcmp(find("gone")->status.phase, "Running") != 0);

    ck_assert_str_eq(find("gone")->status.phase, "Succeeded");
    ck_assert(!is_refused_for_overlap("next"));
    end();
}
END_TEST

/* An exit record of an earlier agent, which was killed before it had cleaned
 * up, and that agent's record of the pod.
 */
static void
leave_behind(const char *uid, const char *pod)
{
    CLEANUP_FREE char *name = xasprintf("pods/%s", uid);
    CLEANUP_FREE char *state = xasprintf("%s/%s", world.place, name);
    CLEANUP_FREE char *file = xasprintf("%s/%s/pod", world.run, name);
    CLEANUP_FREE char *text = xasprintf("boot\n%s", pod);
    struct exit_record e = {.pod_uid = (char *)(uintptr_t)uid, .boot_id = (char[]){"boot"}};
    struct error err = {0};

    make_directory(world.place, name);
    make_directory(world.run, name);
    ck_assert_msg(exit_record_write(&e, state, state, &err) == 0, "%s", err.text);
    ck_assert_int_eq(file_write_atomic(file, 0600, text, strlen(text), &err), 0);
}

#define LEAVER(phase)                                               \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{"        \
    "\"name\":\"leaver\",\"namespace\":\"physics\","                \
    "\"uid\":\"uid-leaver\"},\"spec\":{\"nodeName\":\"n1\","        \
    "\"securityContext\":{\"runAsUser\":1001},"                     \
    "\"containers\":[{\"name\":\"main\",\"command\":[\"true\"]}]}," \
    "\"status\":{\"phase\":\"" phase "\",\"allocation\":{\"cpus\":\"2-3\"}}}"

/* The API knows of the end of the first pod, and has given its cores to
 * another, while a restarted agent still cleans up.
 */
START_TEST(a_pod_waits_for_what_is_left_of_the_one_that_had_its_cores)
{
    begin();
    leave_behind("uid-leaver", LEAVER("Running"));
    fake_client_put(world.api, &pod_kind, LEAVER("Succeeded"));
    bind_pod("next", "2-3");
    pods_resume(world.pods);
    ck_assert_uint_eq(pods_count_running(world.pods), 1);
    pods_start(world.pods);
    fake_client_run(world.api);

    ck_assert(!is_refused_for_overlap("next"));
    ck_assert_uint_eq(fake_client_calls(world.api, CLIENT_GET, "script"), 0);
    /* It starts when the other pod is gone, and fails because its script is
     * missing.
     */
    run_loop_until(world.api, find("next")->status.reason != NULL);
    ck_assert_str_eq(find("next")->status.reason, "StartError");
    ck_assert_uint_eq(fake_client_calls(world.api, CLIENT_GET, "script"), 1);
    end();
}
END_TEST

START_TEST(a_pod_that_waits_and_is_deleted_is_let_go)
{
    begin();
    leave_behind("uid-leaver", LEAVER("Running"));
    fake_client_put(world.api, &pod_kind, LEAVER("Succeeded"));
    fake_client_put(world.api, &pod_kind,
                    "{\"metadata\":{\"name\":\"next\",\"namespace\":"
                    "\"physics\",\"uid\":\"uid-next\"},\"spec\":{"
                    "\"nodeName\":\"n1\",\"containers\":[{\"name\":"
                    "\"main\"}]},\"status\":{\"phase\":\"Pending\","
                    "\"allocation\":{\"cpus\":\"2-3\"}}}");
    pods_resume(world.pods);
    pods_start(world.pods);
    fake_client_run(world.api);
    fake_client_put(world.api, &pod_kind,
                    "{\"metadata\":{\"name\":\"next\",\"namespace\":"
                    "\"physics\",\"uid\":\"uid-next\","
                    "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},"
                    "\"spec\":{\"nodeName\":\"n1\",\"containers\":[{"
                    "\"name\":\"main\"}]},\"status\":{\"phase\":"
                    "\"Pending\",\"allocation\":{\"cpus\":\"2-3\"}}}");
    fake_client_run(world.api);

    ck_assert_ptr_null(fake_client_find(world.api, &pod_kind, "physics", "next"));
    end();
}
END_TEST

/* The answer to the agent's report may arrive before the watch's events that
 * preceded it: a late event shows the pod as it was before.
 */
START_TEST(a_late_word_of_a_pod_that_is_over_does_not_start_it_again)
{
    static const char *const phases[] = {"Pending", "Running"};

    for (size_t i = 0; i < ARRAY_SIZE(phases); i++) {
        CLEANUP_FREE char *late = NULL;

        begin();
        bind_pod("late", "2-3");
        late = xasprintf("{\"metadata\":{\"name\":\"late\",\"namespace\":\"physics\","
                         "\"uid\":\"uid-late\",\"labels\":{\"a\":\"b\"}},\"spec\":{"
                         "\"nodeName\":\"n1\",\"containers\":[{\"name\":\"main\"}]},"
                         "\"status\":{\"phase\":\"%s\",\"allocation\":{\"cpus\":"
                         "\"2-3\"}}}",
                         phases[i]);
        fake_client_fail(world.api, CLIENT_GET, "script", 503, "Unavailable");
        pods_start(world.pods);
        fake_client_run(world.api);
        fake_client_hold_watches(world.api, true);
        fake_client_put(world.api, &pod_kind, late);
        run_loop_until(world.api, pods_count_running(world.pods) == 0);
        ck_assert_str_eq(find("late")->status.phase, "Failed");

        fake_client_hold_watches(world.api, false);
        fake_client_run(world.api);
        bind_pod("next", "2-3");
        fake_client_run(world.api);

        ck_assert_uint_eq(fake_client_calls(world.api, CLIENT_GET, "script"), 3);
        ck_assert_uint_eq(fake_client_calls(world.api, CLIENT_STRATEGIC_PATCH, "status"), 2);
        ck_assert(!is_refused_for_overlap("next"));
        end();
    }
}
END_TEST

/* The incarnations that may start, by the events up to the first one that is
 * older than an event before it.
 */
struct allowed {
    int64_t newest;
    bool has_gone_back;
    char uids[16][16];
    size_t n;
};

static void
allow(struct allowed *a, const char *uid)
{
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->uids[i], uid) == 0)
            return;
    ck_assert_uint_lt(a->n, ARRAY_SIZE(a->uids));
    snprintf(a->uids[a->n++], sizeof(a->uids[0]), "%s", uid);
}

static void
take_held(enum client_event_type type, const struct object *object, int64_t revision, void *context)
{
    struct allowed *a = context;

    a->has_gone_back |= revision < a->newest;
    a->newest = revision;
    if (type != CLIENT_DELETED && !a->has_gone_back)
        allow(a, object->meta->uid);
}

/* One incarnation of a pod that is reported two or three times. */
static void
live(const char *name, const char *uid, const char *cpus)
{
    for (int i = 0; i < 2; i++) {
        CLEANUP_FREE char *text =
            xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"physics\","
                      "\"uid\":\"%s\",\"labels\":{\"told\":\"%d\"},\"annotations\":{"
                      "\"kiln.hpc/script\":\"sha256:s\"},\"ownerReferences\":[{"
                      "\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":"
                      "\"job-7\",\"uid\":\"j\",\"controller\":true}]},\"spec\":{"
                      "\"nodeName\":\"n1\",\"securityContext\":{\"runAsUser\":1001,"
                      "\"runAsGroup\":100},\"containers\":[{\"name\":\"main\","
                      "\"command\":[\"true\"]}]},\"status\":{\"phase\":\"Pending\","
                      "\"allocation\":{\"cpus\":\"%s\"}}}",
                      name, uid, i, cpus);

        fake_client_put(world.api, &pod_kind, text);
    }
}

static bool
has_ended(const char *name)
{
    return find(name)->status.reason != NULL;
}

/* Each start fetches the script once; there is none, so each pod that starts
 * ends.
 */
START_TEST(a_watch_in_any_order_starts_nothing_twice_and_nothing_that_is_gone)
{
    unsigned n_late = 0;

    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct allowed allowed = {0};

        begin();
        pods_start(world.pods);
        fake_client_run(world.api);
        fake_client_hold_watches(world.api, true);
        live("stays", "uid-stays", "0");
        live("goes", "uid-goes", "1");
        fake_client_remove(world.api, &pod_kind, "physics", "goes");
        live("again", "uid-first", "2");
        fake_client_remove(world.api, &pod_kind, "physics", "again");
        live("again", "uid-second", "2");
        fake_client_shuffle_watches(world.api, seed);
        fake_client_visit_held(world.api, take_held, &allowed);
        n_late += allowed.has_gone_back;
        fake_client_hold_watches(world.api, false);
        fake_client_run(world.api);
        bind_pod("last", "3");
        run_loop_until(world.api, has_ended("stays") && has_ended("again") && has_ended("last")
                                      && pods_count_running(world.pods) == 0);

        allow(&allowed, "uid-stays");
        allow(&allowed, "uid-second");
        allow(&allowed, "uid-last");
        ck_assert_msg(fake_client_calls(world.api, CLIENT_GET, "script") <= allowed.n,
                      "seed %u: %u starts of %zu lives", (unsigned)seed,
                      fake_client_calls(world.api, CLIENT_GET, "script"), allowed.n);
        ck_assert_str_eq(find("stays")->status.reason, "StartError");
        ck_assert_str_eq(find("again")->status.reason, "StartError");
        end();
    }
    ck_assert_uint_gt(n_late, 30);
}
END_TEST

#define BEGUN(deleted)                                                          \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"           \
    "\"begun\",\"namespace\":\"physics\",\"uid\":\"uid-begun\"" deleted         \
    ",\"annotations\":{\"kiln.hpc/script\":\"sha256:s\"},\"ownerReferences\":[" \
    "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"job-7\","         \
    "\"uid\":\"j\",\"controller\":true}]},\"spec\":{\"nodeName\":\"n1\","       \
    "\"securityContext\":{\"runAsUser\":1001},\"containers\":[{\"name\":"       \
    "\"main\",\"command\":[\"true\"]}]},\"status\":{\"phase\":\"Pending\","     \
    "\"allocation\":{\"cpus\":\"2-3\"}}}"
#define DELETED ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\""

/* The files of an agent that was killed while it started a pod. */
static char *
leave_half_started(void)
{
    static const char text[] = "boot\n" BEGUN("");
    char *there = xasprintf("%s/pods/uid-begun", world.run);
    CLEANUP_FREE char *file = xasprintf("%s/pod", there);
    struct error err = {0};

    make_directory(world.place, "pods/uid-begun");
    make_directory(world.run, "pods/uid-begun");
    ck_assert_int_eq(file_write_atomic(file, 0600, text, strlen(text), &err), 0);
    return there;
}

/* The agent was killed before it had written the pod's record. */
static void
unlink_record(const char *there)
{
    CLEANUP_FREE char *file = xasprintf("%s/pod", there);

    ck_assert_int_eq(unlink(file), 0);
}

static bool
is_there(const char *name)
{
    return fake_client_find(world.api, &pod_kind, "physics", name) != NULL;
}

START_TEST(a_pod_that_is_deleted_after_half_a_start_leaves_nothing)
{
    CLEANUP_FREE char *there = NULL;

    begin();
    there = leave_half_started();
    fake_client_put(world.api, &pod_kind, BEGUN(""));
    fake_client_fail(world.api, CLIENT_GET, "script", 503, "Unavailable");
    pods_resume(world.pods);
    pods_start(world.pods);
    fake_client_run(world.api);
    fake_client_put(world.api, &pod_kind, BEGUN(DELETED));

    run_loop_until(world.api, !is_there("begun"));

    ck_assert_int_lt(access(there, F_OK), 0);
    end();
}
END_TEST

START_TEST(a_pod_that_was_deleted_during_half_a_start_leaves_nothing)
{
    CLEANUP_FREE char *there = NULL;

    begin();
    there = leave_half_started();
    unlink_record(there);
    fake_client_put(world.api, &pod_kind, BEGUN(DELETED));
    pods_resume(world.pods);
    pods_start(world.pods);

    run_loop_until(world.api, !is_there("begun"));

    ck_assert_int_lt(access(there, F_OK), 0);
    end();
}
END_TEST

static unsigned questions;

static void
count_question(void *context)
{
    (void)context;
    questions++;
}

static bool
is_lost(int64_t revision, void *context)
{
    (void)revision;
    return *(const bool *)context;
}

static void
count_one(const struct object *pod, void *context)
{
    (void)pod;
    ++*(unsigned *)context;
}

static unsigned
count_retained(void)
{
    unsigned count = 0;

    pods_visit_retained(world.pods, count_one, &count);
    return count;
}

/* A backup replaces the store, and later the original store is back. */
START_TEST(an_orphan_that_the_api_knows_again_is_none)
{
    bool lost = true;

    begin();
    questions = 0;
    world.agent.ask_if_forgotten = count_question;
    bind_pod("one", "2-3");
    for (int i = 0; i < 3; i++)
        fake_client_fail(world.api, CLIENT_GET, "script", 503, "Unavailable");
    pods_start(world.pods);
    fake_client_run(world.api);
    fake_client_remove(world.api, &pod_kind, "physics", "one");
    fake_client_run(world.api);
    ck_assert_uint_eq(questions, 1);
    ck_assert_uint_eq(count_retained(), 0);

    ck_assert(pods_resolve_forgotten(world.pods, is_lost, &lost));
    ck_assert_uint_eq(count_retained(), 1);
    bind_pod("one", "2-3");
    fake_client_run(world.api);

    ck_assert_uint_eq(count_retained(), 0);
    ck_assert_uint_eq(pods_count_running(world.pods), 1);
    pods_end_orphans(world.pods, "uid-one"); /* it is no orphan any more */
    ck_assert_uint_eq(count_retained(), 0);
    end();
}
END_TEST

START_TEST(a_pod_that_a_list_lacks_keeps_its_output_until_the_cluster_is_known)
{
    CLEANUP_FREE char *output = NULL;
    bool lost = false;

    begin();
    questions = 0;
    world.agent.ask_if_forgotten = count_question;
    output = xasprintf("%s/pods/uid-leaver/output", world.place);
    make_directory(world.place, "pods/uid-leaver");
    ck_assert_int_eq(file_write_atomic(output, 0600, "hello", 5, NULL), 0);
    fake_client_put(world.api, &pod_kind, LEAVER("Succeeded"));
    pods_start(world.pods);
    fake_client_run(world.api);

    fake_client_hold_watches(world.api, true);
    fake_client_remove(world.api, &pod_kind, "physics", "leaver");
    fake_client_expire_watches(world.api);
    fake_client_hold_watches(world.api, false);
    run_loop_until(world.api, pods_find(world.pods, "physics", "leaver") == NULL);

    ck_assert_uint_ge(questions, 1);
    for (int i = 0; i < 10; i++)
        run_loop_step(world.api);
    ck_assert_int_eq(access(output, F_OK), 0);
    ck_assert(!pods_resolve_forgotten(world.pods, is_lost, &lost));
    run_loop_until(world.api, access(output, F_OK) < 0);
    end();
}
END_TEST

SUITE("pods", the_end_of_a_pod_is_told_though_another_has_its_cores_by_now,
      an_orphan_that_the_api_knows_again_is_none,
      a_pod_that_a_list_lacks_keeps_its_output_until_the_cluster_is_known,
      a_pod_that_is_deleted_after_half_a_start_leaves_nothing,
      a_pod_that_was_deleted_during_half_a_start_leaves_nothing,
      a_pod_waits_for_what_is_left_of_the_one_that_had_its_cores,
      a_pod_that_waits_and_is_deleted_is_let_go,
      a_late_word_of_a_pod_that_is_over_does_not_start_it_again,
      a_watch_in_any_order_starts_nothing_twice_and_nothing_that_is_gone,
      cores_that_a_pod_here_has_are_refused_to_another_and_that_is_said,
      a_pod_that_is_over_holds_nothing_when_it_is_heard_of_again)
