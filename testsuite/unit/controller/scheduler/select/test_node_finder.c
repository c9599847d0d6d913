/* SPDX-License-Identifier: Apache-2.0 */
/* Every decision with kept results is one that is possible without them. */
#include "controller/scheduler/select/node_finder.h"

#include <stdio.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/plugins/plugin_registry.h"
#include "controller/scheduler/select/node_results.h"
#include "controller/scheduler/state/cache.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/suite.h"

#define NODES 60
#define STEPS 400

struct bench {
    struct fake_clock time;
    struct random_source random;
    struct random_source dice;
    struct handle handle;
    struct string_ids *signatures;
    struct profile *profile;
    struct cache *cache;
    struct snapshot snapshot;
    struct node_finder *sharing, *alone;
    struct fake_client *api;
    struct pod_view *bound[STEPS];
    unsigned n_bound;
};

static void
put_node(struct bench *b, unsigned i)
{
    static const char *const zones[] = {
        "",
        ",\"zone\":\"a\"",
        ",\"zone\":\"b\"",
        ",\"zone\":\"c\"",
    };
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"n%u\",\"labels\":{\"disk\":"
                  "\"%s\",\"kubernetes.io/hostname\":\"n%u\"%s}},\"spec\":{",
                  i, random_below(&b->dice, 2) ? "ssd" : "hdd", i,
                  zones[random_below(&b->dice, ARRAY_SIZE(zones))]);
    if (random_below(&b->dice, 4) == 0)
        strbuf_printf(&s, "\"taints\":[{\"key\":\"k\",\"effect\":\"%s\"}],",
                      random_below(&b->dice, 3) ? "PreferNoSchedule" : "NoSchedule");
    strbuf_printf(&s,
                  "\"unschedulable\":%s},\"status\":{\"allocatable\":{\"cpu\":\"%u\","
                  "\"memory\":\"%uGi\",\"pods\":\"20\"}}}",
                  random_below(&b->dice, 10) ? "false" : "true",
                  (unsigned)(2 + random_below(&b->dice, 14)),
                  (unsigned)(4 + random_below(&b->dice, 28)));
    cache_set_node(b->cache, fake_client_put(b->api, &node_kind, s.text));
}

static void
bench_init(struct bench *b, uint64_t seed)
{
    static const struct fake_clock clock = FAKE_CLOCK;

    *b = (struct bench){.time = clock, .random = {seed}, .dice = {seed + 1000}};
    b->api = fake_client_new();
    b->signatures = string_ids_new();
    b->handle = (struct handle){
        .resources = string_ids_new(),
        .reasons = string_ids_new(),
        .clock = &b->time.clock,
        .random = &b->random,
        .nominator = nominator_new(),
    };
    profile_new(
        &(struct profile_settings){
            .scheduler_name = "x",
            .plugins = default_profile,
            .n_plugins = n_default_profile,
            .percentage_of_nodes = 100,
            .handle = &b->handle,
        },
        &b->profile, NULL);
    b->cache = cache_new(
        &(struct cache_settings){.clock = &b->time.clock, .resources = b->handle.resources});
    b->alone = node_finder_new(
        &(struct node_finder_settings){.handle = &b->handle, .signatures = b->signatures});
    b->sharing = node_finder_new(&(struct node_finder_settings){
        .handle = &b->handle,
        .signatures = b->signatures,
        .is_sharing = true,
    });
    for (unsigned i = 0; i < NODES; i++)
        put_node(b, i);
}

static void
bench_fini(struct bench *b)
{
    for (unsigned i = 0; i < b->n_bound; i++)
        pod_view_unref(b->bound[i]);
    node_finder_free(b->sharing);
    node_finder_free(b->alone);
    cache_free(b->cache);
    profile_free(b->profile);
    nominator_free(b->handle.nominator);
    string_ids_free(b->handle.resources);
    string_ids_free(b->handle.reasons);
    string_ids_free(b->signatures);
    fake_client_free(b->api);
}

#define RED "\"labelSelector\":{\"matchLabels\":{\"color\":\"red\"}}"
#define SPREAD(when, key, more)                                             \
    ",\"topologySpreadConstraints\":[{\"maxSkew\":2,\"topologyKey\":\"" key \
    "\",\"whenUnsatisfiable\":\"" when "\"," RED more "}]"
#define NEAR(kind, key)                                                                      \
    ",\"affinity\":{\"" kind "\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{" RED \
    ",\"topologyKey\":\"" key "\"}]}}"
#define PREFER(kind, key)                                                   \
    ",\"affinity\":{\"" kind                                                \
    "\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":" \
    "3,\"podAffinityTerm\":{" RED ",\"topologyKey\":\"" key "\"}}]}}"

static struct pod_view *
random_pod(struct bench *b, unsigned number)
{
    static const char *const extras[] = {
        "",
        ",\"nodeSelector\":{\"disk\":\"ssd\"}",
        ",\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\"}]",
        ",\"affinity\":{\"nodeAffinity\":{"
        "\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":7,"
        "\"preference\":{\"matchExpressions\":[{\"key\":\"disk\",\"operator\":"
        "\"In\",\"values\":[\"hdd\"]}]}}]}}",
        SPREAD("DoNotSchedule", "zone", ""),
        SPREAD("DoNotSchedule", "zone", ",\"nodeTaintsPolicy\":\"Honor\""),
        SPREAD("ScheduleAnyway", "zone", ""),
        SPREAD("ScheduleAnyway", "kubernetes.io/hostname", ""),
        NEAR("podAffinity", "zone"),
        NEAR("podAntiAffinity", "kubernetes.io/hostname"),
        PREFER("podAffinity", "zone"),
        PREFER("podAntiAffinity", "zone"),
        SPREAD("DoNotSchedule", "zone", ",\"minDomains\":4"),
        SPREAD("DoNotSchedule", "zone", ",\"matchLabelKeys\":[\"color\"]"),
        SPREAD("DoNotSchedule", "zone",
               ",\"nodeAffinityPolicy\":\"Ignore\"") ",\"nodeSelector\":{\"disk\":\"hdd\"}",
        SPREAD("DoNotSchedule", "zone", "") NEAR("podAntiAffinity", "kubernetes.io/hostname"),
        ",\"affinity\":{\"podAntiAffinity\":{"
        "\"requiredDuringSchedulingIgnoredDuringExecution\":[{" RED
        ",\"topologyKey\":\"zone\",\"namespaceSelector\":{}}]}}",
        ",\"affinity\":{\"nodeAffinity\":{"
        "\"requiredDuringSchedulingIgnoredDuringExecution\":{"
        "\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":"
        "\"metadata.name\",\"operator\":\"NotIn\",\"values\":[\"n1\"]}]},"
        "{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\","
        "\"values\":[\"n1\",\"n2\",\"n3\"]}]}]}}}",
        ",\"affinity\":{\"nodeAffinity\":{"
        "\"requiredDuringSchedulingIgnoredDuringExecution\":{"
        "\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":"
        "\"metadata.name\",\"operator\":\"In\",\"values\":[\"n4\",\"n5\"]}]}]"
        "}}}",
        ",\"overhead\":{\"cpu\":\"500m\"}",
        ",\"initContainers\":[{\"name\":\"i\",\"restartPolicy\":\"Always\","
        "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]",
        ",\"placement\":{\"numaPolicy\":\"single-numa-node\","
        "\"cpuPolicy\":\"exclusive\"}",
    };
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

    strbuf_printf(
        &s,
        "{\"metadata\":{\"name\":\"p%u\",\"namespace\":\"d\",\"uid\":\"p%u\","
        "\"labels\":{\"color\":\"%s\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{"
        "\"requests\":{\"cpu\":\"%u\",\"memory\":\"1Gi\"}}}]%s}}",
        number, number, random_below(&b->dice, 2) ? "red" : "blue",
        (unsigned)(1 + random_below(&b->dice, 3)),
        extras[random_below(&b->dice, ARRAY_SIZE(extras))]);
    return pod_view_new(fake_client_put(b->api, &pod_kind, s.text), b->handle.resources);
}

/* Upstream's search, with plugins that have kept nothing. */
static struct node_view *
choose_alone(struct bench *b, struct pod_view *pod)
{
    struct profile *fresh = NULL;
    struct node_view *node;
    struct cycle c;

    profile_new(
        &(struct profile_settings){
            .scheduler_name = "x",
            .plugins = default_profile,
            .n_plugins = n_default_profile,
            .percentage_of_nodes = 100,
            .handle = &b->handle,
        },
        &fresh, NULL);
    cycle_init(&c, pod, &b->snapshot);
    node = node_finder_find(b->alone, fresh, &c, NULL);
    cycle_fini(&c);
    profile_free(fresh);
    return node;
}

/* The choice by kept results must be feasible, with the best total. */
static struct node_view *
compare(struct bench *b, struct pod_view *pod)
{
    struct node_finder_facts alone, shared;
    struct node_view *node, *other;
    bool is_among_best = false;
    struct cycle c;

    cache_update_snapshot(b->cache, &b->snapshot);
    other = choose_alone(b, pod);
    alone = node_finder_facts(b->alone);

    cycle_init(&c, pod, &b->snapshot);
    node = node_finder_find(b->sharing, b->profile, &c, NULL);
    shared = node_finder_facts(b->sharing);
    cycle_fini(&c);

    ck_assert_uint_eq(shared.feasible, alone.feasible);
    if (other == NULL) {
        CLEANUP_STRBUF struct strbuf x = STRBUF_INIT, y = STRBUF_INIT;

        ck_assert_ptr_null(node);
        diagnosis_format(node_finder_diagnosis(b->alone), b->handle.reasons, &x);
        diagnosis_format(node_finder_diagnosis(b->sharing), b->handle.reasons, &y);
        ck_assert_str_eq(x.text, y.text);
        return NULL;
    }
    if (alone.n_totals == 0) {
        ck_assert_ptr_eq(node, other);
        return node;
    }
    ck_assert_int_eq(shared.total, alone.total);
    for (unsigned i = 0; i < alone.n_totals; i++)
        is_among_best |= alone.nodes[i] == node && alone.totals[i] == alone.total;
    ck_assert(is_among_best);
    return node;
}

static void
disturb(struct bench *b)
{
    unsigned which = (unsigned)random_below(&b->dice, NODES);
    char name[16];

    snprintf(name, sizeof(name), "n%u", which);
    switch (random_below(&b->dice, 8)) {
    case 0:
        put_node(b, which);
        break;
    case 1:
        cache_remove_node(b->cache, name);
        break;
    case 2:
    case 3:
        if (b->n_bound > 0) {
            unsigned i = (unsigned)random_below(&b->dice, b->n_bound);

            cache_remove_pod(b->cache, b->bound[i]);
            pod_view_unref(b->bound[i]);
            b->bound[i] = b->bound[--b->n_bound];
        }
        break;
    default:
        break;
    }
}

START_TEST(a_decision_with_sharing_is_one_of_the_best_without)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct bench b;

        bench_init(&b, seed);
        for (unsigned step = 0; step < STEPS; step++) {
            struct pod_view *pod = random_pod(&b, step);
            struct node_view *node = compare(&b, pod);

            if (node != NULL) {
                ck_assert_int_eq(cache_assume(b.cache, pod, node->name), 0);
                b.bound[b.n_bound++] = pod_view_ref(pod);
            }
            pod_view_unref(pod);
            disturb(&b);
        }
        bench_fini(&b);
    }
}
END_TEST

/* Nominates some pods to nodes, where these pods count. */
static void
nominate_some(struct bench *b, struct pod_view **nominated, unsigned step)
{
    char name[16];

    if (random_below(&b->dice, 3) != 0)
        return;
    if (*nominated != NULL) {
        nominator_remove(b->handle.nominator, *nominated);
        pod_view_unref(*nominated);
    }
    snprintf(name, sizeof(name), "n%u", (unsigned)random_below(&b->dice, NODES));
    *nominated = random_pod(b, STEPS + step);
    nominator_add(b->handle.nominator, *nominated, cache_make_node(b->cache, name));
}

START_TEST(nominated_pods_count_with_sharing_as_without)
{
    for (uint64_t seed = 11; seed <= 14; seed++) {
        struct pod_view *nominated[16] = {0};
        struct bench b;

        bench_init(&b, seed);
        for (unsigned step = 0; step < STEPS; step++) {
            struct pod_view *pod = random_pod(&b, step);
            struct node_view *node;

            nominate_some(&b, &nominated[step % ARRAY_SIZE(nominated)], step);
            node = compare(&b, pod);
            if (node != NULL) {
                ck_assert_int_eq(cache_assume(b.cache, pod, node->name), 0);
                b.bound[b.n_bound++] = pod_view_ref(pod);
            }
            pod_view_unref(pod);
            disturb(&b);
        }
        for (unsigned i = 0; i < ARRAY_SIZE(nominated); i++)
            pod_view_unref(nominated[i]);
        bench_fini(&b);
    }
}
END_TEST

START_TEST(a_change_of_one_node_costs_one_evaluation)
{
    struct bench b;

    bench_init(&b, 3);
    for (unsigned step = 0; step < 50; step++) {
        CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;
        struct pod_view *pod;
        struct node_view *node;
        struct cycle c;

        strbuf_printf(&s,
                      "{\"metadata\":{\"name\":\"p%u\",\"namespace\":\"d\"},"
                      "\"spec\":{\"containers\":[{\"name\":\"c\"}]}}",
                      step);
        pod = pod_view_new(fake_client_put(b.api, &pod_kind, s.text), b.handle.resources);
        cache_update_snapshot(b.cache, &b.snapshot);
        cycle_init(&c, pod, &b.snapshot);
        node = node_finder_find(b.sharing, b.profile, &c, NULL);
        ck_assert_ptr_nonnull(node);
        cycle_fini(&c);
        ck_assert_uint_eq(node_finder_facts(b.sharing).evaluated, step == 0 ? NODES : 1);
        cache_assume(b.cache, pod, node->name);
        pod_view_unref(pod);
    }
    bench_fini(&b);
}
END_TEST

/* For equal pods: the number of decisions until one uses kept results. */
static unsigned
count_until_board(struct bench *b, struct node_finder *ch, unsigned *number)
{
    for (unsigned done = 0; done < 100; done++) {
        char json[160];
        struct pod_view *pod;
        struct node_view *node;
        struct cycle c;

        snprintf(json, sizeof(json),
                 "{\"metadata\":{\"name\":\"p%u\",\"namespace\":\"d\"},"
                 "\"spec\":{\"containers\":[{\"name\":\"c\"}]}}",
                 (*number)++);
        pod = pod_view_new(fake_client_put(b->api, &pod_kind, json), b->handle.resources);
        cache_update_snapshot(b->cache, &b->snapshot);
        cycle_init(&c, pod, &b->snapshot);
        node = node_finder_find(ch, b->profile, &c, NULL);
        ck_assert_ptr_nonnull(node);
        cycle_fini(&c);
        cache_assume(b->cache, pod, node->name);
        pod_view_unref(pod);
        if (node_finder_facts(ch).by_cache)
            return done;
    }
    return UINT32_MAX;
}

START_TEST(a_board_is_made_anew_when_nodes_came_or_went)
{
    struct bench b;
    struct node_finder *ch;
    unsigned number = 0;

    bench_init(&b, 3);
    ch = node_finder_new(&(struct node_finder_settings){
        .handle = &b.handle,
        .signatures = b.signatures,
        .is_sharing = true,
        .bounded_search_nodes = 1,
    });

    ck_assert_uint_lt(count_until_board(&b, ch, &number), 50);
    ck_assert_uint_eq(count_until_board(&b, ch, &number), 0);
    cache_remove_node(b.cache, "n7");
    ck_assert_uint_lt(count_until_board(&b, ch, &number), 50);
    ck_assert_uint_eq(count_until_board(&b, ch, &number), 0);
    put_node(&b, 7);
    ck_assert_uint_lt(count_until_board(&b, ch, &number), 50);
    ck_assert_uint_eq(count_until_board(&b, ch, &number), 0);

    node_finder_free(ch);
    bench_fini(&b);
}
END_TEST

START_TEST(ties_are_broken_evenly)
{
    unsigned hits[4] = {0};
    struct bench b;
    struct pod_view *pod;

    bench_init(&b, 1);
    for (unsigned i = 0; i < NODES; i++) {
        char name[16];

        snprintf(name, sizeof(name), "n%u", i);
        cache_remove_node(b.cache, name);
    }
    for (unsigned i = 0; i < 4; i++) {
        char json[256];

        snprintf(json, sizeof(json),
                 "{\"metadata\":{\"name\":\"t%u\"},\"status\":{"
                 "\"allocatable\":{\"cpu\":\"8\",\"pods\":\"9\"}}}",
                 i);
        cache_set_node(b.cache, fake_client_put(b.api, &node_kind, json));
    }
    pod = random_pod(&b, 0);
    pod_view_unref(pod);
    pod = pod_view_new(fake_client_put(b.api, &pod_kind,
                                       "{\"metadata\":{\"name\":\"p\",\"namespace\":\"d\"},"
                                       "\"spec\":{\"containers\":[{\"name\":\"c\"}]}}"),
                       b.handle.resources);
    for (unsigned i = 0; i < 4000; i++) {
        struct cycle c;

        cache_update_snapshot(b.cache, &b.snapshot);
        cycle_init(&c, pod, &b.snapshot);
        hits[node_finder_find(b.sharing, b.profile, &c, NULL)->name[1] - '0']++;
        cycle_fini(&c);
    }
    for (unsigned i = 0; i < 4; i++)
        ck_assert(hits[i] > 850 && hits[i] < 1150);
    pod_view_unref(pod);
    bench_fini(&b);
}
END_TEST

SUITE("node_finder", a_decision_with_sharing_is_one_of_the_best_without,
      nominated_pods_count_with_sharing_as_without, a_change_of_one_node_costs_one_evaluation,
      a_board_is_made_anew_when_nodes_came_or_went, ties_are_broken_evenly)
