/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that are placed together, all or none, through the real scheduler. */
#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/plugins/plugin_registry.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/queue/queued_group.h"
#include "controller/scheduler/report/recorder.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/state/cache.h"
#include "lib/allocator/occupancy.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

/* The groups come from the labels "group" and "members". */
static void
group_by_labels(const struct object *pod, struct group_terms *ret_terms, void *context)
{
    const struct string_map *labels = &pod_of(pod)->meta.labels;
    const char *members = string_map_find(labels, "members");

    (void)context;
    ret_terms->name = string_map_find(labels, "group");
    if (ret_terms->name != NULL && members != NULL)
        ret_terms->wanted = (unsigned)strtoul(members, NULL, 10);
}

/* A plugin that blocks one pod, and logs the order of calls. */
static struct {
    struct handle *handle;
    const char *unreserved; /* the pod that is refused at reserve */
    const char *unpermitted;
    const char *waits_in_permit;
    const char *fails_in_prebind;
    const char *waits_in_prebind;
    struct assignment *waiting;
    struct pod_view *permitting;
    char log[512];
} gate;

static bool
is_named(const char *name, const struct pod_view *pod)
{
    return name != NULL && strcmp(name, pod->name) == 0;
}

static void
note(const char *what, const struct pod_view *pod)
{
    size_t length = strlen(gate.log);

    snprintf(gate.log + length, sizeof(gate.log) - length, "%s%s", what, pod->name);
}

static int
gate_make(struct handle *handle, const struct json *args, void **ret_self, struct error *err)
{
    (void)args, (void)err;
    gate.handle = handle;
    *ret_self = &gate;
    return 0;
}

static enum verdict
gate_reserve(void *self, struct cycle *c, const struct node_view *node, uint32_t *ret_reason)
{
    (void)self, (void)node;
    note("+", c->pod);
    *ret_reason = handle_reason(gate.handle, "not reserved");
    return is_named(gate.unreserved, c->pod) ? VERDICT_REJECT : VERDICT_OK;
}

static void
gate_unreserve(void *self, struct cycle *c, const struct node_view *node)
{
    (void)self, (void)node;
    note("-", c->pod);
}

static enum verdict
gate_permit(void *self, struct cycle *c, const struct node_view *node, int64_t *ret_timeout_us,
            uint32_t *ret_reason)
{
    (void)self;
    ck_assert_ptr_nonnull(node);
    note("?", c->pod);
    *ret_timeout_us = 5000000;
    *ret_reason = handle_reason(gate.handle, "not permitted");
    if (is_named(gate.unpermitted, c->pod))
        return VERDICT_REJECT;
    if (!is_named(gate.waits_in_permit, c->pod))
        return VERDICT_OK;
    gate.permitting = c->pod;
    return VERDICT_WAIT;
}

static enum verdict
gate_prebind(void *self, struct assignment *a, uint32_t *ret_reason)
{
    (void)self;
    note("!", a->cycle.pod);
    *ret_reason = handle_reason(gate.handle, "not prepared");
    if (is_named(gate.fails_in_prebind, a->cycle.pod))
        return VERDICT_ERROR;
    if (!is_named(gate.waits_in_prebind, a->cycle.pod))
        return VERDICT_OK;
    gate.waiting = a;
    return VERDICT_WAIT;
}

static const struct plugin gate_plugin = {
    .name = "Gate",
    .make = gate_make,
    .reserve = gate_reserve,
    .unreserve = gate_unreserve,
    .permit = gate_permit,
    .prebind = gate_prebind,
};

static struct world *
groups_new(void)
{
    static struct profile_plugin plugins[PROFILE_MAX_PLUGINS];
    static struct profile_settings profile = {
        .scheduler_name = "default-scheduler",
        .plugins = plugins,
        .percentage_of_nodes = 100,
    };

    for (unsigned i = 0; i < n_default_profile; i++)
        plugins[i] = default_profile[i];
    plugins[n_default_profile] = (struct profile_plugin){.plugin = &gate_plugin};
    profile.n_plugins = n_default_profile + 1;
    memset(&gate, 0, sizeof(gate));
    return world_new(&(struct scheduler_settings){
        .profiles = &profile,
        .n_profiles = 1,
        .group_of = group_by_labels,
        .without_forecast = true, /* a simulation would need a gate of its own */
        .assume_expire_us = 30000000,
    });
}

static void
put_member(struct world *w, const char *name, const char *cpu, unsigned members, const char *spec)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\",\"labels\":{"
                  "\"group\":\"g\",\"members\":\"%u\"}},\"spec\":{\"containers\":[{"
                  "\"name\":\"main\",\"image\":\"host\",\"resources\":{\"requests\":{"
                  "\"cpu\":\"%s\",\"memory\":\"1Gi\"}}}]%s}}",
                  name, members, cpu, spec);

    fake_client_put(w->api, &pod_kind, text);
}

/* Members a, b and c, which need a node each. */
static void
put_three(struct world *w)
{
    put_member(w, "a", "16", 3, EXCLUSIVE);
    put_member(w, "b", "16", 3, EXCLUSIVE);
    put_member(w, "c", "16", 3, EXCLUSIVE);
}

/* Nodes n1, n2 and n3 of 8 cores. */
static struct world *
world_with_nodes(void)
{
    struct world *w = groups_new();

    for (unsigned i = 1; i <= 3; i++) {
        CLEANUP_FREE char *name = xasprintf("n%u", i);

        world_add_numa_node(w, name, 2, 4);
    }
    world_settle(w);
    return w;
}

static struct world *
world_with_three(void)
{
    struct world *w = world_with_nodes();

    put_three(w);
    return w;
}

static unsigned
count_bound(const struct world *w, const char *names)
{
    unsigned count = 0;

    for (const char *c = names; *c != '\0'; c++) {
        char name[2] = {*c, '\0'};

        count += *world_node_of(w, name) != '\0';
    }
    return count;
}

static unsigned
bindings(const struct world *w)
{
    return fake_client_calls(w->api, CLIENT_CREATE, "binding");
}

static const char *
message(const struct world *w, const char *name)
{
    const struct pod_condition *c = pod_find_condition(world_pod(w, name), "PodScheduled");

    return c != NULL ? c->message : "";
}

/* "CODE: text" of status.cause */
static const char *
cause(const struct world *w, const char *name)
{
    static char text[256];
    const struct pod_cause *c = world_pod(w, name)->status.cause;

    snprintf(text, sizeof(text), "%s: %s", c != NULL ? c->code : "", c != NULL ? c->message : "");
    return text;
}

static void
add_bytes(struct strbuf *out, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        strbuf_printf(out, "%02x", ((const unsigned char *)bytes)[i]);
}

/* All of it except the count of its changes. */
static void
add_occupancy(struct strbuf *out, const struct occupancy *o)
{
    const struct topology_index *s = o->topology_index;
    struct occupancy own;

    memcpy(&own, o, sizeof(own));
    own.version = 0;
    add_bytes(out, &own, sizeof(own));
    add_bytes(out, o->numa, s->n_numa * sizeof(*o->numa));
    add_bytes(out, o->group_free, s->n_groups * sizeof(*o->group_free));
    add_bytes(out, o->core_holders, s->n_cores);
    add_bytes(out, o->device_holders, s->topology->n_devices);
}

/* The state that a failed group must leave unchanged: all of nodes, ledgers and
 * cache except generations.
 */
static char *
take_picture(struct world *w)
{
    struct scheduler *s = w->scheduler;
    struct strbuf out = STRBUF_INIT;
    struct cache_counts counts = cache_count(s->cache);

    strbuf_printf(&out, "%zu pods, %zu assumed\n", counts.pods, counts.assumed);
    cache_update_snapshot(s->cache, &s->snapshot);
    for (uint32_t i = 0; i < s->snapshot.n_nodes; i++) {
        const struct node_view *v = s->snapshot.nodes[i];
        const struct ledger *l = &v->ledger;

        strbuf_printf(&out,
                      "%s: %lld milli, %lld bytes, %lld, %lld, lowest %lld, "
                      "affinity %u, %u\n",
                      v->name, (long long)l->requested.cpu_milli,
                      (long long)l->requested.memory_bytes, (long long)l->nonzero_cpu_milli,
                      (long long)l->nonzero_memory_bytes, (long long)v->lowest_priority,
                      v->with_affinity.count, v->with_required_anti_affinity.count);
        for (uint32_t p = 0; p < v->pods.count; p++)
            strbuf_printf(&out, " %s\n", v->pods.items[p]->name);
        for (uint32_t e = 0; e < l->count; e++)
            strbuf_printf(&out, " %p %d %p\n", l->entries[e].owner, (int)l->entries[e].state,
                          (const void *)l->entries[e].holding);
        if (l->occupancy != NULL)
            add_occupancy(&out, l->occupancy);
        strbuf_add_text(&out, "\n");
    }
    return out.text;
}

static void
check_same(const char *before, const char *after)
{
    if (strcmp(before, after) == 0)
        return;
    fprintf(stderr, "before:\n%s\nafter:\n%s\n", before, after);
    ck_abort_msg("the cluster is not as it was");
}

static void
check_nothing_is_held(struct world *w)
{
    struct scheduler_counts counts = scheduler_count(w->scheduler);

    ck_assert_uint_eq(counts.assumed, 0);
    ck_assert_uint_eq(counts.binding, 0);
    ck_assert_uint_eq(counts.in_flight, 0);
}

/* --- placed --------------------------------------------------------------- */

START_TEST(all_members_are_bound_in_one_request)
{
    struct world *w = world_with_three();

    world_settle(w);
    ck_assert_uint_eq(count_bound(w, "abc"), 3);
    ck_assert_uint_eq(bindings(w), 1);
    ck_assert_str_ne(world_node_of(w, "a"), world_node_of(w, "b"));
    ck_assert_str_eq(world_allocation(w, "c")->cpus, "0-15");
    ck_assert_str_eq(gate.log, "+a+b+c?a?b?c!a!b!c");
    ck_assert_uint_eq(scheduler_count(w->scheduler).scheduled, 3);
    ck_assert_uint_eq(scheduler_count(w->scheduler).assumed, 0);
    world_free(w);
}
END_TEST

START_TEST(members_share_a_node_with_cores_of_their_own)
{
    struct world *w = groups_new();

    world_add_numa_node(w, "n1", 2, 4);
    put_member(w, "a", "8", 2, EXCLUSIVE);
    put_member(w, "b", "8", 2, EXCLUSIVE);
    world_settle(w);
    ck_assert_str_eq(world_allocation(w, "a")->cpus, "0-3,8-11");
    ck_assert_str_eq(world_allocation(w, "b")->cpus, "4-7,12-15");
    world_free(w);
}
END_TEST

START_TEST(a_group_waits_in_words_for_a_member_that_is_missing)
{
    struct world *w = groups_new();

    world_add_numa_node(w, "n1", 2, 4);
    put_member(w, "a", "2", 3, "");
    put_member(w, "b", "2", 3, "");
    world_settle(w);
    ck_assert_uint_eq(bindings(w), 0);
    ck_assert_uint_eq(scheduler_count(w->scheduler).gated, 2);
    ck_assert_str_eq(message(w, "a"), "it waits for the other pods of its group 'g'; all 3 are "
                                      "placed together");
    ck_assert_str_eq(pod_find_condition(world_pod(w, "b"), "PodScheduled")->reason,
                     "SchedulingGated");
    ck_assert_str_eq(cause(w, "a"),
                     "SchedulingGated: waits until 3 pods of its group 'g' are there");

    put_member(w, "c", "2", 3, "");
    world_settle(w);
    ck_assert_uint_eq(count_bound(w, "abc"), 3);
    ck_assert_uint_eq(scheduler_count(w->scheduler).gated, 0);
    world_free(w);
}
END_TEST

START_TEST(a_member_with_gates_is_missing)
{
    struct world *w = groups_new();

    world_add_numa_node(w, "n1", 2, 4);
    put_member(w, "a", "2", 2, ",\"schedulingGates\":[{\"name\":\"x\"}]");
    put_member(w, "b", "2", 2, "");
    world_settle(w);
    ck_assert_uint_eq(scheduler_count(w->scheduler).gated, 2);
    put_member(w, "a", "2", 2, "");
    world_settle(w);
    ck_assert_uint_eq(count_bound(w, "ab"), 2);
    world_free(w);
}
END_TEST

START_TEST(pods_of_no_group_and_of_other_groups_go_by_themselves)
{
    struct world *w = groups_new();

    world_add_numa_node(w, "n1", 2, 4);
    world_add_pod(w, "x", "1", "1Gi", "");
    put_member(w, "a", "1", 2, "");
    put_member(w, "y", "1", 1, "");
    world_settle(w);
    ck_assert_uint_eq(count_bound(w, "xy"), 2);
    ck_assert_uint_eq(count_bound(w, "a"), 0);
    ck_assert_uint_eq(bindings(w), 2);
    world_free(w);
}
END_TEST

/* --- no room -------------------------------------------------------------- */

START_TEST(nothing_is_held_when_the_last_does_not_fit)
{
    struct world *w = world_with_nodes();
    CLEANUP_FREE char *before = NULL;
    CLEANUP_FREE char *after = NULL;

    world_add_pod(w, "x", "2", "1Gi", EXCLUSIVE);
    gate.waits_in_permit = "x"; /* something is assumed, too */
    world_settle(w);
    before = take_picture(w);
    put_three(w);
    world_settle(w);
    after = take_picture(w);
    check_same(before, after);
    ck_assert_uint_eq(bindings(w), 0);
    ck_assert_str_eq(gate.log, "+x?x+a+b-b-a");
    ck_assert_str_eq(message(w, "a"), message(w, "c"));
    ck_assert_str_eq(
        message(w, "a"),
        "group 'g' of 3 pods, placed all together or not at all: 2 found room, pod 'c' did "
        "not: 0/3 nodes are available: 3 Insufficient cpu.");
    ck_assert_str_eq(cause(w, "a"),
                     "Resources: waits for room for 3 pods at the same time: 2 would fit now");
    ck_assert_str_eq(cause(w, "b"), "Resources: waits for room for 3 pods at the same time");
    ck_assert_str_eq(cause(w, "c"),
                     "Resources: waits for room for 3 pods at the same time: 2 would fit now");
    world_free(w);
}
END_TEST

START_TEST(a_member_that_no_node_can_run_is_the_cause_for_all)
{
    struct world *w = groups_new();

    world_add_node(w, "n1", 4);
    put_member(w, "a", "1", 3, "");
    put_member(w, "b", "1", 3, "");
    put_member(w, "c", "1", 3, ",\"nodeSelector\":{\"big\":\"yes\"}");
    world_settle(w);
    ck_assert_str_eq(cause(w, "a"), "BadConstraints: no node has big=yes");
    ck_assert_str_eq(cause(w, "b"), "BadConstraints: no node has big=yes");
    ck_assert_str_eq(cause(w, "c"), "BadConstraints: no node has big=yes");
    ck_assert_int_eq(world_pod(w, "a")->status.cause->from_us, 0);
    world_free(w);
}
END_TEST

START_TEST(the_first_member_that_finds_no_room_is_named)
{
    struct world *w = groups_new();

    world_add_node(w, "n1", 4);
    world_add_pod(w, "x", "4", "1Gi", "");
    world_settle(w);
    put_member(w, "a", "2", 2, "");
    put_member(w, "b", "2", 2, "");
    world_settle(w);
    ck_assert_str_eq(message(w, "a"),
                     "group 'g' of 2 pods, placed all together or not at all: pod 'a' found no "
                     "room: 0/1 nodes are available: 1 Insufficient cpu.");
    ck_assert_str_eq(cause(w, "a"),
                     "Resources: waits for room for 2 pods at the same time: 0 would fit now");
    world_free(w);
}
END_TEST

START_TEST(a_failed_plan_leaves_no_trace_in_the_order_of_numa_nodes)
{
    struct world *w = groups_new();
    CLEANUP_FREE char *before = NULL;
    CLEANUP_FREE char *after = NULL;

    world_add_numa_node(w, "n1", 4, 4);
    /* it uses three NUMA nodes */
    world_add_pod(w, "x", "20", "20Gi", EXCLUSIVE);
    world_settle(w);
    before = take_picture(w);
    put_member(w, "a", "12", 2, EXCLUSIVE); /* the rest of two NUMA nodes */
    put_member(w, "c", "99", 2, EXCLUSIVE);
    world_settle(w);
    after = take_picture(w);
    check_same(before, after);
    world_free(w);
}
END_TEST

/* n2 has as many free CPUs as a member needs, but half of them on each NUMA node. */
START_TEST(room_that_lies_on_two_numa_nodes_is_none)
{
    struct world *w = groups_new();

    world_add_numa_node(w, "n2", 2, 4);
    world_add_pod(w, "x", "6", "1Gi", SINGLE_NUMA);
    world_add_pod(w, "y", "6", "1Gi", SINGLE_NUMA);
    world_settle(w);
    world_add_numa_node(w, "n1", 2, 4);
    world_settle(w);
    for (const char *name = "abcde"; *name != '\0'; name++)
        put_member(w, (char[2]){*name, '\0'}, "4", 5, SINGLE_NUMA);
    world_settle(w);
    ck_assert_uint_eq(count_bound(w, "xy"), 2);
    ck_assert_uint_eq(count_bound(w, "abcde"), 0);
    ck_assert_str_eq(cause(w, "a"),
                     "Resources: waits for room for 5 pods at the same time: 4 would fit now");
    fake_client_remove(w->api, &pod_kind, "default", "x");
    world_advance(w, 1100);
    ck_assert_uint_eq(count_bound(w, "abcde"), 5);
    world_free(w);
}
END_TEST

START_TEST(an_event_that_helps_one_member_has_all_tried_again)
{
    struct world *w = world_with_nodes();

    world_add_pod(w, "x", "2", "1Gi", EXCLUSIVE);
    world_settle(w);
    put_three(w);
    world_settle(w);
    ck_assert_uint_eq(count_bound(w, "abc"), 0);
    fake_client_remove(w->api, &pod_kind, "default", "x");
    world_advance(w, 1100);
    ck_assert_uint_eq(count_bound(w, "abc"), 3);
    world_free(w);
}
END_TEST

START_TEST(a_group_that_sleeps_is_one_decision_of_the_queue)
{
    struct world *w = world_with_three();
    struct scheduler_counts counts;

    put_member(w, "a", "16", 4, EXCLUSIVE);
    put_member(w, "b", "16", 4, EXCLUSIVE);
    put_member(w, "c", "16", 4, EXCLUSIVE);
    put_member(w, "d", "16", 4, EXCLUSIVE);
    world_settle(w);
    counts = scheduler_count(w->scheduler);
    ck_assert_uint_eq(counts.unschedulable_pods, 1);
    ck_assert_uint_eq(counts.in_group, 3);
    ck_assert_uint_eq(counts.attempts, 4);
    world_add_numa_node(w, "n4", 2, 4);
    world_advance(w, 1100);
    ck_assert_uint_eq(count_bound(w, "abcd"), 4);
    ck_assert_uint_eq(scheduler_count(w->scheduler).in_group, 0);
    world_free(w);
}
END_TEST

/* The leader alone would have needed less. */
START_TEST(hints_are_asked_for_the_member_that_was_rejected)
{
    struct world *w = groups_new();

    world_add_node(w, "n1", 4);
    put_member(w, "a", "1", 2, "");
    put_member(w, "b", "1", 2, ",\"nodeSelector\":{\"big\":\"yes\"}");
    world_settle(w);
    ck_assert_uint_eq(count_bound(w, "ab"), 0);
    fake_client_put(w->api, &node_kind,
                    "{\"metadata\":{\"name\":\"n2\",\"labels\":{\"big\":"
                    "\"yes\"}},\"status\":{\"allocatable\":{\"cpu\":\"4\","
                    "\"memory\":\"64Gi\",\"pods\":\"110\"}}}");
    world_advance(w, 1100);
    ck_assert_str_eq(world_node_of(w, "b"), "n2");
    ck_assert_uint_eq(count_bound(w, "ab"), 2);
    world_free(w);
}
END_TEST

START_TEST(groups_of_equal_pods_are_tried_one_after_the_other)
{
    struct world *w = groups_new();
    struct scheduler_counts counts;
    uint64_t attempts;

    world_add_node(w, "n1", 4);
    for (unsigned g = 0; g < 5; g++)
        for (unsigned m = 0; m < 2; m++) {
            CLEANUP_FREE char *text =
                xasprintf("{\"metadata\":{\"name\":\"p%u%u\",\"namespace\":\"default\","
                          "\"labels\":{\"group\":\"g%u\",\"members\":\"2\"}},\"spec\":{"
                          "\"containers\":[{\"name\":\"main\",\"image\":\"host\","
                          "\"resources\":{\"requests\":{\"cpu\":\"2\"}}}]}}",
                          g, m, g);

            fake_client_put(w->api, &pod_kind, text);
        }
    world_advance(w, 1100);
    world_settle(w);
    counts = scheduler_count(w->scheduler);
    ck_assert_uint_eq(counts.unschedulable_pods + counts.backoff, 4);
    ck_assert_str_eq(world_node_of(w, "p01"), "n1");
    attempts = counts.attempts;
    fake_client_remove(w->api, &pod_kind, "default", "p00");
    world_settle(w);
    world_advance(w, 10);
    /* A group was tried, and its second member found no node. */
    ck_assert_uint_gt(scheduler_count(w->scheduler).attempts, attempts);
    ck_assert_uint_le(scheduler_count(w->scheduler).attempts, attempts + 4);
    ck_assert_uint_eq(scheduler_count(w->scheduler).scheduled, 2);
    fake_client_remove(w->api, &pod_kind, "default", "p01");
    world_advance(w, 1100);
    ck_assert_uint_eq(scheduler_count(w->scheduler).scheduled, 4);
    world_free(w);
}
END_TEST

START_TEST(a_group_makes_room_for_all_of_its_pods)
{
    struct world *w = groups_new();

    world_add_node(w, "n1", 4);
    world_add_pod(w, "x", "4", "1Gi", "");
    world_settle(w);
    put_member(w, "a", "2", 2, ",\"priority\":1000");
    put_member(w, "b", "2", 2, ",\"priority\":1000");
    world_advance(w, 2000);
    ck_assert_uint_eq(count_bound(w, "ab"), 2);
    ck_assert_str_eq(world_node_of(w, "a"), "n1");
    ck_assert_str_eq(world_node_of(w, "b"), "n1");
    world_free(w);
}
END_TEST

/* --- stages --------------------------------------------------------------- */

START_TEST(a_reserve_that_is_refused_takes_all_back_in_reverse_order)
{
    struct world *w = world_with_three();

    gate.unreserved = "c";
    world_settle(w);
    ck_assert_str_eq(gate.log, "+a+b+c-c-b-a");
    ck_assert_uint_eq(bindings(w), 0);
    check_nothing_is_held(w);
    ck_assert_str_eq(message(w, "b"),
                     "group 'g' of 3 pods, placed all together or not at all: 2 found room, "
                     "pod 'c' did not: not reserved");
    world_free(w);
}
END_TEST

START_TEST(a_permit_that_is_refused_takes_all_back)
{
    struct world *w = world_with_three();

    gate.unpermitted = "b";
    world_settle(w);
    ck_assert_str_eq(gate.log, "+a+b+c?a?b-c-b-a");
    check_nothing_is_held(w);
    ck_assert_str_eq(message(w, "c"),
                     "group 'g' of 3 pods, placed all together or not at all: pod 'b': not "
                     "permitted");
    ck_assert_uint_eq(bindings(w), 0);
    world_free(w);
}
END_TEST

START_TEST(all_wait_for_the_one_that_waits_in_permit)
{
    struct world *w = world_with_three();
    struct handle *h;

    gate.waits_in_permit = "b";
    world_settle(w);
    h = gate.handle;
    ck_assert_str_eq(gate.log, "+a+b+c?a?b?c");
    ck_assert_uint_eq(scheduler_count(w->scheduler).assumed, 3);
    ck_assert_uint_eq(bindings(w), 0);
    ck_assert(h->allow(h->owner, gate.permitting, "Gate"));
    world_settle(w);
    ck_assert_uint_eq(count_bound(w, "abc"), 3);
    ck_assert_uint_eq(bindings(w), 1);
    world_free(w);
}
END_TEST

START_TEST(a_permit_that_times_out_takes_all_back_and_they_come_again)
{
    struct world *w = world_with_three();

    gate.waits_in_permit = "a";
    world_settle(w);
    world_advance(w, 5001);
    ck_assert_uint_eq(bindings(w), 0);
    ck_assert_str_eq(message(w, "c"),
                     "group 'g' of 3 pods, placed all together or not at all: pod 'a': timed "
                     "out waiting on permit");
    gate.waits_in_permit = NULL;
    world_add_numa_node(w, "n4", 2, 4); /* no pod waits for this node */
    world_advance(w, 301000);
    world_advance(w, 31000);
    ck_assert_uint_eq(count_bound(w, "abc"), 3);
    world_free(w);
}
END_TEST

START_TEST(a_prebind_that_fails_takes_all_back_and_all_is_tried_again)
{
    struct world *w = world_with_three();

    gate.fails_in_prebind = "b";
    world_settle(w);
    ck_assert_str_eq(gate.log, "+a+b+c?a?b?c!a!b-c-b-a");
    check_nothing_is_held(w);
    ck_assert_uint_eq(bindings(w), 0);
    gate.fails_in_prebind = NULL;
    world_advance(w, 1100);
    ck_assert_uint_eq(count_bound(w, "abc"), 3);
    world_free(w);
}
END_TEST

START_TEST(nothing_is_bound_before_all_have_come_through_prebind)
{
    struct world *w = world_with_three();
    struct handle *h;

    gate.waits_in_prebind = "a";
    world_settle(w);
    h = gate.handle;
    ck_assert_uint_eq(bindings(w), 0);
    ck_assert_str_eq(gate.log, "+a+b+c?a?b?c!a!b!c");
    h->resume(h->owner, gate.waiting, VERDICT_OK, STRING_ID_NONE);
    world_settle(w);
    ck_assert_uint_eq(count_bound(w, "abc"), 3);
    world_free(w);
}
END_TEST

/* One plugin still works for a pod when another fails: its answer is awaited
 * first.
 */
START_TEST(a_group_fails_when_every_plugin_has_answered)
{
    struct world *w = world_with_three();
    struct handle *h;

    gate.waits_in_prebind = "a";
    gate.fails_in_prebind = "b";
    world_settle(w);
    h = gate.handle;
    ck_assert_uint_eq(scheduler_count(w->scheduler).assumed, 3);
    ck_assert_str_eq(gate.log, "+a+b+c?a?b?c!a!b");
    gate.waits_in_prebind = gate.fails_in_prebind = NULL;
    h->resume(h->owner, gate.waiting, VERDICT_OK, STRING_ID_NONE);
    ck_assert_uint_eq(scheduler_count(w->scheduler).assumed, 0);
    world_advance(w, 1100);
    ck_assert_uint_eq(count_bound(w, "abc"), 3);
    world_free(w);
}
END_TEST

START_TEST(a_binding_that_is_refused_takes_all_back_and_all_is_tried_again)
{
    struct world *w = world_with_nodes();
    CLEANUP_FREE char *before = take_picture(w);
    CLEANUP_FREE char *after = NULL;

    fake_client_fail(w->api, CLIENT_CREATE, "binding", 409, "Conflict");
    put_three(w);
    world_settle(w);
    after = take_picture(w);
    check_same(before, after);
    ck_assert_uint_eq(count_bound(w, "abc"), 0);
    check_nothing_is_held(w);
    world_settle(w);
    ck_assert_ptr_nonnull(strstr(message(w, "c"), "binding to node"));
    world_advance(w, 1100);
    ck_assert_uint_eq(count_bound(w, "abc"), 3);
    world_free(w);
}
END_TEST

/* --- events meanwhile ----------------------------------------------------- */

static void
remove_b(struct world *w)
{
    fake_client_remove(w->api, &pod_kind, "default", "b");
    world_settle(w);
}

/* The other members wait for another b, and are placed with it. */
static void
check_that_two_wait_for_b(struct world *w)
{
    ck_assert_uint_eq(count_bound(w, "ac"), 0);
    check_nothing_is_held(w);
    ck_assert_uint_eq(scheduler_count(w->scheduler).gated, 2);
    ck_assert_str_eq(message(w, "a"), "it waits for the other pods of its group 'g'; all 3 are "
                                      "placed together");
    put_member(w, "b", "16", 3, EXCLUSIVE);
    world_advance(w, 2100);
    ck_assert_uint_eq(count_bound(w, "abc"), 3);
    world_free(w);
}

START_TEST(a_member_that_is_deleted_while_it_sleeps_leaves_the_others_waiting)
{
    struct world *w = world_with_three();

    fake_client_remove(w->api, &node_kind, NULL, "n3");
    world_settle(w);
    ck_assert_uint_eq(scheduler_count(w->scheduler).unschedulable_pods, 1);
    remove_b(w);
    world_add_numa_node(w, "n3", 2, 4);
    world_settle(w);
    check_that_two_wait_for_b(w);
}
END_TEST

START_TEST(a_leader_that_is_deleted_leaves_the_others_waiting)
{
    struct world *w = world_with_three();

    fake_client_remove(w->api, &node_kind, NULL, "n3");
    world_settle(w);
    fake_client_remove(w->api, &pod_kind, "default", "a");
    world_add_numa_node(w, "n3", 2, 4);
    world_settle(w);
    ck_assert_uint_eq(scheduler_count(w->scheduler).gated, 2);
    ck_assert_uint_eq(scheduler_count(w->scheduler).unschedulable_pods, 0);
    put_member(w, "a", "16", 3, EXCLUSIVE);
    world_advance(w, 1100);
    ck_assert_uint_eq(count_bound(w, "abc"), 3);
    world_free(w);
}
END_TEST

START_TEST(a_member_that_is_deleted_in_permit_takes_all_back)
{
    struct world *w = world_with_three();

    gate.waits_in_permit = "b";
    world_settle(w);
    gate.waits_in_permit = NULL;
    remove_b(w);
    check_that_two_wait_for_b(w);
}
END_TEST

START_TEST(a_member_that_is_deleted_while_another_is_in_permit_takes_all_back)
{
    struct world *w = world_with_three();

    gate.waits_in_permit = "c";
    world_settle(w);
    gate.waits_in_permit = NULL;
    remove_b(w);
    check_that_two_wait_for_b(w);
}
END_TEST

START_TEST(a_member_that_is_deleted_in_prebind_takes_all_back)
{
    struct world *w = world_with_three();
    struct handle *h;

    gate.waits_in_prebind = "a";
    world_settle(w);
    h = gate.handle;
    remove_b(w);
    ck_assert_uint_eq(scheduler_count(w->scheduler).binding, 3);
    gate.waits_in_prebind = NULL;
    h->resume(h->owner, gate.waiting, VERDICT_OK, STRING_ID_NONE);
    world_settle(w);
    check_that_two_wait_for_b(w);
}
END_TEST

/* The API has the deletion before the scheduler does. */
START_TEST(a_member_that_is_deleted_while_all_are_bound_takes_all_back)
{
    struct world *w = world_with_three();

    gate.waits_in_prebind = "a";
    world_settle(w);
    gate.waits_in_prebind = NULL;
    fake_client_hold_watches(w->api, true);
    fake_client_remove(w->api, &pod_kind, "default", "b");
    gate.handle->resume(gate.handle->owner, gate.waiting, VERDICT_OK, STRING_ID_NONE);
    world_settle(w);
    ck_assert_uint_eq(bindings(w), 1);
    check_nothing_is_held(w);
    fake_client_hold_watches(w->api, false);
    world_settle(w);
    check_that_two_wait_for_b(w);
}
END_TEST

START_TEST(a_member_that_somebody_else_binds_leaves_the_others_waiting)
{
    struct world *w = world_with_three();

    gate.waits_in_permit = "a";
    world_settle(w);
    put_member(w, "b", "16", 3, ",\"nodeName\":\"n9\"");
    world_settle(w);
    check_nothing_is_held(w);
    ck_assert_uint_eq(scheduler_count(w->scheduler).gated, 2);
    world_free(w);
}
END_TEST

START_TEST(a_node_that_goes_in_the_middle_is_no_ones)
{
    struct world *w = world_with_three();

    gate.waits_in_permit = "b";
    world_settle(w);
    fake_client_remove(w->api, &node_kind, NULL, "n2");
    world_settle(w);
    gate.waits_in_permit = NULL;
    gate.unpermitted = NULL;
    ck_assert(gate.handle->reject(gate.handle->owner, gate.permitting, "Gate", STRING_ID_NONE));
    world_settle(w);
    check_nothing_is_held(w);
    ck_assert_uint_eq(scheduler_count(w->scheduler).nodes, 2);
    world_add_numa_node(w, "n2", 2, 4);
    world_advance(w, 301000);
    world_advance(w, 31000);
    ck_assert_uint_eq(count_bound(w, "abc"), 3);
    world_free(w);
}
END_TEST

START_TEST(a_member_that_changed_meanwhile_comes_back_as_it_is)
{
    struct world *w = world_with_three();

    gate.waits_in_permit = "b";
    world_settle(w);
    put_member(w, "c", "99", 3, EXCLUSIVE);
    world_settle(w);
    gate.waits_in_permit = NULL;
    world_advance(w, 5001);
    world_advance(w, 301000);
    world_advance(w, 31000);
    ck_assert_uint_eq(count_bound(w, "abc"), 0);
    ck_assert_ptr_nonnull(strstr(message(w, "a"), "pod 'c' did not"));
    put_member(w, "c", "16", 3, EXCLUSIVE);
    world_advance(w, 1100);
    ck_assert_uint_eq(count_bound(w, "abc"), 3);
    world_free(w);
}
END_TEST

START_TEST(a_member_that_changes_its_group_leaves_the_old_one)
{
    struct world *w = world_with_three();

    fake_client_remove(w->api, &node_kind, NULL, "n3");
    world_settle(w);
    put_member(w, "c", "16", 1, EXCLUSIVE); /* a pod without a group */
    world_advance(w, 1100);
    ck_assert_uint_eq(count_bound(w, "c"), 1);
    ck_assert_uint_eq(scheduler_count(w->scheduler).gated, 2);
    put_member(w, "a", "8", 2, EXCLUSIVE);
    put_member(w, "b", "8", 2, EXCLUSIVE);
    world_advance(w, 1100);
    ck_assert_uint_eq(count_bound(w, "abc"), 3);
    world_free(w);
}
END_TEST

START_TEST(a_scheduler_that_starts_in_the_middle_begins_anew)
{
    struct world *w = world_with_three();

    gate.waits_in_permit = "b";
    world_settle(w);
    ck_assert_uint_eq(scheduler_count(w->scheduler).assumed, 3);
    gate.waits_in_permit = NULL;
    world_close(w);
    world_open(w, &(struct scheduler_settings){.group_of = group_by_labels});
    scheduler_start(w->scheduler);
    ck_assert_uint_eq(scheduler_count(w->scheduler).assumed, 0);
    world_settle(w);
    ck_assert_uint_eq(count_bound(w, "abc"), 3);
    world_free(w);
}
END_TEST

START_TEST(a_scheduler_that_ends_while_all_are_bound_frees_them_once)
{
    struct world *w = world_with_three();

    gate.waits_in_prebind = "c";
    world_settle(w);
    gate.handle->resume(gate.handle->owner, gate.waiting, VERDICT_OK, STRING_ID_NONE);
    ck_assert_uint_eq(scheduler_count(w->scheduler).binding, 3);
    world_free(w);
}
END_TEST

START_TEST(members_that_the_api_never_confirms_are_forgotten)
{
    struct world *w = world_with_three();

    gate.waits_in_prebind = "c";
    world_settle(w);
    fake_client_hold_watches(w->api, true);
    gate.handle->resume(gate.handle->owner, gate.waiting, VERDICT_OK, STRING_ID_NONE);
    world_settle(w);
    ck_assert_uint_eq(scheduler_count(w->scheduler).assumed, 3);
    ck_assert_uint_eq(scheduler_count(w->scheduler).scheduled, 3);
    world_advance(w, 31000);
    ck_assert_uint_eq(scheduler_count(w->scheduler).assumed, 0);
    fake_client_hold_watches(w->api, false);
    world_settle(w);
    ck_assert_uint_eq(scheduler_count(w->scheduler).pods, 3);
    world_free(w);
}
END_TEST

/* --- limits --------------------------------------------------------------- */

static struct world *
world_with_so_many(unsigned count)
{
    struct world *w = groups_new();

    for (unsigned i = 0; i < 8; i++) {
        CLEANUP_FREE char *name = xasprintf("n%u", i);

        world_add_numa_node(w, name, 4, 32);
    }
    for (unsigned i = 0; i < count; i++) {
        CLEANUP_FREE char *name = xasprintf("p%u", i);

        put_member(w, name, "1", count, "");
    }
    return w;
}

START_TEST(a_group_of_512_is_bound_in_one_request)
{
    struct world *w = world_with_so_many(512);

    world_settle(w);
    ck_assert_uint_eq(scheduler_count(w->scheduler).scheduled, 512);
    ck_assert_uint_eq(bindings(w), 1);
    ck_assert_str_ne(world_node_of(w, "p511"), "");
    world_free(w);
}
END_TEST

START_TEST(a_group_of_more_is_refused_in_words)
{
    struct world *w = world_with_so_many(513);

    world_settle(w);
    /* only some reports per second are written */
    for (unsigned i = 0; i < 5; i++)
        world_advance(w, 1000);
    ck_assert_uint_eq(scheduler_count(w->scheduler).attempts, 0);
    ck_assert_uint_eq(scheduler_count(w->scheduler).gated, 513);
    ck_assert_str_eq(message(w, "p512"), "the pods of its group 'g' cannot be placed: the group "
                                         "has more than the 512 pods that one request can bind");
    world_free(w);
}
END_TEST

static enum verdict
bind_alone(void *self, struct assignment *a, uint32_t *ret_reason)
{
    (void)self, (void)a, (void)ret_reason;
    return VERDICT_ERROR;
}

START_TEST(a_profile_that_binds_one_at_a_time_refuses_groups)
{
    static const struct plugin alone = {.name = "Alone", .bind = bind_alone};
    static const struct profile_plugin plugins[] = {{.plugin = &alone}};
    const struct profile_settings profile = {
        .scheduler_name = "default-scheduler",
        .plugins = plugins,
        .n_plugins = 1,
    };
    struct world *w = world_new(&(struct scheduler_settings){
        .profiles = &profile,
        .n_profiles = 1,
        .group_of = group_by_labels,
    });

    put_member(w, "a", "1", 2, "");
    put_member(w, "b", "1", 2, "");
    world_settle(w);
    ck_assert_str_eq(message(w, "a"), "the pods of its group 'g' cannot be placed: a plugin of "
                                      "its profile binds only one pod at a time");
    ck_assert_uint_eq(scheduler_count(w->scheduler).attempts, 0);
    world_free(w);
}
END_TEST

static void
put_of_group(struct world *w, const char *group, unsigned member, unsigned members, int limit_s)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s-%u\",\"namespace\":\"default\","
                  "\"labels\":{\"group\":\"%s\",\"members\":\"%u\"}},\"spec\":{"
                  "\"activeDeadlineSeconds\":%d,\"containers\":[{\"name\":\"main\","
                  "\"image\":\"host\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
                  group, member, group, members, limit_s);

    fake_client_put(w->api, &pod_kind, text);
}

/* The first pod has a reservation, so every node is evaluated for it. */
START_TEST(a_group_behind_it_that_has_no_room_is_given_up_after_its_first_pod)
{
    struct world *w = world_new(&(struct scheduler_settings){
        .group_of = group_by_labels,
    });
    uint64_t before;

    for (unsigned i = 0; i < 5; i++) {
        CLEANUP_FREE char *name = xasprintf("n%u", i);

        world_add_node(w, name, 1);
    }
    put_of_group(w, "runs", 0, 1, 100);
    world_settle(w);
    for (unsigned i = 0; i < 5; i++)
        put_of_group(w, "first", i, 5, 100);
    world_settle(w);
    before = scheduler_count(w->scheduler).attempts;
    for (unsigned i = 0; i < 5; i++)
        put_of_group(w, "behind", i, 5, 50);
    world_settle(w);

    ck_assert_uint_eq(scheduler_count(w->scheduler).attempts, before + 1);
    ck_assert_ptr_nonnull(
        strstr(message(w, "behind-3"), "there is not enough room for all 5 pods of its group"));
    fake_client_remove(w->api, &pod_kind, "default", "first-0");
    fake_client_remove(w->api, &pod_kind, "default", "runs-0");
    world_advance(w, 20000);
    ck_assert_str_ne(world_node_of(w, "behind-0"), "");
    ck_assert_str_ne(world_node_of(w, "behind-4"), "");
    world_free(w);
}
END_TEST

/* Five nodes of one CPU, three in use, and a group of five that waits for
 * these.
 */
static struct world *
world_with_a_group_that_waits(void)
{
    struct world *w = world_new(&(struct scheduler_settings){
        .group_of = group_by_labels,
    });

    for (unsigned i = 0; i < 5; i++) {
        CLEANUP_FREE char *name = xasprintf("n%u", i);

        world_add_node(w, name, 1);
    }
    for (unsigned i = 0; i < 3; i++)
        put_of_group(w, "runs", i, 1, 100 * (int)(i + 1));
    world_settle(w);
    for (unsigned i = 0; i < 5; i++)
        put_of_group(w, "first", i, 5, 100);
    world_settle(w);
    return w;
}

START_TEST(a_group_that_an_end_gives_too_little_room_sleeps_on)
{
    struct world *w = world_with_a_group_that_waits();
    uint64_t before = scheduler_count(w->scheduler).attempts;

    fake_client_remove(w->api, &pod_kind, "default", "runs-0");
    world_advance(w, 20000);
    fake_client_remove(w->api, &pod_kind, "default", "runs-1");
    world_advance(w, 20000);
    ck_assert_uint_eq(scheduler_count(w->scheduler).attempts, before);
    ck_assert_str_eq(world_node_of(w, "first-0"), "");
    ck_assert_ptr_nonnull(world_pod(w, "first-0")->status.cause->node);

    fake_client_remove(w->api, &pod_kind, "default", "runs-2");
    world_advance(w, 20000);
    for (unsigned i = 0; i < 5; i++) {
        CLEANUP_FREE char *name = xasprintf("first-%u", i);

        ck_assert_str_ne(world_node_of(w, name), "");
    }
    world_free(w);
}
END_TEST

START_TEST(a_group_that_something_else_wakes_is_tried)
{
    struct world *w = world_with_a_group_that_waits();
    uint64_t before = scheduler_count(w->scheduler).attempts;

    world_add_node(w, "n5", 1);
    world_advance(w, 20000);
    ck_assert_uint_gt(scheduler_count(w->scheduler).attempts, before);
    ck_assert_ptr_nonnull(strstr(message(w, "first-0"), "0/6 nodes"));
    world_free(w);
}
END_TEST

START_TEST(each_of_a_group_reads_where_and_one_reads_why)
{
    struct world *w = world_with_a_group_that_waits();

    for (unsigned i = 0; i < 5; i++) {
        CLEANUP_FREE char *name = xasprintf("first-%u", i);
        const struct pod_cause *cause = world_pod(w, name)->status.cause;

        ck_assert_ptr_nonnull(cause->node);
        if (i == 1 || i == 3)
            ck_assert_str_eq(message(w, name), "group 'first' of 5 pods, placed all together or "
                                               "not at all: not all found a node; see the "
                                               "message of pod 'first-0'");
    }
    ck_assert_ptr_nonnull(strstr(message(w, "first-0"), "0/5 nodes"));
    world_free(w);
}
END_TEST

START_TEST(a_plan_that_moves_is_written_for_those_alone_whose_node_is_another)
{
    struct world *w = world_with_a_group_that_waits();
    unsigned before;

    world_add_node(w, "n5", 1);
    world_settle(w);
    before = fake_client_calls(w->api, CLIENT_STRATEGIC_PATCH, "status");
    fake_client_remove(w->api, &pod_kind, "default", "runs-0");
    world_settle(w);
    /* It starts sooner now: each member's status is written once. */
    ck_assert_uint_le(fake_client_calls(w->api, CLIENT_STRATEGIC_PATCH, "status"), before + 6);
    world_free(w);
}
END_TEST

START_TEST(a_group_behind_it_that_fits_to_the_last_cpu_passes)
{
    struct world *w = world_new(&(struct scheduler_settings){
        .group_of = group_by_labels,
    });

    for (unsigned i = 0; i < 5; i++) {
        CLEANUP_FREE char *name = xasprintf("n%u", i);

        world_add_node(w, name, 1);
    }
    put_of_group(w, "runs", 0, 1, 100);
    world_settle(w);
    for (unsigned i = 0; i < 5; i++)
        put_of_group(w, "first", i, 5, 100);
    world_settle(w);
    for (unsigned i = 0; i < 4; i++)
        put_of_group(w, "behind", i, 4, 50);
    world_settle(w);

    ck_assert_str_eq(world_node_of(w, "first-0"), "");
    for (unsigned i = 0; i < 4; i++) {
        CLEANUP_FREE char *name = xasprintf("behind-%u", i);

        ck_assert_str_ne(world_node_of(w, name), "");
    }
    world_free(w);
}
END_TEST

SUITE("groups", all_members_are_bound_in_one_request, members_share_a_node_with_cores_of_their_own,
      a_group_waits_in_words_for_a_member_that_is_missing, a_member_with_gates_is_missing,
      pods_of_no_group_and_of_other_groups_go_by_themselves,
      nothing_is_held_when_the_last_does_not_fit,
      a_failed_plan_leaves_no_trace_in_the_order_of_numa_nodes,
      a_member_that_no_node_can_run_is_the_cause_for_all,
      the_first_member_that_finds_no_room_is_named, room_that_lies_on_two_numa_nodes_is_none,
      an_event_that_helps_one_member_has_all_tried_again,
      a_group_that_sleeps_is_one_decision_of_the_queue,
      hints_are_asked_for_the_member_that_was_rejected,
      groups_of_equal_pods_are_tried_one_after_the_other, a_group_makes_room_for_all_of_its_pods,
      a_reserve_that_is_refused_takes_all_back_in_reverse_order,
      a_permit_that_is_refused_takes_all_back, all_wait_for_the_one_that_waits_in_permit,
      a_permit_that_times_out_takes_all_back_and_they_come_again,
      a_prebind_that_fails_takes_all_back_and_all_is_tried_again,
      nothing_is_bound_before_all_have_come_through_prebind,
      a_group_fails_when_every_plugin_has_answered,
      a_binding_that_is_refused_takes_all_back_and_all_is_tried_again,
      a_member_that_is_deleted_while_it_sleeps_leaves_the_others_waiting,
      a_leader_that_is_deleted_leaves_the_others_waiting,
      a_member_that_is_deleted_in_permit_takes_all_back,
      a_member_that_is_deleted_while_another_is_in_permit_takes_all_back,
      a_member_that_is_deleted_in_prebind_takes_all_back,
      a_member_that_is_deleted_while_all_are_bound_takes_all_back,
      a_member_that_somebody_else_binds_leaves_the_others_waiting,
      a_node_that_goes_in_the_middle_is_no_ones,
      a_member_that_changed_meanwhile_comes_back_as_it_is,
      a_member_that_changes_its_group_leaves_the_old_one,
      a_scheduler_that_starts_in_the_middle_begins_anew,
      a_scheduler_that_ends_while_all_are_bound_frees_them_once,
      members_that_the_api_never_confirms_are_forgotten, a_group_of_512_is_bound_in_one_request,
      a_group_behind_it_that_has_no_room_is_given_up_after_its_first_pod,
      a_group_that_an_end_gives_too_little_room_sleeps_on,
      a_group_that_something_else_wakes_is_tried, each_of_a_group_reads_where_and_one_reads_why,
      a_plan_that_moves_is_written_for_those_alone_whose_node_is_another,
      a_group_behind_it_that_fits_to_the_last_cpu_passes, a_group_of_more_is_refused_in_words,
      a_profile_that_binds_one_at_a_time_refuses_groups)
