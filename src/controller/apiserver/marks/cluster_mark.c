/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster's uid is that of its namespace kube-system. A mark is a text that
 * agents keep and send back: uid, durable revision, last job id, the run that
 * issued it, a seal that only this cluster's store can make, and then the brief
 * form of the store's chain of runs (store/lineage/run_chain.h) with a seal of
 * its own, which an earlier release does not read. A mark that is not of the
 * store's past shows that the store lacks what agents have seen: it was restored
 * from a backup, or its directory was put back. Then revisions and ids continue
 * above those that were issued before, and agents receive the lost ranges of
 * revisions, so that they keep the pods that were made at them; the same for
 * pods whose rows cannot be read, and for revisions that a start has skipped.
 */
#include "controller/apiserver/marks/cluster_mark.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/marks/node_reports.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/directory/backup.h"
#include "controller/store/lineage/revision_ranges.h"
#include "controller/store/lineage/run_chain.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/auth/digest.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define KEY_NAME "cluster/mark-key"

/* This is added to the highest mark, for whatever was issued after that mark. */
#define MORE_REVISIONS 1000000
#define MORE_IDS       1000

#define RANGES 1000 /* with more, one range covers all */

/* Agents of an earlier release keep a text of 1024 bytes at most. */
#define BRIEF_SIZE 800
#define BRIEF_SEAL 32 /* characters of it */

struct sealed_mark {
    char uid[64];
    int64_t revision;
    int64_t job_id;
    char run[20]; /* of the store's opening that issued the mark */
    char seal[DIGEST_HEX_SIZE];
    char brief[BRIEF_SIZE]; /* "": none */
    char brief_seal[DIGEST_HEX_SIZE];
};

static const char *
cluster_uid(const struct request *q)
{
    const struct object *namespace =
        store_find(q->server->store, STORE_PUBLISHED, &namespace_kind, NULL, "kube-system");

    return namespace != NULL ? namespace->meta->uid : NULL;
}

static void
seal_text(const char *key, const char *text, char out[DIGEST_HEX_SIZE])
{
    struct digest_part part = {text, strlen(text)};
    struct digest digest;

    digest_hmac(key, strlen(key), &part, 1, &digest);
    digest_format(&digest, out);
}

static void
seal(const char *key, const struct sealed_mark *mark, char out[DIGEST_HEX_SIZE],
     char out_brief[DIGEST_HEX_SIZE])
{
    char text[192 + BRIEF_SIZE];
    int length = snprintf(text, sizeof(text), "%s %" PRId64 " %" PRId64 " %s", mark->uid,
                          mark->revision, mark->job_id, mark->run);

    seal_text(key, text, out);
    snprintf(text + length, sizeof(text) - (size_t)length, " %s", mark->brief);
    seal_text(key, text, out_brief);
    out_brief[BRIEF_SEAL] = '\0';
}

static bool
is_same_digest(const char *a, const char *b)
{
    struct digest ours, theirs;

    return digest_parse(a, &ours) == 0 && digest_parse(b, &theirs) == 0
           && digest_equals(&ours, &theirs);
}

/* Returns false for a mark that this cluster did not seal: anybody could write
 * one, and use up the numbers.
 */
static bool
read_mark(const char *key, const char *text, struct sealed_mark *ret_mark)
{
    char wanted[DIGEST_HEX_SIZE], wanted_brief[DIGEST_HEX_SIZE];
    int n;

    *ret_mark = (struct sealed_mark){0};
    n = text == NULL || key == NULL
            ? 0
            : sscanf(text, "%63s %" SCNd64 " %" SCNd64 " %19s %64s %799s %32s", ret_mark->uid,
                     &ret_mark->revision, &ret_mark->job_id, ret_mark->run, ret_mark->seal,
                     ret_mark->brief, ret_mark->brief_seal);
    if (n < 5)
        return false;
    seal(key, ret_mark, wanted, wanted_brief);
    if (n < 7 || strcmp(wanted_brief, ret_mark->brief_seal) != 0)
        ret_mark->brief[0] = '\0';
    return is_same_digest(wanted, ret_mark->seal);
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

static uint64_t
run_of(const struct sealed_mark *mark)
{
    return strtoull(mark->run, NULL, 16);
}

/* The last revision that the store and the run of the mark have in common, at
 * most `most`.
 */
static int64_t
find_common_to(struct request *q, const struct sealed_mark *mark, int64_t most)
{
    struct store *store = q->server->store;
    int64_t revision, job_id;

    store_durable(store, &revision, &job_id);
    return run_chain_common(store_runs(store), revision, run_of(mark), most,
                            mark->brief[0] != '\0' ? mark->brief : NULL);
}

static int64_t
find_common(struct request *q, const struct sealed_mark *mark)
{
    return find_common_to(q, mark, mark->revision);
}

static void
add_lost(struct request *q, struct store_txn *txn, int64_t after, int64_t before)
{
    struct revision_ranges lost;
    CLEANUP_FREE char *text = NULL;

    revision_ranges_parse(store_find_secret(q->server->store, STORE_LOST_REVISIONS), &lost);
    revision_ranges_add(&lost, after, before);
    text = revision_ranges_format(&lost);
    store_txn_put_secret(txn, STORE_LOST_REVISIONS, text);
}

/* Raises revision and job id: the store does not know what was issued after its
 * state, and no number may be issued twice.
 */
static bool
go_beyond(struct request *q, struct store_txn *txn, const struct sealed_mark *mark)
{
    int64_t common = find_common(q, mark);
    int64_t revision = mark->revision + MORE_REVISIONS;
    int64_t job_id = mark->job_id + MORE_IDS;

    store_txn_raise(txn, revision, job_id);
    if (mark->revision > common)
        add_lost(q, txn, common, revision + 1);
    if (!note_in_namespace(q, txn))
        return false;
    log_warning("the store is older than what node '%s' has seen of this "
                "cluster (revision %" PRId64 ", job %" PRId64 "; the store: "
                "%" PRId64 "): it was restored from a backup, its directory was "
                "put back, or it lost changes. New job ids start after %" PRId64
                "; pods that run but are unknown to the store are kept: kctl orphans",
                q->route.name, mark->revision, mark->job_id, common, job_id);
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
add_stored(struct request *q, struct json *list, const char *secret)
{
    struct revision_ranges ranges;

    revision_ranges_parse(store_find_secret(q->server->store, secret), &ranges);
    for (size_t i = 0; i < ranges.count; i++)
        add_range(q, list, ranges.list[i].after, ranges.list[i].before);
}

/* An agent that finds more ranges than before lists everything again. That is
 * not needed for those that a start has skipped: they are told apart by their
 * number, and come last. An earlier release reads them all alike.
 */
static void
add_ranges(struct request *q, struct json *tree)
{
    struct json *list = json_array(q->arena);
    uint32_t n_lost;

    add_stored(q, list, STORE_LOST_REVISIONS);
    add_damaged(q, list);
    n_lost = json_count(list);
    add_stored(q, list, STORE_SKIPPED_REVISIONS);
    json_set(q->arena, tree, "lost", list);
    json_set_int(q->arena, tree, "skipped", json_count(list) - n_lost);
}

/* Asks for what has ended since a copy of the store was made only if there can be
 * such a copy. Only the agent's second request has it, because the first does not
 * know which revisions are lost.
 */
static bool
wants_ended(const struct request *q)
{
    const struct store *store = q->server->store;

    return json_is_true(json_get(q->body, "listsEnded")) && json_get(q->body, "pods") != NULL
           && json_get(q->body, "ended") == NULL
           && (store_find_secret(store, STORE_LOST_REVISIONS) != NULL
               || store_find_secret(store, STORE_SKIPPED_REVISIONS) != NULL);
}

static void
write_brief(struct request *q, struct sealed_mark *mark)
{
    CLEANUP_STRBUF struct strbuf brief = STRBUF_INIT;

    run_chain_write_brief(store_runs(q->server->store), mark->revision, &brief);
    snprintf(mark->brief, sizeof(mark->brief), "%s", brief.text);
}

/* `theirs`: the mark of the node; NULL: it has none of this cluster. */
static void
answer_mark(struct request *q, const char *key, const char *uid, const struct sealed_mark *theirs)
{
    struct store *store = q->server->store;
    struct json *tree = json_object(q->arena);
    struct sealed_mark mark = {0};

    snprintf(mark.uid, sizeof(mark.uid), "%s", uid);
    snprintf(mark.run, sizeof(mark.run), "%016" PRIx64, store_run(store));
    store_durable(store, &mark.revision, &mark.job_id);
    write_brief(q, &mark);
    seal(key, &mark, mark.seal, mark.brief_seal);
    json_set_string(q->arena, tree, "kind", "ClusterMark");
    json_set_string(q->arena, tree, "apiVersion", "kiln.hpc/v1");
    json_set_string(q->arena, tree, "clusterUID", uid);
    json_set_string(q->arena, tree, "mark",
                    arena_printf(q->arena, "%s %" PRId64 " %" PRId64 " %s %s %s %s", mark.uid,
                                 mark.revision, mark.job_id, mark.run, mark.seal, mark.brief,
                                 mark.brief_seal));
    json_set_int(q->arena, tree, "since", store_begun_at(store));
    /* The node may have seen more of the run of its mark than the mark says. */
    if (theirs != NULL)
        json_set_int(q->arena, tree, "common", find_common_to(q, theirs, INT64_MAX));
    if (node_reports_are_awaited(q->server->node_reports))
        json_set_bool(q->arena, tree, "awaitsNodes", true);
    if (wants_ended(q))
        json_set_bool(q->arena, tree, "wantsEnded", true);
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

/* The range that a mark shows to be lost may have been recorded already. */
static bool
is_beyond(struct request *q, const struct sealed_mark *mark)
{
    struct store *store = q->server->store;
    int64_t common = find_common(q, mark), revision, job_id;
    struct revision_ranges lost;

    revision_ranges_parse(store_find_secret(store, STORE_LOST_REVISIONS), &lost);
    store_durable(store, &revision, &job_id);
    return mark->job_id > job_id
           || (mark->revision > common && !revision_ranges_covers(&lost, common, mark->revision));
}

static enum node_report
describe(struct request *q, const struct sealed_mark *mark)
{
    const struct run_chain *runs = store_runs(q->server->store);

    if (find_common(q, mark) < mark->revision)
        return NODE_REPORT_OTHER;
    /* A chain of one run: the store was last opened by an earlier release. */
    for (size_t i = runs->count; i-- > 0 && i + 2 >= runs->count;)
        if (runs->links[i].run == run_of(mark))
            return NODE_REPORT_LAST_RUN;
    return runs->count == 1 ? NODE_REPORT_LAST_RUN : NODE_REPORT_EARLIER;
}

/* An agent that could list its pods, but did not know that it should, asks again
 * with the list when the answer says that nodes are awaited; likewise with those that
 * have ended.
 */
static bool
is_whole(const struct request *q)
{
    return (json_get(q->body, "pods") != NULL || !json_is_true(json_get(q->body, "listsPods")))
           && !wants_ended(q);
}

void
cluster_mark_serve(struct request *q, cluster_mark_take_fn *take_held)
{
    struct store *store = q->server->store;
    const char *key = store_find_secret(store, KEY_NAME);
    const char *uid = cluster_uid(q);
    enum node_report report = NODE_REPORT_EARLIER;
    struct store_txn *txn = NULL;
    bool is_older = false, is_ours, is_fine = true;
    struct sealed_mark mark;

    /* Agents retry after this failure: they end no pod and keep no other uid.
     */
    if (uid == NULL && write_is_damaged(q, 500, &namespace_kind, NULL, "kube-system")) {
        request_finish_durably(q);
        return;
    }
    if (uid == NULL || key == NULL) {
        reply_not_found(&q->reply, &node_kind, q->route.name);
        request_finish_durably(q);
        return;
    }
    is_ours = read_mark(key, json_get_text(q->body, "mark"), &mark) && strcmp(mark.uid, uid) == 0;
    if (is_ours) {
        report = describe(q, &mark);
        is_older = is_beyond(q, &mark);
        if (is_older) {
            txn = store_begin(store);
            is_fine = go_beyond(q, txn, &mark);
        }
        is_fine = is_fine && take_held(q, &txn);
    }
    if (!is_fine) {
        if (txn != NULL)
            request_rollback(q, txn);
        else
            request_finish_durably(q);
        return;
    }
    answer_mark(q, key, uid, is_ours ? &mark : NULL);
    if (txn != NULL)
        store_commit(txn, is_older ? forget_before : NULL, store);
    if (q->principal->type == PRINCIPAL_AGENT)
        node_reports_note(q->server->node_reports, q->route.name, report, is_whole(q));
    request_finish_durably(q);
}
