/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/queue/queue_order.h"

#include "controller/scheduler/framework/queued_pod.h"
#include "lib/base/alloc.h"
#include "lib/base/random.h"
#include "testsuite/lib/suite.h"

#define PODS 3000u

static bool
is_less(const void *a, const void *b, void *context)
{
    const struct queued_pod *pa = a, *pb = b;
    unsigned *n_compared = context;

    if (n_compared != NULL)
        ++*n_compared;
    if (pa->queued_at_us != pb->queued_at_us)
        return pa->queued_at_us < pb->queued_at_us;
    return pa->order < pb->order;
}

static size_t
count_before(const struct queued_pod *pods, const struct queued_pod *pod)
{
    size_t before = 0;

    for (unsigned i = 0; i < PODS; i++)
        before += pods[i].is_ordered && is_less(&pods[i], pod, NULL);
    return before;
}

/* Counts all pods, because all are before `last`. */
static size_t
count_all(const struct queue_order *o)
{
    static const struct queued_pod last = {.queued_at_us = INT64_MAX};

    return queue_order_before(o, &last);
}

START_TEST(a_pod_has_as_many_before_it_as_are_less)
{
    CLEANUP(queue_order_freep)
    struct queue_order *o = queue_order_new(is_less, NULL);
    CLEANUP_FREE struct queued_pod *pods = xnew_array(struct queued_pod, PODS);
    struct random_source random = {7};
    size_t count = 0;

    for (unsigned step = 0; step < 20 * PODS; step++) {
        struct queued_pod *p = &pods[random_below(&random, PODS)];

        if (p->is_ordered) {
            queue_order_remove(o, p);
        } else {
            p->queued_at_us = (int64_t)random_below(&random, 50);
            p->order = step;
            queue_order_add(o, p);
        }
        p->is_ordered = !p->is_ordered;
        count += p->is_ordered ? 1 : -1;
        if (step % 101 == 0)
            ck_assert_uint_eq(queue_order_before(o, p), count_before(pods, p));
    }
    ck_assert_uint_eq(count_all(o), count);
}
END_TEST

START_TEST(coming_last_and_going_first_costs_few_comparisons)
{
    unsigned compared = 0;
    CLEANUP(queue_order_freep)
    struct queue_order *o = queue_order_new(is_less, &compared);
    CLEANUP_FREE struct queued_pod *pods = xnew_array(struct queued_pod, PODS);

    for (unsigned i = 0; i < PODS; i++) {
        pods[i].order = i;
        queue_order_add(o, &pods[i]);
    }
    ck_assert_uint_le(compared, 12 * PODS);
    compared = 0;
    for (unsigned i = 0; i < PODS; i++) {
        ck_assert_uint_eq(queue_order_before(o, &pods[PODS - 1]), PODS - 1 - i);
        queue_order_remove(o, &pods[i]);
    }
    ck_assert_uint_le(compared, 30 * PODS);
    ck_assert_uint_eq(count_all(o), 0);
}
END_TEST

/* Like a plugin that sorts by values that change while a pod waits. */
START_TEST(a_pod_whose_key_has_changed_is_found_all_the_same)
{
    CLEANUP(queue_order_freep)
    struct queue_order *o = queue_order_new(is_less, NULL);
    CLEANUP_FREE struct queued_pod *pods = xnew_array(struct queued_pod, PODS);

    for (unsigned i = 0; i < PODS; i++) {
        pods[i].order = i;
        queue_order_add(o, &pods[i]);
    }
    pods[17].queued_at_us = 1000;
    queue_order_remove(o, &pods[17]);

    ck_assert_uint_eq(count_all(o), PODS - 1);
    ck_assert_uint_eq(queue_order_before(o, &pods[PODS - 1]), PODS - 2);
}
END_TEST

/* Pods that stay are seen once each, in order, whatever comes and goes. */
START_TEST(a_visit_in_parts_sees_all_that_stay)
{
    CLEANUP(queue_order_freep)
    struct queue_order *o = queue_order_new(is_less, NULL);
    CLEANUP_FREE struct queued_pod *pods = xnew_array(struct queued_pod, PODS);
    struct random_source random = {3};

    for (unsigned i = 0; i < PODS; i++) {
        pods[i].order = i;
        pods[i].queued_at_us = 2 * i; /* every third stays */
        queue_order_add(o, &pods[i]);
        pods[i].is_ordered = true;
    }
    for (unsigned round = 0; round < 20; round++) {
        struct queue_cursor cursor, other;
        const struct queued_pod *p, *last = NULL;
        unsigned n = 0, n_behind = 0;

        queue_order_begin(o, &other); /* stays at the beginning */
        queue_order_begin(o, &cursor);
        while ((p = queue_order_next(&cursor)) != NULL) {
            ck_assert(last == NULL || is_less(last, p, NULL));
            last = p;
            n += (p - pods) % 3 == 0;
            for (unsigned i = 0; i < 4; i++) {
                struct queued_pod *q = &pods[random_below(&random, PODS)];

                if ((q - pods) % 3 == 0 || q == p)
                    continue;
                if (q->is_ordered)
                    queue_order_remove(o, q);
                else {
                    queue_order_add(o, q);
                    n_behind += is_less(p, q, NULL);
                }
                q->is_ordered = !q->is_ordered;
            }
        }
        ck_assert_uint_eq(n, PODS / 3);
        ck_assert_uint_gt(n_behind, 0);
        queue_order_end(&cursor);
        n = 0;
        while (queue_order_next(&other) != NULL)
            n++;
        ck_assert_uint_eq(n, count_all(o));
        queue_order_end(&other);
        queue_order_end(&other);
    }
}
END_TEST

START_TEST(a_visit_goes_on_behind_its_place)
{
    CLEANUP(queue_order_freep)
    struct queue_order *o = queue_order_new(is_less, NULL);
    struct queued_pod pods[4] = {{.order = 0}, {.order = 1}, {.order = 2}, {.order = 3}};
    struct queue_cursor cursor;

    queue_order_begin(o, &cursor);
    ck_assert_ptr_null(queue_order_next(&cursor));
    queue_order_add(o, &pods[1]);
    ck_assert_ptr_eq(queue_order_next(&cursor), &pods[1]);
    queue_order_add(o, &pods[0]);
    queue_order_add(o, &pods[3]);
    queue_order_add(o, &pods[2]);
    ck_assert_ptr_eq(queue_order_next(&cursor), &pods[2]);
    queue_order_remove(o, &pods[2]);
    queue_order_remove(o, &pods[1]);
    ck_assert_ptr_eq(queue_order_next(&cursor), &pods[3]);
    queue_order_remove(o, &pods[0]);
    queue_order_remove(o, &pods[3]);
    ck_assert_ptr_null(queue_order_next(&cursor));
    queue_order_end(&cursor);
}
END_TEST

SUITE("scheduler/queue_order", a_visit_in_parts_sees_all_that_stay,
      a_visit_goes_on_behind_its_place, a_pod_has_as_many_before_it_as_are_less,
      coming_last_and_going_first_costs_few_comparisons,
      a_pod_whose_key_has_changed_is_found_all_the_same)
