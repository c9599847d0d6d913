/* SPDX-License-Identifier: Apache-2.0 */
/* make_pods.c - many pods of a Job in one transaction, for the job controller
 *
 * POST jobs/NAME/elements creates pods of an array:
 *
 *   {"make": [POD, POD, ...]}
 *
 * The first takes all steps of a create. The others are copies of its result
 * (element_copy.h): only their names are checked, and they are charged to the
 * quotas. A pod that cannot be a copy takes all steps, too. The answer lists
 * the pods that were not created, each with the message that a request for that
 * pod alone would have had: {"refused": [{"pod": NAME, "message": ...}]}. When
 * a quota refuses one, all that follow are refused. A pod that the Job already
 * has counts as created.
 *
 * POST jobs/NAME/gang creates an attempt of a Job whose attempts are whole, its
 * PodGroup and all of its pods in the same way, except that the second takes all
 * steps, too, because the first may be another program (execution.runs):
 *
 *   {"uid": UID, "group": PODGROUP, "make": [POD, ...]}
 *
 * If one of them is refused, none is created, and the answer is the refusal.
 */
#include <string.h>

#include "controller/apiserver/objects/element_copy.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/create.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_scheduling.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/policy/pod_group.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

struct pod_creation {
    struct request *q;
    const struct object *job;
    struct store_txn *txn;
    const struct json *asked; /* the last pod that took all steps, as requested
                               */
    struct json *made;        /* and its result; NULL: no pod yet */
    struct json *refused;
    const char *refused_to_all; /* the message; NULL: no such refusal */
    bool is_gang;               /* the first that is refused ends it */
    unsigned n_made;
};

static bool
may_copy(const struct pod_creation *c, const struct json *pod)
{
    if (c->is_gang && c->n_made == 1) /* it does not run what the first runs */
        return false;
    return c->made != NULL && element_copy_is_possible(pod, c->asked, c->made);
}

static const struct object *
put_copy(struct pod_creation *c, const struct json *pod)
{
    struct request *q = c->q;
    struct arena_mark mark = arena_mark(q->arena);
    const struct object *object =
        create_copy_within(q, c->txn, element_copy_make(q->arena, c->made, pod));

    if (object != NULL)
        arena_rewind(q->arena, &mark);
    return object;
}

/* A pod of the Job that exists from an earlier try; the watch reports it. */
static bool
is_there(const struct pod_creation *c, const char *name)
{
    const struct object *pod =
        store_find(c->q->server->store, STORE_PENDING, &pod_kind, c->job->meta->namespace, name);

    return pod != NULL && meta_is_controlled_by(pod->meta, c->job);
}

static void
refuse_pod(struct pod_creation *c, const char *name)
{
    struct request *q = c->q;
    struct json *item = json_object(q->arena);
    const char *words = c->refused_to_all;

    if (words == NULL)
        words = json_get_text(q->reply.tree, "message");
    if (q->reply.code == 403)
        c->refused_to_all = words;
    json_set_string(q->arena, item, "pod", name);
    json_set_string(q->arena, item, "message", words != NULL ? words : "");
    json_append(q->arena, c->refused, item);
}

/* Returns false when the transaction cannot continue; the reply says why. */
static bool
make_one(struct pod_creation *c, struct json *pod)
{
    struct request *q = c->q;
    const char *name = json_path_text(pod, "metadata.name");
    const struct object *object = NULL;

    if (name == NULL || is_there(c, name))
        return true;
    q->quota_changes = NULL;
    if (c->refused_to_all == NULL && may_copy(c, pod)) {
        object = put_copy(c, pod);
    } else if (c->refused_to_all == NULL) {
        c->asked = pod;
        c->made = json_dup(q->arena, pod); /* they share parts */
        object = create_within(q, c->txn, c->made);
        if (object == NULL)
            c->made = NULL;
    }
    if (object != NULL)
        c->n_made++;
    else if (c->is_gang || (c->refused_to_all == NULL && q->reply.code >= 500))
        return false;
    else
        refuse_pod(c, name);
    return true;
}

static bool
make_all(struct pod_creation *c, const struct json *pods)
{
    struct request *q = c->q;
    const struct route route = q->route;
    bool is_fine = true;

    q->route.kind = &pod_kind;
    q->route.name = NULL;
    q->route.subresource = SUBRESOURCE_NONE;
    for (uint32_t i = 0; is_fine && i < json_count(pods); i++)
        is_fine = make_one(c, json_at(pods, i));
    q->route = route;
    return is_fine;
}

void
make_pods_of_array(struct request *q, const struct object *job)
{
    struct pod_creation c = {
        .q = q,
        .job = job,
        .txn = store_begin(q->server->store),
        .refused = json_array(q->arena),
    };
    struct json *answer = json_object(q->arena);

    if (!make_all(&c, json_get(q->body, "make"))) {
        request_rollback(q, c.txn);
        return;
    }
    json_set(q->arena, answer, "refused", c.refused);
    reply_tree(&q->reply, 200, answer);
    if (c.n_made > 0) {
        request_commit(q, c.txn);
        return;
    }
    store_rollback(c.txn);
    request_finish_durably(q);
}

/* ---- Gangs ---- */

/* Returns false when it is refused; the reply says why. */
static bool
make_group(struct request *q, struct store_txn *txn, const struct object *job, struct json *group)
{
    const char *name = json_path_text(group, "metadata.name");
    const struct object *is = name != NULL ? store_find(q->server->store, STORE_PENDING,
                                                        &pod_group_kind, job->meta->namespace, name)
                                           : NULL;
    const struct route route = q->route;
    bool is_made;

    if (is != NULL && meta_is_controlled_by(is->meta, job))
        return true;
    if (is != NULL) {
        reply_forbidden(&q->reply, &job_kind, job->meta->name,
                        "PodGroup '%s' is not of this job, whose pods have to be placed together "
                        "under that name; delete it, or submit the job under another name",
                        name);
        return false;
    }
    q->route.kind = &pod_group_kind;
    q->route.name = NULL;
    q->route.subresource = SUBRESOURCE_NONE;
    q->quota_changes = NULL;
    is_made = create_within(q, txn, group) != NULL;
    q->route = route;
    return is_made;
}

static void
make_gang(struct request *q, const struct object *job)
{
    struct pod_creation c = {
        .q = q,
        .job = job,
        .txn = store_begin(q->server->store),
        .is_gang = true,
    };

    if (!make_group(q, c.txn, job, json_get(q->body, "group"))
        || !make_all(&c, json_get(q->body, "make"))) {
        request_rollback(q, c.txn);
        return;
    }
    reply_tree(&q->reply, 200, json_object(q->arena));
    request_commit(q, c.txn);
}

/* ---- The requests ---- */

bool
make_pods_is_meant(struct request *q, const struct object *job)
{
    const char *uid = json_get_text(q->body, "uid");

    if (uid == NULL || strcmp(uid, job->meta->uid) == 0)
        return true;
    reply_conflict(&q->reply, &job_kind, "", job->meta->name,
                   "the UID in the request is %s, that of the Job is %s", uid, job->meta->uid);
    return false;
}

void
verb_make_gang(struct request *q)
{
    const struct object *job = write_find(q);

    if (job != NULL && job_gang_size(job_of(job)) != json_count(json_get(q->body, "make"))) {
        reply_bad_request(&q->reply, "the request does not have as many pods as an attempt of the "
                                     "Job (template.spec.execution.runs)");
        job = NULL;
    }
    if (job != NULL && make_pods_is_meant(q, job))
        make_gang(q, job);
    else
        request_finish_durably(q);
}
