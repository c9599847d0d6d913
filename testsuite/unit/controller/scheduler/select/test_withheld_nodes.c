/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes that Reservations withhold form one set for all pods that end in
 * the same window: the verdicts equal those per node, after any change.
 */
#include <stdio.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/plugins/plugin_registry.h"
#include "controller/scheduler/select/node_finder.h"
#include "controller/scheduler/state/cache.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/policy/node_reservation.h"
#include "lib/base/alloc.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/suite.h"

#define NODES        70u /* more than the bits of a word */
#define RESERVATIONS 6u
#define STEPS        500u
#define HOUR_US      (3600 * FAKE_SECOND)

struct yard {
    struct fake_clock time;
    struct random_source random, dice;
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

static unsigned
roll(struct yard *y, unsigned sides)
{
    return (unsigned)random_below(&y->dice, sides);
}

static struct node_view *
find_node(void *context, const char *name)
{
    return cache_find_node(((struct yard *)context)->cache, name);
}

static void
put_node(struct yard *y, unsigned i)
{
    char name[16], json[256];
    bool is_new;

    snprintf(name, sizeof(name), "n%u", i);
    is_new = cache_find_node(y->cache, name) == NULL;
    snprintf(json, sizeof(json),
             "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"unschedulable\":%s},"
             "\"status\":{\"allocatable\":{\"cpu\":\"%u\",\"memory\":\"%uGi\","
             "\"pods\":\"20\"}}}",
             name, roll(y, 10) ? "false" : "true", 2 + roll(y, 6), 4 + roll(y, 28));
    cache_set_node(y->cache, fake_client_put(y->api, &node_kind, json));
    if (is_new)
        node_reservations_node_comes(y->handle.node_reservations, cache_find_node(y->cache, name));
}

static void
remove_node(struct yard *y, unsigned i)
{
    struct node_view *node;
    char name[16];

    snprintf(name, sizeof(name), "n%u", i);
    node = cache_find_node(y->cache, name);
    if (node == NULL)
        return;
    node_reservations_node_leaves(y->handle.node_reservations, node);
    cache_remove_node(y->cache, name);
}

/* A reservation of some nodes, some hours before or after the clock's begin. */
static void
put_reservation(struct yard *y)
{
    static const char *const more[] = {
        "",
        ",\"duration\":\"2h\"",
        ",\"duration\":\"90m\",\"recurrence\":\"Daily\"",
        ",\"duration\":\"5h\",\"maintenance\":true,\"overlap\":true",
        ",\"duration\":\"3h\",\"flexible\":true",
    };
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;
    unsigned share = 1 + roll(y, 4);
    const char *comma = "";

    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"r%u\",\"uid\":\"u\"},\"spec\":{"
                  "\"start\":\"2024-01-0%uT%02u:00:00Z\"%s,\"nodes\":[",
                  roll(y, RESERVATIONS), 1 + roll(y, 2), roll(y, 24),
                  more[roll(y, ARRAY_SIZE(more))]);
    for (unsigned i = 0; i < NODES; i++)
        if (roll(y, share * share) == 0) {
            strbuf_printf(&s, "%s\"n%u\"", comma, i);
            comma = ",";
        }
    strbuf_add_text(&s, "]}}");
    if (node_reservations_set(y->handle.node_reservations,
                              fake_client_put(y->api, &reservation_kind, s.text)))
        node_finder_forget(y->sharing);
}

static struct profile *
make_profile(struct yard *y)
{
    struct profile *p = NULL;

    profile_new(
        &(struct profile_settings){
            .scheduler_name = "x",
            .plugins = default_profile,
            .n_plugins = n_default_profile,
            .percentage_of_nodes = 100,
            .handle = &y->handle,
        },
        &p, NULL);
    return p;
}

static struct node_finder *
make_finder(struct yard *y, bool is_sharing, uint32_t bounded_search_nodes)
{
    return node_finder_new(&(struct node_finder_settings){
        .handle = &y->handle,
        .signatures = y->signatures,
        .is_sharing = is_sharing,
        .bounded_search_nodes = bounded_search_nodes,
    });
}

static void
yard_init(struct yard *y, uint64_t seed)
{
    static const struct fake_clock clock = FAKE_CLOCK;

    *y = (struct yard){.time = clock, .random = {seed}, .dice = {seed + 1000}};
    y->api = fake_client_new();
    y->signatures = string_ids_new();
    y->handle = (struct handle){
        .resources = string_ids_new(),
        .reasons = string_ids_new(),
        .clock = &y->time.clock,
        .random = &y->random,
        .nominator = nominator_new(),
        .timeline = timeline_new(&y->time.clock),
        .node_reservations = node_reservations_new(find_node, y),
    };
    y->profile = make_profile(y);
    y->cache = cache_new(
        &(struct cache_settings){.clock = &y->time.clock, .resources = y->handle.resources});
    y->alone = make_finder(y, false, 0);
    y->sharing = make_finder(y, true, seed % 2 == 0 ? 1 : 0);
    for (unsigned i = 0; i < NODES; i++)
        put_node(y, i);
}

static void
yard_fini(struct yard *y)
{
    for (unsigned i = 0; i < y->n_bound; i++)
        pod_view_unref(y->bound[i]);
    node_finder_free(y->sharing);
    node_finder_free(y->alone);
    node_reservations_free(y->handle.node_reservations);
    cache_free(y->cache);
    profile_free(y->profile);
    timeline_free(y->handle.timeline);
    nominator_free(y->handle.nominator);
    string_ids_free(y->handle.resources);
    string_ids_free(y->handle.reasons);
    string_ids_free(y->signatures);
    fake_client_free(y->api);
}

/* Three sizes, and more time limits than sets that are kept. */
static struct pod_view *
make_pod(struct yard *y, unsigned number)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"p%u\",\"namespace\":\"d\",\"uid\":"
                  "\"p%u\"},\"spec\":{\"containers\":[{\"name\":\"c\","
                  "\"resources\":{\"requests\":{\"cpu\":\"%u\",\"memory\":"
                  "\"1Gi\"}}}]",
                  number, number, 1 + 2 * roll(y, 3));
    if (roll(y, 8) > 0)
        strbuf_printf(&s, ",\"activeDeadlineSeconds\":%u", 1800 * (1 + roll(y, 80)));
    if (roll(y, 3) == 0)
        strbuf_printf(&s, ",\"placement\":{\"reservation\":\"r%u\"}", roll(y, RESERVATIONS));
    strbuf_add_text(&s, "}}");
    return pod_view_new(fake_client_put(y->api, &pod_kind, s.text), y->handle.resources);
}

static bool
has_begun(const struct yard *y, const char *name, int64_t now_us)
{
    const struct object *object = node_reservations_find(y->handle.node_reservations, name);
    struct reserved_window window;

    return object != NULL && node_reservation_window(node_reservation_of(object), now_us, &window)
           && window.from_us <= now_us && !node_reservation_of(object)->spec.is_flexible;
}

/* For a pod that names a Reservation, only the nodes of that Reservation are
 * checked.
 */
static void
check_sets(struct yard *y, const struct pod_view *pod)
{
    const char *name = node_reservations_name(pod);
    int64_t now_us = clock_real_us(&y->time.clock);
    int64_t end_us = timeline_end_us(pod, now_us);
    const struct node_set *set =
        node_reservations_withheld(y->handle.node_reservations, pod, now_us, end_us);

    if (name != NULL && !has_begun(y, name, now_us))
        return;
    for (uint32_t i = 0; i < y->snapshot.n_nodes; i++) {
        const struct node_view *node = y->snapshot.nodes[i];

        if (name != NULL
            && !node_bits_has(node_reservations_nodes(y->handle.node_reservations, name),
                              node->slot))
            continue;
        ck_assert_int_eq(set != NULL && node_bits_has(&set->bits, node->slot),
                         !node_reservations_admit(node, pod, now_us, end_us));
    }
}

/* The choice by kept results must be feasible, with the best total; or the
 * messages must equal those of evaluating each node.
 */
static struct node_view *
compare(struct yard *y, struct pod_view *pod)
{
    CLEANUP_STRBUF struct strbuf x = STRBUF_INIT, z = STRBUF_INIT;
    CLEANUP(profile_freep) struct profile *fresh = make_profile(y);
    struct node_finder_facts alone, shared;
    struct node_view *node, *other;
    bool is_among_best = false;
    struct cycle c;

    cache_update_snapshot(y->cache, &y->snapshot);
    check_sets(y, pod);
    cycle_init(&c, pod, &y->snapshot);
    other = node_finder_find(y->alone, fresh, &c, NULL);
    alone = node_finder_facts(y->alone);
    if (other == NULL)
        diagnosis_format(node_finder_diagnosis(y->alone), y->handle.reasons, &x);
    cycle_fini(&c);
    cycle_init(&c, pod, &y->snapshot);
    node = node_finder_find(y->sharing, y->profile, &c, NULL);
    shared = node_finder_facts(y->sharing);
    if (node == NULL)
        diagnosis_format(node_finder_diagnosis(y->sharing), y->handle.reasons, &z);
    cycle_fini(&c);

    ck_assert_int_eq(node == NULL, other == NULL);
    if (!shared.by_bounds)
        ck_assert_uint_eq(shared.feasible, alone.feasible);
    if (other == NULL) {
        ck_assert_str_eq(x.text, z.text);
        return NULL;
    }
    if (alone.n_totals == 0) {
        ck_assert_ptr_eq(node, other);
        return node;
    }
    if (node_reservations_name(pod) == NULL)
        ck_assert_int_eq(shared.total, alone.total);
    for (unsigned i = 0; i < alone.n_totals; i++)
        is_among_best |= alone.nodes[i] == node && alone.totals[i] == alone.total;
    ck_assert(is_among_best);
    return node;
}

static void
disturb(struct yard *y)
{
    char name[16];

    switch (roll(y, 12)) {
    case 0:
        put_node(y, roll(y, NODES));
        break;
    case 1:
        remove_node(y, roll(y, NODES));
        break;
    case 2:
    case 3:
        if (y->n_bound > 0) {
            unsigned i = roll(y, y->n_bound);

            cache_remove_pod(y->cache, y->bound[i]);
            pod_view_unref(y->bound[i]);
            y->bound[i] = y->bound[--y->n_bound];
        }
        break;
    case 4:
        put_reservation(y);
        break;
    case 5:
        snprintf(name, sizeof(name), "r%u", roll(y, RESERVATIONS));
        if (roll(y, 4) == 0)
            node_reservations_remove(y->handle.node_reservations, name);
        break;
    case 6:
        fake_clock_advance(&y->time, roll(y, 40) * HOUR_US / 20);
        break;
    case 7: /* the clock is set */
        if (roll(y, 4) == 0)
            y->time.real_us = FAKE_BEGIN + roll(y, 48) * HOUR_US;
        break;
    default:
        break;
    }
}

START_TEST(the_set_says_what_each_node_says)
{
    unsigned refused = 0;

    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct yard y;

        yard_init(&y, seed);
        for (unsigned step = 0; step < STEPS; step++) {
            struct pod_view *pod = make_pod(&y, step);
            struct node_view *node = compare(&y, pod);

            if (node != NULL) {
                ck_assert_int_eq(cache_assume(y.cache, pod, node->name), 0);
                y.bound[y.n_bound++] = pod_view_ref(pod);
            }
            refused += node == NULL;
            pod_view_unref(pod);
            disturb(&y);
        }
        yard_fini(&y);
    }
    ck_assert_uint_gt(refused, STEPS / 2);
}
END_TEST

START_TEST(a_pod_that_waits_for_withheld_nodes_asks_none_again)
{
    struct yard y;
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;
    unsigned asked = 0;

    yard_init(&y, 1);
    strbuf_add_text(&s, "{\"metadata\":{\"name\":\"night\",\"uid\":\"u\"},\"spec\":{"
                        "\"start\":\"2024-01-01T02:00:00Z\",\"duration\":\"1h\","
                        "\"recurrence\":\"Daily\",\"maintenance\":true,\"nodes\":[");
    for (unsigned i = 0; i < NODES; i++)
        strbuf_printf(&s, "%s\"n%u\"", i > 0 ? "," : "", i);
    strbuf_add_text(&s, "]}}");
    node_reservations_set(y.handle.node_reservations,
                          fake_client_put(y.api, &reservation_kind, s.text));
    for (unsigned step = 0; step < 40; step++) {
        CLEANUP_FREE char *json = xasprintf("{\"metadata\":{\"name\":\"p%u\",\"namespace\":\"d\"},"
                                            "\"spec\":{\"activeDeadlineSeconds\":%u,\"containers\":"
                                            "[{\"name\":\"c\"}]}}",
                                            step, step % 2 == 0 ? 3600u : 36000u);
        struct pod_view *pod =
            pod_view_new(fake_client_put(y.api, &pod_kind, json), y.handle.resources);
        struct node_view *node;
        struct cycle c;

        cache_update_snapshot(y.cache, &y.snapshot);
        cycle_init(&c, pod, &y.snapshot);
        node = node_finder_find(y.sharing, y.profile, &c, NULL);
        ck_assert_int_eq(node == NULL, step % 2 == 1);
        asked += step > 1 ? node_finder_facts(y.sharing).evaluated : 0;
        cycle_fini(&c);
        pod_view_unref(pod);
    }
    ck_assert_uint_eq(asked, 0);
    yard_fini(&y);
}
END_TEST

SUITE("withheld_nodes", the_set_says_what_each_node_says,
      a_pod_that_waits_for_withheld_nodes_asks_none_again)
