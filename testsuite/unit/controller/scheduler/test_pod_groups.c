/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that name a PodGroup, through the real scheduler: what the group asks
 * for, and what its other pods have already.
 */
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/plugin.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/plugins/plugin_registry.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/state/cache.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

static void
put_group(struct world *w, const char *policy, unsigned uid, const char *spec)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"g\",\"namespace\":\"default\",\"annotations\":{"
                  "\"kiln.hpc/uid\":\"%u\"}},\"spec\":{\"schedulingPolicy\":{%s}%s}}",
                  uid, policy, spec);

    fake_client_put(w->api, &pod_group_kind, text);
}

static void
put_group_of(struct world *w, const char *policy, unsigned uid)
{
    put_group(w, policy, uid, "");
}

static void
put_gang(struct world *w, unsigned least)
{
    CLEANUP_FREE char *policy = xasprintf("\"gang\":{\"minCount\":%u}", least);

    put_group_of(w, policy, 1001);
}

/* A gang each of whose pods is to have its own node. */
static void
put_spread_gang(struct world *w, unsigned least)
{
    CLEANUP_FREE char *policy = xasprintf("\"gang\":{\"minCount\":%u}", least);

    put_group(w, policy, 1001, ",\"onePerNode\":true");
}

/* A pod of 4 CPUs that names the group. `node` and `phase` may be "". */
static void
put_pod_of(struct world *w, const char *name, unsigned uid, const char *node, const char *phase)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},\"spec\":{"
                  "\"schedulingGroup\":{\"podGroupName\":\"g\"},\"nodeName\":\"%s\","
                  "\"securityContext\":{\"runAsUser\":%u},\"containers\":[{"
                  "\"name\":\"main\",\"image\":\"host\",\"resources\":{\"requests\":{"
                  "\"cpu\":\"4\",\"memory\":\"1Gi\"}}}]},\"status\":{\"phase\":\"%s\"}}",
                  name, node, uid, phase);

    fake_client_put(w->api, &pod_kind, text);
}

/* Pods a, b, c, ... that wait. */
static void
put_pods(struct world *w, const char *names)
{
    for (const char *c = names; *c != '\0'; c++)
        put_pod_of(w, (char[2]){*c, '\0'}, 1001, "", "Pending");
}

/* Each node has room for two of the pods. */
static struct world *
world_of(unsigned nodes)
{
    struct world *w = world_new(NULL);

    for (unsigned i = 1; i <= nodes; i++) {
        CLEANUP_FREE char *name = xasprintf("n%u", i);

        world_add_node(w, name, 8);
    }
    world_settle(w);
    return w;
}

static unsigned
count_bound(const struct world *w, const char *names)
{
    unsigned count = 0;

    for (const char *c = names; *c != '\0'; c++)
        count += *world_node_of(w, (char[2]){*c, '\0'}) != '\0';
    return count;
}

static const char *
message(const struct world *w, const char *name)
{
    const struct pod_condition *c = pod_find_condition(world_pod(w, name), "PodScheduled");

    return c != NULL ? c->message : "";
}

/* More than a backoff, and more than one round of reports. */
static void
let_pass(struct world *w)
{
    for (unsigned i = 0; i < 15; i++)
        world_advance(w, 1000);
}

START_TEST(pods_wait_for_their_group_whichever_comes_first)
{
    struct world *w = world_of(1);

    put_pods(w, "ab");
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "ab"), 0);
    ck_assert_str_eq(message(w, "b"),
                     "the pods of its group 'g' cannot be placed: its PodGroup does not exist");
    put_gang(w, 2);
    world_settle(w);
    ck_assert_uint_eq(count_bound(w, "ab"), 2);
    ck_assert_uint_eq(fake_client_calls(w->api, CLIENT_CREATE, "binding"), 1);
    world_free(w);
}
END_TEST

START_TEST(a_gang_waits_until_enough_pods_are_there)
{
    struct world *w = world_of(2);

    put_gang(w, 3);
    put_pods(w, "ab");
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "ab"), 0);
    put_pods(w, "c");
    world_settle(w);
    ck_assert_uint_eq(count_bound(w, "abc"), 3);
    world_free(w);
}
END_TEST

START_TEST(a_gang_without_room_for_enough_gets_none)
{
    struct world *w = world_of(1);

    put_gang(w, 3);
    put_pods(w, "abc");
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "abc"), 0);
    world_add_node(w, "n2", 8);
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "abc"), 3);
    world_free(w);
}
END_TEST

START_TEST(pods_beyond_the_least_number_start_as_they_fit)
{
    struct world *w = world_of(1);

    put_gang(w, 2);
    put_pods(w, "abcd");
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "abcd"), 2);
    world_add_node(w, "n2", 4);
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "abcd"), 3);
    world_add_node(w, "n3", 4);
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "abcd"), 4);
    world_free(w);
}
END_TEST

START_TEST(pods_of_a_basic_group_are_placed_one_by_one)
{
    struct world *w = world_of(1);

    put_group_of(w, "\"basic\":{}", 1001);
    put_pods(w, "abc");
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "abc"), 2);
    world_free(w);
}
END_TEST

/* kubernetes#142330: the replacement of a failed pod waited for a pod that had
 * succeeded.
 */
START_TEST(pods_that_have_succeeded_count)
{
    struct world *w = world_of(1);

    put_gang(w, 3);
    put_pod_of(w, "a", 1001, "n1", "Succeeded");
    put_pod_of(w, "b", 1001, "n1", "Running");
    put_pod_of(w, "c", 1001, "n1", "Failed");
    put_pods(w, "d");
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "d"), 1);
    world_free(w);
}
END_TEST

START_TEST(pods_that_have_failed_do_not_count)
{
    struct world *w = world_of(1);

    put_gang(w, 3);
    put_pod_of(w, "a", 1001, "n1", "Running");
    put_pod_of(w, "c", 1001, "n1", "Failed");
    put_pods(w, "d");
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "d"), 0);
    put_pods(w, "e"); /* with one on the node, there is room for one more */
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "de"), 0);
    world_add_node(w, "n2", 4);
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "de"), 2);
    world_free(w);
}
END_TEST

START_TEST(a_smaller_least_number_counts_at_once)
{
    struct world *w = world_of(1);

    put_gang(w, 5);
    put_pods(w, "ab");
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "ab"), 0);
    put_gang(w, 2);
    world_settle(w);
    ck_assert_uint_eq(count_bound(w, "ab"), 2);
    put_gang(w, 1);
    put_pods(w, "c");
    world_add_node(w, "n2", 8);
    world_settle(w);
    ck_assert_uint_eq(count_bound(w, "abc"), 3);
    world_free(w);
}
END_TEST

START_TEST(the_group_of_another_user_is_none)
{
    struct world *w = world_of(2);

    put_gang(w, 2);
    put_pod_of(w, "x", 1002, "n1", "Running");
    put_pod_of(w, "y", 1002, "", "Pending");
    put_pods(w, "a");
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "ay"), 0);
    ck_assert_str_eq(message(w, "y"), "the pods of its group 'g' cannot be placed: its PodGroup "
                                      "belongs to another user");
    put_pods(w, "b");
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "ab"), 2);
    ck_assert_uint_eq(count_bound(w, "y"), 0);
    world_free(w);
}
END_TEST

START_TEST(pods_wait_when_their_group_is_deleted)
{
    struct world *w = world_of(1);

    put_gang(w, 3);
    put_pods(w, "abc");
    let_pass(w);
    fake_client_remove(w->api, &pod_group_kind, "default", "g");
    world_add_node(w, "n2", 8);
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "abc"), 0);
    ck_assert_str_eq(message(w, "a"),
                     "the pods of its group 'g' cannot be placed: its PodGroup does not exist");
    put_gang(w, 2);
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "abc"), 3);
    world_free(w);
}
END_TEST

START_TEST(a_restart_finds_the_same)
{
    struct world *w = world_of(1);

    put_gang(w, 3);
    put_pod_of(w, "a", 1001, "n1", "Running");
    put_pods(w, "b");
    let_pass(w);
    world_restart(w);
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "b"), 0);
    put_pod_of(w, "c", 1001, "n1", "Succeeded");
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "b"), 1);
    world_free(w);
}
END_TEST

/* One request binds no more than 512 pods. */
START_TEST(more_pods_than_one_request_binds_go_in_turns)
{
    struct world *w = world_of(0);

    for (unsigned i = 0; i < 300; i++) {
        CLEANUP_FREE char *name = xasprintf("n%u", i);

        world_add_node(w, name, 8);
    }
    put_gang(w, 500);
    for (unsigned i = 0; i < 600; i++) {
        CLEANUP_FREE char *name = xasprintf("p%u", i);

        put_pod_of(w, name, 1001, "", "Pending");
    }
    let_pass(w);
    ck_assert_uint_eq(scheduler_count(w->scheduler).scheduled, 600);
    world_free(w);
}
END_TEST

/* --- each pod on its own node ------------------------------------------------- */

/* The state that a cycle must leave unchanged. */
static char *
take_picture(struct world *w)
{
    struct scheduler *s = w->scheduler;
    struct strbuf out = STRBUF_INIT;

    strbuf_printf(&out, "%zu assumed\n", cache_count(s->cache).assumed);
    cache_update_snapshot(s->cache, &s->snapshot);
    for (uint32_t i = 0; i < s->snapshot.n_nodes; i++) {
        const struct node_view *v = s->snapshot.nodes[i];

        strbuf_printf(&out, "%s: %lld milli, %lld bytes, closed %d:", v->name,
                      (long long)v->ledger.requested.cpu_milli,
                      (long long)v->ledger.requested.memory_bytes, v->is_closed);
        for (uint32_t p = 0; p < v->pods.count; p++)
            strbuf_printf(&out, " %s", v->pods.items[p]->name);
        strbuf_add_text(&out, "\n");
    }
    return out.text;
}

static bool
is_any_closed(struct world *w)
{
    CLEANUP_FREE char *picture = take_picture(w);

    return strstr(picture, "closed 1") != NULL;
}

static bool
are_apart(const struct world *w, const char *names)
{
    for (const char *a = names; *a != '\0'; a++)
        for (const char *b = a + 1; *b != '\0'; b++)
            if (strcmp(world_node_of(w, (char[2]){*a, '\0'}), world_node_of(w, (char[2]){*b, '\0'}))
                == 0)
                return false;
    return true;
}

/* n1 has the most room, so that both pods would take it. */
START_TEST(pods_of_a_spread_group_take_a_node_each)
{
    struct world *w = world_of(1);

    world_add_node(w, "big", 64);
    put_spread_gang(w, 2);
    put_pods(w, "ab");
    world_settle(w);
    ck_assert_uint_eq(count_bound(w, "ab"), 2);
    ck_assert(are_apart(w, "ab"));
    ck_assert(!is_any_closed(w));
    ck_assert_uint_eq(fake_client_calls(w->api, CLIENT_CREATE, "binding"), 1);
    world_free(w);
}
END_TEST

START_TEST(a_spread_group_without_enough_nodes_gets_none_and_says_so)
{
    struct world *w = world_of(2);
    CLEANUP_FREE char *before = NULL;
    CLEANUP_FREE char *after = NULL;

    put_pod_of(w, "x", 1002, "n1", "Running"); /* names the group, but of another user */
    world_settle(w);
    before = take_picture(w);
    put_spread_gang(w, 3);
    put_pods(w, "abc");
    let_pass(w);
    after = take_picture(w);
    ck_assert_str_eq(before, after);
    ck_assert_uint_eq(count_bound(w, "abc"), 0);
    ck_assert_str_eq(message(w, "a"),
                     "group 'g' of 3 pods, placed all together or not at all: 2 found room, pod "
                     "'c' did not: 0/2 nodes are available: 2 node(s) already have a pod of the "
                     "group.");
    world_add_node(w, "n3", 8);
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "abc"), 3);
    ck_assert(are_apart(w, "abc"));
    world_free(w);
}
END_TEST

START_TEST(pods_beyond_the_least_number_are_apart_as_well)
{
    struct world *w = world_of(2);

    put_spread_gang(w, 2);
    put_pods(w, "abcd");
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "abcd"), 2);
    ck_assert(!is_any_closed(w));
    world_add_node(w, "n3", 16);
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "abcd"), 3);
    world_add_node(w, "n4", 16);
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "abcd"), 4);
    ck_assert(are_apart(w, "abcd"));
    world_free(w);
}
END_TEST

/* A pod that takes the place of another one is placed by itself. */
START_TEST(a_single_pod_of_a_spread_group_keeps_off_the_others)
{
    struct world *w = world_of(2);

    put_spread_gang(w, 2);
    put_pod_of(w, "a", 1001, "n1", "Running");
    put_pod_of(w, "x", 1001, "n2", "Failed");
    put_pods(w, "b");
    let_pass(w);
    ck_assert_str_eq(world_node_of(w, "b"), "n2");
    put_pods(w, "c");
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "c"), 0);
    ck_assert(!is_any_closed(w));
    ck_assert_str_eq(message(w, "c"), "0/2 nodes are available: 2 node(s) already have a pod of "
                                      "the group. preemption: 0/2 nodes are available: 2 No "
                                      "preemption victims found for incoming pod.");
    put_pod_of(w, "a", 1001, "n1", "Succeeded");
    let_pass(w);
    ck_assert_str_eq(world_node_of(w, "c"), "n1");
    world_free(w);
}
END_TEST

START_TEST(other_pods_share_the_nodes_of_a_spread_group)
{
    struct world *w = world_of(2);

    put_spread_gang(w, 2);
    put_pods(w, "ab");
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "ab"), 2);
    /* equal pods: what was found for one may be kept for the other */
    put_pod_of(w, "c", 1001, "", "Pending");
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "c"), 0);
    world_add_pod(w, "x", "4", "1Gi", ",\"securityContext\":{\"runAsUser\":1001}");
    world_add_pod(w, "y", "4", "1Gi", ",\"securityContext\":{\"runAsUser\":1001}");
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "xy"), 2);
    world_free(w);
}
END_TEST

static void
put_other(struct world *w, const char *name, const char *more)
{
    CLEANUP_FREE char *spec = xasprintf(",\"securityContext\":{\"runAsUser\":1001}%s", more);

    world_add_pod(w, name, "4", "1Gi", spec);
}

/* x finds that n1 has room, and takes n2, which leaves n1 as it was. */
START_TEST(a_result_of_an_equal_pod_is_not_kept)
{
    struct world *w = world_of(1);

    world_add_node(w, "n2", 5);
    put_spread_gang(w, 1);
    put_pod_of(w, "a", 1001, "n1", "Running");
    put_other(w, "x", "");
    let_pass(w);
    ck_assert_str_eq(world_node_of(w, "x"), "n2");
    put_pods(w, "c");
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "c"), 0);
    put_other(w, "y", "");
    let_pass(w);
    ck_assert_str_eq(world_node_of(w, "y"), "n1");
    world_free(w);
}
END_TEST

/* c is before x in the order, but the room is none for it. */
START_TEST(room_beside_a_pod_of_the_group_goes_to_others)
{
    struct world *w = world_of(1);
    uint64_t before;

    put_spread_gang(w, 1);
    put_pod_of(w, "a", 1001, "n1", "Running");
    put_other(w, "y", ",\"nodeName\":\"n1\"");
    put_pods(w, "c");
    let_pass(w);
    put_other(w, "x", "");
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "cx"), 0);
    before = scheduler_count(w->scheduler).attempts;
    fake_client_remove(w->api, &pod_kind, "default", "y");
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "x"), "n1");
    ck_assert_uint_eq(count_bound(w, "c"), 0);
    /* c is tried once more, as it has no reservation: nobody knows when a ends. */
    ck_assert_uint_le(scheduler_count(w->scheduler).attempts, before + 2);
    world_free(w);
}
END_TEST

static const char *
cause(const struct world *w, const char *name)
{
    const struct pod_cause *c = world_pod(w, name)->status.cause;

    return c != NULL && c->code != NULL ? c->code : "";
}

START_TEST(a_gang_that_can_never_run_says_so)
{
    struct world *w = world_of(2);

    put_other(w, "x", ",\"nodeName\":\"n1\"");
    put_spread_gang(w, 3);
    put_pods(w, "abc");
    let_pass(w);
    ck_assert_str_eq(cause(w, "a"), "BadConstraints");
    ck_assert_str_eq(world_pod(w, "a")->status.cause->message,
                     "needs 3 nodes at the same time, but only 2 could ever run it");
    world_add_node(w, "n3", 2);
    let_pass(w);
    ck_assert_str_eq(cause(w, "a"), "BadConstraints");
    world_add_node(w, "n4", 8);
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "abc"), 3);
    world_free(w);
}
END_TEST

/* Each node has room for two of the pods. */
START_TEST(a_gang_of_shared_nodes_that_can_never_run_says_so)
{
    struct world *w = world_of(2);

    put_other(w, "x", ",\"nodeName\":\"n1\"");
    put_gang(w, 5);
    put_pods(w, "abcde");
    let_pass(w);
    ck_assert_str_eq(world_pod(w, "a")->status.cause->message,
                     "needs room for 5 pods at the same time, but the nodes have room for 4");
    put_gang(w, 4);
    let_pass(w);
    ck_assert_str_eq(cause(w, "a"), "Resources");
    world_free(w);
}
END_TEST

/* Somebody else has bound one of them; its message and the group's say so. */
START_TEST(a_member_that_another_binder_has_placed_is_told)
{
    struct world *w = world_of(3);

    put_other(w, "x", ",\"nodeName\":\"n1\"");
    put_other(w, "y", ",\"nodeName\":\"n1\"");
    put_spread_gang(w, 3);
    put_pods(w, "ab");
    put_pod_of(w, "c", 1001, "n2", "Pending");
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "ab"), 0);
    ck_assert_ptr_nonnull(
        strstr(message(w, "a"), "beside 1 of it that has a node or ended well, "));
    ck_assert_ptr_nonnull(strstr(message(w, "a"), "2 node(s) already have a pod of the group"));
    fake_client_remove(w->api, &pod_kind, "default", "x");
    fake_client_remove(w->api, &pod_kind, "default", "y");
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "ab"), 2);
    ck_assert(are_apart(w, "abc"));
    world_free(w);
}
END_TEST

/* Where no reservation is made, CPUs are counted before each pod is tried. */
START_TEST(a_node_counts_once_where_room_is_counted)
{
    static struct profile_plugin plugins[PROFILE_MAX_PLUGINS];
    static struct profile_settings profile = {
        .scheduler_name = "default-scheduler",
        .plugins = plugins,
        .percentage_of_nodes = 100,
    };
    struct world *w;

    profile.n_plugins = 0;
    for (unsigned i = 0; i < n_default_profile; i++)
        if (!default_profile[i].plugin->depends_on_time)
            plugins[profile.n_plugins++] = default_profile[i];
    w = world_new(&(struct scheduler_settings){.profiles = &profile, .n_profiles = 1});
    world_add_node(w, "n1", 64);
    world_add_node(w, "n2", 8);
    put_spread_gang(w, 3);
    put_pods(w, "abc");
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "abc"), 0);
    ck_assert_str_eq(
        message(w, "a"),
        "group 'g' of 3 pods, placed all together or not at all: pod 'a' found no room: "
        "there is not enough room for all 3 pods of its group, each on its own node");
    world_add_node(w, "n3", 8);
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "abc"), 3);
    world_free(w);
}
END_TEST

/* More nodes than are searched one by one. */
START_TEST(a_wide_spread_group_takes_every_node_once)
{
    struct world *w = world_of(400);

    put_spread_gang(w, 400);
    for (unsigned i = 0; i < 400; i++) {
        CLEANUP_FREE char *name = xasprintf("p%u", i);

        put_pod_of(w, name, 1001, "", "Pending");
    }
    let_pass(w);
    ck_assert_uint_eq(scheduler_count(w->scheduler).scheduled, 400);
    for (uint32_t i = 0; i < w->scheduler->snapshot.n_nodes; i++)
        ck_assert_uint_eq(w->scheduler->snapshot.nodes[i]->pods.count, 1);
    ck_assert(!is_any_closed(w));
    world_free(w);
}
END_TEST

/* A pod that runs for that many seconds from now on. */
static void
put_limited(struct world *w, const char *name, unsigned cpus, unsigned seconds, const char *node)
{
    CLEANUP_FREE char *spec =
        xasprintf(",\"activeDeadlineSeconds\":%u,\"securityContext\":{\"runAsUser\":1001}%s%s%s%s",
                  seconds, *node != '\0' ? ",\"nodeName\":\"" : "", node, *node != '\0' ? "\"" : "",
                  *node != '\0' ? "" : ",\"schedulingGroup\":{\"podGroupName\":\"g\"}");
    CLEANUP_FREE char *cpu = xasprintf("%u", cpus);

    world_add_pod(w, name, cpu, "1Gi", spec);
}

/* n1 has room for both at 100 s, n2 at 300 s. */
START_TEST(a_spread_group_is_reserved_a_node_for_each)
{
    struct world *w = world_of(2);
    const struct timeline *t = w->scheduler->handle.timeline;
    const struct reservation *r;

    put_limited(w, "x", 8, 100, "n1");
    put_limited(w, "y", 8, 300, "n2");
    world_settle(w);
    put_spread_gang(w, 2);
    put_limited(w, "a", 4, 50, "");
    put_limited(w, "b", 4, 50, "");
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "ab"), 0);
    ck_assert_uint_eq(timeline_count(t), 1);
    r = timeline_at(t, 0);
    ck_assert_ptr_nonnull(r->places);
    ck_assert_ptr_ne(r->places[0].node, r->places[1].node);
    ck_assert_int_ge(r->from_us, FAKE_BEGIN + 300 * FAKE_SECOND);
    world_free(w);
}
END_TEST

/* While a runs on n1, c can only come to n2. */
START_TEST(no_node_of_another_pod_of_the_group_is_reserved)
{
    struct world *w = world_of(2);
    const struct timeline *t = w->scheduler->handle.timeline;

    put_limited(w, "y", 8, 300, "n2");
    put_spread_gang(w, 2);
    put_pod_of(w, "a", 1001, "n1", "Running");
    put_limited(w, "c", 4, 50, "");
    let_pass(w);
    ck_assert_uint_eq(timeline_count(t), 1);
    ck_assert_str_eq(timeline_at(t, 0)->places[0].node->name, "n2");
    world_free(w);
}
END_TEST

START_TEST(why_says_that_the_nodes_have_pods_of_the_group)
{
    struct world *w = world_of(1);
    CLEANUP(arena_freep) struct arena *arena = arena_new(4096);
    const struct json *answer;

    put_spread_gang(w, 1);
    put_pods(w, "a");
    let_pass(w);
    put_pods(w, "b");
    let_pass(w);
    ck_assert_uint_eq(count_bound(w, "ab"), 1);
    answer = scheduler_explain(w->scheduler, fake_client_find(w->api, &pod_kind, "default", "b"),
                               false, arena);
    ck_assert_str_eq(json_get_text(json_get(answer, "cause"), "code"), "NodeHasGroup");
    ck_assert_str_eq(json_get_text(json_get(answer, "cause"), "message"),
                     "node(s) already have a pod of the group");
    ck_assert(!is_any_closed(w));
    world_free(w);
}
END_TEST

/* A pod of job 7 with that index. */
static void
put_ranked(struct world *w, const char *name, unsigned index)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\",\"annotations\":{"
                  "\"kiln.hpc/job-id\":\"7\","
                  "\"batch.kubernetes.io/job-completion-index\":\"%u\"}},\"spec\":{"
                  "\"schedulingGroup\":{\"podGroupName\":\"g\"},"
                  "\"securityContext\":{\"runAsUser\":1001},\"containers\":[{"
                  "\"name\":\"main\",\"image\":\"host\",\"resources\":{\"requests\":{"
                  "\"cpu\":\"4\",\"memory\":\"1Gi\"}}}]},\"status\":{\"phase\":\"Pending\"}}",
                  name, index);

    fake_client_put(w->api, &pod_kind, text);
}

static unsigned
free_mcpu(const struct world *w, const char *node)
{
    const struct node_view *n = cache_find_node(w->scheduler->cache, node);

    return (unsigned)(n->allocatable.cpu_milli - n->ledger.requested.cpu_milli);
}

/* The nodes that have most free are found first, whatever their names. */
START_TEST(indexes_of_a_job_are_in_the_order_of_the_names_of_its_nodes)
{
    struct world *w = world_new(NULL);

    world_add_node(w, "n2", 8);
    world_add_node(w, "n10", 32);
    world_add_node(w, "n9", 16);
    world_add_node(w, "n1", 4);
    put_pod_of(w, "x", 1001, "n1", "Running");
    world_settle(w);
    put_spread_gang(w, 3);
    put_ranked(w, "c", 2);
    put_ranked(w, "a", 0);
    put_ranked(w, "b", 1);
    let_pass(w);
    ck_assert_str_eq(world_node_of(w, "a"), "n2");
    ck_assert_str_eq(world_node_of(w, "b"), "n9");
    ck_assert_str_eq(world_node_of(w, "c"), "n10");
    ck_assert_uint_eq(free_mcpu(w, "n2"), 4000);
    ck_assert_uint_eq(free_mcpu(w, "n9"), 12000);
    ck_assert_uint_eq(free_mcpu(w, "n10"), 28000);
    ck_assert_uint_eq(fake_client_calls(w->api, CLIENT_CREATE, "binding"), 1);
    world_free(w);
}
END_TEST

/* ---- Preemption ---- */

static bool
is_there(const struct world *w, const char *name)
{
    return fake_client_find(w->api, &pod_kind, "default", name) != NULL;
}

/* A gang on n1 and n2, and a pod of the same priority on n3. */
static struct world *
world_of_gang(const char *mode)
{
    struct world *w = world_new(NULL);

    for (unsigned i = 1; i <= 3; i++)
        world_add_node(w, (char[3]){'n', (char)('0' + i), '\0'}, 4);
    put_group(w, "\"gang\":{\"minCount\":2}", 1001, mode);
    put_pod_of(w, "x", 1001, "n1", "Running");
    put_pod_of(w, "y", 1001, "n2", "Running");
    fake_client_put(w->api, &pod_kind,
                    "{\"metadata\":{\"name\":\"s\",\"namespace\":\"default\"},\"spec\":{"
                    "\"nodeName\":\"n3\",\"securityContext\":{\"runAsUser\":1001},"
                    "\"containers\":[{\"name\":\"main\",\"image\":\"host\",\"resources\":{"
                    "\"requests\":{\"cpu\":\"4\",\"memory\":\"1Gi\"}}}]},\"status\":{"
                    "\"phase\":\"Running\"}}");
    world_settle(w);
    return w;
}

static void
preempt(struct world *w, const char *name)
{
    world_add_pod(w, name, "4", "1Gi", ",\"priority\":10");
    for (unsigned i = 0; i < 5; i++)
        world_advance(w, 1000);
}

START_TEST(a_gang_is_weighed_as_a_whole_and_preempted_as_a_whole)
{
    for (unsigned i = 0; i < 8; i++) { /* the first node is drawn by lot */
        struct world *w = world_of_gang(",\"disruptionMode\":{\"all\":{}}");

        preempt(w, "p");
        ck_assert(!is_there(w, "s"));
        ck_assert(is_there(w, "x") && is_there(w, "y"));
        ck_assert_str_eq(world_node_of(w, "p"), "n3");

        preempt(w, "q");
        ck_assert(!is_there(w, "x") && !is_there(w, "y"));
        ck_assert_ptr_nonnull(world_pod(w, "q")->spec.node_name);
        world_free(w);
    }
}
END_TEST

START_TEST(the_pods_of_a_group_that_end_one_by_one_are_preempted_one_by_one)
{
    struct world *w = world_of_gang(",\"disruptionMode\":{\"single\":{}}");

    preempt(w, "p");
    preempt(w, "q");
    ck_assert_uint_eq(is_there(w, "x") + is_there(w, "y") + is_there(w, "s"), 1);
    world_free(w);
}
END_TEST

/* A pod on that node, of that priority. */
static void
put_running(struct world *w, const char *name, const char *node, int priority, const char *cpu)
{
    CLEANUP_FREE char *text = xasprintf(
        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},\"spec\":{"
        "\"nodeName\":\"%s\",\"priority\":%d,\"terminationGracePeriodSeconds\":30,\"securityContext\":{\"runAsUser\":1002},"
        "\"containers\":[{\"name\":\"main\",\"image\":\"host\",\"resources\":{"
        "\"requests\":{\"cpu\":\"%s\",\"memory\":\"1Gi\"}}}]},\"status\":{"
        "\"phase\":\"Running\"}}",
        name, node, priority, cpu);

    fake_client_put(w->api, &pod_kind, text);
}

static void
put_important(struct world *w, const char *name)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},\"spec\":{"
                  "\"schedulingGroup\":{\"podGroupName\":\"g\"},\"priority\":10,"
                  "\"securityContext\":{\"runAsUser\":1001},\"containers\":[{"
                  "\"name\":\"main\",\"image\":\"host\",\"resources\":{\"requests\":{"
                  "\"cpu\":\"4\",\"memory\":\"1Gi\"}}}]},\"status\":{\"phase\":\"Pending\"}}",
                  name);

    fake_client_put(w->api, &pod_kind, text);
}

static unsigned
count_there(const struct world *w, const char *names)
{
    unsigned n = 0;

    for (const char *c = names; *c != '\0'; c++)
        n += is_there(w, (char[2]){*c, '\0'});
    return n;
}

static void
let_seconds_pass(struct world *w, unsigned seconds)
{
    while (seconds-- > 0)
        world_advance(w, 1000);
}

/* Four nodes, each full of a less important pod; the gang needs three of them. */
static struct world *
world_of_four(const char *mode)
{
    struct world *w = world_new(NULL);

    for (unsigned i = 1; i <= 4; i++) {
        world_add_node(w, (char[3]){'n', (char)('0' + i), '\0'}, 4);
        put_running(w, (char[2]){(char)('p' + i), '\0'}, (char[3]){'n', (char)('0' + i), '\0'}, 5,
                    "4");
    }
    world_settle(w);
    put_group(w, "\"gang\":{\"minCount\":3}", 1001, mode);
    return w;
}

START_TEST(a_gang_preempts_as_many_as_all_of_its_pods_need)
{
    static const char *const modes[] = {"", ",\"onePerNode\":true"};

    for (unsigned i = 0; i < ARRAY_SIZE(modes); i++) {
        struct world *w = world_of_four(modes[i]);

        put_important(w, "a");
        put_important(w, "b");
        put_important(w, "c");
        let_seconds_pass(w, 10);

        ck_assert_uint_eq(count_there(w, "qrst"), 1);
        ck_assert_ptr_nonnull(world_pod(w, "a")->spec.node_name);
        ck_assert_ptr_nonnull(world_pod(w, "b")->spec.node_name);
        ck_assert_ptr_nonnull(world_pod(w, "c")->spec.node_name);
        world_free(w);
    }
}
END_TEST

static void
put_of_group(struct world *w, const char *group, unsigned index, int priority, bool runs)
{
    CLEANUP_FREE char *node = runs ? xasprintf("n%u", index) : xstrdup("");
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s%u\",\"namespace\":\"default\"},\"spec\":{"
                  "\"schedulingGroup\":{\"podGroupName\":\"%s\"},\"nodeName\":\"%s\","
                  "\"securityContext\":{\"runAsUser\":1001},\"priority\":%d,\"containers\":[{"
                  "\"name\":\"main\",\"image\":\"host\",\"resources\":{\"requests\":{"
                  "\"cpu\":\"4\"}}}]},\"status\":{\"phase\":\"%s\"}}",
                  group, index, group, node, priority, runs ? "Running" : "Pending");

    fake_client_put(w->api, &pod_kind, text);
}

/* All nodes are full of another gang, which is the victim of the first pod. */
START_TEST(a_wide_gang_preempts_a_wide_gang)
{
    static const unsigned sizes[] = {16, 99, 130, 256};

    for (unsigned at = 0; at < ARRAY_SIZE(sizes); at++) {
        struct world *w = world_new(NULL);
        const unsigned size = sizes[at];
        CLEANUP_FREE char *policy =
            xasprintf("\"schedulingPolicy\":{\"gang\":{\"minCount\":%u}},\"onePerNode\":true,"
                      "\"disruptionMode\":{\"all\":{}}",
                      size);
        unsigned n_bound = 0;

        for (unsigned i = 0; i < 2; i++) {
            CLEANUP_FREE char *group = xasprintf(
                "{\"metadata\":{\"name\":\"%c\",\"namespace\":\"default\",\"annotations\":{"
                "\"kiln.hpc/uid\":\"1001\"}},\"spec\":{%s}}",
                "xy"[i], policy);

            fake_client_put(w->api, &pod_group_kind, group);
        }
        for (unsigned i = 0; i < size; i++) {
            CLEANUP_FREE char *name = xasprintf("n%u", i);

            world_add_node(w, name, 4);
            put_of_group(w, "x", i, 0, true);
        }
        world_settle(w);
        for (unsigned i = 0; i < size; i++)
            put_of_group(w, "y", i, 10, false);
        let_seconds_pass(w, 10);
        for (unsigned i = 0; i < size; i++) {
            CLEANUP_FREE char *name = xasprintf("y%u", i);

            n_bound += *world_node_of(w, name) != '\0';
        }
        ck_assert_uint_eq(n_bound, size);
        world_free(w);
    }
}
END_TEST

/* Two of four nodes are held by pods that are as important: ending the others would
 * help nobody.
 */
START_TEST(a_gang_that_would_not_fit_preempts_nobody)
{
    struct world *w = world_of_four(",\"onePerNode\":true");

    put_running(w, "q", "n1", 10, "4");
    put_running(w, "r", "n2", 10, "4");
    world_settle(w);
    put_important(w, "a");
    put_important(w, "b");
    put_important(w, "c");
    let_seconds_pass(w, 10);

    ck_assert_uint_eq(count_there(w, "qrst"), 4);
    ck_assert_ptr_null(world_pod(w, "a")->spec.node_name);
    world_free(w);
}
END_TEST

/* A pod that was asked to end, and is killed after so many seconds. */
static void
put_ending(struct world *w, const char *name, const char *node, int priority, int seconds)
{
    char time[TIME_TEXT_SIZE];
    CLEANUP_FREE char *text = NULL;

    time_format(clock_real_us(&w->time.clock) + seconds * FAKE_SECOND, false, time);
    text = xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
                     "\"deletionTimestamp\":\"%s\",\"deletionGracePeriodSeconds\":30},\"spec\":{"
                     "\"nodeName\":\"%s\",\"priority\":%d,\"securityContext\":{\"runAsUser\":1002},"
                     "\"containers\":[{\"name\":\"main\",\"image\":\"host\",\"resources\":{"
                     "\"requests\":{\"cpu\":\"4\",\"memory\":\"1Gi\"}}}]},\"status\":{"
                     "\"phase\":\"Running\"}}",
                     name, time, node, priority);
    fake_client_put(w->api, &pod_kind, text);
}

/* As after a restart, when the scheduler does not know that they were preempted for this
 * gang. One that is stuck is no room.
 */
START_TEST(a_gang_preempts_nobody_for_room_that_ending_pods_make)
{
    static const struct {
        int priority, seconds;
        unsigned n_left; /* of the pods that are not ending */
    } rows[] = {{5, 20, 1}, {100, 20, 1}, {100, 3600, 0}, {100, -60, 0}};

    for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
        struct world *w = world_of_four("");

        put_ending(w, "q", "n1", 5, 20);
        put_ending(w, "r", "n2", 5, 20);
        put_ending(w, "s", "n3", rows[i].priority, rows[i].seconds);
        world_settle(w);
        put_important(w, "a");
        put_important(w, "b");
        put_important(w, "c");
        let_seconds_pass(w, 5);
        ck_assert_uint_eq(count_there(w, "t"), rows[i].n_left);

        fake_client_remove(w->api, &pod_kind, "default", "q");
        fake_client_remove(w->api, &pod_kind, "default", "r");
        fake_client_remove(w->api, &pod_kind, "default", "s");
        let_seconds_pass(w, 10);
        ck_assert_uint_eq(count_there(w, "t"), rows[i].n_left);
        ck_assert_ptr_nonnull(world_pod(w, "a")->spec.node_name);
        ck_assert_ptr_nonnull(world_pod(w, "c")->spec.node_name);
        world_free(w);
    }
}
END_TEST

/* Several pods on one node, and pods that are small: more than one search is needed. */
START_TEST(a_gang_preempts_several_pods_of_one_node)
{
    struct world *w = world_new(NULL);

    world_add_node(w, "n1", 16);
    for (char c = 'a'; c <= 'h'; c++)
        put_running(w, (char[3]){'o', c, '\0'}, "n1", 5, "2");
    world_settle(w);
    put_gang(w, 3);
    put_important(w, "a");
    put_important(w, "b");
    put_important(w, "c");
    let_seconds_pass(w, 10);

    ck_assert_str_eq(world_node_of(w, "a"), "n1");
    ck_assert_str_eq(world_node_of(w, "c"), "n1");
    ck_assert_uint_eq(fake_client_count(w->api, &pod_kind), 3 + 2);
    world_free(w);
}
END_TEST

/* One of them is too important: then none of them is preempted. */
START_TEST(a_gang_has_the_priority_of_its_most_important_pod)
{
    struct world *w = world_of_gang(",\"disruptionMode\":{\"all\":{}}");

    fake_client_put(w->api, &pod_kind,
                    "{\"metadata\":{\"name\":\"y\",\"namespace\":\"default\"},\"spec\":{"
                    "\"schedulingGroup\":{\"podGroupName\":\"g\"},\"nodeName\":\"n2\","
                    "\"priority\":20,\"securityContext\":{\"runAsUser\":1001},"
                    "\"containers\":[{\"name\":\"main\",\"image\":\"host\",\"resources\":{"
                    "\"requests\":{\"cpu\":\"4\",\"memory\":\"1Gi\"}}}]},\"status\":{"
                    "\"phase\":\"Running\"}}");
    world_settle(w);
    preempt(w, "p");
    preempt(w, "q");
    ck_assert(is_there(w, "x") && is_there(w, "y"));
    ck_assert_ptr_null(world_pod(w, "q")->spec.node_name);
    world_free(w);
}
END_TEST

SUITE("PodGroups", a_gang_is_weighed_as_a_whole_and_preempted_as_a_whole,
      the_pods_of_a_group_that_end_one_by_one_are_preempted_one_by_one,
      a_gang_has_the_priority_of_its_most_important_pod,
      a_gang_preempts_as_many_as_all_of_its_pods_need, a_gang_that_would_not_fit_preempts_nobody,
      a_wide_gang_preempts_a_wide_gang, a_gang_preempts_several_pods_of_one_node,
      a_gang_preempts_nobody_for_room_that_ending_pods_make,
      indexes_of_a_job_are_in_the_order_of_the_names_of_its_nodes,
      pods_wait_for_their_group_whichever_comes_first, a_gang_waits_until_enough_pods_are_there,
      a_gang_without_room_for_enough_gets_none, pods_beyond_the_least_number_start_as_they_fit,
      pods_of_a_basic_group_are_placed_one_by_one, pods_that_have_succeeded_count,
      pods_that_have_failed_do_not_count, a_smaller_least_number_counts_at_once,
      the_group_of_another_user_is_none, pods_wait_when_their_group_is_deleted,
      a_restart_finds_the_same, more_pods_than_one_request_binds_go_in_turns,
      pods_of_a_spread_group_take_a_node_each,
      a_spread_group_without_enough_nodes_gets_none_and_says_so,
      pods_beyond_the_least_number_are_apart_as_well,
      a_single_pod_of_a_spread_group_keeps_off_the_others,
      other_pods_share_the_nodes_of_a_spread_group, a_result_of_an_equal_pod_is_not_kept,
      room_beside_a_pod_of_the_group_goes_to_others, a_gang_that_can_never_run_says_so,
      a_gang_of_shared_nodes_that_can_never_run_says_so,
      a_member_that_another_binder_has_placed_is_told, a_node_counts_once_where_room_is_counted,
      a_wide_spread_group_takes_every_node_once, a_spread_group_is_reserved_a_node_for_each,
      no_node_of_another_pod_of_the_group_is_reserved,
      why_says_that_the_nodes_have_pods_of_the_group)
