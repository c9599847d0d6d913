/* SPDX-License-Identifier: Apache-2.0 */
/* A decision by bounded search equals that after evaluating all nodes. */
#include "controller/scheduler/select/bounded_search.h"

#include <stdio.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/plugins/plugin_registry.h"
#include "controller/scheduler/select/node_finder.h"
#include "controller/scheduler/state/cache.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/random.h"
#include "lib/base/sanitizer.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/lib/allocator/odd_machines.h"

#define NODES    80u
#define STEPS    500u
/* With a sanitizer one run is enough. */
#define TOURS(n) (IS_SANITIZED ? 1u : n)

struct arena_of_nodes {
    struct fake_clock time;
    struct random_source random, dice;
    struct handle handle;
    struct string_ids *signatures;
    struct profile *profile;
    struct cache *cache;
    struct snapshot snapshot;
    struct node_finder *by_bounds, *by_cache;
    struct fake_client *api;
    struct pod_view *bound[STEPS];
    unsigned n_bound;
    unsigned n_short, n_none; /* decisions: by bounded search; without a node */
    bool has_soft_taints;
    struct arena *args;
};

static void
hold(void *owner, struct pod_view *pod, const struct node_view *node, struct holding *holding)
{
    struct arena_of_nodes *a = owner;

    (void)node;
    cache_hold(a->cache, pod, holding);
}

static unsigned
below(struct arena_of_nodes *a, unsigned limit)
{
    return (unsigned)random_below(&a->dice, limit);
}

/* One node in eight has no topology; most of the others are one of two
 * machines.
 */
static void
put_node(struct arena_of_nodes *a, unsigned number)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT, t = STRBUF_INIT;
    struct random_source own = {below(a, 3) > 0 ? below(a, 2) : random_next(&a->dice)};
    struct odd_machine m = odd_machine(&own, &t);

    strbuf_printf(&s, "{\"metadata\":{\"name\":\"n%u\"},\"spec\":{", number);
    if (below(a, 6) == 0)
        strbuf_printf(&s, "\"taints\":[{\"key\":\"k\",\"effect\":\"%s\"}],",
                      a->has_soft_taints && below(a, 2) ? "PreferNoSchedule" : "NoSchedule");
    strbuf_printf(&s,
                  "\"unschedulable\":%s},\"status\":{\"allocatable\":{"
                  "\"cpu\":\"%u\",\"memory\":\"%uMi\",\"pods\":\"%u\","
                  "\"hugepages-2Mi\":\"1Gi\",\"kiln.hpc/gpu\":\"%u\"}",
                  below(a, 12) ? "false" : "true", m.n_pus, m.memory_gib * 1024 + below(a, 64),
                  2 + below(a, 10), m.n_devices);
    if (below(a, 8) > 0)
        strbuf_printf(&s, ",\"topology\":%s", t.text);
    strbuf_add_text(&s, "}}");
    cache_set_node(a->cache, fake_client_put(a->api, &node_kind, s.text));
}

/* The default profile, with these arguments of NumaFit and NodeResourcesFit. */
static void
make_profile(struct arena_of_nodes *a, const char *numa, const char *fit)
{
    struct profile_plugin plugins[PROFILE_MAX_PLUGINS];

    a->args = arena_new(0);
    for (unsigned i = 0; i < n_default_profile; i++) {
        const char *name = default_profile[i].plugin->name;
        const char *args = strcmp(name, "NumaFit") == 0            ? numa
                           : strcmp(name, "NodeResourcesFit") == 0 ? fit
                                                                   : NULL;

        plugins[i] = default_profile[i];
        if (args != NULL)
            plugins[i].args = json_parse(a->args, args, strlen(args), NULL, NULL);
    }
    ck_assert_int_eq(profile_new(
                         &(struct profile_settings){
                             .scheduler_name = "x",
                             .plugins = plugins,
                             .n_plugins = n_default_profile,
                             .percentage_of_nodes = 100,
                             .handle = &a->handle,
                         },
                         &a->profile, NULL),
                     0);
}

static void
arena_init(struct arena_of_nodes *a, uint64_t seed, const char *numa, const char *fit)
{
    static const struct fake_clock clock = FAKE_CLOCK;

    *a = (struct arena_of_nodes){
        .time = clock,
        .random = {seed},
        .dice = {seed + 1000},
        .has_soft_taints = seed % 4 == 0,
    };
    a->api = fake_client_new();
    a->signatures = string_ids_new();
    a->handle = (struct handle){
        .resources = string_ids_new(),
        .reasons = string_ids_new(),
        .clock = &a->time.clock,
        .random = &a->random,
        .nominator = nominator_new(),
        .owner = a,
        .hold = hold,
    };
    make_profile(a, numa, fit);
    a->cache = cache_new(
        &(struct cache_settings){.clock = &a->time.clock, .resources = a->handle.resources});
    a->by_cache = node_finder_new(&(struct node_finder_settings){
        .handle = &a->handle,
        .signatures = a->signatures,
        .is_sharing = true,
        .bounded_search_nodes = UINT32_MAX,
    });
    a->by_bounds = node_finder_new(&(struct node_finder_settings){
        .handle = &a->handle,
        .signatures = a->signatures,
        .is_sharing = true,
        .bounded_search_nodes = 1,
    });
    for (unsigned i = 0; i < NODES; i++)
        put_node(a, i);
}

static void
arena_fini(struct arena_of_nodes *a)
{
    for (unsigned i = 0; i < a->n_bound; i++)
        pod_view_unref(a->bound[i]);
    node_finder_free(a->by_bounds);
    node_finder_free(a->by_cache);
    cache_free(a->cache);
    profile_free(a->profile);
    nominator_free(a->handle.nominator);
    string_ids_free(a->handle.resources);
    string_ids_free(a->handle.reasons);
    string_ids_free(a->signatures);
    fake_client_free(a->api);
    arena_free(a->args);
}

static void
add_placement(struct arena_of_nodes *a, struct strbuf *s)
{
    static const char *const policies[] = {
        "none",
        "best-effort",
        "restricted",
        "single-numa-node",
    };
    static const char *const distributions[] = {"pack", "scatter", "cyclic"};

    strbuf_printf(s, "\"placement\":{\"cpuPolicy\":\"%s\",\"numaPolicy\":\"%s\"",
                  below(a, 5) > 0 ? "exclusive" : "shared",
                  policies[below(a, ARRAY_SIZE(policies))]);
    if (below(a, 4) == 0)
        strbuf_printf(s, ",\"threadsPerCore\":%u", 1 + below(a, 2));
    if (below(a, 8) == 0)
        strbuf_printf(s, ",\"coresPerSocket\":%u", 1 + below(a, 4));
    if (below(a, 6) == 0)
        strbuf_printf(s, ",\"distribution\":\"%s\"",
                      distributions[below(a, ARRAY_SIZE(distributions))]);
    if (below(a, 12) == 0)
        strbuf_add_text(s, ",\"wholeNode\":true");
    if (below(a, 8) == 0)
        strbuf_add_text(s, ",\"gpuBinding\":\"none\"");
    strbuf_add_text(s, "},");
}

static struct pod_view *
random_pod(struct arena_of_nodes *a, unsigned number)
{
    static const char *const extras[] = {
        "",
        "",
        ",\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\"}]",
    };
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"p%u\",\"namespace\":\"d\",\"uid\":"
                  "\"p%u\"},\"spec\":{",
                  number, number);
    if (below(a, 8) > 0)
        add_placement(a, &s);
    strbuf_printf(&s,
                  "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":"
                  "{\"cpu\":\"%u\",\"memory\":\"%uMi\"",
                  1 + below(a, below(a, 3) > 0 ? 4 : 12), below(a, 4) * 700);
    if (below(a, 5) == 0)
        strbuf_printf(&s, ",\"kiln.hpc/gpu\":\"%u\"", 1 + below(a, 2));
    if (below(a, 8) == 0)
        strbuf_printf(&s, ",\"hugepages-2Mi\":\"%uMi\"", 2 + below(a, 12));
    strbuf_printf(&s, "}}}]%s}}", extras[below(a, ARRAY_SIZE(extras))]);
    return pod_view_new(fake_client_put(a->api, &pod_kind, s.text), a->handle.resources);
}

/* No node may score more than its bounds allow. */
static void
check_bounds(struct arena_of_nodes *a, struct cycle *c)
{
    struct bounds all;

    for (uint32_t i = 0; i < a->snapshot.n_nodes; i++) {
        struct bounds own;

        bounds_init(&own, a->snapshot.nodes[i]);
        if (i == 0)
            all = own;
        else
            bounds_add(&all, &own);
    }
    for (unsigned p = 0; p < a->profile->n_entries; p++) {
        const struct profile_entry *e = &a->profile->entries[p];

        for (uint32_t i = 0; e->plugin->best_score != NULL && i < a->snapshot.n_nodes; i++) {
            const struct node_view *node = a->snapshot.nodes[i];
            struct bounds own;
            struct answer answer;
            int64_t score;

            profile_filter(a->profile, PLUGIN_BIT(p), c, &node, 1, &answer);
            if (answer.verdict != VERDICT_OK)
                continue;
            profile_score(a->profile, p, c, &node, 1, &score);
            bounds_init(&own, node);
            ck_assert_int_ge(e->plugin->best_score(e->self, c, &own), score);
            ck_assert_int_ge(e->plugin->best_score(e->self, c, &all), score);
        }
    }
}

/* Both searches begin with the same random numbers. */
static struct node_view *
choose_twice(struct arena_of_nodes *a, struct pod_view *pod)
{
    struct random_source before = a->random;
    struct node_view *expected, *node;
    struct cycle c;
    int64_t total;

    cache_update_snapshot(a->cache, &a->snapshot);
    cycle_init(&c, pod, &a->snapshot);
    expected = node_finder_find(a->by_cache, a->profile, &c, NULL);
    ck_assert(!node_finder_facts(a->by_cache).by_bounds);
    total = node_finder_facts(a->by_cache).total;
    cycle_fini(&c);

    a->random = before;
    cycle_init(&c, pod, &a->snapshot);
    node = node_finder_find(a->by_bounds, a->profile, &c, NULL);
    check_bounds(a, &c);
    cycle_fini(&c);

    ck_assert_ptr_eq(node, expected);
    if (node_finder_facts(a->by_bounds).by_bounds) {
        ck_assert_int_eq(node_finder_facts(a->by_bounds).total, total);
        a->n_short++;
    }
    a->n_none += expected == NULL;
    return node;
}

static void
leave(struct arena_of_nodes *a)
{
    unsigned i = below(a, a->n_bound);

    if (!cache_forget(a->cache, a->bound[i]))
        cache_remove_pod(a->cache, a->bound[i]);
    pod_view_unref(a->bound[i]);
    a->bound[i] = a->bound[--a->n_bound];
}

static void
place(struct arena_of_nodes *a, unsigned number)
{
    struct pod_view *pod = random_pod(a, number);
    struct node_view *node = choose_twice(a, pod);
    struct cycle c;

    if (node != NULL) {
        cycle_init(&c, pod, &a->snapshot);
        ck_assert_int_eq(cache_assume(a->cache, pod, node->name), 0);
        ck_assert_int_eq(profile_reserve(a->profile, &c, node).verdict, VERDICT_OK);
        cycle_fini(&c);
        a->bound[a->n_bound++] = pod_view_ref(pod);
    }
    pod_view_unref(pod);
}

static void
run(uint64_t seed, const char *numa, const char *fit)
{
    struct arena_of_nodes a;

    arena_init(&a, seed, numa, fit);
    for (unsigned step = 0; step < STEPS; step++) {
        char name[16];

        place(&a, step);
        if (a.n_bound > 0 && below(&a, 5) < 2)
            leave(&a);
        if (below(&a, 20) == 0)
            put_node(&a, below(&a, NODES));
        if (below(&a, 40) == 0) {
            snprintf(name, sizeof(name), "n%u", below(&a, NODES));
            cache_remove_node(a.cache, name);
        }
    }
    /* Otherwise the comparison proves nothing. */
    if (!a.has_soft_taints)
        ck_assert_uint_gt(a.n_short, STEPS / 3);
    ck_assert_uint_gt(a.n_none, 0);
    arena_fini(&a);
}

START_TEST(a_bounded_search_finds_the_node_that_looking_at_all_finds)
{
    for (uint64_t seed = 1; seed <= TOURS(4u); seed++)
        run(seed, NULL, NULL);
}
END_TEST

START_TEST(a_bounded_search_finds_the_same_by_the_rules_of_the_kubelet)
{
    for (uint64_t seed = 21; seed < 21 + TOURS(2u); seed++)
        run(seed, "{\"numaStrategy\":\"kubelet\"}", NULL);
}
END_TEST

START_TEST(a_bounded_search_finds_the_same_whichever_way_resources_are_scored)
{
    run(31, NULL, "{\"scoringStrategy\":{\"type\":\"MostAllocated\"}}");
    run(33, NULL,
        "{\"scoringStrategy\":{\"type\":\"MostAllocated\",\"resources\":["
        "{\"name\":\"cpu\",\"weight\":3},{\"name\":\"kiln.hpc/gpu\","
        "\"weight\":2}]}}");
    run(34, NULL,
        "{\"scoringStrategy\":{\"type\":\"RequestedToCapacityRatio\","
        "\"requestedToCapacityRatio\":{\"shape\":[{\"utilization\":0,"
        "\"score\":0},{\"utilization\":70,\"score\":10},{\"utilization\":100,"
        "\"score\":2}]}}}");
}
END_TEST

/* Pods of one shape that come repeatedly get kept results. */
START_TEST(a_shape_that_comes_often_gets_a_board)
{
    struct arena_of_nodes a;
    unsigned first_board = STEPS;

    arena_init(&a, 41, NULL, NULL);
    for (unsigned i = 0; i < STEPS && first_board == STEPS; i++) {
        CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;
        struct pod_view *pod;
        struct cycle c;

        strbuf_printf(&s,
                      "{\"metadata\":{\"name\":\"p%u\",\"namespace\":\"d\"},"
                      "\"spec\":{\"containers\":[{\"name\":\"c\"}]}}",
                      i);
        pod = pod_view_new(fake_client_put(a.api, &pod_kind, s.text), a.handle.resources);
        cache_update_snapshot(a.cache, &a.snapshot);
        cycle_init(&c, pod, &a.snapshot);
        ck_assert_ptr_nonnull(node_finder_find(a.by_bounds, a.profile, &c, NULL));
        cycle_fini(&c);
        if (node_finder_facts(a.by_bounds).by_cache)
            first_board = i;
        pod_view_unref(pod);
    }
    ck_assert_uint_gt(first_board, 0);
    ck_assert_uint_lt(first_board, NODES);
    arena_fini(&a);
}
END_TEST

SUITE("bounded_search", a_bounded_search_finds_the_node_that_looking_at_all_finds,
      a_bounded_search_finds_the_same_by_the_rules_of_the_kubelet,
      a_bounded_search_finds_the_same_whichever_way_resources_are_scored,
      a_shape_that_comes_often_gets_a_board)
