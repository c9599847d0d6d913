/* SPDX-License-Identifier: Apache-2.0 */
/* NumaFit answers the same with kept choices as in a cycle that keeps none. */
#include <inttypes.h>
#include <stdio.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/plugins/plugin_registry.h"
#include "controller/scheduler/plugins/resources/kept_choices.h"
#include "controller/scheduler/state/cache.h"
#include "lib/allocator/holding.h"
#include "lib/allocator/occupancy.h"
#include "lib/api/object/kind.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/random.h"
#include "lib/base/sanitizer.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/overlap.h"
#include "testsuite/lib/suite.h"

#define NODES (KEPT_CHOICES + 40u) /* some share an item */
#define PODS  4u

struct trial {
    struct fake_clock time;
    struct handle handle;
    struct fake_client *api;
    struct cache *cache;
    struct snapshot snapshot;
    struct profile *profile;
    struct random_source dice;
    struct holding *given; /* the grant of the last Reserve */
};

/* Holdings that the test takes from occupancies without the cache. */
#define MOST_TAKEN 12u
struct taken {
    struct occupancy *of[MOST_TAKEN];
    struct holding *items[MOST_TAKEN];
    unsigned count;
};

static const char topology[] =
    "{\"cpus\":\"0-15\",\"packages\":[\"0-15\"],\"cores\":[\"0,8\",\"1,9\","
    "\"2,10\",\"3,11\",\"4,12\",\"5,13\",\"6,14\",\"7,15\"],\"numaNodes\":[{"
    "\"node\":0,\"cpus\":\"0-3,8-11\",\"memory\":\"8Gi\"},{\"node\":1,"
    "\"cpus\":\"4-7,12-15\",\"memory\":\"8Gi\"}]}";

static void
note_given(void *owner, struct pod_view *pod, const struct node_view *node, struct holding *holding)
{
    struct trial *t = owner;

    (void)pod;
    (void)node;
    holding_free(t->given);
    t->given = holding;
}

static void
trial_init(struct trial *t)
{
    static const struct fake_clock clock = FAKE_CLOCK;
    const struct profile_plugin one = {.plugin = plugin_find("NumaFit")};
    struct error err = {0};

    *t = (struct trial){.time = clock, .dice = {7}};
    t->api = fake_client_new();
    t->handle = (struct handle){
        .resources = string_ids_new(),
        .reasons = string_ids_new(),
        .clock = &t->time.clock,
        .hold = note_given,
        .owner = t,
    };
    t->cache = cache_new(&(struct cache_settings){
        .clock = &t->time.clock,
        .resources = t->handle.resources,
    });
    ck_assert_int_eq(profile_new(
                         &(struct profile_settings){
                             .scheduler_name = "x",
                             .plugins = &one,
                             .n_plugins = 1,
                             .percentage_of_nodes = 100,
                             .handle = &t->handle,
                         },
                         &t->profile, &err),
                     0);
    for (unsigned i = 0; i < NODES; i++) {
        CLEANUP_FREE char *text =
            xasprintf("{\"metadata\":{\"name\":\"n%u\"},\"status\":{\"allocatable\":{"
                      "\"cpu\":\"16\",\"memory\":\"16Gi\",\"pods\":\"99\"},"
                      "\"topology\":%s}}",
                      i, topology);

        cache_set_node(t->cache, fake_client_put(t->api, &node_kind, text));
    }
    cache_update_snapshot(t->cache, &t->snapshot);
}

static void
trial_fini(struct trial *t)
{
    holding_free(t->given);
    profile_free(t->profile);
    cache_free(t->cache);
    string_ids_free(t->handle.resources);
    string_ids_free(t->handle.reasons);
    fake_client_free(t->api);
}

static struct pod_view *
make_pod(struct trial *t, const char *name, unsigned cpus, const char *policy)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"d\",\"uid\":\"%s\"},"
                  "\"spec\":{\"placement\":{\"cpuPolicy\":\"exclusive\",\"numaPolicy\":"
                  "\"%s\"},\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
                  "\"cpu\":\"%u\",\"memory\":\"%uMi\"}}}]}}",
                  name, name, policy, cpus, cpus * 512);

    return pod_view_new(fake_client_put(t->api, &pod_kind, text), t->handle.resources);
}

/* The plugin's answer as text. */
static char *
ask(const struct trial *t, struct cycle *c, const struct node_view *node)
{
    struct answer answer;
    int64_t score = 0;

    profile_filter(t->profile, PLUGIN_BIT(0), c, &node, 1, &answer);
    if (answer.verdict == VERDICT_OK)
        profile_score(t->profile, 0, c, &node, 1, &score);
    return xasprintf("%s: %d/%u %" PRId64, node->name, answer.verdict, answer.reason, score);
}

/* The holding as text: its cores identify it in this test. */
static char *
reserve(struct trial *t, struct cycle *c, const struct node_view *node)
{
    struct answer answer = profile_reserve(t->profile, c, node);
    char *text;

    if (answer.verdict != VERDICT_OK)
        return xasprintf("%d/%u", answer.verdict, answer.reason);
    text = xasprintf("%u:", t->given->n_cores);
    for (unsigned i = 0; i < t->given->n_cores; i++) {
        char *longer = xasprintf("%s %u", text, t->given->cores[i]);

        free(text);
        text = longer;
    }
    return text;
}

/* The first cycle has begun, the second has not and therefore keeps nothing. */
static void
compare(struct trial *t, struct cycle *keeps, struct cycle *asks_anew, const struct node_view *node)
{
    CLEANUP_FREE char *kept = ask(t, keeps, node);
    CLEANUP_FREE char *anew = ask(t, asks_anew, node);
    CLEANUP_FREE char *given = reserve(t, keeps, node);
    CLEANUP_FREE char *given_anew = reserve(t, asks_anew, node);

    ck_assert_str_eq(kept, anew);
    ck_assert_str_eq(given, given_anew);
}

/* Takes what the last Reserve was granted, or releases what was taken. */
static void
change_node(struct trial *t, const struct node_view *node, struct taken *taken)
{
    struct occupancy *o = node->ledger.occupancy;

    if (taken->count > 0 && random_below(&t->dice, 2) == 0) {
        unsigned which = (unsigned)random_below(&t->dice, taken->count);

        occupancy_release(taken->of[which], taken->items[which]);
        holding_free(taken->items[which]);
        taken->count--;
        taken->of[which] = taken->of[taken->count];
        taken->items[which] = taken->items[taken->count];
    } else if (taken->count < MOST_TAKEN && t->given != NULL && !overlaps(o, t->given)) {
        occupancy_take(o, t->given);
        taken->of[taken->count] = o;
        taken->items[taken->count++] = t->given;
        t->given = NULL;
    }
}

static void
begin(struct trial *t, struct cycle *c)
{
    struct prefilter_result none = {0};
    plugin_set narrowers = 0;

    profile_prefilter(t->profile, c, &none, &narrowers);
}

/* Few nodes, so that questions repeat; some nodes share an item. */
static const struct node_view *
any_node(struct trial *t)
{
    uint64_t at = random_below(&t->dice, 3);

    if (random_below(&t->dice, 2) > 0)
        at += KEPT_CHOICES;
    return t->snapshot.nodes[at];
}

START_TEST(a_kept_choice_equals_a_new_one)
{
    static const char *const policies[PODS] = {
        "single-numa-node",
        "restricted",
        "best-effort",
        "none",
    };
    unsigned rounds = IS_SANITIZED ? 300 : 20000;
    struct taken taken = {0};
    struct pod_view *pods[PODS];
    struct cycle keeps[PODS], anew[PODS];
    struct trial t;

    trial_init(&t);
    for (unsigned i = 0; i < PODS; i++) {
        const char name[] = {(char)('a' + i), '\0'};

        pods[i] = make_pod(&t, name, 3 + 2 * i, policies[i]);
        cycle_init(&keeps[i], pods[i], &t.snapshot);
        cycle_init(&anew[i], pods[i], &t.snapshot);
    }
    while (rounds-- > 0) {
        unsigned which = (unsigned)random_below(&t.dice, PODS);
        const struct node_view *node = any_node(&t);

        if (random_below(&t.dice, 5) == 0)
            begin(&t, &keeps[which]);
        compare(&t, &keeps[which], &anew[which], node);
        if (random_below(&t.dice, 2) == 0)
            change_node(&t, node, &taken);
    }
    ck_assert_uint_gt(taken.count, 0);
    while (taken.count > 0)
        holding_free(taken.items[--taken.count]);
    for (unsigned i = 0; i < PODS; i++) {
        cycle_fini(&keeps[i]);
        cycle_fini(&anew[i]);
        pod_view_unref(pods[i]);
    }
    trial_fini(&t);
}
END_TEST

START_TEST(a_choice_is_kept_until_the_node_changes_or_the_cycle_is_over)
{
    const struct allocator_choice choice = {.numa = 2, .width = 1};
    struct kept_choices *k = xnew(struct kept_choices);
    const struct node_view *node, *other;
    struct cycle first, second, not_begun;
    struct pod_view *pod;
    struct trial t;

    trial_init(&t);
    pod = make_pod(&t, "a", 2, "none");
    cycle_init(&first, pod, &t.snapshot);
    cycle_init(&second, pod, &t.snapshot);
    cycle_init(&not_begun, pod, &t.snapshot);
    node = t.snapshot.nodes[0];
    other = t.snapshot.nodes[KEPT_CHOICES];
    ck_assert_uint_eq(node->slot % KEPT_CHOICES, other->slot % KEPT_CHOICES);

    kept_choices_keep(k, &not_begun, node, &choice);
    ck_assert_ptr_null(kept_choices_find(k, &not_begun, node));
    kept_choices_begin(k, &first);
    ck_assert_ptr_null(kept_choices_find(k, &first, node));
    kept_choices_keep(k, &first, node, &choice);
    ck_assert_uint_eq(kept_choices_find(k, &first, node)->numa, 2);
    ck_assert_ptr_null(kept_choices_find(k, &first, other));
    ck_assert_ptr_null(kept_choices_find(k, &not_begun, node));
    kept_choices_begin(k, &second);
    ck_assert_ptr_null(kept_choices_find(k, &second, node));
    ck_assert_ptr_nonnull(kept_choices_find(k, &first, node));

    begin(&t, &first);
    free(reserve(&t, &first, node));
    ck_assert_ptr_nonnull(t.given);
    occupancy_take(node->ledger.occupancy, t.given);
    occupancy_release(node->ledger.occupancy, t.given);
    ck_assert_ptr_null(kept_choices_find(k, &first, node));

    cycle_fini(&first);
    cycle_fini(&second);
    cycle_fini(&not_begun);
    pod_view_unref(pod);
    free(k);
    trial_fini(&t);
}
END_TEST

SUITE("kept_choices", a_kept_choice_equals_a_new_one,
      a_choice_is_kept_until_the_node_changes_or_the_cycle_is_over)
