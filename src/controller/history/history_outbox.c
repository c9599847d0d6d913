/* SPDX-License-Identifier: Apache-2.0 */
/* history_outbox.c - rows that are kept in the store, because their object is
 * removed before they are written
 */
#include <stdio.h>
#include <string.h>

#include "controller/history/history_state.h"
#include "controller/store/store.h"
#include "lib/api/job/history_row.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define SECRETS_MOST   200000
#define DELETER_SECRET "job-deleted-by/" /* followed by the Job's uid */

const struct object *
history_find_job(const struct history *h, enum store_head head, const struct object *pod)
{
    const struct owner_reference *owner = meta_controller_of(pod->meta, &job_kind);
    const struct object *job;

    if (owner == NULL)
        return NULL;
    job = store_find(h->s.store, head, &job_kind, pod->meta->namespace, owner->name);
    return job != NULL && strcmp(job->meta->uid, owner->uid) == 0 ? job : NULL;
}

/* A Job that ended without a pod has a row of its own; so have the tasks of an
 * array that had none, and a Job that ended while it waited after a requeue.
 */
static bool
is_lone_end(const struct object *job)
{
    const struct job *j = job_of(job);
    const char *manager = j->spec.managed_by;

    return job_is_finished(j)
           && (j->status.attempts == 0 || job_has_unstarted_tasks(j) || history_row_waited_again(j))
           && (manager == NULL || strcmp(manager, MANAGED_BY_KILN) == 0);
}

bool
history_is_end(const struct object *object)
{
    return object->kind == &pod_kind ? pod_is_finished(pod_of(object)) : is_lone_end(object);
}

void
history_secret_name(const char *uid, char out[128])
{
    (void)snprintf(out, 128, HISTORY_SECRET "%s", uid);
}

static bool
is_unwritten(const struct history *h, const struct object *object)
{
    return !h->is_open || object->revision > store_revision(h->s.store)
           || map_find(h->unwritten, object->meta->uid) != NULL;
}

static void
keep_row(struct history *h, struct store_txn *txn, const struct object *object)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const int64_t now_us = clock_real_us(h->s.clock);
    struct history_row row;
    char name[128];

    if (h->n_secrets >= SECRETS_MOST) {
        if (h->lost++ == 0)
            log_error("cannot write history, and %d rows wait in the store "
                      "already: attempts that end and are removed from now on "
                      "get no row",
                      SECRETS_MOST);
        return;
    }
    if (object->kind == &pod_kind)
        history_row_of_pod(&row, arena, object, history_find_job(h, STORE_PENDING, object),
                           history_find_deleter(h, object), now_us);
    else
        history_row_of_job(&row, arena, object, now_us);
    row.revision = store_txn_revision(txn);
    json_print(record_encode(&history_row_record, arena, &row), &text);
    history_secret_name(object->meta->uid, name);
    store_txn_put_secret(txn, name, text.text);
    h->n_secrets++;
}

/* ---- Jobs that are removed before their pods ---- */

static void
deleter_name(const char *uid, char out[128])
{
    (void)snprintf(out, 128, DELETER_SECRET "%s", uid);
}

const char *
history_find_deleter(const struct history *h, const struct object *pod)
{
    const struct owner_reference *owner = meta_controller_of(pod->meta, &job_kind);
    char name[128];

    if (owner == NULL)
        return NULL;
    deleter_name(owner->uid, name);
    return store_find_secret(h->s.store, name);
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
has_pods(const struct history *h, const char *uid, const struct object *but)
{
    const struct object *found = but;

    store_visit_index(h->s.store, &pod_kind, POD_BY_JOB, STORE_PENDING, uid, is_it, &found);
    return found != but;
}

void
history_note_deleter(struct history *h, struct store_txn *txn, const struct object *job,
                     const char *user)
{
    char name[128];

    if (h == NULL || job_is_finished(job_of(job)) || !has_pods(h, job->meta->uid, NULL))
        return;
    deleter_name(job->meta->uid, name);
    store_txn_put_secret(txn, name, user);
}

/* The name of the user who deleted a Job is removed with the Job's last pod. */
static void
forget_deleter(struct history *h, struct store_txn *txn, const struct object *object)
{
    const bool is_pod = object->kind == &pod_kind;
    const struct owner_reference *owner =
        is_pod ? meta_controller_of(object->meta, &job_kind) : NULL;
    const char *uid = owner != NULL ? owner->uid : object->meta->uid;
    char name[128];

    if (is_pod && owner == NULL)
        return;
    deleter_name(uid, name);
    if (store_find_secret(h->s.store, name) != NULL
        && (!is_pod || history_find_job(h, STORE_PENDING, object) == NULL)
        && !has_pods(h, uid, is_pod ? object : NULL))
        store_txn_remove_secret(txn, name);
}

void
history_note_removal(struct history *h, struct store_txn *txn, const struct object *object)
{
    if (h == NULL)
        return;
    if (object->kind == &job_kind) {
        if (is_lone_end(object) && is_unwritten(h, object))
            keep_row(h, txn, object);
    } else if (object->kind == &pod_kind) {
        const struct object *job = history_find_job(h, STORE_PENDING, object);

        if (history_is_end(object)
                ? is_unwritten(h, object)
                : history_row_is_due(pod_of(object), job != NULL ? job_of(job) : NULL))
            keep_row(h, txn, object);
    }
    if (object->kind == &job_kind || object->kind == &pod_kind)
        forget_deleter(h, txn, object);
}

void
history_drop_secrets(struct history *h, const struct history_queue *written)
{
    struct store_txn *txn = NULL;

    for (size_t i = 0; i < written->count; i++) {
        char name[128];

        history_secret_name(written->items[i].key, name);
        if (store_find_secret(h->s.store, name) == NULL)
            continue;
        if (txn == NULL)
            txn = store_begin(h->s.store);
        store_txn_remove_secret(txn, name);
        h->n_secrets -= h->n_secrets > 0;
    }
    if (txn != NULL)
        store_commit(txn, NULL, NULL);
}
