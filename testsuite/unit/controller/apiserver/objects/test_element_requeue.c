/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/unit/controller/apiserver/world.h"

#include <inttypes.h>
#include <string.h>

#include "controller/apiserver/objects/element_requeue.h"
#include "lib/api/job/element_states.h"
#include "lib/api/job/job.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/value/task_list.h"
#include "testsuite/lib/suite.h"

/* A task id is its index plus ten. */
#define ARRAY                                                            \
    "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"array\":{\"tasks\":"     \
    "\"10-19\"},\"template\":{\"spec\":{\"restartPolicy\":\"Never\","    \
    "\"containers\":[{\"name\":\"main\",\"image\":\"host\",\"command\":" \
    "[\"/bin/true\"]}]}}}}"

static const struct principal controller = {.type = PRINCIPAL_LIFECYCLE, .name = "lifecycle"};

static const struct object *
find_job(const struct world *w)
{
    return store_find(w->store, STORE_PENDING, &job_kind, "default", "a");
}

static void
settle(struct world *w, const char *items)
{
    CLEANUP_FREE char *body = xasprintf("{\"settle\":[%s]}", items);

    ck_assert_int_eq(world_code(w, &controller, HTTP_POST, JOBS "/a/elements", body), 200);
}

static void
make_pod(struct world *w, const char *name, int attempt, const char *node)
{
    CLEANUP_FREE char *body =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"annotations\":{"
                  "\"kiln.hpc/attempt\":\"%d\"},\"ownerReferences\":[{\"apiVersion\":"
                  "\"batch/v1\",\"kind\":\"Job\",\"name\":\"a\",\"uid\":\"%s\","
                  "\"controller\":true}]},\"spec\":{\"restartPolicy\":\"Never\"%s%s%s,"
                  "\"securityContext\":{\"runAsUser\":2001,\"runAsGroup\":2001},"
                  "\"containers\":[{\"name\":\"main\",\"command\":[\"/bin/true\"]}]}}",
                  name, attempt, find_job(w)->meta->uid, node != NULL ? ",\"nodeName\":\"" : "",
                  node != NULL ? node : "", node != NULL ? "\"" : "");
    CLEANUP_ANSWER struct answer a = world_ask(w, &controller, HTTP_POST, PODS, body);

    ck_assert_msg(a.code == 201, "%s", answer_get(&a, "message"));
}

/* 10 is done, 11 has failed, 12 was cancelled, 13 waits, 14 waits for its third
 * attempt, 15 has a pod without a node, 16 one with a node, and 17 likewise,
 * its third.
 */
static void
begin(struct world *w)
{
    world_init(w);
    ck_assert_int_eq(world_code(w, &alice, HTTP_POST, JOBS, ARRAY), 201);
    settle(w, "{\"index\":0,\"as\":\"Done\"},{\"index\":1,\"as\":\"Failed\"},"
              "{\"index\":2,\"as\":\"Cancelled\"},{\"index\":4,\"as\":\"Again\","
              "\"attempt\":2},{\"index\":7,\"as\":\"Again\",\"attempt\":2,"
              "\"failures\":1}");
    make_pod(w, "a-5", 0, NULL);
    make_pod(w, "a-6", 0, "n1");
    make_pod(w, "a-7-r2", 2, "n1");
}

static struct element_requeue
find(struct world *w, struct arena *arena, const char *tasks)
{
    struct element_requeue found;
    struct task_list meant;
    struct error err = {0};

    ck_assert_int_eq(task_list_parse(arena, tasks, &meant, &err), 0);
    ck_assert_int_eq(element_requeue_find(w->store, find_job(w), &meant, arena, &found, &err), 0);
    return found;
}

static const char *
text_of(struct arena *arena, const struct task_list *list)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    task_list_format(list, &text);
    return arena_strdup(arena, text.length > 0 ? text.text : "");
}

/* Changes the Job like kctl requeue. */
static int
requeue(struct world *w, struct arena *arena, const char *tasks, int times)
{
    CLEANUP_ANSWER struct answer a = {0};
    const struct element_requeue found = find(w, arena, tasks);
    CLEANUP_FREE char *body = xasprintf("{\"spec\":{\"array\":{\"requeues\":%d}}}", times);

    a = world_put(w, &(struct question){.who = &alice,
                                        .method = HTTP_PATCH,
                                        .target = JOBS "/a",
                                        .format = BODY_MERGE_PATCH,
                                        .body = body,
                                        .requeued = &found.tasks});
    return a.code;
}

/* Returns "STATE attempt failures". */
static const char *
element(struct world *w, struct arena *arena, int64_t index)
{
    CLEANUP_ANSWER struct answer a =
        world_ask(w, &controller, HTTP_GET, JOBS "/a/elements?view=record", NULL);
    struct element_chunk chunk = {0};
    const struct element_tries *tries;
    const char *text;

    ck_assert(element_chunk_parse(&chunk, 0,
                                  json_get_text(json_at(json_get(a.body, "chunks"), 0), "text")));
    tries = element_chunk_tries(&chunk, index);
    text = arena_printf(arena, "%c %" PRId64 " %" PRId64, "wdfc"[chunk.states[index]],
                        tries != NULL ? tries->attempt : 0, tries != NULL ? tries->failures : 0);
    element_chunk_fini(&chunk);
    return text;
}

START_TEST(elements_that_have_begun_run_again_and_no_others)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_WORLD struct world w;
    struct element_requeue found;

    begin(&w);
    found = find(&w, arena, "10-19");

    ck_assert_str_eq(text_of(arena, &found.tasks), "10-11,16-17");
    ck_assert_int_eq(found.n_cancelled, 1);
}
END_TEST

START_TEST(tasks_that_the_array_does_not_have_are_left_out)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_WORLD struct world w;
    struct element_requeue found;

    begin(&w);
    found = find(&w, arena, "0-9,11,20-5000");

    ck_assert_str_eq(text_of(arena, &found.tasks), "11");
}
END_TEST

START_TEST(tasks_on_the_list_of_the_cancelled_stay_so)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_WORLD struct world w;
    struct element_requeue found;

    begin(&w);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_PATCH, JOBS "/a",
                                "{\"spec\":{\"array\":{\"cancelled\":\"16\"}}}"),
                     200);
    found = find(&w, arena, "12,16,17");

    ck_assert_str_eq(text_of(arena, &found.tasks), "17");
    ck_assert_int_eq(found.n_cancelled, 2);
}
END_TEST

/* The attempt number follows the element's former one, in the record or on its
 * pod, and its failures are cleared.
 */
START_TEST(requeued_tasks_wait_for_their_next_attempt)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_WORLD struct world w;

    begin(&w);
    ck_assert_int_eq(requeue(&w, arena, "10-17", 1), 200);

    ck_assert_str_eq(element(&w, arena, 0), "w 1 0");
    ck_assert_str_eq(element(&w, arena, 1), "w 1 0");
    ck_assert_str_eq(element(&w, arena, 2), "c 0 0");
    ck_assert_str_eq(element(&w, arena, 3), "w 0 0");
    ck_assert_str_eq(element(&w, arena, 4), "w 2 0");
    ck_assert_str_eq(element(&w, arena, 5), "w 0 0");
    ck_assert_str_eq(element(&w, arena, 6), "w 1 0");
    ck_assert_str_eq(element(&w, arena, 7), "w 3 0");
}
END_TEST

START_TEST(twice_is_as_once)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_WORLD struct world w;

    begin(&w);
    ck_assert_int_eq(requeue(&w, arena, "10-17", 1), 200);
    ck_assert_int_eq(requeue(&w, arena, "10-17", 2), 200);

    ck_assert_str_eq(element(&w, arena, 0), "w 1 0");
    ck_assert_str_eq(element(&w, arena, 6), "w 1 0");
    ck_assert_str_eq(element(&w, arena, 7), "w 3 0");
}
END_TEST

START_TEST(the_newest_pod_is_meant)
{
    CLEANUP_WORLD struct world w;

    begin(&w);

    ck_assert_str_eq(element_requeue_pod(w.store, find_job(&w), 7, 2)->meta->name, "a-7-r2");
    ck_assert_ptr_null(element_requeue_pod(w.store, find_job(&w), 3, 0));
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, PODS, POD("a-8")), 201);
    ck_assert_ptr_null(element_requeue_pod(w.store, find_job(&w), 8, 0));
}
END_TEST

/* A new number causes another read of the record, whose cost grows with its
 * size.
 */
START_TEST(the_count_is_the_servers)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_WORLD struct world w;

    begin(&w);
    {
        CLEANUP_ANSWER struct answer a =
            world_ask(&w, &alice, HTTP_PATCH, JOBS "/a", "{\"spec\":{\"array\":{\"requeues\":7}}}");

        ck_assert_int_eq(a.code, 403);
        ck_assert_ptr_nonnull(strstr(answer_get(&a, "message"),
                                     "spec.array.requeues, 7, is counted by the server (it is "
                                     "0); use 'kctl requeue JOB_[LIST]' to run tasks again"));
    }
    ck_assert_int_eq(requeue(&w, arena, "11", 1), 200);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_PATCH, JOBS "/a",
                                "{\"spec\":{\"array\":{\"requeues\":null,\"held\":\"13\"}}}"),
                     200);
    ck_assert_int_eq(job_of(find_job(&w))->spec.array->requeues, 1);
    ck_assert_str_eq(job_of(find_job(&w))->spec.array->held, "13");
}
END_TEST

START_TEST(the_count_begins_at_nothing)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, JOBS,
                                "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"array\":{"
                                "\"tasks\":\"1-3\",\"requeues\":9},\"template\":{\"spec\":{"
                                "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":"
                                "\"main\",\"image\":\"host\",\"command\":[\"/bin/true\"]}]"
                                "}}}}"),
                     201);
    ck_assert_int_eq(job_of(find_job(&w))->spec.array->requeues, 0);
}
END_TEST

SUITE("element_requeue", elements_that_have_begun_run_again_and_no_others,
      tasks_that_the_array_does_not_have_are_left_out, tasks_on_the_list_of_the_cancelled_stay_so,
      requeued_tasks_wait_for_their_next_attempt, twice_is_as_once, the_newest_pod_is_meant,
      the_count_is_the_servers, the_count_begins_at_nothing)
