/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_mark.c - nodes/NAME/mark: the identity of this cluster, and the
 * latest state that its store has issued
 *
 * The cluster's uid is that of its namespace kube-system. A mark is a text that
 * agents keep and send back: uid, durable revision, last job id, and a seal
 * that only this cluster's store can make. A mark beyond the state that the
 * store was opened with shows that the store is older than what agents have
 * seen, for instance restored from a backup. Then revisions and ids continue
 * above those that were issued before, and agents receive the lost ranges of
 * revisions, so that they keep the pods that were made at them; the same for
 * pods whose rows cannot be read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/directory/backup.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/auth/digest.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/json/json.h"

#define KEY_NAME "cluster/mark-key"

/* Added to the highest mark, for what was issued after that mark. */
#define MORE_REVISIONS 1000000
#define MORE_IDS       1000

#define RANGES 1000 /* with more, one range covers all */

struct sealed_mark {
    char uid[64];
    int64_t revision;
    int64_t job_id;
    char run[20]; /* of the controller that issued the mark */
    char seal[DIGEST_HEX_SIZE];
};

static const char *
cluster_uid(const struct request *q)
{
    const struct object *namespace =
        store_find(q->server->store, STORE_PUBLISHED, &namespace_kind, NULL, "kube-system");

    return namespace != NULL ? namespace->meta->uid : NULL;
}

static void
seal(const char *key, const struct sealed_mark *mark, char out[DIGEST_HEX_SIZE])
{
    char text[192];
    int length = snprintf(text, sizeof(text), "%s %" PRId64 " %" PRId64 " %s", mark->uid,
                          mark->revision, mark->job_id, mark->run);
    struct digest_part part = {text, (size_t)length};
    struct digest digest;

    digest_hmac(key, strlen(key), &part, 1, &digest);
    digest_format(&digest, out);
}

/* Returns false for a mark that this cluster did not seal: anybody could write
 * one, and use up the numbers.
 */
static bool
read_mark(const char *key, const char *text, struct sealed_mark *ret_mark)
{
    char wanted[DIGEST_HEX_SIZE];
    struct digest ours, theirs;

    if (text == NULL || key == NULL
        || sscanf(text, "%63s %" SCNd64 " %" SCNd64 " %19s %64s", ret_mark->uid,
                  &ret_mark->revision, &ret_mark->job_id, ret_mark->run, ret_mark->seal)
               != 5)
        return false;
    seal(key, ret_mark, wanted);
    return digest_parse(wanted, &ours) == 0 && digest_parse(ret_mark->seal, &theirs) == 0
           && digest_equals(&ours, &theirs);
}

static const char *
add_lost(struct request *q, int64_t after, int64_t before)
{
    const char *so_far = store_find_secret(q->server->store, STORE_LOST_REVISIONS);

    return arena_printf(q->arena, "%s%" PRId64 " %" PRId64 ";", so_far != NULL ? so_far : "", after,
                        before);
}

/* Writes a change at the new revision, so that no watch can continue from a
 * lost revision.
 */
static bool
note_in_namespace(struct request *q, struct store_txn *txn)
{
    const struct object *namespace =
        store_find(q->server->store, STORE_PENDING, &namespace_kind, NULL, "kube-system");
    struct json *tree = object_tree(namespace, q->arena);
    char now[TIME_TEXT_SIZE];

    time_format(clock_real_us(q->server->clock), false, now);
    json_set_string(q->arena, json_make_object(q->arena, json_get(tree, "metadata"), "annotations"),
                    "kiln.hpc/restored-at", now);
    return write_put_other(q, txn, &namespace_kind, tree, object_tree(namespace, q->arena));
}

static void
forget_before(int outcome, void *context)
{
    struct store *store = context;

    if (outcome == 0)
        store_compact(store, store_revision(store) - 1);
}

/* Raises revision and job id: the store does not know what was issued after its
 * state, and no number may be issued twice.
 */
static bool
go_beyond(struct request *q, struct store_txn *txn, const struct sealed_mark *mark)
{
    struct store *store = q->server->store;
    int64_t held = store_opened_at(store);
    int64_t revision = mark->revision + MORE_REVISIONS;
    int64_t job_id = mark->job_id + MORE_IDS;

    store_txn_raise(txn, revision, job_id);
    revision = store_txn_revision(txn);
    if (mark->revision > held)
        store_txn_put_secret(txn, STORE_LOST_REVISIONS, add_lost(q, held, revision));
    if (!note_in_namespace(q, txn))
        return false;
    log_warning("the store is older than what node '%s' has seen of this "
                "cluster (revision %" PRId64 ", job %" PRId64 "; the store: "
                "%" PRId64 "): it was restored from a backup, or lost "
                "changes. New job ids start after %" PRId64 "; pods that run "
                "but are unknown to the store are kept: kctl orphans",
                q->route.name, mark->revision, mark->job_id, held, job_id);
    return true;
}

static void
add_range(struct request *q, struct json *list, int64_t after, int64_t before)
{
    struct json *range = json_object(q->arena);

    json_set_int(q->arena, range, "after", after);
    json_set_int(q->arena, range, "before", before);
    json_append(q->arena, list, range);
}

/* A pod whose row cannot be read is lost, too, at any of its revisions: the
 * number of a row is the pod's first revision.
 */
static void
add_damaged(struct request *q, struct json *list)
{
    size_t n = store_count_damaged(q->server->store);
    int64_t last = 0;

    for (size_t i = 0; i < n; i++) {
        const struct store_damaged *d = store_damaged(q->server->store, i);

        if (d->kind != &pod_kind && d->kind != NULL)
            continue;
        if (n <= RANGES)
            add_range(q, list, d->row - 1, d->last_revision + 1);
        else if (d->last_revision > last)
            last = d->last_revision;
    }
    if (last > 0)
        add_range(q, list, 0, last + 1);
}

static void
add_ranges(struct request *q, struct json *tree)
{
    const char *text = store_find_secret(q->server->store, STORE_LOST_REVISIONS);
    struct json *list = json_array(q->arena);
    int64_t after, before;

    while (text != NULL && sscanf(text, "%" SCNd64 " %" SCNd64, &after, &before) == 2) {
        add_range(q, list, after, before);
        text = strchr(text, ';');
        text = text != NULL ? text + 1 : NULL;
    }
    add_damaged(q, list);
    json_set(q->arena, tree, "lost", list);
}

static void
answer_mark(struct request *q, const char *key, const char *uid)
{
    struct json *tree = json_object(q->arena);
    struct sealed_mark mark = {0};

    snprintf(mark.uid, sizeof(mark.uid), "%s", uid);
    snprintf(mark.run, sizeof(mark.run), "%016" PRIx64, q->server->run);
    store_durable(q->server->store, &mark.revision, &mark.job_id);
    seal(key, &mark, mark.seal);
    json_set_string(q->arena, tree, "kind", "ClusterMark");
    json_set_string(q->arena, tree, "apiVersion", "kiln.hpc/v1");
    json_set_string(q->arena, tree, "clusterUID", uid);
    json_set_string(q->arena, tree, "mark",
                    arena_printf(q->arena, "%s %" PRId64 " %" PRId64 " %s %s", mark.uid,
                                 mark.revision, mark.job_id, mark.run, mark.seal));
    add_ranges(q, tree);
    reply_tree(&q->reply, 201, tree);
}

void
cluster_mark_make_key(struct store *store)
{
    unsigned char bytes[DIGEST_SIZE];
    struct digest digest;
    char hex[DIGEST_HEX_SIZE];
    struct store_txn *txn;

    if (store_find_secret(store, KEY_NAME) != NULL)
        return;
    random_bytes(bytes, sizeof(bytes));
    digest_of(bytes, sizeof(bytes), &digest);
    digest_format(&digest, hex);
    txn = store_begin(store);
    store_txn_put_secret(txn, KEY_NAME, hex);
    store_commit(txn, NULL, NULL);
}

static bool
is_beyond(struct request *q, const struct sealed_mark *mark)
{
    struct store *store = q->server->store;
    const char *lost = store_find_secret(store, STORE_LOST_REVISIONS);
    int64_t after, before = 0, revision, job_id;
    char run[20];

    /* The mark may be the cause of a range that was added already. */
    for (; lost != NULL && *lost != '\0'; lost = strchr(lost, ';') + 1)
        if (sscanf(lost, "%" SCNd64 " %" SCNd64, &after, &before) != 2)
            break;
    snprintf(run, sizeof(run), "%016" PRIx64, q->server->run);
    store_durable(store, &revision, &job_id);
    return strcmp(mark->run, run) != 0
           && (mark->job_id > job_id
               || (mark->revision > store_opened_at(store) && mark->revision > before));
}

void
verb_mark(struct request *q)
{
    struct store *store = q->server->store;
    const char *key = store_find_secret(store, KEY_NAME);
    const char *uid = cluster_uid(q);
    struct store_txn *txn = NULL;
    bool is_older = false;
    struct sealed_mark mark;

    /* Agents retry after this failure: they end no pod and keep no other uid.
     */
    if (uid == NULL && !q->server->policy->is_conformance
        && write_is_damaged(q, 500, &namespace_kind, NULL, "kube-system")) {
        request_finish_durably(q);
        return;
    }
    if (uid == NULL || key == NULL || q->server->policy->is_conformance) {
        reply_not_found(&q->reply, &node_kind, q->route.name);
        request_finish_durably(q);
        return;
    }
    if (read_mark(key, json_get_text(q->body, "mark"), &mark) && strcmp(mark.uid, uid) == 0
        && is_beyond(q, &mark)) {
        is_older = true;
        txn = store_begin(store);
        if (!go_beyond(q, txn, &mark)) {
            request_rollback(q, txn);
            return;
        }
    }
    answer_mark(q, key, uid);
    if (txn != NULL)
        store_commit(txn, is_older ? forget_before : NULL, store);
    request_finish_durably(q);
}
