/* SPDX-License-Identifier: Apache-2.0 */
/* gang_start.c - POST jobs/NAME/start, for the job controller: lets the pods of a gang
 * start, all of them in one transaction or none
 *
 *   {"uid": "...", "pods": [{"name": "job-5-0", "uid": "..."}, ...]}
 *
 * The pods are all members of one attempt (ANNOTATION_START_BARRIER), prepared, and
 * neither over nor asked to end, which only the store knows: the caller's view is older.
 * Each gets ANNOTATION_GANG_STARTED, which its agent sees. A request that comes twice, or
 * late, changes nothing: a mark keeps its time, and members of another attempt have
 * other uids.
 */
#include <inttypes.h>
#include <string.h>

#include "controller/apiserver/objects/put.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_scheduling.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

/* Bounded, because all are marked in one turn of the loop. */
#define MEMBERS_MAX 512

struct gang_start {
    struct request *q;
    const struct object *job;
    const struct object **pods;
    uint32_t count;
    char now[TIME_TEXT_SIZE];
    const char *since; /* the mark that a member has already; NULL: none has one */
};

static bool
refuse(struct gang_start *g, const char *pod, const char *words)
{
    reply_conflict(&g->q->reply, &job_kind, "", g->job->meta->name, "pod %s %s", pod, words);
    return false;
}

static bool
check_job(struct gang_start *g)
{
    const struct job *job = job_of(g->job);
    const char *uid = json_get_text(g->q->body, "uid");
    const char *words = NULL;

    if (uid != NULL && strcmp(uid, g->job->meta->uid) != 0)
        words = "the UID in the request is of another Job";
    else if (g->job->meta->deleted_at_us != 0 || job_is_finished(job) || job_is_cancelled(job))
        words = "the Job has ended or is being ended";
    else if (job->spec.suspend)
        words = "the Job is suspended";
    if (words == NULL)
        return true;
    reply_conflict(&g->q->reply, &job_kind, "", g->job->meta->name, "%s", words);
    return false;
}

static const char *
find_mark(const struct object *pod)
{
    return string_map_find(&pod->meta->annotations, ANNOTATION_GANG_STARTED);
}

static const char *
attempt_of(const struct object *pod)
{
    const char *attempt = string_map_find(&pod->meta->annotations, ANNOTATION_ATTEMPT);

    return attempt != NULL ? attempt : "0";
}

/* The names in the list are in order, so no member is there twice. */
static bool
is_after_last(const struct gang_start *g, const char *name)
{
    return g->count == 0 || strcmp(g->pods[g->count - 1]->meta->name, name) < 0;
}

static bool
add_member(struct gang_start *g, const struct json *item)
{
    const char *name = json_get_text(item, "name"), *uid = json_get_text(item, "uid");
    const struct object *pod = NULL;

    if (name == NULL || uid == NULL || !is_after_last(g, name)) {
        reply_bad_request(&g->q->reply, "each of the pods has a name and a uid, and they are in "
                                        "the order of their names");
        return false;
    }
    pod = store_find(g->q->server->store, STORE_PENDING, &pod_kind, g->job->meta->namespace, name);
    if (pod == NULL || strcmp(pod->meta->uid, uid) != 0
        || !meta_is_controlled_by(pod->meta, g->job))
        return refuse(g, name, "is not there any more");
    if (pod_start_barrier(pod_of(pod)) == 0
        || (g->count > 0 && strcmp(attempt_of(pod), attempt_of(g->pods[0])) != 0))
        return refuse(g, name, "does not start with these others");
    if (pod->meta->deleted_at_us != 0 || pod_is_finished(pod_of(pod)))
        return refuse(g, name, "has ended or is being ended");
    if (!pod_is_prepared(pod_of(pod)))
        return refuse(g, name, "is not prepared");
    if (g->since == NULL)
        g->since = find_mark(pod);
    g->pods[g->count++] = pod;
    return true;
}

static bool
read_members(struct gang_start *g)
{
    const struct json *list = json_get(g->q->body, "pods");
    const int64_t size = job_gang_size(job_of(g->job));
    const uint32_t n = json_count(list);

    if (!json_is(list, JSON_ARRAY) || n == 0 || n > MEMBERS_MAX) {
        reply_bad_request(&g->q->reply, "the body has \"pods\", a list of 1 to %d", MEMBERS_MAX);
        return false;
    }
    if (n != size) {
        reply_conflict(&g->q->reply, &job_kind, "", g->job->meta->name,
                       "%" PRIu32 " pods are not the %" PRId64 " that start together", n, size);
        return false;
    }
    g->pods = arena_new_array(g->q->arena, const struct object *, n);
    for (uint32_t i = 0; i < n; i++)
        if (!add_member(g, json_at(list, i)))
            return false;
    return true;
}

static bool
mark(struct gang_start *g, struct store_txn *txn, const struct object *pod)
{
    struct arena *arena = g->q->arena;
    struct json *patch = json_object(arena), *meta = json_make_object(arena, patch, "metadata");
    struct json *tree;

    json_set_string(arena, json_make_object(arena, meta, "annotations"), ANNOTATION_GANG_STARTED,
                    g->since != NULL ? g->since : g->now);
    if (put_patch(arena, txn, pod, patch) != NULL)
        return true;
    tree = json_dup(arena, object_tree(pod, arena));
    json_set_string(
        arena, json_make_object(arena, json_make_object(arena, tree, "metadata"), "annotations"),
        ANNOTATION_GANG_STARTED, g->since != NULL ? g->since : g->now);
    return write_put_other(g->q, txn, &pod_kind, tree, object_tree(pod, arena));
}

static void
start_all(struct gang_start *g)
{
    struct store_txn *txn = store_begin(g->q->server->store);
    struct json *answer = json_object(g->q->arena);
    int64_t n = 0;

    for (uint32_t i = 0; i < g->count; i++) {
        if (find_mark(g->pods[i]) != NULL)
            continue;
        if (!mark(g, txn, g->pods[i])) {
            request_rollback(g->q, txn);
            return;
        }
        n++;
    }
    json_set_int(g->q->arena, answer, "started", n);
    reply_tree(&g->q->reply, 200, answer);
    if (n > 0 && !g->q->options.is_dry_run) {
        request_commit(g->q, txn);
        return;
    }
    store_rollback(txn);
    request_finish_durably(g->q);
}

void
verb_start_gang(struct request *q)
{
    struct gang_start g = {.q = q, .job = write_find(q)};

    time_format(clock_real_us(q->server->clock), true, g.now);
    if (g.job != NULL && check_job(&g) && read_members(&g))
        start_all(&g);
    else
        request_finish_durably(q);
}
