/* SPDX-License-Identifier: Apache-2.0 */
/* job_hooks.c - jobs: their ids, submission keys, content and history
 *
 * A Job gets its id from the transaction that creates it, so that an id is given
 * once even if the controller dies. Before that the nodes must have said what
 * they have seen, because the store may be an older copy (marks/node_reports).
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/access/user_counts.h"
#include "controller/apiserver/kinds/kinds.h"
#include "controller/apiserver/kinds/name_claims.h"
#include "controller/apiserver/kinds/submission_key.h"
#include "controller/apiserver/marks/job_signals.h"
#include "controller/apiserver/marks/node_reports.h"
#include "controller/apiserver/objects/content.h"
#include "controller/apiserver/objects/element_record.h"
#include "controller/apiserver/objects/element_requeue.h"
#include "controller/apiserver/objects/first_status.h"
#include "controller/apiserver/objects/gone_jobs.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/options.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/history/history.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

/* ---- Creations ---- */

struct look_up {
    struct request *q;
    kind_step_fn *then;
};

static void
reports_came(bool may_issue, void *context)
{
    const struct look_up *l = context;

    if (may_issue) {
        gone_jobs_find(l->q, l->then);
        return;
    }
    node_reports_refuse(l->q);
    request_finish(l->q);
}

/* Only a creation that gives an id waits for the nodes. */
static void
look_up(struct request *q, kind_step_fn *then)
{
    struct look_up *l;

    if (q->route.verb != VERB_CREATE || q->options.is_dry_run) {
        gone_jobs_find(q, then);
        return;
    }
    l = arena_alloc(q->arena, sizeof(*l));
    *l = (struct look_up){.q = q, .then = then};
    node_reports_wait(q->server->node_reports, q->options.startup_wait_s, reports_came, l);
}

static void
begin(struct request *q, struct store_txn *txn)
{
    q->job_id = store_txn_job_id(txn);
}

static void
complete(struct request *q, struct json *tree)
{
    if (q->job_id == 0)
        return;
    json_set_int(q->arena, json_make_object(q->arena, tree, "status"), "id", q->job_id);
    first_status_set(q->arena, tree);
}

static void
warn_of_pause(struct request *q, const struct object *object)
{
    const struct apiserver *server = q->server;

    (void)object;
    if (server->is_scheduling_paused != NULL && atomic_load(server->is_scheduling_paused))
        reply_warn(&q->reply, "scheduling is paused: the job waits until an administrator "
                              "resumes it");
}

/* ---- Updates ---- */

static const struct json *
with_template(struct request *q, const struct json *tree, const struct json *old_tree)
{
    struct json *base = json_copy(q->arena, old_tree);
    struct json *spec = json_copy(q->arena, json_get(old_tree, "spec"));

    json_set(q->arena, spec, "template", json_get_path(tree, "spec.template"));
    json_set(q->arena, base, "spec", spec);
    return base;
}

static void
note_action(struct request *q, struct store_txn *txn, const struct object *object)
{
    if (q->signal != NULL)
        job_signal_note(q, txn, object, q->signal);
    if (q->requeued_tasks != NULL)
        element_requeue_note(q, txn, object, q->requeued_tasks);
}

/* ---- Deletions ---- */

/* Records who deleted the Job, for history: its pods end after it may be gone.
 */
static void
note_deleter(struct request *q, struct store_txn *txn, const struct object *job)
{
    if (principal_is_person(q->principal))
        history_note_deleter(q->server->history, txn, job, q->principal->name);
}

static bool
removed(struct request *q, struct store_txn *txn, const struct object *job, const struct json *tree)
{
    (void)tree;
    content_release(txn, &job_of(job)->spec);
    if (job_is_array(job_of(job)))
        element_record_forget(q, txn, job);
    return true;
}

/* ---- Rights and limits ---- */

struct job_pod_search {
    const struct object *job;
    const char *node;
    bool found;
};

static bool
visit_job_pod(const struct object *pod, void *context)
{
    struct job_pod_search *search = context;
    const char *node = pod_of(pod)->spec.node_name;

    search->found = node != NULL && strcmp(node, search->node) == 0
                    && meta_is_controlled_by(pod->meta, search->job)
                    && object_owner_is_same(pod, search->job);
    return !search->found;
}

static bool
has_pod_on_node(const struct request *q, const struct object *job)
{
    struct job_pod_search search = {.job = job, .node = q->principal->node};

    store_visit_index(q->server->store, &pod_kind, POD_BY_JOB, STORE_PUBLISHED, job->meta->uid,
                      visit_job_pod, &search);
    return search.found;
}

/* The pods of a Job are created one by one, but all of them may exist in the
 * end.
 */
static int64_t
pods_at_once(const struct job *job)
{
    const struct job_spec *spec = &job->spec;
    int64_t most = spec->parallelism != NULL ? *spec->parallelism : 1;

    if (job_is_array(job) && most > JOB_ARRAY_PODS)
        most = JOB_ARRAY_PODS;
    return spec->completions != NULL && *spec->completions < most ? *spec->completions : most;
}

/* The same of a tree that is being admitted. */
static int64_t
pods_of_tree(const struct json *tree)
{
    const struct json *spec = json_get(tree, "spec");
    int64_t most = json_get_int(spec, "parallelism", 1);
    const int64_t completions = json_get_int(spec, "completions", most);

    if (job_array_is_asked(spec) && most > JOB_ARRAY_PODS)
        most = JOB_ARRAY_PODS;
    return completions < most ? completions : most;
}

static bool
measure(const struct object *object, uid_t *ret_uid, struct user_count *ret_count)
{
    const struct job *job = job_of(object);

    if (!user_counts_measure(object, ret_uid, ret_count))
        return false;
    ret_count->bytes += content_bytes(&job->spec);
    if (job_is_finished(job))
        ret_count->objects = 0;
    else
        ret_count->pods = pods_at_once(job);
    return true;
}

/* ---- Lists: Jobs that ended lately, and Jobs of a node ---- */

/* Whether the Job ended before the requested time. */
static bool
is_too_old(const struct options *o, const struct object *object)
{
    int64_t ended_at_us;

    if (o->ended_since_us == 0)
        return false;
    ended_at_us = job_ended_at_us(job_of(object));
    return ended_at_us != 0 && ended_at_us < o->ended_since_us;
}

static int
compare_name(const void *name, const void *at)
{
    return strcmp(name, *(const char *const *)at);
}

static bool
is_asked_for(const struct options *o, const char *node)
{
    return node != NULL
           && bsearch(node, o->nodes, o->n_nodes, sizeof(*o->nodes), compare_name) != NULL;
}

struct node_question {
    const struct options *options;
    bool is_there;
};

static bool
visit_pod(const struct object *object, void *context)
{
    struct node_question *question = context;

    question->is_there = is_asked_for(question->options, pod_of(object)->spec.node_name);
    return !question->is_there;
}

/* Whether a pod of the Job is on one of the nodes, or its last run was there. */
static bool
has_been_there(const struct request *q, const struct object *object)
{
    const struct job_run *run = job_of(object)->status.last_run;
    struct node_question question = {.options = &q->options};

    if (run != NULL && is_asked_for(&q->options, run->node_name))
        return true;
    store_visit_index(q->server->store, &pod_kind, POD_BY_JOB, STORE_PUBLISHED, object->meta->uid,
                      visit_pod, &question);
    return question.is_there;
}

static bool
is_selected(const struct request *q, const struct object *job)
{
    return !is_too_old(&q->options, job) && (q->options.n_nodes == 0 || has_been_there(q, job));
}

/* ---- Conformance ---- */

/* Upstream has no job arrays, and an array would change the defaults of the
 * spec.
 */
static void
drop_array(struct request *q, struct json *tree)
{
    struct json *spec = json_get(tree, "spec");

    (void)q;
    if (json_is(spec, JSON_OBJECT))
        json_remove(spec, "array");
}

const struct kind_hooks job_hooks = {
    .kind = &job_kind,
    .brings_content = true,
    .shares_content = true,
    .has_task_logs = true,
    .is_selected = is_selected,
    .pods_at_once = pods_of_tree,
    .is_numbered = true,
    .find_claim = name_claims_find_of_job,
    .look_up = look_up,
    .decode = submission_key_check,
    .begin = begin,
    .complete = complete,
    .created = warn_of_pause,
    .with_admitted = with_template,
    .updated = note_action,
    .deleting = note_deleter,
    .removed = removed,
    .is_on_node = has_pod_on_node,
    .measure = measure,
};

const struct kind_hooks job_conformance_hooks = {
    .kind = &job_kind,
    .is_selected = is_selected,
    .drop_additions = drop_array,
};
