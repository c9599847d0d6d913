/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job/element_counts.h"

#include <string.h>

#include "controller/lifecycle/job/array_ends.h"
#include "controller/lifecycle/job/array_state.h"
#include "controller/lifecycle/job/job_pod_counts.h"
#include "lib/api/job/element_states.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

static const int64_t none = 0, hundred = 100;
static const struct job_array array = {.tasks = "0-99"};
static const struct job job = {
    .meta.name = "j",
    .meta.uid = "u",
    .spec.array = &array,
    .spec.completion_mode = "Indexed",
    .spec.completions = &hundred,
    .spec.backoff_limit_per_index = &none,
};

/* Loads the counts as from the store: the next pods of 5 and 6 are their third
 * and second.
 */
static struct job_pod_counts *
load(int64_t maximum_requeues)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct job_pod_counts *t = job_pod_counts_new(&job);
    struct json *elements = json_object(arena);
    struct json *chunks = json_array(arena);
    struct json *item = json_object(arena);
    struct element_chunk chunk = {0};

    element_chunk_set_tries(&chunk, &(struct element_tries){5, 2, 0, 0, 2});
    element_chunk_set_tries(&chunk, &(struct element_tries){6, 1, 0, 0, 1});
    element_chunk_format(&chunk, 0, &text);
    element_chunk_fini(&chunk);
    json_set_string(arena, item, "text", text.text);
    json_append(arena, chunks, item);
    json_set(arena, elements, "chunks", chunks);
    t->maximum_requeues = maximum_requeues;
    ck_assert(element_counts_load(t, &job, elements));
    return t;
}

static void
cancel(struct job_pod_counts *t, const char *tasks)
{
    const struct job_array some = {.tasks = "0-99", .cancelled = tasks};

    array_state_follow(t->array, &(struct job){.spec.array = &some});
}

/* The controller was killed after the pod was gone and counted, and before the
 * element was held.
 */
START_TEST(an_element_interrupted_too_often_is_held_by_the_next_controller)
{
    CLEANUP(job_pod_counts_freep) struct job_pod_counts *t = load(1);
    const struct array_end *end;

    ck_assert_uint_eq(array_state_ends(t->array)->count, 1);
    end = container_of(array_state_ends(t->array)->list.next, struct array_end, link);
    ck_assert_int_eq(end->outcome, ARRAY_AGAIN);
    ck_assert_int_eq(end->index, 5);
    ck_assert_int_eq(end->of_attempt, 1);
    ck_assert_int_eq(end->attempt, 2);
    ck_assert_int_eq(end->interrupted, 2);
    ck_assert(end->is_too_often);
    ck_assert(array_state_is_barred(t->array, 5));
    ck_assert(!array_state_is_barred(t->array, 6));
    ck_assert_int_eq(index_counts_find(&t->indexes, 6)->interrupted, 1);
}
END_TEST

START_TEST(without_a_maximum_none_is)
{
    CLEANUP(job_pod_counts_freep) struct job_pod_counts *t = load(0);

    ck_assert_uint_eq(array_state_ends(t->array)->count, 0);
    ck_assert(!array_state_is_barred(t->array, 5));
}
END_TEST

/* It ran, was requeued, and is cancelled while it waits for its second run. */
START_TEST(an_element_that_ran_before_it_was_cancelled_is_not_called_unstarted)
{
    CLEANUP(job_pod_counts_freep) struct job_pod_counts *t = load(0);
    static const char text[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"j-6-r1\",\"namespace\":"
        "\"default\",\"uid\":\"p\",\"annotations\":{\"batch.kubernetes.io/job-completion-index\":"
        "\"6\",\"kiln.hpc/attempt\":\"1\"}},\"spec\":{\"containers\":[{\"name\":\"main\"}]}}";
    struct index_set unstarted = {0};
    const struct object *pod = NULL;
    const struct array_end *end;

    ck_assert_int_eq(object_parse(&pod_kind, text, strlen(text), &pod, NULL), 0);
    job_pod_counts_see(t, &job, pod_of(pod));
    cancel(t, "6");
    element_counts_withdraw(t, pod_of(pod), true);
    end = container_of(array_state_ends(t->array)->list.prev, struct array_end, link);
    ck_assert_int_eq(end->index, 6);
    ck_assert_int_eq(end->attempt, 1);

    job_pod_counts_see_gone(t, &job, pod_of(pod));
    element_counts_find_unstarted(t, &unstarted);
    ck_assert(!index_set_has(&unstarted, 6));
    ck_assert(index_set_has(&unstarted, 7));
    index_set_fini(&unstarted);
    object_unref(pod);
}
END_TEST

#define FAILED_POD(meta)                                                                      \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"j-8\",\"namespace\":"   \
    "\"default\",\"uid\":\"p\"" meta ",\"annotations\":{\"batch.kubernetes.io/"               \
    "job-completion-index\":\"8\"}},\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":" \
    "\"main\"}]},\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"main\"," \
    "\"state\":{\"terminated\":{\"exitCode\":3,\"finishedAt\":\"2024-01-01T00:00:05Z\"}}}]}}"

/* The cancellation ends the pod, or finds that it has failed by itself. */
START_TEST(a_task_that_failed_before_it_was_cancelled_has_failed)
{
    static const struct {
        const char *text;
        enum array_outcome outcome;
    } cases[] = {
        {FAILED_POD(""), ARRAY_FAILED},
        {FAILED_POD(",\"deletionTimestamp\":\"2024-01-01T00:00:09Z\""), ARRAY_FAILED},
        {FAILED_POD(",\"deletionTimestamp\":\"2024-01-01T00:00:04Z\""), ARRAY_CANCELLED},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(job_pod_counts_freep) struct job_pod_counts *t = load(0);
        const struct object *pod = NULL;

        ck_assert_int_eq(object_parse(&pod_kind, cases[i].text, strlen(cases[i].text), &pod, NULL),
                         0);
        cancel(t, "8");
        job_pod_counts_see(t, &job, pod_of(pod));

        ck_assert_int_eq(
            container_of(array_state_ends(t->array)->list.prev, struct array_end, link)->outcome,
            cases[i].outcome);
        ck_assert_int_eq(t->failed, cases[i].outcome == ARRAY_FAILED);
        object_unref(pod);
    }
}
END_TEST

SUITE("element_counts", a_task_that_failed_before_it_was_cancelled_has_failed,
      an_element_that_ran_before_it_was_cancelled_is_not_called_unstarted,
      an_element_interrupted_too_often_is_held_by_the_next_controller, without_a_maximum_none_is)
