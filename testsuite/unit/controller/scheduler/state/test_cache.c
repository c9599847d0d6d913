/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/state/cache.h"

#include <errno.h>
#include <stdio.h>

#include "controller/scheduler/framework/framework.h"
#include "lib/allocator/holding.h"
#include "lib/allocator/occupancy.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/suite.h"

struct bench {
    struct fake_clock time;
    struct fake_client *api;
    struct string_ids *resources;
    struct cache *cache;
    struct snapshot snapshot;
};

static void
bench_init(struct bench *b, int64_t expire_us)
{
    static const struct fake_clock clock = FAKE_CLOCK;

    *b = (struct bench){.time = clock};
    b->api = fake_client_new();
    b->resources = string_ids_new();
    b->cache = cache_new(&(struct cache_settings){
        .clock = &b->time.clock,
        .resources = b->resources,
        .expire_us = expire_us,
    });
}

static void
bench_fini(struct bench *b)
{
    cache_free(b->cache);
    string_ids_free(b->resources);
    fake_client_free(b->api);
}

static void
add_node(struct bench *b, const char *name, const char *cpu)
{
    char json[512];

    snprintf(json, sizeof(json),
             "{\"metadata\":{\"name\":\"%s\"},\"status\":{\"allocatable\":{"
             "\"cpu\":\"%s\",\"pods\":\"10\"},\"topology\":{\"cpus\":\"0-3\","
             "\"packages\":[\"0-3\"],\"cores\":[\"0,2\",\"1,3\"],"
             "\"numaNodes\":[{\"node\":0,\"cpus\":\"0-3\",\"memory\":"
             "\"4Gi\"}]}}}",
             name, cpu);
    cache_set_node(b->cache, fake_client_put(b->api, &node_kind, json));
    cache_update_snapshot(b->cache, &b->snapshot);
}

static void
put_topology(struct bench *b, const char *topology)
{
    char json[1024];

    snprintf(json, sizeof(json),
             "{\"metadata\":{\"name\":\"n1\"},\"status\":{\"allocatable\":{"
             "\"cpu\":\"8\",\"pods\":\"10\"},\"topology\":{%s}}}",
             topology);
    cache_set_node(b->cache, fake_client_put(b->api, &node_kind, json));
}

static struct pod_view *
make_pod(struct bench *b, const char *name, const char *more)
{
    char json[512];

    snprintf(json, sizeof(json),
             "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"d\",\"uid\":"
             "\"%s\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":"
             "{\"requests\":{\"cpu\":\"1\"}}}]}%s}",
             name, name, more);
    return pod_view_new(fake_client_put(b->api, &pod_kind, json), b->resources);
}

static int64_t
used_milli(struct bench *b, const char *node)
{
    cache_update_snapshot(b->cache, &b->snapshot);
    return snapshot_find(&b->snapshot, node)->ledger.requested.cpu_milli;
}

START_TEST(an_assumed_pod_takes_room_until_it_is_forgotten)
{
    struct bench b;
    struct pod_view *p;

    bench_init(&b, 0);
    add_node(&b, "n1", "4");
    p = make_pod(&b, "p", "");
    ck_assert_int_eq(cache_assume(b.cache, p, "n2"), -ENOENT);
    ck_assert_int_eq(cache_assume(b.cache, p, "n1"), 0);
    ck_assert_int_eq(cache_assume(b.cache, p, "n1"), -EEXIST);
    ck_assert_int_eq(used_milli(&b, "n1"), 1000);
    ck_assert(cache_forget(b.cache, p));
    ck_assert(!cache_forget(b.cache, p));
    ck_assert_int_eq(used_milli(&b, "n1"), 0);
    pod_view_unref(p);
    bench_fini(&b);
}
END_TEST

START_TEST(a_confirmed_pod_is_not_forgotten_and_changes_nothing)
{
    struct bench b;
    struct pod_view *p, *again;
    uint64_t before;

    bench_init(&b, 0);
    add_node(&b, "n1", "4");
    p = make_pod(&b, "p", "");
    cache_assume(b.cache, p, "n1");
    used_milli(&b, "n1");
    before = b.snapshot.generation;
    again = make_pod(&b, "p", "");
    cache_set_pod(b.cache, again, "n1");
    ck_assert(!cache_forget(b.cache, p));
    ck_assert_int_eq(used_milli(&b, "n1"), 1000);
    ck_assert_uint_eq(b.snapshot.generation, before);
    pod_view_unref(p);
    pod_view_unref(again);
    bench_fini(&b);
}
END_TEST

START_TEST(a_pod_that_turns_up_elsewhere_is_moved)
{
    struct bench b;
    struct pod_view *p;

    bench_init(&b, 0);
    add_node(&b, "n1", "4");
    add_node(&b, "n2", "4");
    p = make_pod(&b, "p", "");
    cache_assume(b.cache, p, "n1");
    cache_set_pod(b.cache, p, "n2");
    ck_assert_int_eq(used_milli(&b, "n1"), 0);
    ck_assert_int_eq(used_milli(&b, "n2"), 1000);
    ck_assert_uint_eq(cache_count(b.cache).assumed, 0);
    pod_view_unref(p);
    bench_fini(&b);
}
END_TEST

START_TEST(assumed_pods_expire_only_after_their_binding)
{
    struct bench b;
    struct pod_view *p;

    bench_init(&b, 30 * FAKE_SECOND);
    add_node(&b, "n1", "4");
    p = make_pod(&b, "p", "");
    cache_assume(b.cache, p, "n1");
    fake_clock_advance(&b.time, 100 * FAKE_SECOND);
    ck_assert_uint_eq(cache_expire(b.cache), 0);
    cache_finish_binding(b.cache, p);
    fake_clock_advance(&b.time, 29 * FAKE_SECOND);
    ck_assert_uint_eq(cache_expire(b.cache), 0);
    fake_clock_advance(&b.time, 2 * FAKE_SECOND);
    ck_assert_uint_eq(cache_expire(b.cache), 1);
    ck_assert_int_eq(used_milli(&b, "n1"), 0);
    pod_view_unref(p);
    bench_fini(&b);
}
END_TEST

START_TEST(a_removed_node_with_pods_comes_back_with_them)
{
    struct bench b;
    struct pod_view *p;

    bench_init(&b, 0);
    add_node(&b, "n1", "4");
    p = make_pod(&b, "p", "");
    cache_set_pod(b.cache, p, "n1");
    cache_remove_node(b.cache, "n1");
    cache_update_snapshot(b.cache, &b.snapshot);
    ck_assert_uint_eq(b.snapshot.n_nodes, 0);
    ck_assert_ptr_null(snapshot_find(&b.snapshot, "n1"));

    add_node(&b, "n1", "8");
    ck_assert_int_eq(used_milli(&b, "n1"), 1000);
    cache_remove_node(b.cache, "n1");
    ck_assert(cache_remove_pod(b.cache, p));
    ck_assert(!cache_remove_pod(b.cache, p));
    ck_assert_ptr_null(cache_find_node(b.cache, "n1"));
    pod_view_unref(p);
    bench_fini(&b);
}
END_TEST

START_TEST(a_bound_pods_allocation_is_taken_from_its_status)
{
    struct bench b;
    struct pod_view *p;
    const struct occupancy *o;

    bench_init(&b, 0);
    add_node(&b, "n1", "4");
    p = make_pod(&b, "p",
                 ",\"status\":{\"allocation\":{\"cpus\":\"1\",\"withheld\":"
                 "\"3\",\"memory\":[{\"node\":0,\"bytes\":\"1Gi\"}]}}");
    cache_set_pod(b.cache, p, "n1");
    ck_assert_int_eq(used_milli(&b, "n1"), 2000);
    o = snapshot_find(&b.snapshot, "n1")->ledger.occupancy;
    ck_assert_uint_eq(o->free_cores, 1);
    ck_assert_int_eq(o->free_memory, INT64_C(3) << 30);
    cache_remove_pod(b.cache, p);
    ck_assert_int_eq(used_milli(&b, "n1"), 0);
    o = snapshot_find(&b.snapshot, "n1")->ledger.occupancy;
    ck_assert_uint_eq(o->free_cores, 2);
    ck_assert_int_eq(o->free_memory, INT64_C(4) << 30);
    pod_view_unref(p);
    bench_fini(&b);
}
END_TEST

/* A pod with affinity to all other pods ("podAffinity"), or anti-affinity. */
static struct pod_view *
make_picky_pod(struct bench *b, const char *name, const char *affinity)
{
    char json[512];

    snprintf(json, sizeof(json),
             "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"d\",\"uid\":"
             "\"%s\"},\"spec\":{\"affinity\":{\"%s\":{"
             "\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
             "\"topologyKey\":\"k\"}]}},\"containers\":[{\"name\":\"c\","
             "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
             name, name, affinity);
    return pod_view_new(fake_client_put(b->api, &pod_kind, json), b->resources);
}

/* The order of the lists matters, because filters read them in order. */
START_TEST(a_trial_on_a_node_leaves_no_trace)
{
    static const char *const affinity[] = {
        NULL, "podAffinity", NULL, "podAntiAffinity", "podAntiAffinity", NULL,
    };
    struct pod_view *pods[ARRAY_SIZE(affinity)], *extra;
    struct node_view *v, before;
    struct journal *journal;
    size_t outer, inner;
    struct bench b;
    char name[2] = "p";

    bench_init(&b, 0);
    add_node(&b, "n1", "8");
    for (unsigned i = 0; i < ARRAY_SIZE(affinity); i++) {
        name[0] = (char)('a' + i);
        pods[i] =
            affinity[i] != NULL ? make_picky_pod(&b, name, affinity[i]) : make_pod(&b, name, "");
        cache_set_pod(b.cache, pods[i], "n1");
    }
    extra = make_picky_pod(&b, "x", "podAntiAffinity");
    cache_update_snapshot(b.cache, &b.snapshot);
    v = snapshot_find(&b.snapshot, "n1");
    before = *v;
    journal = v->ledger.journal;

    outer = journal_begin(journal);
    node_view_remove_pod(v, pods[1]);
    node_view_remove_pod(v, pods[5]);
    inner = journal_begin(journal);
    node_view_add_pod(v, extra, LEDGER_NOMINATED);
    node_view_remove_pod(v, pods[3]);
    ck_assert_uint_eq(v->pods.count, 4);
    ck_assert_uint_eq(v->with_required_anti_affinity.count, 2);
    journal_roll_back(journal, inner);
    ck_assert_uint_eq(v->with_required_anti_affinity.count, 2);
    inner = journal_begin(journal);
    node_view_remove_pod(v, pods[0]);
    journal_keep(journal, inner);
    node_view_add_pod(v, pods[5], LEDGER_RUNNING);
    ck_assert_uint_eq(v->pods.count, 4);
    journal_roll_back(journal, outer);

    ck_assert_uint_eq(v->pods.count, ARRAY_SIZE(affinity));
    for (unsigned i = 0; i < ARRAY_SIZE(affinity); i++)
        ck_assert_ptr_eq(v->pods.items[i], pods[i]);
    ck_assert_uint_eq(v->with_affinity.count, 3);
    ck_assert_ptr_eq(v->with_affinity.items[0], pods[1]);
    ck_assert_ptr_eq(v->with_required_anti_affinity.items[0], pods[3]);
    ck_assert_ptr_eq(v->with_required_anti_affinity.items[1], pods[4]);
    ck_assert_int_eq(v->lowest_priority, before.lowest_priority);
    ck_assert_uint_eq(v->generation, before.generation);
    ck_assert_int_eq(v->ledger.requested.cpu_milli, 6000);
    for (unsigned i = 0; i < ARRAY_SIZE(affinity); i++)
        pod_view_unref(pods[i]);
    pod_view_unref(extra);
    bench_fini(&b);
}
END_TEST

START_TEST(an_allocation_in_the_same_words_is_not_read_again)
{
#define STATUS(withheld)                                                   \
    ",\"status\":{\"allocation\":{\"cpus\":\"1\",\"withheld\":\"" withheld \
    "\",\"memory\":[{\"node\":0,\"bytes\":\"1Gi\"}]}}"
    struct pod_view *p, *again, *other;
    const struct holding *holding;
    struct bench b;

    bench_init(&b, 0);
    add_node(&b, "n1", "4");
    p = make_pod(&b, "p", STATUS("3"));
    cache_set_pod(b.cache, p, "n1");
    holding = p->holding;
    again = make_pod(&b, "p", STATUS("3"));
    cache_set_pod(b.cache, again, "n1");
    ck_assert_ptr_eq(again->holding, holding);
    ck_assert_int_eq(used_milli(&b, "n1"), 2000);
    other = make_pod(&b, "p", STATUS(""));
    cache_set_pod(b.cache, other, "n1");
    ck_assert_int_eq(used_milli(&b, "n1"), 1000);
    pod_view_unref(p);
    pod_view_unref(again);
    pod_view_unref(other);
    bench_fini(&b);
}
END_TEST

static struct occupancy *
occupancy_of(struct bench *b, const char *node)
{
    cache_update_snapshot(b->cache, &b->snapshot);
    return snapshot_find(&b->snapshot, node)->ledger.occupancy;
}

/* Its holding has indexes of the old topology. */
START_TEST(an_assumed_pod_keeps_its_cores_when_the_topology_changes)
{
    struct holding *h;
    struct pod_view *p;
    struct bench b;

    bench_init(&b, 0);
    put_topology(&b, "\"cpus\":\"0-5\",\"packages\":[\"0-5\"],\"numaNodes\":["
                     "{\"node\":0,\"cpus\":\"0-2\",\"memory\":\"4Gi\"},"
                     "{\"node\":1,\"cpus\":\"3-5\",\"memory\":\"4Gi\"}],"
                     "\"devices\":[{\"name\":\"a\",\"type\":\"gpu\"},"
                     "{\"name\":\"b\",\"type\":\"gpu\"}]");
    p = make_pod(&b, "p", "");
    cache_assume(b.cache, p, "n1");
    h = holding_new(2, 1, 1);
    h->cores[0] = 4;
    h->cores[1] = 5;
    h->devices[0] = 1;
    h->memory[0] = (struct holding_memory){.numa = 1, .page = HOLDING_PLAIN, .bytes = 1};
    cache_hold(b.cache, p, h);
    ck_assert_uint_eq(occupancy_of(&b, "n1")->free_cores, 4);

    put_topology(&b, "\"cpus\":\"4,6\",\"packages\":[\"4,6\"],\"numaNodes\":["
                     "{\"node\":1,\"cpus\":\"4,6\",\"memory\":\"4Gi\"}],"
                     "\"devices\":[{\"name\":\"b\",\"type\":\"gpu\"}]");
    ck_assert_uint_eq(occupancy_of(&b, "n1")->free_cores, 1);
    ck_assert(!bitset_has(&occupancy_of(&b, "n1")->core_set, 0));
    ck_assert_uint_eq(occupancy_of(&b, "n1")->device_holders[0], 1);
    ck_assert_int_eq(occupancy_of(&b, "n1")->free_memory, (INT64_C(4) << 30) - 1);

    ck_assert(cache_forget(b.cache, p));
    ck_assert_uint_eq(occupancy_of(&b, "n1")->free_cores, 2);
    ck_assert_int_eq(occupancy_of(&b, "n1")->free_memory, INT64_C(4) << 30);
    pod_view_unref(p);
    bench_fini(&b);
}
END_TEST

START_TEST(a_snapshot_after_one_change_has_one_new_node_in_front)
{
    struct bench b;
    struct pod_view *p;
    const struct node_view *first;
    uint64_t before;

    bench_init(&b, 0);
    add_node(&b, "n1", "4");
    add_node(&b, "n2", "4");
    add_node(&b, "n3", "4");
    before = b.snapshot.generation;
    p = make_pod(&b, "p", "");
    cache_assume(b.cache, p, "n2");
    cache_update_snapshot(b.cache, &b.snapshot);
    first = container_of(b.snapshot.recent->next, struct node_view, recent);
    ck_assert_str_eq(first->name, "n2");
    ck_assert_uint_gt(first->generation, before);
    first = container_of(first->recent.next, struct node_view, recent);
    ck_assert_uint_le(first->generation, before);
    pod_view_unref(p);
    bench_fini(&b);
}
END_TEST

/* Nominations also exist for a node that the API does not have yet, or no
 * longer has.
 */
START_TEST(a_nomination_is_an_entry_of_its_node_while_it_lasts)
{
    struct bench b;
    struct nominator *nominator = nominator_new();
    struct pod_view *p, *q;
    const struct node_view *node;

    bench_init(&b, 0);
    p = make_pod(&b, "p", "");
    q = make_pod(&b, "q", "");
    nominator_add(nominator, p, cache_make_node(b.cache, "n1"));
    nominator_add(nominator, q, cache_make_node(b.cache, "n1"));
    cache_update_snapshot(b.cache, &b.snapshot);
    ck_assert_ptr_null(snapshot_find(&b.snapshot, "n1"));

    add_node(&b, "n1", "4");
    node = snapshot_find(&b.snapshot, "n1");
    ck_assert_uint_eq(node->ledger.n_nominated, 2);
    ck_assert_ptr_eq(nominator_pod(node, 0), p);
    ck_assert_int_eq(used_milli(&b, "n1"), 0);
    ck_assert_uint_eq(node->ledger.nominated[0].state, LEDGER_NOMINATED);
    ck_assert_int_eq(node->ledger.nominated[0].requests->cpu_milli, 1000);

    cache_remove_node(b.cache, "n1");
    ck_assert_str_eq(nominator_node(nominator, q), "n1");
    cache_leave_node(b.cache, nominator_remove(nominator, p));
    node = cache_find_node(b.cache, "n1");
    ck_assert_uint_eq(node->ledger.n_nominated, 1);
    ck_assert_ptr_eq(nominator_pod(node, 0), q);
    cache_leave_node(b.cache, nominator_remove(nominator, q));
    ck_assert_ptr_null(cache_find_node(b.cache, "n1"));
    ck_assert_ptr_null(nominator_remove(nominator, q));

    pod_view_unref(p);
    pod_view_unref(q);
    nominator_free(nominator);
    bench_fini(&b);
}
END_TEST

/* Scores are calculated with a hundred times of these amounts. */
START_TEST(a_node_that_says_it_has_everything_has_an_amount_that_can_be_calculated_with)
{
    struct bench b;
    const struct amounts *has;

    bench_init(&b, 0);
    cache_set_node(b.cache,
                   fake_client_put(b.api, &node_kind,
                                   "{\"metadata\":{\"name\":\"liar\"},\"status\":{\"allocatable\":{"
                                   "\"cpu\":\"9223372036854775807\",\"memory\":\"8Ei\","
                                   "\"ephemeral-storage\":\"8Ei\",\"example.net/gpu\":"
                                   "\"9223372036854775807\",\"pods\":\"9223372036854775807\"}}}"));
    cache_update_snapshot(b.cache, &b.snapshot);
    has = &snapshot_find(&b.snapshot, "liar")->allocatable;
    ck_assert_int_gt(has->cpu_milli, INT64_C(1) << 50);
    ck_assert_int_lt(has->cpu_milli, INT64_MAX / 100);
    ck_assert_int_lt(has->memory_bytes, INT64_MAX / 100);
    ck_assert_int_lt(has->ephemeral_bytes, INT64_MAX / 100);
    ck_assert_int_lt(amounts_value(has, b.resources, "example.net/gpu"), INT64_MAX / 100);
    bench_fini(&b);
}
END_TEST

SUITE("cache", a_node_that_says_it_has_everything_has_an_amount_that_can_be_calculated_with,
      an_assumed_pod_takes_room_until_it_is_forgotten,
      a_confirmed_pod_is_not_forgotten_and_changes_nothing, a_pod_that_turns_up_elsewhere_is_moved,
      assumed_pods_expire_only_after_their_binding, a_removed_node_with_pods_comes_back_with_them,
      a_trial_on_a_node_leaves_no_trace, a_bound_pods_allocation_is_taken_from_its_status,
      an_allocation_in_the_same_words_is_not_read_again,
      an_assumed_pod_keeps_its_cores_when_the_topology_changes,
      a_snapshot_after_one_change_has_one_new_node_in_front,
      a_nomination_is_an_entry_of_its_node_while_it_lasts)
