/* SPDX-License-Identifier: Apache-2.0 */
/* place.h - a store in its own directory, with a loop to run it
 *
 * Short functions make changes; place_settle runs the loop until committed
 * changes are durable.
 */
#pragma once

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/loop/loop.h"
#include "testsuite/lib/scratch.h"

struct place {
    char *directory;
    const char *database;             /* NULL: a file in the directory */
    const struct engine_waits *waits; /* or NULL */
    void (*moved)(const struct object *before, const struct object *after, void *context);
    struct loop *loop;
    struct store *store;
    struct clock clock; /* stopped at `now_us` */
    int64_t now_us;
    int64_t log_age_s;
    size_t log_bytes;
    int64_t event_age_s;
    size_t event_limit;
    unsigned failures;
    struct error failure;
};

static inline int64_t
place_now(struct clock *clock)
{
    return container_of(clock, struct place, clock)->now_us;
}

static inline void
place_failed(const struct error *err, void *context)
{
    struct place *p = context;

    p->failures++;
    p->failure = *err;
    loop_stop(p->loop);
}

static inline int
place_try_open(struct place *p, struct error *err)
{
    const struct store_settings settings = {
        .loop = p->loop,
        .clock = &p->clock,
        .location = {p->directory, p->database},
        .waits = p->waits,
        .follow_pause_us = 1,
        .moved = p->moved,
        .reserve_bytes = 64 << 10,
        .log_age_s = p->log_age_s,
        .log_bytes = p->log_bytes,
        .event_age_s = p->event_age_s,
        .event_limit = p->event_limit,
        .failed = place_failed,
        .context = p,
    };

    return store_open(&settings, &p->store, err);
}

static inline void
place_open(struct place *p)
{
    struct error err = {0};

    ck_assert_msg(place_try_open(p, &err) == 0, "%s", err.text);
}

static inline void
place_init(struct place *p)
{
    *p = (struct place){
        .directory = scratch_new(),
        .loop = loop_new(),
        .clock = {place_now, place_now},
        .now_us = 1,
    };
    place_open(p);
}

static inline void
place_reopen(struct place *p)
{
    store_close(p->store);
    place_open(p);
}

static inline void
place_fini(struct place *p)
{
    store_close(p->store);
    loop_free(p->loop);
    scratch_freep(&p->directory);
}

static inline void
place_stop(int outcome, void *context)
{
    (void)outcome;
    loop_stop(context);
}

static inline void
place_settle(struct place *p)
{
    store_when_durable(p->store, place_stop, p->loop);
    loop_run(p->loop);
}

/* An object of the kind with further members, at the next revision. */
static inline const struct object *
place_object(const struct kind *kind, int64_t revision, const char *namespace, const char *name,
             const char *more)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{"
                  "\"name\":\"%s\",\"namespace\":\"%s\","
                  "\"resourceVersion\":\"%" PRId64 "\"}%s}",
                  kind->name, kind->api_version, name, namespace, revision, more);
    const struct object *object = NULL;
    struct error err = {0};

    ck_assert_msg(object_parse(kind, text, strlen(text), &object, &err) == 0, "%s: %s", err.text,
                  text);
    return object;
}

/* A pod of namespace "a" on a node, with a word that identifies its version. */
static inline const struct object *
place_pod(int64_t revision, const char *name, const char *node, const char *word)
{
    CLEANUP_FREE char *more = xasprintf(",\"spec\":{\"containers\":[{\"name\":\"main\","
                                        "\"command\":[\"%s\"]}],\"nodeName\":\"%s\"}",
                                        word, node);

    return place_object(&pod_kind, revision, "a", name, more);
}

static inline void
place_txn_put(struct store_txn *txn, const char *name, const char *node)
{
    store_txn_put(txn, place_pod(store_txn_revision(txn), name, node, "x"), NULL);
}

static inline void
place_put(struct place *p, const char *name, const char *node)
{
    struct store_txn *txn = store_begin(p->store);

    place_txn_put(txn, name, node);
    store_commit(txn, NULL, NULL);
}

static inline void
place_txn_remove(struct store_txn *txn, const char *name)
{
    store_txn_remove(txn, place_pod(store_txn_revision(txn), name, "gone", "x"));
}

static inline void
place_remove(struct place *p, const char *name)
{
    struct store_txn *txn = store_begin(p->store);

    place_txn_remove(txn, name);
    store_commit(txn, NULL, NULL);
}

static inline const struct object *
place_find(const struct place *p, const char *name)
{
    return store_find(p->store, STORE_PUBLISHED, &pod_kind, "a", name);
}

/* The names of a list: "name name ...". */
struct place_names {
    char text[4096];
    unsigned limit; /* 0: none */
    unsigned count;
};

static inline bool
place_add_name(const struct object *object, void *context)
{
    struct place_names *names = context;
    size_t used = strlen(names->text);

    snprintf(names->text + used, sizeof(names->text) - used, "%s%s", used > 0 ? " " : "",
             object->meta->name);
    return ++names->count != names->limit;
}
