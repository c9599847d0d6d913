/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/plugins/pods/domain_counts.h"

#include <check.h>
#include <stdio.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/state/cache.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/random.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/suite.h"

#define NODES 20
#define PODS  30

/* A cluster that the test changes, and what was counted in it. */
struct town {
    struct fake_clock time;
    struct fake_client *api;
    struct string_ids *resources;
    struct cache *cache;
    struct snapshot snapshot;
    unsigned counted; /* nodes that were counted */
};

static void
town_init(struct town *t)
{
    static const struct fake_clock clock = FAKE_CLOCK;

    *t = (struct town){.time = clock};
    t->api = fake_client_new();
    t->resources = string_ids_new();
    t->cache = cache_new(&(struct cache_settings){
        .clock = &t->time.clock,
        .resources = t->resources,
    });
}

static void
town_fini(struct town *t)
{
    cache_free(t->cache);
    string_ids_free(t->resources);
    fake_client_free(t->api);
}

static void
put_node(struct town *t, unsigned number, const char *zone)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"n%u\",\"labels\":{%s}}}", number, zone);

    cache_set_node(t->cache, fake_client_put(t->api, &node_kind, text));
}

static struct pod_view *
make_pod(struct town *t, unsigned number)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"p%u\",\"namespace\":\"d\"}}", number);

    return pod_view_new(fake_client_put(t->api, &pod_kind, text), t->resources);
}

static void
put_pod(struct town *t, unsigned number, unsigned node)
{
    CLEANUP(pod_view_unrefp) struct pod_view *pod = make_pod(t, number);
    char name[16];

    snprintf(name, sizeof(name), "n%u", node);
    cache_set_pod(t->cache, pod, name);
}

static void
remove_pod(struct town *t, unsigned number)
{
    CLEANUP(pod_view_unrefp) struct pod_view *pod = make_pod(t, number);

    cache_remove_pod(t->cache, pod);
}

/* Counts all pods of a node, by zone. */
static void
count(struct domain_counts *h, const struct node_view *node, void *context)
{
    struct town *t = context;
    unsigned column = domain_counts_column(h, 0, "zone");

    t->counted++;
    domain_counts_include(h, column, node);
    domain_counts_add(h, column, node, node->pods.count);
}

static void
update(struct town *t, struct domain_counts *h)
{
    cache_update_snapshot(t->cache, &t->snapshot);
    t->counted = 0;
    domain_counts_update(h, &t->snapshot, 0, count, t);
}

static int64_t
sum_of(const struct domain_column *c, const char *zone)
{
    for (uint32_t id = 1; id <= c->n_ids; id++)
        if (c->members[id] > 0 && strcmp(c->values[id], zone) == 0)
            return c->sums[id];
    return -1;
}

START_TEST(pods_are_summed_by_the_value_of_the_label)
{
    CLEANUP(domain_counts_cache_freep)
    struct domain_counts_cache *all = domain_counts_cache_new(1);
    struct domain_counts *h = domain_counts_cache_get(all, "h");
    struct domain_column *c;
    struct town t;

    town_init(&t);
    put_node(&t, 0, "\"zone\":\"a\"");
    put_node(&t, 1, "\"zone\":\"a\"");
    put_node(&t, 2, "\"zone\":\"b\"");
    put_node(&t, 3, "");
    for (unsigned i = 0; i < 4; i++)
        put_pod(&t, i, i);
    update(&t, h);
    c = domain_counts_at(h, 0);

    ck_assert_int_eq(sum_of(c, "a"), 2);
    ck_assert_int_eq(sum_of(c, "b"), 1);
    ck_assert_uint_eq(c->n_inhabited, 2);
    ck_assert_int_eq(domain_counts_least(c), 1);
    town_fini(&t);
}
END_TEST

START_TEST(only_nodes_that_changed_are_counted_again)
{
    CLEANUP(domain_counts_cache_freep)
    struct domain_counts_cache *all = domain_counts_cache_new(1);
    struct domain_counts *h = domain_counts_cache_get(all, "h");
    struct town t;

    town_init(&t);
    for (unsigned i = 0; i < NODES; i++)
        put_node(&t, i, "\"zone\":\"a\"");
    update(&t, h);
    ck_assert_uint_eq(t.counted, NODES);
    put_pod(&t, 0, 7);
    update(&t, h);
    ck_assert_uint_eq(t.counted, 1);
    update(&t, h);
    ck_assert_uint_eq(t.counted, 0);
    town_fini(&t);
}
END_TEST

START_TEST(another_version_counts_all_again)
{
    CLEANUP(domain_counts_cache_freep)
    struct domain_counts_cache *all = domain_counts_cache_new(1);
    struct domain_counts *h = domain_counts_cache_get(all, "h");
    struct town t;

    town_init(&t);
    put_node(&t, 0, "\"zone\":\"a\"");
    put_node(&t, 1, "\"zone\":\"b\"");
    update(&t, h);
    t.counted = 0;
    domain_counts_update(h, &t.snapshot, 1, count, &t);

    ck_assert_uint_eq(t.counted, 2);
    town_fini(&t);
}
END_TEST

static void
change(struct town *t, struct random_source *dice)
{
    static const char *const zones[] = {
        "",
        "\"zone\":\"a\"",
        "\"zone\":\"b\"",
        "\"zone\":\"c\"",
    };
    unsigned node = (unsigned)random_below(dice, NODES);
    char name[16];

    snprintf(name, sizeof(name), "n%u", node);
    switch (random_below(dice, 6)) {
    case 0:
        cache_remove_node(t->cache, name);
        break;
    case 1:
        put_node(t, node, zones[random_below(dice, ARRAY_SIZE(zones))]);
        break;
    case 2:
    case 3:
        remove_pod(t, (unsigned)random_below(dice, PODS));
        break;
    default:
        if (cache_find_node(t->cache, name) != NULL) {
            unsigned pod = (unsigned)random_below(dice, PODS);

            remove_pod(t, pod);
            put_pod(t, pod, node);
        }
    }
}

START_TEST(whatever_happens_it_is_as_if_all_were_counted_anew)
{
    static const char *const zones[] = {"a", "b", "c"};
    CLEANUP(domain_counts_cache_freep)
    struct domain_counts_cache *all = domain_counts_cache_new(1);
    struct domain_counts *kept = domain_counts_cache_get(all, "kept");
    struct random_source dice = {5};
    struct town t;

    town_init(&t);
    put_node(&t, 0, "\"zone\":\"a\"");
    for (unsigned step = 0; step < 2000; step++) {
        CLEANUP(domain_counts_cache_freep)
        struct domain_counts_cache *other = domain_counts_cache_new(1);
        struct domain_counts *fresh = domain_counts_cache_get(other, "fresh");
        struct domain_column *a, *b;

        change(&t, &dice);
        update(&t, kept);
        update(&t, fresh);
        if (t.snapshot.n_nodes == 0)
            continue;
        a = domain_counts_at(kept, 0);
        b = domain_counts_at(fresh, 0);
        for (size_t z = 0; z < ARRAY_SIZE(zones); z++)
            ck_assert_int_eq(sum_of(a, zones[z]), sum_of(b, zones[z]));
        ck_assert_uint_eq(a->n_inhabited, b->n_inhabited);
        ck_assert_uint_eq(a->n_not_zero, b->n_not_zero);
        ck_assert_int_eq(domain_counts_least(a), domain_counts_least(b));
    }
    town_fini(&t);
}
END_TEST

START_TEST(the_cache_drops_what_was_used_longest_ago)
{
    struct domain_counts_cache *all = domain_counts_cache_new(2);
    const struct domain_counts *a = domain_counts_cache_get(all, "a");
    const struct domain_counts *b = domain_counts_cache_get(all, "b");

    ck_assert_ptr_eq(domain_counts_cache_get(all, "a"), a);
    ck_assert_ptr_eq(domain_counts_cache_get(all, "b"), b);
    (void)domain_counts_cache_get(all, "c");
    ck_assert_ptr_eq(domain_counts_cache_get(all, "b"), b);
    domain_counts_cache_free(all);
}
END_TEST

SUITE("domain_counts", pods_are_summed_by_the_value_of_the_label,
      only_nodes_that_changed_are_counted_again, another_version_counts_all_again,
      whatever_happens_it_is_as_if_all_were_counted_anew, the_cache_drops_what_was_used_longest_ago)
