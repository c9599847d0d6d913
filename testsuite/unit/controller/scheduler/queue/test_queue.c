/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/queue/queue.h"

#include <stdio.h>
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/plugins/plugin_registry.h"
#include "controller/scheduler/queue/queue_policy.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/random.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/suite.h"
#include "testsuite/lib/upstream_profile.h"

/* A queue alone, with upstream's plugins. */
struct bench {
    struct fake_clock time;
    struct random_source random;
    struct handle handle;
    struct string_ids *signatures;
    struct profile *profile;
    struct queue *queue;
    struct fake_client *api; /* makes objects */
    unsigned activated;
};

static void
count_activation(void *context)
{
    ((struct bench *)context)->activated++;
}

static struct bench *
bench_new(bool is_sharing)
{
    static const struct queue_policy policy = {.activated = count_activation};
    static const struct fake_clock clock = FAKE_CLOCK;
    struct bench *b = xnew(struct bench);

    b->time = clock;
    b->signatures = string_ids_new();
    b->api = fake_client_new();
    b->handle = (struct handle){
        .resources = string_ids_new(),
        .reasons = string_ids_new(),
        .clock = &b->time.clock,
        .random = &b->random,
        .nominator = nominator_new(),
    };
    ck_assert_int_eq(profile_new(
                         &(struct profile_settings){
                             .scheduler_name = "default-scheduler",
                             .plugins = upstream_profile,
                             .n_plugins = ARRAY_SIZE(upstream_profile),
                             .handle = &b->handle,
                         },
                         &b->profile, NULL),
                     0);
    b->queue = queue_new(&(struct queue_settings){
        .clock = &b->time.clock,
        .nominator = b->handle.nominator,
        .signatures = b->signatures,
        .is_sharing = is_sharing,
        .policy = &policy,
        .context = b,
    });
    return b;
}

static void
bench_free(struct bench *b)
{
    queue_free(b->queue);
    profile_free(b->profile);
    nominator_free(b->handle.nominator);
    string_ids_free(b->handle.resources);
    string_ids_free(b->handle.reasons);
    string_ids_free(b->signatures);
    fake_client_free(b->api);
    free(b);
}

static void
add_cpu(struct bench *b, const char *name, int priority, const char *cpu)
{
    char json[512];
    struct pod_view *pod;

    snprintf(json, sizeof(json),
             "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"d\"},\"spec\":{"
             "\"priority\":%d,\"containers\":[{\"name\":\"c\",\"resources\":{"
             "\"requests\":{\"cpu\":\"%s\"}}}]}}",
             name, priority, cpu);
    pod = pod_view_new(fake_client_put(b->api, &pod_kind, json), b->handle.resources);
    queue_add(b->queue, pod, b->profile);
    pod_view_unref(pod);
    fake_clock_advance(&b->time, 1000);
}

static void
add(struct bench *b, const char *name, int priority)
{
    add_cpu(b, name, priority, "1");
}

/* Pops the expected pod, and fails it for lack of resources. */
static void
pop_and_fail(struct bench *b, const char *name)
{
    struct queued_pod *p = queue_pop(b->queue);

    ck_assert_ptr_nonnull(p);
    ck_assert_str_eq(p->pod->name, name);
    p->unschedulable = PLUGIN_BIT(profile_find(b->profile, "NodeResourcesFit"));
    queue_fail(b->queue, p);
}

static void
pop_and_place(struct bench *b, const char *name)
{
    struct queued_pod *p = queue_pop(b->queue);

    ck_assert_ptr_nonnull(p);
    ck_assert_str_eq(p->pod->name, name);
    queue_leave(b->queue, p);
    queued_pod_free(p);
}

static void
free_room(struct bench *b)
{
    queue_event(b->queue, &event_assigned_pod_delete, NULL, NULL);
}

static size_t
count_before(const struct bench *b, const char *name)
{
    const struct queued_pod *p = queue_find(b->queue, "d", name);

    size_t before = 0;

    ck_assert_ptr_nonnull(p);
    ck_assert(queue_count_before(b->queue, p->pod, b->profile, &before));
    return before;
}

/* Pods of all states are counted. */
START_TEST(a_pod_knows_how_many_are_before_it)
{
    struct bench *b = bench_new(true);

    add(b, "low", 0);
    add(b, "high", 5);
    add(b, "low2", 0);
    pop_and_fail(b, "high");

    ck_assert_uint_eq(count_before(b, "high"), 0);
    ck_assert_uint_eq(count_before(b, "low"), 1);
    ck_assert_uint_eq(count_before(b, "low2"), 2);
    pop_and_place(b, "low");
    ck_assert_uint_eq(count_before(b, "low2"), 1);
    queue_remove(b->queue, "d", "high");
    ck_assert_uint_eq(count_before(b, "low2"), 0);
    bench_free(b);
}
END_TEST

/* Upstream's order: failed pods are behind pods that have not failed. */
START_TEST(without_sharing_a_pod_that_failed_is_behind)
{
    struct bench *b = bench_new(false);

    add(b, "first", 0);
    add(b, "second", 0);
    pop_and_fail(b, "first");

    ck_assert_uint_eq(count_before(b, "second"), 0);
    ck_assert_uint_eq(count_before(b, "first"), 1);
    bench_free(b);
}
END_TEST

START_TEST(gated_pods_are_before_nobody)
{
    struct bench *b = bench_new(true);
    struct pod_view *gated =
        pod_view_new(fake_client_put(b->api, &pod_kind,
                                     "{\"metadata\":{\"name\":\"g\",\"namespace\":\"d\"},"
                                     "\"spec\":{\"schedulingGates\":[{\"name\":\"a/b\"}],"
                                     "\"containers\":[{\"name\":\"c\"}]}}"),
                     b->handle.resources);

    queue_add(b->queue, gated, b->profile);
    fake_clock_advance(&b->time, 1000);
    add(b, "p", 0);
    ck_assert_uint_eq(count_before(b, "p"), 0);
    queue_activate(b->queue, "d", "g");
    ck_assert_uint_eq(count_before(b, "p"), 0);
    queue_remove(b->queue, "d", "g");
    ck_assert_uint_eq(count_before(b, "p"), 0);
    pod_view_unref(gated);
    bench_free(b);
}
END_TEST

static void
add_of_job(struct bench *b, const char *name, const char *uid)
{
    char json[512];
    struct pod_view *pod;

    snprintf(json, sizeof(json),
             "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"d\","
             "\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":"
             "\"Job\",\"name\":\"j\",\"uid\":\"%s\",\"controller\":true}]},"
             "\"spec\":{\"containers\":[{\"name\":\"c\"}]}}",
             name, uid);
    pod = pod_view_new(fake_client_put(b->api, &pod_kind, json), b->handle.resources);
    if (queue_find(b->queue, "d", name) != NULL)
        queue_update(b->queue, queue_find(b->queue, "d", name)->pod->object, pod, b->profile);
    else
        queue_add(b->queue, pod, b->profile);
    pod_view_unref(pod);
    fake_clock_advance(&b->time, 1000);
}

static size_t
count_of_job(const struct bench *b, const char *uid)
{
    size_t count;

    queue_find_of_job(b->queue, uid, &count);
    return count;
}

START_TEST(pods_are_found_by_their_job)
{
    struct bench *b = bench_new(true);
    size_t count;

    add_of_job(b, "a0", "A");
    add_of_job(b, "b0", "B");
    add_of_job(b, "a1", "A");
    add(b, "alone", 0);

    ck_assert_str_eq(queue_find_of_job(b->queue, "A", &count)->pod->name, "a0");
    ck_assert_uint_eq(count, 2);
    pop_and_fail(b, "a0");
    ck_assert_uint_eq(count_of_job(b, "A"), 2);
    pop_and_place(b, "b0");
    ck_assert_uint_eq(count_of_job(b, "B"), 0);
    queue_remove(b->queue, "d", "a0");
    ck_assert_str_eq(queue_find_of_job(b->queue, "A", &count)->pod->name, "a1");
    ck_assert_uint_eq(count, 1);
    add_of_job(b, "a1", "B"); /* the pod has another owner now */
    ck_assert_uint_eq(count_of_job(b, "A"), 0);
    ck_assert_uint_eq(count_of_job(b, "B"), 1);
    bench_free(b);
}
END_TEST

/* The pod leaves the counts at once, and its cycle ends without a trace. */
START_TEST(a_pod_that_goes_in_flight_is_of_no_job_and_before_nobody)
{
    struct bench *b = bench_new(true);
    struct queued_pod *flying;

    add_of_job(b, "a0", "A");
    add_of_job(b, "a1", "A");
    flying = queue_pop(b->queue);
    queue_remove(b->queue, "d", "a0");

    ck_assert_uint_eq(count_of_job(b, "A"), 1);
    ck_assert_uint_eq(count_before(b, "a1"), 0);
    queue_fail(b->queue, flying);
    ck_assert_uint_eq(count_of_job(b, "A"), 1);
    ck_assert_uint_eq(count_before(b, "a1"), 0);
    bench_free(b);
}
END_TEST

START_TEST(the_highest_priority_comes_first_then_the_oldest)
{
    struct bench *b = bench_new(true);

    add(b, "low", 1);
    add(b, "old", 5);
    add(b, "new", 5);
    ck_assert_uint_eq(b->activated, 3);
    pop_and_place(b, "old");
    pop_and_place(b, "new");
    pop_and_place(b, "low");
    ck_assert_ptr_null(queue_pop(b->queue));
    bench_free(b);
}
END_TEST

START_TEST(an_event_wakes_one_of_equal_pods_and_success_the_next)
{
    struct bench *b = bench_new(true);

    add(b, "a", 0);
    add(b, "b", 0);
    add(b, "c", 0);
    pop_and_fail(b, "a");
    pop_and_fail(b, "b");
    pop_and_fail(b, "c");
    ck_assert_uint_eq(queue_count(b->queue).groups, 1);
    fake_clock_advance(&b->time, 20 * FAKE_SECOND);

    free_room(b);
    ck_assert_uint_eq(queue_count(b->queue).active, 1);
    free_room(b);
    ck_assert_uint_eq(queue_count(b->queue).active, 1);
    pop_and_place(b, "a");
    pop_and_fail(b, "b");
    ck_assert_uint_eq(queue_count(b->queue).active, 0);
    ck_assert_uint_eq(queue_count(b->queue).unschedulable, 2);
    bench_free(b);
}
END_TEST

START_TEST(a_woken_pod_that_is_deleted_hands_its_chance_on)
{
    struct bench *b = bench_new(true);

    add(b, "a", 0);
    add(b, "b", 0);
    pop_and_fail(b, "a");
    pop_and_fail(b, "b");
    fake_clock_advance(&b->time, 20 * FAKE_SECOND);
    free_room(b);
    queue_remove(b->queue, "d", "a");
    pop_and_place(b, "b");
    ck_assert_uint_eq(queue_count(b->queue).groups, 0);
    bench_free(b);
}
END_TEST

START_TEST(upstreams_way_wakes_all)
{
    struct bench *b = bench_new(false);

    add(b, "a", 0);
    add(b, "b", 0);
    pop_and_fail(b, "a");
    pop_and_fail(b, "b");
    ck_assert_uint_eq(queue_count(b->queue).groups, 2);
    fake_clock_advance(&b->time, 20 * FAKE_SECOND);
    free_room(b);
    ck_assert_uint_eq(queue_count(b->queue).active, 2);
    bench_free(b);
}
END_TEST

START_TEST(an_event_during_the_attempt_is_not_lost)
{
    struct bench *b = bench_new(true);
    struct queued_pod *p;

    add(b, "a", 0);
    p = queue_pop(b->queue);
    free_room(b);
    p->unschedulable = PLUGIN_BIT(profile_find(b->profile, "NodeResourcesFit"));
    queue_fail(b->queue, p);
    ck_assert_uint_eq(queue_count(b->queue).unschedulable, 0);
    bench_free(b);
}
END_TEST

START_TEST(an_irrelevant_event_wakes_nobody)
{
    struct bench *b = bench_new(true);
    const struct cluster_event heartbeat = {EVENT_NODE, ACTION_UPDATE_NODE_CONDITION,
                                            "NodeUpdateNodeCondition"};

    add(b, "a", 0);
    pop_and_fail(b, "a");
    fake_clock_advance(&b->time, 20 * FAKE_SECOND);
    queue_event(b->queue, &heartbeat, NULL, NULL);
    ck_assert_uint_eq(queue_count(b->queue).unschedulable, 1);
    bench_free(b);
}
END_TEST

START_TEST(an_error_backs_off_longer_each_time)
{
    struct bench *b = bench_new(true);
    static const int64_t seconds[] = {1, 2, 4, 8, 10, 10};

    add(b, "a", 0);
    for (size_t i = 0; i < ARRAY_SIZE(seconds); i++) {
        struct queued_pod *p = queue_pop(b->queue);

        ck_assert_ptr_nonnull(p);
        queue_fail(b->queue, p);
        fake_clock_advance(&b->time, seconds[i] * FAKE_SECOND - 1);
        queue_flush_backoff(b->queue);
        ck_assert_uint_eq(queue_count(b->queue).active, 0);
        ck_assert_int_eq(queue_next_backoff_us(b->queue), clock_monotonic_us(&b->time.clock) + 1);
        fake_clock_advance(&b->time, 1);
        queue_flush_backoff(b->queue);
        ck_assert_uint_eq(queue_count(b->queue).active, 1);
    }
    bench_free(b);
}
END_TEST

START_TEST(a_pod_that_slept_too_long_is_tried_again)
{
    struct bench *b = bench_new(true);

    add(b, "a", 0);
    pop_and_fail(b, "a");
    fake_clock_advance(&b->time, 299 * FAKE_SECOND);
    queue_flush_leftover(b->queue);
    ck_assert_uint_eq(queue_count(b->queue).unschedulable, 1);
    fake_clock_advance(&b->time, 2 * FAKE_SECOND);
    queue_flush_leftover(b->queue);
    ck_assert_uint_eq(queue_count(b->queue).active, 1);
    bench_free(b);
}
END_TEST

START_TEST(a_deleted_pod_leaves_every_queue)
{
    struct bench *b = bench_new(true);
    struct queued_pod *p;

    add(b, "active", 0);
    add_cpu(b, "asleep", 9, "2");
    add_cpu(b, "flying", 8, "3");
    pop_and_fail(b, "asleep");
    p = queue_pop(b->queue);
    ck_assert_str_eq(p->pod->name, "flying");
    queue_remove(b->queue, "d", "active");
    queue_remove(b->queue, "d", "asleep");
    queue_remove(b->queue, "d", "flying");
    queue_fail(b->queue, p);
    ck_assert_uint_eq(queue_count(b->queue).active, 0);
    ck_assert_uint_eq(queue_count(b->queue).unschedulable, 0);
    ck_assert_uint_eq(queue_count(b->queue).backoff, 0);
    ck_assert_uint_eq(queue_count(b->queue).in_flight, 0);
    ck_assert_uint_eq(queue_count(b->queue).groups, 0);
    bench_free(b);
}
END_TEST

START_TEST(a_returned_pod_that_is_there_again_is_dropped)
{
    struct bench *b = bench_new(true);
    struct queued_pod *p;

    add(b, "a", 0);
    p = queue_pop(b->queue);
    queue_leave(b->queue, p);
    add(b, "a", 3);
    queue_return(b->queue, p);
    ck_assert_uint_eq(queue_count(b->queue).active, 1);
    ck_assert_uint_eq(queue_count(b->queue).backoff, 0);
    bench_free(b);
}
END_TEST

START_TEST(activate_skips_backoff)
{
    struct bench *b = bench_new(true);

    add(b, "a", 0);
    queue_fail(b->queue, queue_pop(b->queue));
    ck_assert_uint_eq(queue_count(b->queue).backoff, 1);
    queue_activate(b->queue, "d", "a");
    ck_assert_uint_eq(queue_count(b->queue).active, 1);
    bench_free(b);
}
END_TEST

START_TEST(equal_pods_that_wait_cost_an_event_what_one_costs)
{
    struct bench *b = bench_new(true);
    char name[16];

    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        add(b, name, 0);
        pop_and_fail(b, name);
        fake_client_remove(b->api, &pod_kind, "d", name);
    }
    ck_assert_uint_eq(queue_count(b->queue).unschedulable, 20000);
    ck_assert_uint_eq(queue_count(b->queue).groups, 1);
    for (int i = 0; i < 100000; i++)
        free_room(b);
    ck_assert_uint_eq(queue_count(b->queue).unschedulable, 19999);
    bench_free(b);
}
END_TEST

/* Ranks pods of few CPUs first, or of many; the overtaker is before all. */
struct ranks {
    bool are_many_first;
    unsigned asked;
    const char *overtaker;
};
static struct ranks ranks;

static struct queue_rank
rank_by_cpus(const struct queued_pod *pod, void *context)
{
    double cpus = (double)pod->pod->requests.cpu_milli;

    (void)context;
    ranks.asked++;
    return (struct queue_rank){
        .number = (uint32_t)cpus,
        .key = ranks.are_many_first ? -cpus : cpus,
    };
}

static bool
is_overtaker(const struct queued_pod *pod, void *context)
{
    (void)context;
    return ranks.overtaker != NULL && strcmp(pod->pod->name, ranks.overtaker) == 0;
}

static struct bench *
bench_new_ranked(void)
{
    static const struct queue_policy policy = {.rank = rank_by_cpus, .overtakes = is_overtaker};
    struct bench *b = bench_new(true);
    struct profile_plugin plugins[PROFILE_MAX_PLUGINS];

    for (unsigned i = 0; i < ARRAY_SIZE(upstream_profile); i++) {
        plugins[i] = upstream_profile[i];
        if (plugins[i].plugin->less != NULL)
            plugins[i].plugin = plugin_find("PredictedOrder");
    }
    profile_free(b->profile);
    ck_assert_int_eq(profile_new(
                         &(struct profile_settings){
                             .scheduler_name = "default-scheduler",
                             .plugins = plugins,
                             .n_plugins = ARRAY_SIZE(upstream_profile),
                             .handle = &b->handle,
                         },
                         &b->profile, NULL),
                     0);
    queue_free(b->queue);
    b->queue = queue_new(&(struct queue_settings){
        .clock = &b->time.clock,
        .nominator = b->handle.nominator,
        .signatures = b->signatures,
        .is_sharing = true,
        .initial_backoff_us = 1,
        .max_backoff_us = 1,
        .policy = &policy,
        .context = b,
    });
    ranks = (struct ranks){0};
    return b;
}

static void
check_before(struct bench *b, const char *name, size_t before)
{
    const struct queued_pod *p = queue_find(b->queue, "d", name);
    size_t count;

    ck_assert(queue_count_before(b->queue, p->pod, b->profile, &count));
    ck_assert_uint_eq(count, before);
}

START_TEST(those_that_sleep_are_ranked_anew_in_turn)
{
    struct bench *b = bench_new_ranked();

    add_cpu(b, "one", 0, "1");
    add_cpu(b, "two", 0, "2");
    add_cpu(b, "three", 0, "3");
    pop_and_fail(b, "one");
    pop_and_fail(b, "two");
    pop_and_fail(b, "three");
    check_before(b, "one", 0);
    check_before(b, "three", 2);

    ranks.are_many_first = true;
    ranks.asked = 0;
    queue_rank_asleep(b->queue, 2);
    ck_assert_uint_eq(ranks.asked, 2);
    queue_rank_asleep(b->queue, 1);
    ck_assert_uint_eq(ranks.asked, 3);
    check_before(b, "three", 0);
    check_before(b, "two", 1);
    check_before(b, "one", 2);
    ck_assert_uint_eq(queue_count(b->queue).active, 0);

    /* With a number above the queue's length each pod is ranked once; a pod
     * whose rank is unchanged stays unschedulable.
     */
    ranks.overtaker = "one";
    queue_rank_asleep(b->queue, 100);
    ck_assert_uint_eq(ranks.asked, 6);
    ck_assert_uint_eq(queue_count(b->queue).active, 0);
    ranks.are_many_first = false;
    fake_clock_advance(&b->time, FAKE_SECOND);
    queue_rank_asleep(b->queue, 100);
    ck_assert_uint_eq(queue_count(b->queue).active, 1);
    pop_and_place(b, "one");
    bench_free(b);
}
END_TEST

SUITE("queue", a_pod_knows_how_many_are_before_it, without_sharing_a_pod_that_failed_is_behind,
      gated_pods_are_before_nobody, pods_are_found_by_their_job,
      a_pod_that_goes_in_flight_is_of_no_job_and_before_nobody,
      the_highest_priority_comes_first_then_the_oldest,
      an_event_wakes_one_of_equal_pods_and_success_the_next,
      a_woken_pod_that_is_deleted_hands_its_chance_on, upstreams_way_wakes_all,
      an_event_during_the_attempt_is_not_lost, an_irrelevant_event_wakes_nobody,
      an_error_backs_off_longer_each_time, a_pod_that_slept_too_long_is_tried_again,
      a_deleted_pod_leaves_every_queue, a_returned_pod_that_is_there_again_is_dropped,
      activate_skips_backoff, equal_pods_that_wait_cost_an_event_what_one_costs,
      those_that_sleep_are_ranked_anew_in_turn)
