/* SPDX-License-Identifier: Apache-2.0 */
/* A signal is for what runs now. A mark in the Job would also reach a pod that starts later,
 * so the mark is put into the pods, in the transaction of the request: its order among starts
 * and ends is that of the store. Marks are numbered, and agents and shepherds keep the last
 * number, so none is delivered twice.
 */
#include "controller/apiserver/marks/job_signals.h"

#include <errno.h>
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/objects/element_requeue.h"
#include "controller/apiserver/objects/put.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

int
job_signal_read(const struct json *tree, struct job_signal *ret_signal, struct error *err)
{
    const char *name = json_get_text(tree, "name"), *to = json_get_text(tree, "to");

    *ret_signal = (struct job_signal){.signal.target = POD_SIGNAL_CHILDREN};
    if (to != NULL && !pod_signal_find_target(to, &ret_signal->signal.target))
        return error_set(err, -EINVAL, "signal.to: '%.40s' is not Children, Script, All or Step",
                         to);
    if (ret_signal->signal.target == POD_SIGNAL_STEP) {
        ret_signal->signal.step = json_get_int(tree, "step", -1);
        ret_signal->signal.at_s = clock_real_us(&clock_system) / 1000000;
        if (ret_signal->signal.step < 0)
            return error_set(err, -EINVAL, "signal.step is missing: the number of the step");
        if (name == NULL)
            return 0;
    }
    if (name == NULL)
        return error_set(err, -EINVAL, "signal.name is missing: the signal to send, as USR1");
    ret_signal->signal.number = pod_signal_number(name);
    if (ret_signal->signal.number == 0)
        return error_set(err, -EINVAL, "signal.name: '%.40s' is not a signal, as USR1", name);
    return 0;
}

struct receiver_search {
    const struct apiserver *server;
    const struct job_signal *signal;
    struct job_signal_receivers *found;
};

/* The agent of a job's first node passes a step's signal on to the others, by the step's krun. That the
 * step ends, or its tasks are killed, all agents are told: krun may be stopped.
 */
static bool
is_first(const struct pod *pod)
{
    const char *index = string_map_find(&pod->meta.annotations, ANNOTATION_INDEX);
    const bool is_each = pod->spec.execution != NULL && pod->spec.execution->runs != NULL
                         && strcmp(pod->spec.execution->runs, EXECUTION_RUNS_EACH) == 0;

    return !pod_only_holds(pod) && (!is_each || index == NULL || strcmp(index, "0") == 0);
}

/* No script runs in a pod that only holds resources. */
static bool
is_receiver(const struct job_signal *signal, const struct object *object)
{
    const struct pod *pod = pod_of(object);

    return pod->status.phase != NULL && strcmp(pod->status.phase, "Running") == 0
           && object->meta->deleted_at_us == 0
           && (signal->signal.target != POD_SIGNAL_SCRIPT || !pod_only_holds(pod))
           && (signal->signal.target != POD_SIGNAL_STEP
               || pod_signal_is_for_all_nodes(signal->signal.number) || is_first(pod));
}

static bool
visit(const struct object *pod, void *context)
{
    struct receiver_search *s = context;
    const struct object *node;

    if (!is_receiver(s->signal, pod))
        return true;
    if (s->found->count == JOB_SIGNALS_MOST) {
        s->found->is_too_many = true;
        return false;
    }
    node =
        store_find(s->server->store, STORE_PENDING, &node_kind, NULL, pod_of(pod)->spec.node_name);
    if (node != NULL
        && !node_has_feature(node_of(node), s->signal->signal.target == POD_SIGNAL_STEP
                                                ? NODE_FEATURE_STEP_SIGNAL
                                                : NODE_FEATURE_SIGNAL))
        s->found->old_agent = pod_of(pod)->spec.node_name;
    s->found->pods[s->found->count++] = pod;
    return true;
}

void
job_signal_find(const struct apiserver *server, const struct object *job,
                const struct job_signal *signal, struct arena *arena,
                struct job_signal_receivers *ret_found)
{
    struct receiver_search s = {server, signal, ret_found};

    *ret_found = (struct job_signal_receivers){
        .pods = arena_new_array(arena, const struct object *, JOB_SIGNALS_MOST)};
    if (signal->tasks == NULL)
        store_visit_index(server->store, &pod_kind, POD_LIVE_BY_JOB, STORE_PENDING, job->meta->uid,
                          visit, &s);
    else if (signal->tasks->total > JOB_SIGNALS_MOST)
        ret_found->is_too_many = true;
    else
        element_requeue_visit(server->store, job, signal->tasks, visit, &s);
}

/* kiln-pause ends by SIGTERM, and its end is that of the whole job. */
static struct pod_signal
signal_for(const struct request *q, const struct job_signal *signal, const struct object *pod)
{
    struct pod_signal s = signal->signal;

    s.has_sender = principal_is_person(q->principal);
    s.sender = q->principal->uid;
    if (s.target != POD_SIGNAL_STEP && pod_only_holds(pod_of(pod)))
        s.target = POD_SIGNAL_CHILDREN;
    return s;
}

static void
mark(struct request *q, struct store_txn *txn, const struct object *pod,
     const struct job_signal *signal)
{
    struct arena *arena = q->arena;
    const struct pod_signal s = signal_for(q, signal, pod);
    const char *list =
        pod_signals_add(string_map_find(&pod->meta->annotations, ANNOTATION_SIGNALS), &s, arena);
    struct json *patch = json_object(arena), *meta = json_make_object(arena, patch, "metadata");
    struct json *tree;

    json_set_string(arena, json_make_object(arena, meta, "annotations"), ANNOTATION_SIGNALS, list);
    if (put_patch(arena, txn, pod, patch) != NULL)
        return;
    tree = json_dup(arena, object_tree(pod, arena));
    meta = json_make_object(arena, tree, "metadata");
    json_set_string(arena, json_make_object(arena, meta, "annotations"), ANNOTATION_SIGNALS, list);
    (void)write_put_other(q, txn, &pod_kind, tree, object_tree(pod, arena));
}

void
job_signal_note(struct request *q, struct store_txn *txn, const struct object *job,
                const struct job_signal *signal)
{
    struct job_signal_receivers found;

    job_signal_find(q->server, job, signal, q->arena, &found);
    for (size_t i = 0; i < found.count; i++)
        mark(q, txn, found.pods[i], signal);
}
