/* SPDX-License-Identifier: Apache-2.0 */
/* Why a pod or a job does not run: pods/NAME/why, jobs/NAME/why.
 *
 * The store answers for what has ended, runs or is held; for what waits, the
 * scheduler does (responder.h). doc/api.md describes the answer.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/access/user_limits.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/responder.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_reason.h"
#include "lib/api/job/job_state.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

/* The answer's head; the scheduler's members follow. */
static struct json *
start_answer(struct request *q)
{
    struct json *answer = json_object(q->arena);
    struct json *meta;

    json_set_string(q->arena, answer, "apiVersion", "kiln.hpc/v1");
    json_set_string(q->arena, answer, "kind", "Why");
    meta = json_make_object(q->arena, answer, "metadata");
    json_set_string(q->arena, meta, "namespace", q->route.namespace);
    json_set_string(q->arena, meta, "name", q->route.name);
    return answer;
}

static void
set_cause(struct request *q,
          struct json *answer,
          const char *state,
          const char *code,
          const char *message)
{
    struct json *cause;

    json_set_string(q->arena, answer, "state", state);
    cause = json_make_object(q->arena, answer, "cause");
    json_set_string(q->arena, cause, "code", code);
    json_set_string(q->arena, cause, "message", message);
}

static void
answer_now(struct request *q, struct json *answer)
{
    reply_tree(&q->reply, 200, answer);
    request_finish(q);
}

/* The scheduler's members go behind those that are there. */
static void
finish_answer(struct request *q, struct json *members)
{
    struct json *answer;

    user_limits_end_stream(q, USER_ASKING);
    if (members == NULL) {
        request_finish(q);
        return;
    }
    answer = q->answer != NULL ? q->answer : start_answer(q);
    for (uint32_t i = 0; i < members->count; i++)
        json_set(q->arena,
                 answer,
                 members->members[i].name,
                 members->members[i].value);
    answer_now(q, answer);
}

static void
ask_scheduler(struct request *q, const struct object *pod, bool is_hypothetical)
{
    if (user_limits_begin_question(q))
        responders_ask(q, pod, is_hypothetical, finish_answer);
    else
        request_finish(q);
}

static bool
is_placed(const struct pod *pod)
{
    return pod->spec.node_name != NULL && pod->spec.node_name[0] != '\0';
}

/* False: the pod waits, and the scheduler knows why. */
static bool
add_pod_end(struct request *q, struct json *answer, const struct pod *pod)
{
    if (pod_is_finished(pod))
        set_cause(q,
                  answer,
                  "Ended",
                  pod->status.phase,
                  pod->status.message != NULL ? pod->status.message
                                              : "the pod has ended");
    else if (is_placed(pod))
        set_cause(q,
                  answer,
                  "Placed",
                  pod->status.phase != NULL ? pod->status.phase : "Pending",
                  "the pod has a node");
    else
        return false;
    if (is_placed(pod))
        json_set_string(q->arena, answer, "node", pod->spec.node_name);
    return true;
}

static void
explain_pod(struct request *q, const struct object *object)
{
    struct json *answer = start_answer(q);

    if (add_pod_end(q, answer, pod_of(object)))
        answer_now(q, answer);
    else
        ask_scheduler(q, object, false);
}

/* The pods of a job, as far as they are told apart here. */
struct job_pods {
    const struct object *job;
    const struct object *first; /* of those that wait, by index and attempt */
    const struct pod *one;      /* that stands for all */
    uint64_t waiting, placed, ended;
};

static bool
visit_pod(const struct object *object, void *context)
{
    struct job_pods *pods = context;
    const struct pod *pod = pod_of(object);

    if (!meta_is_controlled_by(object->meta, pods->job))
        return true;
    pods->one = job_reason_prefer(pods->one, pod);
    if (pod_is_finished(pod))
        pods->ended++;
    else if (is_placed(pod))
        pods->placed++;
    else {
        pods->waiting++;
        if (pods->first == NULL
            || strverscmp(object->meta->name, pods->first->meta->name) < 0)
            pods->first = object;
    }
    return true;
}

static void
add_pods(struct request *q, struct json *answer, const struct job_pods *pods)
{
    struct json *counts = json_make_object(q->arena, answer, "pods");

    json_set_int(q->arena, counts, "waiting", (int64_t)pods->waiting);
    json_set_int(q->arena, counts, "placed", (int64_t)pods->placed);
    json_set_int(q->arena, counts, "ended", (int64_t)pods->ended);
}

/* The part for people: the state and the cause of kiln-states(7) and
 * kiln-reasons(7), as they stand in tables.
 */
static void
add_status(struct request *q,
           struct json *answer,
           const struct job *job,
           const struct pod *pod)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    struct json *status = json_make_object(q->arena, answer, "status");
    struct json *cause;
    enum job_reason reason = job_reason_find(
        &(struct job_reason_facts){
            .job = job,
            .pod = pod,
            .now_us = clock_real_us(q->server->clock),
            .is_whole = true, /* nobody else may ask */
        },
        &words);

    json_set_string(q->arena,
                    status,
                    "state",
                    job_state_words(job_find_state(job))->name);
    if (reason == JOB_REASON_NONE)
        return;
    cause = json_make_object(q->arena, status, "cause");
    json_set_string(q->arena, cause, "code", job_reason_name(reason));
    json_set(q->arena,
             cause,
             "message",
             json_string_n(q->arena, words.text, words.length));
}

/* A job none of whose pods waits: the job itself says why. */
static void
explain_job_alone(struct request *q,
                  struct json *answer,
                  const struct object *object,
                  const struct job_pods *pods)
{
    const struct job *job = job_of(object);
    const struct job_condition *failed = job_find_condition(job, "Failed");
    char time[TIME_TEXT_SIZE];

    if (failed != NULL)
        set_cause(q,
                  answer,
                  "Ended",
                  failed->reason != NULL ? failed->reason : "Failed",
                  failed->message != NULL ? failed->message : "it failed");
    else if (job_is_finished(job))
        set_cause(q, answer, "Ended", "Complete", "it is complete");
    else if (job_is_held(job) && pods->placed == 0)
        set_cause(q,
                  answer,
                  "Held",
                  "Held",
                  "it is held; 'kctl release' lets it start");
    else if (job->spec.begin_at_us > clock_real_us(q->server->clock)) {
        time_format(job->spec.begin_at_us, false, time);
        set_cause(q,
                  answer,
                  "Held",
                  "BeginTime",
                  arena_printf(q->arena, "it is not to begin before %s", time));
    } else if (pods->placed > 0)
        set_cause(q, answer, "Placed", "Placed", "all of its pods have nodes");
    else
        set_cause(q,
                  answer,
                  "Waiting",
                  "NoPods",
                  "the controller has not taken it up yet");
    answer_now(q, answer);
}

static void
explain_job(struct request *q, const struct object *object)
{
    struct job_pods pods = {.job = object};

    store_visit_index(q->server->store,
                      &pod_kind,
                      POD_BY_JOB,
                      STORE_PUBLISHED,
                      object->meta->uid,
                      visit_pod,
                      &pods);
    q->answer = start_answer(q);
    add_status(q, q->answer, job_of(object), pods.one);
    add_pods(q, q->answer, &pods);
    if (pods.first == NULL || job_is_held(job_of(object))) {
        explain_job_alone(q, q->answer, object, &pods);
        return;
    }
    json_set_string(q->arena, q->answer, "pod", pods.first->meta->name);
    ask_scheduler(q, pods.first, false);
}

/* Kiln's own, which recordings of upstream do not know. */
static void
refuse_unknown(struct request *q)
{
    reply_fail(&q->reply,
               &(struct reply_failure){
                   .code = 404,
                   .reason = "NotFound",
                   .message = "the server could not find the requested "
                              "resource",
                   .empty_details = true,
               });
}

void
verb_get_why(struct request *q)
{
    const struct object *object = store_find(q->server->store,
                                             STORE_PUBLISHED,
                                             q->route.kind,
                                             q->route.namespace,
                                             q->route.name);

    if (q->server->policy->is_conformance)
        refuse_unknown(q);
    else if (object == NULL)
        write_not_found(q);
    else if (authorization_covers(q, object) && user_limits_take_question(q)) {
        if (q->route.kind == &job_kind)
            explain_job(q, object);
        else
            explain_pod(q, object);
        return;
    }
    request_finish(q);
}

/* ---- What is not there yet ---- */

bool
why_is_asked(const struct request *q)
{
    const char *value =
        parameter_find(q->options.parameters, q->options.n_parameters, "why");

    return !q->server->policy->is_conformance && value != NULL
           && strcmp(value, "true") == 0
           && (q->route.kind == &job_kind || q->route.kind == &pod_kind);
}

/* A pod as the job's template has it. */
static struct json *
make_pod(struct request *q, const struct json *job)
{
    const struct json *template = json_get_path(job, "spec.template");
    struct json *pod = json_object(q->arena);
    struct json *meta, *labels = json_get_path(template, "metadata.labels");
    const char *name = json_path_text(job, "metadata.name");

    json_set_string(q->arena, pod, "apiVersion", "v1");
    json_set_string(q->arena, pod, "kind", "Pod");
    meta = json_make_object(q->arena, pod, "metadata");
    json_set(q->arena,
             meta,
             "name",
             json_stringf(q->arena, "%.200s-0", name != NULL ? name : "new"));
    json_set_string(q->arena, meta, "namespace", q->route.namespace);
    if (labels != NULL)
        json_set(q->arena, meta, "labels", json_dup(q->arena, labels));
    json_set(q->arena,
             pod,
             "spec",
             json_dup(q->arena, json_get(template, "spec")));
    return pod;
}

void
why_explain_new(struct request *q, struct json *tree)
{
    CLEANUP(object_unrefp) const struct object *pod = NULL;
    struct json *wanted = tree;
    struct error err = {0};

    if (!user_limits_take_question(q)) {
        request_finish(q);
        return;
    }
    if (q->route.kind == &job_kind)
        wanted = make_pod(q, tree);
    json_set_string(q->arena,
                    json_make_object(q->arena, wanted, "metadata"),
                    "resourceVersion",
                    "1");
    if (record_normalize(pod_kind.record, q->arena, wanted, NULL, &err) < 0) {
        reply_errno(&q->reply, err.code, &err);
        request_finish(q);
        return;
    }
    pod = object_new(&pod_kind, wanted);
    q->route.name = pod->meta->name;
    ask_scheduler(q, pod, true);
}
