/* SPDX-License-Identifier: Apache-2.0 */
/* Where in the topology the pods of a group go, through the real scheduler. */
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/planning/planner.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/state/topology_levels.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

#define RACK  "example.com/rack"
#define BLOCK "example.com/block"

static const char *const levels[] = {BLOCK, RACK};

static struct topology_levels *topology;

/* With these levels; the last `count` of them. */
static struct world *
world_of_levels(unsigned count)
{
    topology = topology_levels_new();
    topology_levels_set(topology, levels + 2 - count, count);
    return world_new(&(struct scheduler_settings){.topology = topology});
}

static void
end(struct world *w)
{
    world_free(w);
    topology_levels_free(topology);
}

/* Rack and block may be "". */
static void
put_node(struct world *w, const char *name, unsigned cpus, const char *rack, const char *block)
{
    CLEANUP_FREE char *rack_label = *rack != '\0' ? xasprintf("\"" RACK "\":\"%s\"", rack) : NULL;
    CLEANUP_FREE char *block_label =
        *block != '\0' ? xasprintf("%s\"" BLOCK "\":\"%s\"", rack_label != NULL ? "," : "", block)
                       : NULL;
    CLEANUP_FREE char *text = xasprintf(
        "{\"metadata\":{\"name\":\"%s\",\"labels\":{%s%s}},\"status\":{\"allocatable\":"
        "{\"cpu\":\"%u\",\"memory\":\"64Gi\",\"pods\":\"110\"}}}",
        name, rack_label != NULL ? rack_label : "", block_label != NULL ? block_label : "", cpus);

    fake_client_put(w->api, &node_kind, text);
}

/* Nodes of 4 CPUs, which are named in the order of the letters of `racks`: node 1 is in
 * the rack of the first letter. Racks a and b are in block one, all others in two.
 */
static struct world *
world_of_racks(unsigned n_levels, const char *racks)
{
    struct world *w = world_of_levels(n_levels);

    for (unsigned i = 0; racks[i] != '\0'; i++) {
        CLEANUP_FREE char *name = xasprintf("n%u", i + 1);

        put_node(w, name, 4, (char[2]){racks[i], '\0'}, racks[i] <= 'b' ? "one" : "two");
    }
    world_settle(w);
    return w;
}

/* Key may be NULL. */
static void
put_gang(struct world *w, const char *name, unsigned least, const char *key)
{
    CLEANUP_FREE char *constraints =
        key != NULL ? xasprintf(",\"schedulingConstraints\":{\"topology\":[{\"key\":\"%s\"}]}", key)
                    : NULL;
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\",\"annotations\":{"
                  "\"kiln.hpc/uid\":\"1001\"}},\"spec\":{\"schedulingPolicy\":{\"gang\":{"
                  "\"minCount\":%u}},\"onePerNode\":true%s}}",
                  name, least, constraints != NULL ? constraints : "");

    fake_client_put(w->api, &pod_group_kind, text);
}

/* The pod of that index of the gang, "g-0"; of 4 CPUs. */
static void
put_member(struct world *w, const char *gang, unsigned index)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s-%u\",\"namespace\":\"default\",\"annotations\":{"
                  "\"kiln.hpc/job-id\":\"7\","
                  "\"batch.kubernetes.io/job-completion-index\":\"%u\"}},\"spec\":{"
                  "\"schedulingGroup\":{\"podGroupName\":\"%s\"},\"activeDeadlineSeconds\":3600,"
                  "\"securityContext\":{\"runAsUser\":1001},\"containers\":[{"
                  "\"name\":\"main\",\"image\":\"host\",\"resources\":{\"requests\":{"
                  "\"cpu\":\"4\",\"memory\":\"1Gi\"}}}]},\"status\":{\"phase\":\"Pending\"}}",
                  gang, index, index, gang);

    fake_client_put(w->api, &pod_kind, text);
}

static void
put_whole_gang(struct world *w, const char *name, unsigned size, const char *key)
{
    put_gang(w, name, size, key);
    for (unsigned i = 0; i < size; i++)
        put_member(w, name, i);
}

/* A running pod that fills the node until its end. */
static void
fill(struct world *w, const char *node, unsigned limit_s)
{
    CLEANUP_FREE char *text = xasprintf(
        "{\"metadata\":{\"name\":\"on-%s\",\"namespace\":\"default\"},\"spec\":{\"nodeName\":"
        "\"%s\",\"activeDeadlineSeconds\":%u,\"securityContext\":{\"runAsUser\":1001},"
        "\"containers\":[{\"name\":\"main\",\"image\":\"host\",\"resources\":{\"requests\":{"
        "\"cpu\":\"4\",\"memory\":\"1Gi\"}}}]},\"status\":{\"phase\":\"Running\"}}",
        node, node, limit_s);

    fake_client_put(w->api, &pod_kind, text);
}

static void
empty(struct world *w, const char *node)
{
    CLEANUP_FREE char *name = xasprintf("on-%s", node);

    fake_client_remove(w->api, &pod_kind, "default", name);
}

/* More than a backoff, and more than one round of reports. */
static void
let_pass(struct world *w)
{
    for (unsigned i = 0; i < 15; i++)
        world_advance(w, 1000);
}

/* "n1 n2 n3": the nodes of the gang by index. */
static const char *
nodes_of(const struct world *w, const char *gang, unsigned size)
{
    static char text[512];

    text[0] = '\0';
    for (unsigned i = 0; i < size; i++) {
        CLEANUP_FREE char *name = xasprintf("%s-%u", gang, i);
        const char *node = world_node_of(w, name);
        size_t length = strlen(text);

        snprintf(text + length, sizeof(text) - length, "%s%s", i > 0 ? " " : "",
                 *node != '\0' ? node : "-");
    }
    return text;
}

static const char *
cause(const struct world *w, const char *pod)
{
    const struct pod_cause *c = world_pod(w, pod)->status.cause;

    return c != NULL ? c->message : "";
}

/* ---- In one domain ---- */

START_TEST(a_group_with_a_key_goes_into_one_domain)
{
    struct world *w = world_of_racks(0, "ababcbc");

    put_whole_gang(w, "g", 3, RACK);
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "g", 3), "n2 n4 n6");
    end(w);
}
END_TEST

START_TEST(a_group_without_a_domain_waits_with_the_cause)
{
    struct world *w = world_of_racks(0, "aabbb");

    fill(w, "n5", 3600);
    put_whole_gang(w, "g", 3, RACK);
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "g", 3), "- - -");
    ck_assert_str_eq(cause(w, "g-0"),
                     "no domain of the node label 'example.com/rack' has room for all 3 pods of "
                     "its group, each on its own node: 4 nodes have room, at most 2 in one domain "
                     "('a')");
    empty(w, "n5");
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "g", 3), "n3 n4 n5");
    end(w);
}
END_TEST

START_TEST(a_node_without_the_label_is_in_no_domain)
{
    struct world *w = world_of_racks(0, "aa");

    put_node(w, "n3", 4, "", "");
    put_whole_gang(w, "g", 3, RACK);
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "g", 3), "- - -");
    put_node(w, "n3", 4, "a", "");
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "g", 3), "n1 n2 n3");
    end(w);
}
END_TEST

/* Free CPUs are not all: what keeps pods off a node of the rack may end. */
START_TEST(a_group_that_waits_for_a_domain_is_woken_by_an_uncordoned_node)
{
    struct world *w = world_of_racks(0, "abb");

    fake_client_put(w->api, &node_kind,
                    "{\"metadata\":{\"name\":\"n3\",\"labels\":{\"" RACK "\":\"b\"}},\"spec\":{"
                    "\"unschedulable\":true},\"status\":{\"allocatable\":{\"cpu\":\"4\","
                    "\"memory\":\"64Gi\",\"pods\":\"110\"}}}");
    world_settle(w);
    put_whole_gang(w, "g", 2, RACK);
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "g", 2), "- -");
    put_node(w, "n3", 4, "b", "one");
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "g", 2), "n2 n3");
    end(w);
}
END_TEST

/* As kubectl makes them: several on a node. */
START_TEST(pods_that_share_nodes_are_in_one_domain)
{
    struct world *w = world_of_racks(0, "ab");

    put_node(w, "n3", 8, "b", "one");
    fake_client_put(w->api, &pod_group_kind,
                    "{\"metadata\":{\"name\":\"g\",\"namespace\":\"default\",\"annotations\":{"
                    "\"kiln.hpc/uid\":\"1001\"}},\"spec\":{\"schedulingPolicy\":{\"gang\":{"
                    "\"minCount\":3}},\"schedulingConstraints\":{\"topology\":[{\"key\":\"" RACK
                    "\"}]}}}");
    for (unsigned i = 0; i < 3; i++)
        put_member(w, "g", i);
    let_pass(w);
    for (unsigned i = 0; i < 3; i++) {
        CLEANUP_FREE char *name = xasprintf("g-%u", i);

        ck_assert_str_ne(world_node_of(w, name), "");
        ck_assert_str_ne(world_node_of(w, name), "n1");
    }
    end(w);
}
END_TEST

START_TEST(pods_that_come_later_go_to_the_domain_of_the_others)
{
    struct world *w = world_of_racks(0, "aaabbbb");

    fill(w, "n3", 3600);
    put_gang(w, "g", 2, RACK);
    put_member(w, "g", 0);
    put_member(w, "g", 1);
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "g", 2), "n1 n2");
    put_member(w, "g", 2);
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "g", 3), "n1 n2 -");
    empty(w, "n3");
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "g", 3), "n1 n2 n3");
    end(w);
}
END_TEST

START_TEST(why_says_that_nodes_are_outside_of_the_domain)
{
    struct world *w = world_of_racks(0, "aabbbb");
    CLEANUP(arena_freep) struct arena *arena = arena_new(4096);
    const struct json *answer, *reasons;

    put_gang(w, "g", 2, RACK);
    put_member(w, "g", 0);
    put_member(w, "g", 1);
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "g", 2), "n1 n2");
    put_member(w, "g", 2);
    let_pass(w);
    answer = scheduler_explain(w->scheduler, fake_client_find(w->api, &pod_kind, "default", "g-2"),
                               false, arena);
    ck_assert_str_eq(json_get_text(json_get(answer, "cause"), "code"), "NodeHasGroup");
    reasons = json_get(answer, "reasons");
    ck_assert_str_eq(json_get_text(json_at(reasons, 1), "code"), "OutsideDomain");
    ck_assert_int_eq(json_get_int(json_at(reasons, 1), "nodes", 0), 4);
    end(w);
}
END_TEST

/* `ksub --test-only`: a pod stands for the job. */
START_TEST(a_job_that_is_not_submitted_is_told_of_one_domain)
{
    struct world *w = world_of_racks(0, "aabb");
    CLEANUP(arena_freep) struct arena *arena = arena_new(4096);
    struct fake_client *other = fake_client_new();
    const struct json *answer;

    fill(w, "n1", 600);
    fill(w, "n3", 7200);
    world_settle(w);
    answer = scheduler_explain(
        w->scheduler,
        fake_client_put(other, &pod_kind,
                        "{\"metadata\":{\"name\":\"new-0\",\"namespace\":\"default\","
                        "\"annotations\":{\"kiln.hpc/gang-size\":\"2\","
                        "\"kiln.hpc/gang-topology\":\"" RACK "\"}},\"spec\":{"
                        "\"activeDeadlineSeconds\":60,\"securityContext\":{\"runAsUser\":1001},"
                        "\"containers\":[{\"name\":\"main\",\"image\":\"host\",\"resources\":{"
                        "\"requests\":{\"cpu\":\"4\",\"memory\":\"1Gi\"}}}]}}"),
        true, arena);
    ck_assert_str_eq(json_path_text(answer, "start.chance"), "Later");
    ck_assert_str_eq(json_path_text(answer, "start.node"), "n[1-2]");
    fake_client_free(other);
    end(w);
}
END_TEST

/* A rack is better than two of the same block, even if only the block is asked for. */
START_TEST(a_key_of_a_wide_level_still_prefers_a_leaf)
{
    struct world *w = world_of_racks(2, "abacdcdcd");

    put_whole_gang(w, "g", 3, BLOCK);
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "g", 3), "n4 n6 n8");
    put_whole_gang(w, "h", 4, BLOCK);
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "h", 4), "- - - -");
    end(w);
}
END_TEST

/* ---- Reservations ---- */

static const struct reservation *
reservation_of(const struct world *w, const char *pod)
{
    const struct queued_pod *queued = queue_find(w->scheduler->queue, "default", pod);

    return queued != NULL ? planner_find(w->scheduler->planner, queued) : NULL;
}

static bool
is_reserved(const struct reservation *r, const char *node)
{
    for (unsigned i = 0; r != NULL && r->places != NULL && i < r->count; i++)
        if (strcmp(r->places[i].node->name, node) == 0)
            return true;
    return false;
}

/* Two nodes of other racks are free sooner than one rack is. */
START_TEST(a_group_is_reserved_nodes_of_one_domain)
{
    struct world *w = world_of_racks(0, "aabb");
    const struct reservation *r;

    fill(w, "n1", 600);
    fill(w, "n2", 7200);
    fill(w, "n3", 900);
    fill(w, "n4", 3000);
    world_settle(w);
    put_whole_gang(w, "g", 2, RACK);
    world_settle(w);
    r = reservation_of(w, "g-0");
    ck_assert(is_reserved(r, "n3") && is_reserved(r, "n4"));
    /* A node of which nothing is reserved is free for others; one that is, is not. */
    empty(w, "n1");
    empty(w, "n3");
    put_gang(w, "h", 1, NULL);
    put_member(w, "h", 0);
    let_pass(w);
    ck_assert_str_eq(world_node_of(w, "h-0"), "n1");
    empty(w, "n4");
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "g", 2), "n3 n4");
    end(w);
}
END_TEST

START_TEST(a_reservation_follows_labels)
{
    struct world *w = world_of_racks(0, "aabb");
    const struct reservation *r;

    fill(w, "n1", 600);
    fill(w, "n2", 7200);
    fill(w, "n3", 900);
    fill(w, "n4", 3600);
    world_settle(w);
    put_whole_gang(w, "g", 2, RACK);
    world_settle(w);
    ck_assert(is_reserved(reservation_of(w, "g-0"), "n4"));
    put_node(w, "n3", 4, "a", "one");
    let_pass(w);
    r = reservation_of(w, "g-0");
    ck_assert(is_reserved(r, "n1") && is_reserved(r, "n3"));
    end(w);
}
END_TEST

/* ---- Preemption ---- */

static void
put_low(struct world *w, const char *node, int priority)
{
    CLEANUP_FREE char *text = xasprintf(
        "{\"metadata\":{\"name\":\"on-%s\",\"namespace\":\"default\"},\"spec\":{\"nodeName\":"
        "\"%s\",\"priority\":%d,\"securityContext\":{\"runAsUser\":1001},"
        "\"containers\":[{\"name\":\"main\",\"image\":\"host\",\"resources\":{\"requests\":{"
        "\"cpu\":\"4\",\"memory\":\"1Gi\"}}}]},\"status\":{\"phase\":\"Running\"}}",
        node, node, priority);

    fake_client_put(w->api, &pod_kind, text);
}

static bool
is_there(const struct world *w, const char *pod)
{
    return fake_client_find(w->api, &pod_kind, "default", pod) != NULL;
}

static void
put_important_members(struct world *w)
{
    for (unsigned i = 0; i < 2; i++) {
        CLEANUP_FREE char *text =
            xasprintf("{\"metadata\":{\"name\":\"g-%u\",\"namespace\":\"default\"},\"spec\":{"
                      "\"schedulingGroup\":{\"podGroupName\":\"g\"},\"priority\":10,"
                      "\"securityContext\":{\"runAsUser\":1001},\"containers\":[{"
                      "\"name\":\"main\",\"image\":\"host\",\"resources\":{\"requests\":{"
                      "\"cpu\":\"4\",\"memory\":\"1Gi\"}}}]},\"status\":{\"phase\":\"Pending\"}}",
                      i);

        fake_client_put(w->api, &pod_kind, text);
    }
}

/* Rack a has a pod that is too important, b two victims, c one and a free node. */
START_TEST(a_group_preempts_in_the_domain_with_the_fewest_victims)
{
    struct world *w = world_of_racks(0, "aabbcc");

    put_low(w, "n1", 0);
    put_low(w, "n2", 100);
    put_low(w, "n3", 0);
    put_low(w, "n4", 0);
    put_low(w, "n5", 0);
    world_settle(w);
    put_gang(w, "g", 2, RACK);
    put_important_members(w);
    let_pass(w);
    ck_assert(is_there(w, "on-n1") && is_there(w, "on-n2"));
    ck_assert(is_there(w, "on-n3") && is_there(w, "on-n4"));
    ck_assert(!is_there(w, "on-n5"));
    ck_assert_str_ne(world_node_of(w, "g-0"), "");
    ck_assert_str_ne(world_node_of(w, "g-1"), "");
    end(w);
}
END_TEST

/* Each rack has one node of a pod that is too important. */
START_TEST(a_group_that_no_domain_could_hold_preempts_nobody)
{
    struct world *w = world_of_racks(0, "aabb");

    put_low(w, "n1", 0);
    put_low(w, "n2", 100);
    put_low(w, "n3", 0);
    put_low(w, "n4", 100);
    world_settle(w);
    put_gang(w, "g", 2, RACK);
    put_important_members(w);
    let_pass(w);
    ck_assert(is_there(w, "on-n1") && is_there(w, "on-n3"));
    ck_assert_str_eq(nodes_of(w, "g", 2), "- -");
    end(w);
}
END_TEST

/* ---- Near to each other ---- */

START_TEST(a_group_takes_the_smallest_leaf_that_holds_it)
{
    struct world *w = world_of_racks(1, "aaaabbbcc");

    put_whole_gang(w, "g", 3, NULL);
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "g", 3), "n5 n6 n7");
    put_whole_gang(w, "h", 2, NULL);
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "h", 2), "n8 n9");
    end(w);
}
END_TEST

START_TEST(a_group_too_large_for_a_leaf_takes_few_of_one_block)
{
    /* Block one: a 1, b 3. Block two: c 2, d 2, e 1. */
    struct world *w = world_of_racks(2, "abbbccdde");

    put_whole_gang(w, "g", 4, NULL);
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "g", 4), "n1 n2 n3 n4");
    put_whole_gang(w, "h", 4, NULL);
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "h", 4), "n5 n6 n7 n8");
    end(w);
}
END_TEST

START_TEST(a_group_that_fits_in_no_domain_goes_anywhere)
{
    struct world *w = world_of_racks(2, "acbc");

    put_node(w, "n5", 4, "", "");
    put_whole_gang(w, "g", 5, NULL);
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "g", 5), "n1 n3 n2 n4 n5");
    end(w);
}
END_TEST

/* Racks whose nodes are neighbours by name only here and there. */
START_TEST(ranks_follow_the_leaves)
{
    struct world *w = world_of_racks(1, "abababc");

    put_whole_gang(w, "g", 6, NULL);
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "g", 6), "n1 n3 n5 n2 n4 n6");
    end(w);
}
END_TEST

/* ---- Switches ---- */

/* Of two pods and one switch. Its time counts from the creation of the group. */
static void
put_choosy_gang(struct world *w, const char *wait)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"g\",\"namespace\":\"default\",\"creationTimestamp\":"
                  "\"2024-01-01T00:00:00Z\",\"annotations\":{\"kiln.hpc/uid\":\"1001\"}},"
                  "\"spec\":{\"schedulingPolicy\":{\"gang\":{\"minCount\":2}},\"onePerNode\":true,"
                  "\"switches\":{\"most\":1%s}}}",
                  wait);

    fake_client_put(w->api, &pod_group_kind, text);
    put_member(w, "g", 0);
    put_member(w, "g", 1);
}

START_TEST(a_group_waits_for_few_switches_and_then_takes_any)
{
    struct world *w = world_of_racks(1, "ab");

    put_choosy_gang(w, ",\"waitSeconds\":60");
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "g", 2), "- -");
    ck_assert_str_eq(cause(w, "g-0"),
                     "waits until 2024-01-01T00:01:00Z for nodes with at most 1 switch "
                     "(--switches), and then starts on any; those that are free now have 2");
    for (unsigned i = 0; i < 50; i++)
        world_advance(w, 1000);
    ck_assert_str_eq(nodes_of(w, "g", 2), "n1 n2");
    end(w);
}
END_TEST

START_TEST(a_group_takes_a_switch_that_becomes_free)
{
    struct world *w = world_of_racks(1, "abb");

    fill(w, "n3", 3600);
    put_choosy_gang(w, "");
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "g", 2), "- -");
    empty(w, "n3");
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "g", 2), "n2 n3");
    end(w);
}
END_TEST

START_TEST(no_group_waits_longer_than_is_allowed)
{
    struct world *w = world_of_racks(1, "ab");

    topology_levels_set_wait(topology, 20 * INT64_C(1000000));
    put_choosy_gang(w, ",\"waitSeconds\":9000");
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "g", 2), "- -");
    for (unsigned i = 0; i < 10; i++)
        world_advance(w, 1000);
    ck_assert_str_eq(nodes_of(w, "g", 2), "n1 n2");
    end(w);
}
END_TEST

START_TEST(a_shorter_time_is_in_effect_at_once)
{
    struct world *w = world_of_racks(1, "ab");

    put_choosy_gang(w, "");
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "g", 2), "- -");
    topology_levels_set_wait(topology, 10 * INT64_C(1000000));
    world_advance(w, 1000);
    ck_assert_str_eq(nodes_of(w, "g", 2), "n1 n2");
    end(w);
}
END_TEST

START_TEST(without_levels_every_group_has_few_switches)
{
    struct world *w = world_of_racks(0, "ab");

    put_choosy_gang(w, "");
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "g", 2), "n1 n2");
    end(w);
}
END_TEST

START_TEST(new_levels_are_in_effect_at_once)
{
    struct world *w = world_of_racks(0, "aaaabbbcc");

    topology_levels_set(topology, (const char *const[]){RACK}, 1);
    world_advance(w, 1000);
    put_whole_gang(w, "g", 3, NULL);
    let_pass(w);
    ck_assert_str_eq(nodes_of(w, "g", 3), "n5 n6 n7");
    end(w);
}
END_TEST

SUITE("group places", a_shorter_time_is_in_effect_at_once,
      a_group_that_waits_for_a_domain_is_woken_by_an_uncordoned_node,
      a_job_that_is_not_submitted_is_told_of_one_domain,
      why_says_that_nodes_are_outside_of_the_domain,
      a_group_preempts_in_the_domain_with_the_fewest_victims,
      a_group_that_no_domain_could_hold_preempts_nobody,
      a_group_waits_for_few_switches_and_then_takes_any, a_group_takes_a_switch_that_becomes_free,
      no_group_waits_longer_than_is_allowed, without_levels_every_group_has_few_switches,
      a_group_is_reserved_nodes_of_one_domain, a_reservation_follows_labels,
      a_group_with_a_key_goes_into_one_domain, a_group_without_a_domain_waits_with_the_cause,
      a_node_without_the_label_is_in_no_domain, pods_that_share_nodes_are_in_one_domain,
      pods_that_come_later_go_to_the_domain_of_the_others,
      a_key_of_a_wide_level_still_prefers_a_leaf, a_group_takes_the_smallest_leaf_that_holds_it,
      a_group_too_large_for_a_leaf_takes_few_of_one_block,
      a_group_that_fits_in_no_domain_goes_anywhere, ranks_follow_the_leaves,
      new_levels_are_in_effect_at_once)
