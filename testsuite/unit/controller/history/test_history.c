/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history.h"

#include <check.h>
#include <string.h>

#include "controller/history/history_question.h"
#include "controller/history/history_reader.h"
#include "lib/base/strbuf.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/store/place.h"
#include <sqlite3.h>

#define QUEUE_MOST 2500 /* ends that are queued with their objects; more than a slice of them */
#define BEGIN_US   (INT64_C(1700000000) * 1000000)

struct scene {
    struct place place;
    struct history *history;
    struct timer *look;
    uint64_t wanted; /* rows to be written */
};

static void
look(void *arg)
{
    struct scene *s = arg;
    struct history_status status;

    history_status(s->history, &status);
    if (status.is_open && status.waiting == 0 && status.written >= s->wanted)
        loop_stop(s->place.loop);
    else
        timer_start(s->look, 5);
}

/* Waits until that many rows were written since the history was made. */
static void
await(struct scene *s, uint64_t wanted)
{
    s->wanted = wanted;
    timer_start(s->look, 0);
    loop_run(s->place.loop);
}

static void
start(struct scene *s)
{
    s->history = history_new(&(struct history_settings){
        .loop = s->place.loop,
        .clock = &s->place.clock,
        .store = s->place.store,
        .directory = s->place.directory,
        .queue_most = QUEUE_MOST,
    });
}

static void
stop(struct scene *s)
{
    history_stop(s->history);
    history_free(s->history);
    s->history = NULL;
}

static void
put_system(struct place *p)
{
    static const char text[] = "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{"
                               "\"name\":\"kube-system\",\"uid\":\"us\","
                               "\"resourceVersion\":\"1\"}}";
    const struct object *object = NULL;
    struct store_txn *txn = store_begin(p->store);

    ck_assert_int_eq(object_parse(&namespace_kind, text, strlen(text), &object, NULL), 0);
    store_txn_put(txn, object, NULL);
    store_commit(txn, NULL, NULL);
}

static void
scene_init(struct scene *s)
{
    *s = (struct scene){0};
    place_init(&s->place);
    s->place.now_us = BEGIN_US;
    s->look = timer_new(s->place.loop, look, s);
    put_system(&s->place);
    place_settle(&s->place);
    start(s);
}

static void
scene_fini(struct scene *s)
{
    stop(s);
    timer_free(s->look);
    place_fini(&s->place);
}

/* A pod that has ended. */
static const struct object *
ended_pod(struct store_txn *txn, int64_t n)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"
                  "\"name\":\"p%lld\",\"namespace\":\"a\","
                  "\"uid\":\"00000000-0000-4000-8000-%012lld\","
                  "\"creationTimestamp\":\"2023-11-14T22:13:20Z\","
                  "\"resourceVersion\":\"%lld\"},"
                  "\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"main\"}]},"
                  "\"status\":{\"phase\":\"Succeeded\"}}",
                  (long long)n, (long long)n, (long long)store_txn_revision(txn));
    const struct object *object = NULL;
    struct error err = {0};

    ck_assert_msg(object_parse(&pod_kind, text, strlen(text), &object, &err) == 0, "%s", err.text);
    return object;
}

static void
end_pods(struct scene *s, int64_t first, int64_t last)
{
    struct store_txn *txn = store_begin(s->place.store);

    for (int64_t n = first; n <= last; n++)
        store_txn_put(txn, ended_pod(txn, n), NULL);
    store_commit(txn, NULL, NULL);
}

static void
remove_pod(struct scene *s, int64_t n)
{
    struct store_txn *txn = store_begin(s->place.store);
    const struct object *pod = ended_pod(txn, n);

    history_note_removal(s->history, txn, pod);
    store_txn_remove(txn, pod);
    store_commit(txn, NULL, NULL);
}

/* The number of pods that have exactly one row. */
static int64_t
count_rows(struct scene *s, int64_t pods)
{
    CLEANUP_FREE char *path = xasprintf("%s/history.db", s->place.directory);
    CLEANUP_FREE unsigned char *seen = xcalloc((size_t)pods + 1, 1);
    struct history_question q = {.rights = {.is_all = true}, .limit = 1000000};
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct history_reader *reader = NULL;
    int64_t once = 0;

    ck_assert_int_eq(history_reader_open(path, 0, &reader, NULL), 0);
    ck_assert_int_eq(history_reader_answer(reader, &q, INT64_C(60000000), &text, NULL), 0);
    history_reader_close(reader);
    for (const char *at = text.text; (at = strstr(at, "\"pod\":\"p")) != NULL; at++) {
        const int64_t n = strtoll(at + strlen("\"pod\":\"p"), NULL, 10);

        ck_assert_int_ge(n, 1);
        ck_assert_int_le(n, pods);
        seen[n]++;
    }
    for (int64_t n = 1; n <= pods; n++)
        once += seen[n] == 1;
    return once;
}

/* Nobody else can write to the file until it is closed. */
static sqlite3 *
lock_file(const struct scene *s)
{
    CLEANUP_FREE char *path = xasprintf("%s/history.db", s->place.directory);
    sqlite3 *db = NULL;

    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_busy_timeout(db, 10000), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    return db;
}

START_TEST(ends_that_find_the_queue_full_are_taken_from_the_store_later)
{
    const int64_t pods = QUEUE_MOST + 500;
    struct history_status status;
    struct scene s;
    sqlite3 *lock;

    scene_init(&s);
    await(&s, 0);
    lock = lock_file(&s); /* otherwise rows are written before the queue is full */
    end_pods(&s, 1, pods);
    place_settle(&s.place);
    history_status(s.history, &status);
    ck_assert_uint_gt(status.waiting, QUEUE_MOST);
    ck_assert_int_eq(sqlite3_close(lock), SQLITE_OK);

    remove_pod(&s, pods); /* one that did not fit into the queue */
    await(&s, (uint64_t)pods);

    history_status(s.history, &status);
    ck_assert_uint_eq(status.lost, 0);
    ck_assert_int_eq(count_rows(&s, pods), pods);
    scene_fini(&s);
}
END_TEST

START_TEST(ends_of_when_nobody_followed_are_found_from_the_watermark_on)
{
    struct scene s;

    scene_init(&s);
    await(&s, 0);
    end_pods(&s, 1, 10);
    await(&s, 10);
    stop(&s);
    end_pods(&s, 11, 30);
    place_settle(&s.place);
    place_reopen(&s.place);

    start(&s);
    await(&s, 20);

    ck_assert_int_eq(count_rows(&s, 30), 30);
    scene_fini(&s);
}
END_TEST

START_TEST(a_clock_that_leaps_loses_and_doubles_nothing)
{
    struct scene s;

    scene_init(&s);
    await(&s, 0);
    end_pods(&s, 1, 10);
    await(&s, 10);
    s.place.now_us = 0;
    end_pods(&s, 11, 20);
    await(&s, 20);
    s.place.now_us = BEGIN_US * 3;
    end_pods(&s, 21, 30);
    await(&s, 30);

    ck_assert_int_eq(count_rows(&s, 30), 30);
    scene_fini(&s);
}
END_TEST

SUITE("history", ends_that_find_the_queue_full_are_taken_from_the_store_later,
      ends_of_when_nobody_followed_are_found_from_the_watermark_on,
      a_clock_that_leaps_loses_and_doubles_nothing)
