/* SPDX-License-Identifier: Apache-2.0 */
/* A pod may be removed before its row is on the disk: its Job is deleted, or the disk of history
 * is full for a day. To make the removal wait would let a full disk of accounting stop the
 * cluster, and to write the row after the removal would lose it at a kill in between. So the row
 * goes where the removal goes, into the same transaction of the store, and leaves it when it is
 * written. Bounded, since nobody empties it while the disk stays full.
 */
#include "controller/history/history_outbox.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/store/store.h"
#include "lib/api/job/history_row.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define ROWS_MOST      200000
#define ROW_SECRET     "history/"        /* followed by the uid of the row */
#define DELETER_SECRET "job-deleted-by/" /* followed by the Job's uid */
#define NAME_SIZE      128

struct history_outbox {
    struct store *store;
    struct clock *clock;
    size_t n_rows;
    uint64_t lost;
};

void
history_outbox_free(struct history_outbox *o)
{
    free(o);
}

struct history_outbox *
history_outbox_new(struct store *store, struct clock *clock)
{
    struct history_outbox *o = xnew(struct history_outbox);

    o->store = store;
    o->clock = clock;
    return o;
}

uint64_t
history_outbox_lost(const struct history_outbox *o)
{
    return o->lost;
}

const struct object *
history_outbox_find_job(const struct history_outbox *o, enum store_head head,
                        const struct object *pod)
{
    const struct owner_reference *owner = meta_controller_of(pod->meta, &job_kind);
    const struct object *job;

    if (owner == NULL)
        return NULL;
    job = store_find(o->store, head, &job_kind, pod->meta->namespace, owner->name);
    return job != NULL && strcmp(job->meta->uid, owner->uid) == 0 ? job : NULL;
}

/* ---- Rows ---- */

static void
row_name(const char *uid, char out[NAME_SIZE])
{
    (void)snprintf(out, NAME_SIZE, ROW_SECRET "%s", uid);
}

const char *
history_outbox_find(const struct history_outbox *o, const char *uid)
{
    char name[NAME_SIZE];

    row_name(uid, name);
    return store_find_secret(o->store, name);
}

struct outbox_visit {
    history_outbox_visit_fn *fn;
    void *context;
};

static void
visit_secret(const char *name, const char *value, void *context)
{
    const struct outbox_visit *v = context;

    v->fn(name + strlen(ROW_SECRET), value, v->context);
}

void
history_outbox_visit(struct history_outbox *o, history_outbox_visit_fn *fn, void *context)
{
    struct outbox_visit visit = {fn, context};

    o->n_rows = store_visit_secrets(o->store, ROW_SECRET, visit_secret, &visit);
}

void
history_outbox_keep(struct history_outbox *o, struct store_txn *txn, const struct object *object)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const int64_t now_us = clock_real_us(o->clock);
    struct history_row row;
    char name[NAME_SIZE];

    if (o->n_rows >= ROWS_MOST) {
        if (o->lost++ == 0)
            log_error("cannot write history, and %d rows wait in the store "
                      "already: attempts that end and are removed from now on "
                      "get no row",
                      ROWS_MOST);
        return;
    }
    if (object->kind == &pod_kind)
        history_row_of_pod(&row, arena, object, history_outbox_find_job(o, STORE_PENDING, object),
                           history_outbox_find_deleter(o, object), now_us);
    else
        history_row_of_job(&row, arena, object, now_us);
    row.revision = store_txn_revision(txn);
    json_print(record_encode(&history_row_record, arena, &row), &text);
    row_name(object->meta->uid, name);
    store_txn_put_secret(txn, name, text.text);
    o->n_rows++;
}

void
history_outbox_remove(struct history_outbox *o, const char *const *uids, size_t n)
{
    struct store_txn *txn = NULL;

    for (size_t i = 0; i < n; i++) {
        char name[NAME_SIZE];

        row_name(uids[i], name);
        if (store_find_secret(o->store, name) == NULL)
            continue;
        if (txn == NULL)
            txn = store_begin(o->store);
        store_txn_remove_secret(txn, name);
        o->n_rows -= o->n_rows > 0;
    }
    if (txn != NULL)
        store_commit(txn, NULL, NULL);
}

/* ---- Jobs that are removed before their pods ---- */

static void
deleter_name(const char *uid, char out[NAME_SIZE])
{
    (void)snprintf(out, NAME_SIZE, DELETER_SECRET "%s", uid);
}

const char *
history_outbox_find_deleter(const struct history_outbox *o, const struct object *pod)
{
    const struct owner_reference *owner = meta_controller_of(pod->meta, &job_kind);
    char name[NAME_SIZE];

    if (owner == NULL)
        return NULL;
    deleter_name(owner->uid, name);
    return store_find_secret(o->store, name);
}

static bool
is_it(const struct object *pod, void *context)
{
    const struct object **found = context;

    if (*found != NULL && strcmp(pod->meta->uid, (*found)->meta->uid) == 0)
        return true;
    *found = pod;
    return false;
}

/* Whether the Job has a pod other than `but` (NULL: any pod). */
static bool
has_pods(const struct history_outbox *o, const char *uid, const struct object *but)
{
    const struct object *found = but;

    store_visit_index(o->store, &pod_kind, POD_BY_JOB, STORE_PENDING, uid, is_it, &found);
    return found != but;
}

void
history_outbox_note_deleter(struct history_outbox *o, struct store_txn *txn,
                            const struct object *job, const char *user)
{
    char name[NAME_SIZE];

    if (job_is_finished(job_of(job)) || !has_pods(o, job->meta->uid, NULL))
        return;
    deleter_name(job->meta->uid, name);
    store_txn_put_secret(txn, name, user);
}

void
history_outbox_forget_deleter(struct history_outbox *o, struct store_txn *txn,
                              const struct object *object)
{
    const bool is_pod = object->kind == &pod_kind;
    const struct owner_reference *owner =
        is_pod ? meta_controller_of(object->meta, &job_kind) : NULL;
    const char *uid = owner != NULL ? owner->uid : object->meta->uid;
    char name[NAME_SIZE];

    if (is_pod && owner == NULL)
        return;
    deleter_name(uid, name);
    if (store_find_secret(o->store, name) != NULL
        && (!is_pod || history_outbox_find_job(o, STORE_PENDING, object) == NULL)
        && !has_pods(o, uid, is_pod ? object : NULL))
        store_txn_remove_secret(txn, name);
}
