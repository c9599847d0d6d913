/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/unit/controller/apiserver/world.h"

#include <string.h>

#include "lib/api/job/element_states.h"
#include "lib/api/job/job.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "testsuite/lib/suite.h"

#define ARRAY                                                            \
    "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"array\":{\"tasks\":\"0-" \
    "9\"},\"template\":{\"spec\":{\"restartPolicy\":\"Never\","          \
    "\"containers\":[{\"name\":\"main\",\"image\":\"host\",\"command\":" \
    "[\"/bin/true\"]}]}}}}"
#define LATER "3:of a later release"

static const struct principal controller = {.type = PRINCIPAL_LIFECYCLE, .name = "lifecycle"};

static void
begin(struct world *w)
{
    world_init(w);
    ck_assert_int_eq(world_code(w, &alice, HTTP_POST, JOBS, ARRAY), 201);
}

static const char *
name_record(const struct world *w, struct arena *arena, const char *end)
{
    const struct object *job = store_find(w->store, STORE_PENDING, &job_kind, "default", "a");

    return arena_printf(arena, "array/%s/0%s", job->meta->uid, end);
}

static const char *
find_record(const struct world *w, struct arena *arena, const char *end)
{
    return store_find_secret(w->store, name_record(w, arena, end));
}

static void
put_record(struct world *w, const char *text)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct store_txn *txn = store_begin(w->store);

    store_txn_put_secret(txn, name_record(w, arena, ""), text);
    store_commit(txn, NULL, NULL);
}

static void
settle(struct world *w, const char *items)
{
    CLEANUP_FREE char *body = xasprintf("{\"settle\":[%s]}", items);

    ck_assert_int_eq(world_code(w, &controller, HTTP_POST, JOBS "/a/elements", body), 200);
}

/* One letter per element, as in the job controller's view. */
static const char *
read_states(struct world *w, struct arena *arena)
{
    CLEANUP_ANSWER struct answer a =
        world_ask(w, &controller, HTTP_GET, JOBS "/a/elements?view=record", NULL);
    struct element_chunk chunk = {0};
    char states[11] = "";

    ck_assert_int_eq(a.code, 200);
    if (!element_chunk_parse(&chunk, 0,
                             json_get_text(json_at(json_get(a.body, "chunks"), 0), "text")))
        return "unreadable";
    for (size_t i = 0; i < 10; i++)
        states[i] = "wdfc"[chunk.states[i]];
    element_chunk_fini(&chunk);
    return arena_strdup(arena, states);
}

START_TEST(results_of_elements_are_kept)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_WORLD struct world w;

    begin(&w);
    settle(&w, "{\"index\":0,\"as\":\"Done\"},{\"index\":1,\"as\":\"Failed\"},"
               "{\"index\":9,\"as\":\"Cancelled\"}");

    ck_assert_str_eq(read_states(&w, arena), "dfwwwwwwwc");
    ck_assert_ptr_null(find_record(&w, arena, "/since"));
}
END_TEST

START_TEST(a_record_that_cannot_be_read_is_not_written_over)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_WORLD struct world w;

    begin(&w);
    put_record(&w, LATER);
    settle(&w, "{\"index\":2,\"as\":\"Done\"}");
    settle(&w, "{\"index\":3,\"as\":\"Failed\"}");

    ck_assert_str_eq(find_record(&w, arena, ""), LATER);
    ck_assert_str_eq(read_states(&w, arena), "unreadable");
}
END_TEST

START_TEST(nothing_is_lost_when_the_record_can_be_read_again)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_WORLD struct world w;
    char *before;

    begin(&w);
    settle(&w, "{\"index\":0,\"as\":\"Done\"},"
               "{\"index\":4,\"as\":\"Again\",\"attempt\":1,\"failures\":1}");
    before = xstrdup(find_record(&w, arena, ""));
    put_record(&w, LATER);
    settle(&w, "{\"index\":2,\"as\":\"Done\"},{\"index\":4,\"as\":\"Done\"}");
    settle(&w, "{\"index\":3,\"as\":\"Failed\"}");

    put_record(&w, before);
    ck_assert_str_eq(read_states(&w, arena), "dwdfdwwwww");
    ck_assert_ptr_nonnull(find_record(&w, arena, "/since"));

    settle(&w, "{\"index\":5,\"as\":\"Cancelled\"}");
    ck_assert_str_eq(read_states(&w, arena), "dwdfdcwwww");
    ck_assert_ptr_null(find_record(&w, arena, "/since"));
    free(before);
}
END_TEST

START_TEST(both_go_with_the_job)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_WORLD struct world w;
    const char *name, *since;

    begin(&w);
    put_record(&w, LATER);
    settle(&w, "{\"index\":2,\"as\":\"Done\"}");
    name = name_record(&w, arena, "");
    since = name_record(&w, arena, "/since");
    ck_assert_ptr_nonnull(store_find_secret(w.store, since));

    ck_assert_int_eq(
        world_code(&w, &alice, HTTP_DELETE, JOBS "/a?propagationPolicy=Background", NULL), 200);
    ck_assert_ptr_null(store_find_secret(w.store, name));
    ck_assert_ptr_null(store_find_secret(w.store, since));
}
END_TEST

static const char *
find_held(const struct world *w)
{
    const char *held =
        job_of(store_find(w->store, STORE_PENDING, &job_kind, "default", "a"))->spec.array->held;

    return held != NULL ? held : "";
}

/* A repeated request does not hold again an element that was released
 * meanwhile.
 */
START_TEST(a_task_that_was_interrupted_too_often_is_held_once)
{
    static const char *const items = "{\"index\":4,\"as\":\"Again\",\"ofAttempt\":1,\"attempt\":2,"
                                     "\"interrupted\":2,\"hold\":true},"
                                     "{\"index\":5,\"as\":\"Again\",\"ofAttempt\":0,\"attempt\":1,"
                                     "\"interrupted\":1},"
                                     "{\"index\":6,\"as\":\"Again\",\"ofAttempt\":1,\"attempt\":2,"
                                     "\"interrupted\":2,\"hold\":true}";
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_WORLD struct world w;

    begin(&w);
    settle(&w, items);
    ck_assert_str_eq(find_held(&w), "4,6");
    ck_assert_ptr_nonnull(strstr(find_record(&w, arena, ""), " 4=2/0/0 5=1/0/0/1 6=2/0/0"));
    ck_assert_int_eq(
        world_code(&w, &alice, HTTP_PATCH, JOBS "/a", "{\"spec\":{\"array\":{\"held\":\"6\"}}}"),
        200);
    settle(&w, items);
    ck_assert_str_eq(find_held(&w), "6");
}
END_TEST

/* The pod was removed without the job controller, which notices that later. */
START_TEST(a_task_whose_count_is_in_the_record_alone_is_held_once)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_WORLD struct world w;

    begin(&w);
    settle(&w, "{\"index\":4,\"as\":\"Again\",\"ofAttempt\":1,\"attempt\":2,"
               "\"interrupted\":2}");
    ck_assert_str_eq(find_held(&w), "");
    settle(&w, "{\"index\":4,\"as\":\"Again\",\"ofAttempt\":1,\"attempt\":2,"
               "\"interrupted\":2,\"hold\":true}");
    ck_assert_str_eq(find_held(&w), "4");
    ck_assert_ptr_nonnull(strstr(find_record(&w, arena, ""), " 4=2/0/0"));
    ck_assert_ptr_null(strstr(find_record(&w, arena, ""), " 4=2/0/0/"));
}
END_TEST

static void
run_and_remove(struct world *w, unsigned index)
{
    const struct object *job = store_find(w->store, STORE_PENDING, &job_kind, "default", "a");
    CLEANUP_FREE char *pod =
        xasprintf("{\"metadata\":{\"name\":\"a-%u\",\"annotations\":{"
                  "\"batch.kubernetes.io/job-completion-index\":\"%u\"},"
                  "\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
                  "\"name\":\"a\",\"uid\":\"%s\",\"controller\":true}]},"
                  "\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"host\","
                  "\"command\":[\"/bin/true\"]}]}}",
                  index, index, job->meta->uid);
    CLEANUP_FREE char *path = xasprintf(PODS "/a-%u", index);
    CLEANUP_FREE char *now = xasprintf("%s?gracePeriodSeconds=0", path);

    ck_assert_int_eq(world_code(w, &controller, HTTP_POST, PODS, pod), 201);
    ck_assert_int_eq(world_code(w, &controller, HTTP_DELETE, now, NULL), 200);
}

/* The agent may remove an element's pod before the job controller has seen how
 * the pod ended.
 */
START_TEST(one_of_a_cancelled_range_is_cancelled_whoever_removes_its_pod)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_WORLD struct world w;

    begin(&w);
    ck_assert_int_eq(world_code(&w, &controller, HTTP_PATCH, JOBS "/a",
                                "{\"spec\":{\"array\":{\"cancelled\":\"3-5\"}}}"),
                     200);
    run_and_remove(&w, 4);
    run_and_remove(&w, 6);
    ck_assert_str_eq(read_states(&w, arena), "wwwwcwwwww");
}
END_TEST

SUITE("element_record", one_of_a_cancelled_range_is_cancelled_whoever_removes_its_pod,
      a_task_that_was_interrupted_too_often_is_held_once,
      a_task_whose_count_is_in_the_record_alone_is_held_once, results_of_elements_are_kept,
      a_record_that_cannot_be_read_is_not_written_over,
      nothing_is_lost_when_the_record_can_be_read_again, both_go_with_the_job)
