/* SPDX-License-Identifier: Apache-2.0 */
/* Victims that are frozen while other pods run on their cores, with agents that
 * are slow or cannot freeze, and schedulers that are killed at any moment.
 */
#include "controller/scheduler/bind/yields.h"
#include "controller/scheduler/scheduler_state.h"
#include "lib/api/node/allocation.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/meta.h"
#include "lib/base/arena.h"
#include "lib/base/random.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

#define PODS  14
#define NODES 2

#define LOW ",\"partition\":\"low\"}"
#define EXCLUSIVE_LOW                                             \
    ",\"placement\":{\"cpuPolicy\":\"exclusive\",\"numaPolicy\":" \
    "\"best-effort\"" LOW
#define SHARED_LOW ",\"placement\":{\"cpuPolicy\":\"shared\"" LOW

/* ---- An agent's reports ---- */

static const struct object *
find(const struct world *w, const char *name)
{
    return fake_client_find(w->api, &pod_kind, "default", name);
}

/* Sets the condition as the pod's agent would report it. */
static void
set_frozen(struct world *w, const char *name, const char *status, const char *reason)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct json *tree = object_tree(find(w, name), arena);
    struct json *list = json_array(arena), *condition = json_object(arena);
    char now[TIME_TEXT_SIZE];

    json_set_string(arena, condition, "type", CONDITION_FROZEN);
    json_set_string(arena, condition, "status", status);
    json_set_string(arena, condition, "reason", reason);
    time_format(clock_real_us(&w->time.clock), false, now);
    json_set_string(arena, condition, "lastTransitionTime", now);
    json_append(arena, list, condition);
    json_set(arena, json_make_object(arena, tree, "status"), "conditions", list);
    if (json_path_text(tree, "status.startTime") == NULL)
        json_set_string(arena, json_get(tree, "status"), "startTime", now);
    json_print(tree, &text);
    fake_client_put(w->api, &pod_kind, text.text);
}

static void
set_start(struct world *w, const char *name)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct json *tree = object_tree(find(w, name), arena);
    char now[TIME_TEXT_SIZE];

    time_format(clock_real_us(&w->time.clock), false, now);
    json_set_string(arena, json_make_object(arena, tree, "status"), "startTime", now);
    json_print(tree, &text);
    fake_client_put(w->api, &pod_kind, text.text);
}

static bool
is_to_yield(const struct world *w, const char *name)
{
    return pod_find_yield(world_pod(w, name)) != NULL;
}

static bool
runs_on(const struct world *w, const char *name, const char *node)
{
    return strcmp(world_node_of(w, name), node) == 0;
}

static void
add_partition(struct world *w, const char *name, const char *mode)
{
    CLEANUP_FREE char *text = xasprintf("{\"metadata\":{\"name\":\"%s\"},\"spec\":{"
                                        "\"preemptionMode\":\"%s\"}}",
                                        name, mode);

    fake_client_put(w->api, &partition_kind, text);
}

static struct world *
make_world_with(unsigned nodes, const struct scheduler_settings *settings)
{
    struct world *w = world_new(settings);
    char name[16];

    add_partition(w, "low", "Suspend");
    for (unsigned i = 0; i < nodes; i++) {
        snprintf(name, sizeof(name), "n%u", i);
        world_add_numa_node(w, name, 1, 4);
    }
    return w;
}

static struct world *
make_world(unsigned nodes)
{
    return make_world_with(nodes, NULL);
}

static void
add(struct world *w, const char *name, const char *cpu, const char *memory, int priority,
    const char *placement)
{
    CLEANUP_FREE char *spec = xasprintf(",\"priority\":%d%s", priority, placement);

    world_add_pod(w, name, cpu, memory, spec);
    world_settle(w);
}

/* ---- One victim ---- */

START_TEST(a_victim_is_asked_and_its_cores_are_had_once_it_stands_still)
{
    struct world *w = make_world(1);

    add(w, "low", "8", "1Gi", 0, EXCLUSIVE_LOW);
    add(w, "high", "4", "1Gi", 10, EXCLUSIVE);

    ck_assert(is_to_yield(w, "low"));
    ck_assert(runs_on(w, "high", ""));
    world_advance(w, 5000);
    ck_assert(runs_on(w, "high", ""));

    set_frozen(w, "low", "True", REASON_YIELDED);
    world_settle(w);
    ck_assert(runs_on(w, "high", "n0"));
    ck_assert(is_to_yield(w, "low"));

    /* The rest of its cores is only for pods with a higher priority. */
    add(w, "other", "2", "1Gi", 0, EXCLUSIVE_LOW);
    ck_assert(runs_on(w, "other", ""));
    add(w, "higher", "2", "1Gi", 5, EXCLUSIVE);
    world_advance(w, 2000);
    ck_assert(runs_on(w, "higher", "n0"));

    fake_client_remove(w->api, &pod_kind, "default", "high");
    world_advance(w, 2000);
    ck_assert(is_to_yield(w, "low"));
    fake_client_remove(w->api, &pod_kind, "default", "higher");
    world_advance(w, 2000);
    ck_assert(!is_to_yield(w, "low"));
    ck_assert(runs_on(w, "other", ""));
    ck_assert_uint_eq(fake_client_calls(w->api, CLIENT_DELETE, NULL), 0);
    world_free(w);
}
END_TEST

/* The message must name a pod that exists. */
START_TEST(a_victim_names_who_has_its_cores_once_the_pod_it_was_asked_for_is_gone)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct world *w = make_world(1);
    struct json *tree;

    add(w, "low", "8", "1Gi", 0, EXCLUSIVE_LOW);
    add(w, "high", "4", "1Gi", 10, EXCLUSIVE);
    set_frozen(w, "low", "True", REASON_YIELDED);
    world_settle(w);
    ck_assert(runs_on(w, "high", "n0"));

    tree = object_tree(find(w, "low"), arena);
    json_set_string(arena, json_get_path(tree, "metadata.annotations"), ANNOTATION_YIELD,
                    "job 3 of gone");
    json_print(tree, &text);
    fake_client_put(w->api, &pod_kind, text.text);
    world_advance(w, 2000);
    ck_assert_str_eq(pod_find_yield(world_pod(w, "low")), "another pod");
    ck_assert(world_pod(w, "low")->status.allocation != NULL);

    fake_client_remove(w->api, &pod_kind, "default", "high");
    world_advance(w, 2000);
    ck_assert(!is_to_yield(w, "low"));
    world_free(w);
}
END_TEST

/* The victim has 600 s left when the other pod has ended, at the latest after
 * 300 s.
 */
START_TEST(a_pod_that_waits_for_a_victim_knows_the_victims_end)
{
    struct world *w = make_world(1);
    int64_t began_us, from_us;

    add(w, "low", "8", "1Gi", 5, EXCLUSIVE_LOW ",\"activeDeadlineSeconds\":600");
    add(w, "high", "4", "1Gi", 10, EXCLUSIVE ",\"activeDeadlineSeconds\":300");
    began_us = clock_real_us(&w->time.clock);
    set_frozen(w, "low", "True", REASON_YIELDED);
    world_settle(w);
    ck_assert(runs_on(w, "high", "n0"));
    set_start(w, "high");
    world_advance(w, 1000);
    add(w, "next", "8", "1Gi", 0, EXCLUSIVE ",\"activeDeadlineSeconds\":60");
    for (unsigned i = 0; i < 20; i++)
        world_advance(w, 1000);

    ck_assert_ptr_nonnull(world_pod(w, "next")->status.cause);
    from_us = world_pod(w, "next")->status.cause->from_us;
    ck_assert_int_ge(from_us, began_us + INT64_C(895000000));
    ck_assert_int_le(from_us, began_us + INT64_C(905000000));

    /* The other ends early, so the victim is to continue, which its agent has
     * not reported yet.
     */
    fake_client_remove(w->api, &pod_kind, "default", "high");
    world_advance(w, 2000);
    ck_assert(!is_to_yield(w, "low"));
    for (unsigned i = 0; i < 20; i++)
        world_advance(w, 1000);
    from_us = world_pod(w, "next")->status.cause->from_us;
    /* The user's last job ran for 23 s, so the victim is not expected to need all
     * of its limit; it has stood still for 25 s.
     */
    ck_assert_int_ge(from_us, began_us + INT64_C(60000000));
    ck_assert_int_le(from_us, began_us + INT64_C(660000000));
    world_free(w);
}
END_TEST

START_TEST(frozen_by_an_operator_alone_it_lends_nothing)
{
    struct world *w = make_world(1);

    add(w, "low", "8", "1Gi", 0, EXCLUSIVE_LOW);
    set_frozen(w, "low", "True", REASON_SUSPENDED);
    add(w, "high", "4", "1Gi", 10, EXCLUSIVE);
    world_advance(w, 2000);

    ck_assert(is_to_yield(w, "low"));
    ck_assert(runs_on(w, "high", ""));
    set_frozen(w, "low", "True", REASON_YIELDED);
    world_settle(w);
    ck_assert(runs_on(w, "high", "n0"));
    world_free(w);
}
END_TEST

START_TEST(a_pod_that_needs_the_victims_memory_is_not_helped)
{
    struct world *w = make_world(1);

    add(w, "low", "8", "12Gi", 0, EXCLUSIVE_LOW);
    add(w, "high", "2", "8Gi", 10, EXCLUSIVE);
    world_advance(w, 2000);

    ck_assert(!is_to_yield(w, "low"));
    ck_assert(runs_on(w, "high", ""));
    world_free(w);
}
END_TEST

START_TEST(shared_cpus_are_not_lent)
{
    struct world *w = make_world(1);

    add(w, "low", "8", "1Gi", 0, SHARED_LOW);
    add(w, "high", "4", "1Gi", 10, EXCLUSIVE);
    world_advance(w, 2000);

    ck_assert(!is_to_yield(w, "low"));
    ck_assert(runs_on(w, "high", ""));
    world_free(w);
}
END_TEST

START_TEST(a_preemptor_that_is_gone_is_waited_for_no_more)
{
    struct world *w = make_world(1);

    add(w, "low", "8", "1Gi", 0, EXCLUSIVE_LOW);
    add(w, "high", "4", "1Gi", 10, EXCLUSIVE);
    ck_assert(is_to_yield(w, "low"));
    fake_client_remove(w->api, &pod_kind, "default", "high");
    world_advance(w, 2000);
    ck_assert(!is_to_yield(w, "low"));

    /* A pod that a former scheduler asked to yield, for a pod that is unknown
     * now.
     */
    add(w, "high", "4", "1Gi", 10, EXCLUSIVE);
    set_frozen(w, "low", "True", REASON_YIELDED);
    fake_client_remove(w->api, &pod_kind, "default", "high");
    world_restart(w);
    world_advance(w, 2000);
    ck_assert(!is_to_yield(w, "low"));
    world_free(w);
}
END_TEST

START_TEST(one_that_does_not_stand_still_is_left_alone_for_a_while)
{
    struct world *w = make_world(1);

    add(w, "low", "8", "1Gi", 0, EXCLUSIVE_LOW);
    add(w, "high", "4", "1Gi", 10, EXCLUSIVE);
    world_advance(w, 20000);
    ck_assert(is_to_yield(w, "low"));
    world_advance(w, 15000);
    world_advance(w, 2000);
    ck_assert(!is_to_yield(w, "low"));
    world_advance(w, 60000);
    ck_assert(!is_to_yield(w, "low"));
    world_free(w);
}
END_TEST

START_TEST(one_whose_agent_says_that_it_cannot_is_not_asked_again)
{
    struct world *w = make_world(1);

    add(w, "low", "8", "1Gi", 0, EXCLUSIVE_LOW);
    add(w, "high", "4", "1Gi", 10, EXCLUSIVE);
    ck_assert(is_to_yield(w, "low"));
    set_frozen(w, "low", "False", REASON_CANNOT_SUSPEND);
    world_advance(w, 2000);
    ck_assert(!is_to_yield(w, "low"));
    world_advance(w, 3600000);
    ck_assert(!is_to_yield(w, "low"));
    ck_assert(runs_on(w, "high", ""));
    world_free(w);
}
END_TEST

START_TEST(a_wish_that_is_refused_is_not_sent_over_and_over)
{
    struct world *w = make_world(1);
    unsigned before;

    add(w, "low", "8", "1Gi", 0, EXCLUSIVE_LOW);
    fake_client_fail(w->api, CLIENT_MERGE_PATCH, NULL, 403, "Forbidden");
    before = fake_client_calls(w->api, CLIENT_MERGE_PATCH, NULL);
    add(w, "high", "4", "1Gi", 10, EXCLUSIVE);
    for (unsigned i = 0; i < 20; i++)
        world_advance(w, 1000);

    ck_assert(!is_to_yield(w, "low"));
    ck_assert_uint_le(fake_client_calls(w->api, CLIENT_MERGE_PATCH, NULL),
                      before + 3); /* including those of events */
    ck_assert(runs_on(w, "high", ""));
    world_free(w);
}
END_TEST

START_TEST(a_wish_whose_taking_back_is_refused_is_tried_again)
{
    struct world *w = make_world(1);

    add(w, "low", "8", "1Gi", 0, EXCLUSIVE_LOW);
    add(w, "high", "4", "1Gi", 10, EXCLUSIVE);
    set_frozen(w, "low", "True", REASON_YIELDED);
    world_settle(w);
    ck_assert(runs_on(w, "high", "n0"));
    fake_client_fail(w->api, CLIENT_MERGE_PATCH, NULL, 409, "Conflict");
    fake_client_remove(w->api, &pod_kind, "default", "high");
    world_settle(w);
    ck_assert(is_to_yield(w, "low"));
    world_advance(w, 3000);
    ck_assert(!is_to_yield(w, "low"));
    world_free(w);
}
END_TEST

/* Each frozen pod has a running pod on its cores. */
START_TEST(those_who_stand_still_are_looked_at_when_something_happens)
{
    enum { PAIRS = 24 };
    struct world *w = make_world(PAIRS);
    struct yields *y;
    char low[16], high[16];
    unsigned looks = 0, still = 0;

    for (unsigned i = 0; i < PAIRS; i++) {
        snprintf(low, sizeof(low), "low%u", i);
        add(w, low, "8", "1Gi", 0, EXCLUSIVE_LOW);
    }
    for (unsigned i = 0; i < PAIRS; i++) {
        snprintf(high, sizeof(high), "high%u", i);
        add(w, high, "4", "1Gi", 10, EXCLUSIVE);
        for (unsigned k = 0; k < PAIRS; k++) {
            snprintf(low, sizeof(low), "low%u", k);
            if (is_to_yield(w, low))
                set_frozen(w, low, "True", REASON_YIELDED);
        }
        world_settle(w);
    }
    world_advance(w, 12000);
    y = w->scheduler->yields;
    for (unsigned i = 0; i < 50; i++) /* intervals of a tenth of a second */
        looks += yields_settle(y);
    ck_assert_uint_eq(looks, 0);

    fake_client_remove(w->api, &pod_kind, "default", "high3");
    world_advance(w, 1100);
    for (unsigned i = 0; i < PAIRS; i++) {
        snprintf(low, sizeof(low), "low%u", i);
        still += is_to_yield(w, low);
    }
    ck_assert_uint_eq(still, PAIRS - 1);
    world_free(w);
}
END_TEST

START_TEST(those_who_wait_are_tried_when_a_mode_changes)
{
    struct world *w = make_world(1);

    add_partition(w, "low", "Off");
    add(w, "low", "8", "1Gi", 0, EXCLUSIVE_LOW);
    add(w, "high", "4", "1Gi", 10, EXCLUSIVE);
    world_advance(w, 30000);
    ck_assert(!is_to_yield(w, "low"));
    add_partition(w, "low", "Suspend");
    world_settle(w);
    world_advance(w, 1000);
    ck_assert(is_to_yield(w, "low"));
    world_free(w);
}
END_TEST

/* ---- Many ---- */

struct crowd {
    struct world *w;
    struct random_source dice;
    char names[PODS][8];
    int work[PODS];     /* remaining run time in seconds */
    bool refuses[PODS]; /* its agent ignores requests */
    bool is_over[PODS];
    unsigned n_yielded, n_killed;
};

static unsigned
roll(struct crowd *c, unsigned below)
{
    return (unsigned)random_below(&c->dice, below);
}

/* The forecast would be most of the test's work. */
static const struct scheduler_settings plain_settings = {.without_forecast = true};

/* Checks what the API server checks. */
static void
check_cores(const struct crowd *c)
{
    for (unsigned i = 0; i < PODS; i++)
        for (unsigned k = 0; k < i; k++) {
            const struct object *a = find(c->w, c->names[i]);
            const struct object *b = find(c->w, c->names[k]);

            if (a == NULL || b == NULL || pod_of(a)->spec.node_name == NULL
                || pod_of(b)->spec.node_name == NULL
                || strcmp(pod_of(a)->spec.node_name, pod_of(b)->spec.node_name) != 0
                || allocation_check_disjoint(pod_of(a)->status.allocation,
                                             pod_of(b)->status.allocation, NULL)
                       == 0)
                continue;
            ck_assert_msg(pod_has_yielded(pod_of(a)) || pod_has_yielded(pod_of(b)),
                          "%s and %s run on the same cores", c->names[i], c->names[k]);
        }
}

/* Simulates the agents' work during one second. */
static void
run_pod(struct crowd *c, unsigned i)
{
    const struct object *o = find(c->w, c->names[i]);

    if (o == NULL || pod_of(o)->spec.node_name == NULL)
        return;
    if (pod_find_yield(pod_of(o)) != NULL && !pod_is_frozen(pod_of(o))) {
        if (c->refuses[i] || roll(c, 3) == 0)
            return;
        set_frozen(c->w, c->names[i], "True", REASON_YIELDED);
        c->n_yielded++;
    } else if (pod_find_yield(pod_of(o)) == NULL && pod_is_frozen(pod_of(o))) {
        set_frozen(c->w, c->names[i], "False", "Resumed");
    } else if (!pod_is_frozen(pod_of(o)) && --c->work[i] <= 0) {
        c->is_over[i] = true;
        fake_client_remove(c->w->api, &pod_kind, "default", c->names[i]);
    }
}

static void
pass(struct crowd *c)
{
    for (unsigned i = 0; i < PODS; i++)
        run_pod(c, i);
    if (roll(c, 12) == 0) {
        c->n_killed++;
        world_close(c->w);
        world_open(c->w, &plain_settings);
        scheduler_start(c->w->scheduler);
    }
    world_advance(c->w, 1000);
    check_cores(c);
}

START_TEST(never_do_two_run_on_a_core_and_all_end)
{
    static const char *const cpus[] = {"2", "4", "8"};
    unsigned n_yielded = 0;

    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct crowd c = {.dice = {seed}, .w = make_world_with(NODES, &plain_settings)};
        unsigned at = 0, left = PODS;

        for (unsigned i = 0; i < PODS; i++) {
            snprintf(c.names[i], sizeof(c.names[i]), "p%u", i);
            c.work[i] = 5 + (int)roll(&c, 30);
            c.refuses[i] = roll(&c, 8) == 0;
        }
        for (unsigned s = 0; s < 3000 && left > 0; s++) {
            if (at < PODS && roll(&c, 3) == 0) {
                add(c.w, c.names[at], cpus[roll(&c, ARRAY_SIZE(cpus))], "512Mi",
                    10 * (int)roll(&c, 4), EXCLUSIVE_LOW);
                at++;
            }
            pass(&c);
            left = 0;
            for (unsigned i = 0; i < PODS; i++)
                left += !c.is_over[i];
        }
        ck_assert_msg(left == 0, "seed %d: %u never ended", (int)seed, left);
        ck_assert_uint_eq(fake_client_calls(c.w->api, CLIENT_DELETE, NULL), 0);
        n_yielded += c.n_yielded;
        world_free(c.w);
    }
    ck_assert_uint_gt(n_yielded, 50);
}
END_TEST

/* The victim is being resumed when another pod wants its cores: the request to
 * suspend it is dropped during that call, and the pod must not wait for an event.
 */
START_TEST(a_pod_that_comes_while_a_victim_resumes_is_tried_again)
{
    struct world *w = make_world(1);
    CLEANUP_FREE char *spec = xasprintf(",\"priority\":20%s", EXCLUSIVE);

    add(w, "low", "8", "1Gi", 0, EXCLUSIVE_LOW);
    add(w, "high", "4", "1Gi", 10, EXCLUSIVE);
    set_frozen(w, "low", "True", REASON_YIELDED);
    world_settle(w);
    ck_assert(runs_on(w, "high", "n0"));

    fake_clock_advance(&w->time, 2000000);
    fake_client_remove(w->api, &pod_kind, "default", "high");
    world_add_pod(w, "urgent", "8", "1Gi", spec);
    fake_client_run(w->api);
    scheduler_tick(w->scheduler); /* begins the call */
    ck_assert(is_to_yield(w, "low"));
    ck_assert(world_work(w)); /* during the call */
    ck_assert(runs_on(w, "urgent", ""));
    fake_client_run(w->api);
    ck_assert(!is_to_yield(w, "low"));

    world_advance(w, 1500);
    ck_assert(is_to_yield(w, "low"));
    set_frozen(w, "low", "True", REASON_YIELDED);
    world_advance(w, 1500);
    ck_assert(runs_on(w, "urgent", "n0"));
    world_free(w);
}
END_TEST

SUITE("suspension", a_victim_is_asked_and_its_cores_are_had_once_it_stands_still,
      a_victim_names_who_has_its_cores_once_the_pod_it_was_asked_for_is_gone,
      a_pod_that_waits_for_a_victim_knows_the_victims_end,
      frozen_by_an_operator_alone_it_lends_nothing,
      a_pod_that_needs_the_victims_memory_is_not_helped, shared_cpus_are_not_lent,
      a_preemptor_that_is_gone_is_waited_for_no_more,
      one_that_does_not_stand_still_is_left_alone_for_a_while,
      one_whose_agent_says_that_it_cannot_is_not_asked_again,
      a_wish_that_is_refused_is_not_sent_over_and_over,
      a_wish_whose_taking_back_is_refused_is_tried_again,
      those_who_stand_still_are_looked_at_when_something_happens,
      those_who_wait_are_tried_when_a_mode_changes,
      a_pod_that_comes_while_a_victim_resumes_is_tried_again,
      never_do_two_run_on_a_core_and_all_end)
