/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that name a PodGroup, through the real scheduler: what the group asks
 * for, and what its other pods have already.
 */
#include "controller/scheduler/scheduler_state.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

static void
put_group_of(struct world *w, const char *policy, unsigned uid)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"g\",\"namespace\":\"default\",\"annotations\":{"
                  "\"kiln.hpc/uid\":\"%u\"}},\"spec\":{\"schedulingPolicy\":{%s}}}",
                  uid, policy);

    fake_client_put(w->api, &pod_group_kind, text);
}

static void
put_gang(struct world *w, unsigned least)
{
    CLEANUP_FREE char *policy = xasprintf("\"gang\":{\"minCount\":%u}", least);

    put_group_of(w, policy, 1001);
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

SUITE("PodGroups", pods_wait_for_their_group_whichever_comes_first,
      a_gang_waits_until_enough_pods_are_there, a_gang_without_room_for_enough_gets_none,
      pods_beyond_the_least_number_start_as_they_fit, pods_of_a_basic_group_are_placed_one_by_one,
      pods_that_have_succeeded_count, pods_that_have_failed_do_not_count,
      a_smaller_least_number_counts_at_once, the_group_of_another_user_is_none,
      pods_wait_when_their_group_is_deleted, a_restart_finds_the_same,
      more_pods_than_one_request_binds_go_in_turns)
