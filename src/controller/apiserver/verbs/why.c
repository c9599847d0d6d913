/* SPDX-License-Identifier: Apache-2.0 */
/* why.c - why a pod or a job does not run: pods/NAME/why, jobs/NAME/why
 *
 * The store answers for what has ended, runs or is held; the scheduler answers
 * for what waits (responder.h). doc/api.md describes the answer.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/access/scheduling_pause.h"
#include "controller/apiserver/access/user_limits.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/objects/dependency_chain.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/api_profile.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/responder.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_dependency.h"
#include "lib/api/job/job_reason.h"
#include "lib/api/job/job_state.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/quota.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

/* The first members of the answer; the scheduler's members follow. */
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
set_cause(struct request *q, struct json *answer, const char *state, const char *code,
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

/* Adds the scheduler's members after the members of start_answer. The scheduler
 * knows only that it is paused, not for what.
 */
static void
add_members(struct request *q, struct json *answer, const struct json *members)
{
    const char *code = json_path_text(members, "cause.code");

    for (uint32_t i = 0; i < members->count; i++)
        json_set(q->arena, answer, members->members[i].name, members->members[i].value);
    if (q->server->holds_scheduling && scheduling_pause_describe(q->server, q->arena) == NULL
        && code != NULL && strcmp(code, REASON_SCHEDULING_PAUSED) == 0)
        json_set_string(q->arena, json_get(answer, "cause"), "message",
                        "the controller has started: no job starts until the nodes have reported "
                        "which pods they run");
}

static void
finish_pod(struct request *q, struct json *members)
{
    struct json *answer;

    user_limits_end_stream(q, USER_ASKING);
    if (members == NULL) {
        request_finish(q);
        return;
    }
    answer = start_answer(q);
    add_members(q, answer, members);
    answer_now(q, answer);
}

static void
ask_scheduler(struct request *q, const struct object *object, bool is_hypothetical,
              responder_done_fn *done)
{
    if (user_limits_begin_question(q))
        responders_ask(q->server->responders, q, object, is_hypothetical, done);
    else
        request_finish(q);
}

static bool
is_placed(const struct pod *pod)
{
    return pod->spec.node_name != NULL && pod->spec.node_name[0] != '\0';
}

/* Returns false when the pod waits: then the scheduler knows why. */
static bool
add_pod_end(struct request *q, struct json *answer, const struct pod *pod)
{
    if (pod_is_finished(pod))
        set_cause(q, answer, "Ended", pod->status.phase,
                  pod->status.message != NULL ? pod->status.message : "the pod has ended");
    else if (is_placed(pod))
        set_cause(q, answer, "Placed", pod->status.phase != NULL ? pod->status.phase : "Pending",
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
        ask_scheduler(q, object, false, finish_pod);
}

/* ---- Jobs ---- */

/* The pods of a job. The scheduler counts those that wait. */
struct job_pods {
    int64_t waiting, placed, ended;
};

/* The counts in the status may be a moment behind the scheduler. */
static struct job_pods
count_pods(const struct job *job, int64_t waiting)
{
    const struct job_status *s = &job->status;

    return (struct job_pods){
        .waiting = waiting,
        .placed = s->active > waiting ? s->active - waiting : 0,
        .ended = s->succeeded + s->failed,
    };
}

static void
add_pods(struct request *q, struct json *answer, const struct job_pods *pods)
{
    struct json *counts = json_make_object(q->arena, answer, "pods");

    json_set_int(q->arena, counts, "waiting", pods->waiting);
    json_set_int(q->arena, counts, "placed", pods->placed);
    json_set_int(q->arena, counts, "ended", pods->ended);
}

/* A job may have 20,000 pods: the one that explains most is chosen among some
 * of them.
 */
#define PODS_LOOKED_AT 256

struct pod_choice {
    const struct object *job;
    const struct pod *pod;
    unsigned looked;
};

static bool
visit_pod(const struct object *object, void *context)
{
    struct pod_choice *c = context;

    if (meta_is_controlled_by(object->meta, c->job))
        c->pod = job_reason_prefer(c->pod, pod_of(object));
    return ++c->looked < PODS_LOOKED_AT;
}

static const struct pod *
choose_pod(const struct request *q, const struct object *job)
{
    struct pod_choice c = {.job = job};

    store_visit_index(q->server->store, &pod_kind, POD_BY_JOB, STORE_PUBLISHED, job->meta->uid,
                      visit_pod, &c);
    return c.pod;
}

/* The part for people: the state and the cause, as kiln-states(7) and
 * kiln-reasons(7) list them and tables show them.
 */
static void
add_status(struct request *q, struct json *answer, const struct object *object)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    const struct job *job = job_of(object);
    struct json *status = json_make_object(q->arena, answer, "status");
    struct json *cause;
    enum job_reason reason = job_reason_find(
        &(struct job_reason_facts){
            .job = job,
            .pod = choose_pod(q, object),
            .now_us = clock_real_us(q->server->clock),
            .is_whole = true, /* only a principal who may read the job whole
                               * gets here
                               */
        },
        &words);

    json_set_string(q->arena, status, "state", job_state_words(job_find_state(job))->name);
    if (reason == JOB_REASON_NONE)
        return;
    cause = json_make_object(q->arena, status, "cause");
    json_set_string(q->arena, cause, "code", job_reason_name(reason));
    json_set(q->arena, cause, "message", json_string_n(q->arena, words.text, words.length));
}

/* Shows the whole chain: the job waits for whatever the jobs before it wait
 * for.
 */
static void
explain_dependencies(struct request *q, struct json *answer, const struct object *object)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    struct json *chain = dependency_chain(q->server, object, q->arena);

    strbuf_add_text(&words, "it waits for ");
    job_dependencies_format(job_of(object)->spec.dependencies, 1000, &words);
    set_cause(q, answer, "Held", job_reason_name(JOB_REASON_DEPENDENCY),
              arena_strdup(q->arena, words.text));
    if (chain != NULL)
        json_set(q->arena, answer, "dependencies", chain);
}

/* Explains a job of which no pod waits: the job itself says why. */
static void
explain_job_alone(struct request *q, struct json *answer, const struct object *object,
                  const struct job_pods *pods)
{
    const struct job *job = job_of(object);
    const struct job_condition *failed = job_find_condition(job, "Failed");
    char time[TIME_TEXT_SIZE];

    if (failed != NULL)
        set_cause(q, answer, "Ended", failed->reason != NULL ? failed->reason : "Failed",
                  failed->message != NULL ? failed->message : "it failed");
    else if (job_is_finished(job))
        set_cause(q, answer, "Ended", REASON_COMPLETE, "it is complete");
    else if (job_is_held(job) && pods->placed == 0)
        set_cause(q, answer, "Held", REASON_HELD,
                  job_find_freezer(job) != NULL ? "it is suspended; 'kctl resume' lets it start"
                                                : "it is held; 'kctl release' lets it start");
    else if (job_waits_for_others(job) && pods->placed == 0)
        explain_dependencies(q, answer, object);
    else if (job->spec.begin_at_us > clock_real_us(q->server->clock)) {
        time_format(job->spec.begin_at_us, false, time);
        set_cause(q, answer, "Held", job_reason_name(JOB_REASON_BEGIN_TIME),
                  arena_printf(q->arena, "it must not start before %s", time));
    } else if (pods->placed > 0)
        set_cause(q, answer, "Placed", REASON_PLACED, "all of its pods have nodes");
    else if (q->quota_wait != NULL)
        set_cause(q, answer, "Waiting",
                  job->status.cause != NULL ? job->status.cause->code
                                            : job_reason_name(JOB_REASON_GROUP_OTHER),
                  arena_printf(q->arena, "it waits for room in quota %s",
                               json_get_text(q->quota_wait, "name")));
    else
        set_cause(q, answer, "Waiting", REASON_NO_PODS,
                  "the job controller has not processed it yet");
    answer_now(q, answer);
}

static const struct object *
find_object(struct request *q)
{
    return store_find(q->server->store, STORE_PUBLISHED, q->route.kind, q->route.namespace,
                      q->route.name);
}

/* Pods that are placed together may be more than there are nodes; the scheduler, which tries
 * them one by one, has no start for them then.
 */
static void
add_never(struct request *q, struct json *answer, const struct object *object)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    struct json *start;

    strbuf_add_text(&words, "it can never run: ");
    if (json_get(answer, "start") != NULL
        || !impossible_format(q, object_tree(object, q->arena), &words))
        return;
    start = json_make_object(q->arena, answer, "start");
    json_set_string(q->arena, start, "chance", "Never");
    json_set(q->arena, start, "message", json_string_n(q->arena, words.text, words.length));
    json_set(q->arena, start, "outlook", json_string_n(q->arena, words.text, words.length));
}

/* The scheduler's answer has no state when no pod of the job waits. */
static void
finish_job(struct request *q, struct json *members)
{
    const struct object *object = find_object(q);
    struct json *answer;
    struct job_pods pods;

    user_limits_end_stream(q, USER_ASKING);
    if (members == NULL || object == NULL) {
        if (object == NULL)
            write_not_found(q);
        request_finish(q);
        return;
    }
    answer = start_answer(q);
    add_status(q, answer, object);
    pods = count_pods(job_of(object), json_get_int(json_get(members, "pods"), "waiting", 0));
    add_members(q, answer, members);
    add_pods(q, answer, &pods);
    if (q->quota_wait != NULL)
        json_set(q->arena, answer, "quota", json_dup(q->arena, q->quota_wait));
    if (json_get(answer, "state") == NULL)
        explain_job_alone(q, answer, object, &pods);
    else {
        add_never(q, answer, object);
        answer_now(q, answer);
    }
}

/* The lifecycle component has answered, or cannot; then the rest is answered. */
static void
take_quota_wait(struct request *q, struct json *wait)
{
    const struct object *object = find_object(q);

    q->quota_wait = json_count(wait) > 0 ? wait : NULL;
    if (object != NULL) {
        responders_ask(q->server->responders, q, object, false, finish_job);
        return;
    }
    finish_job(q, NULL);
}

static bool
note_any(const struct object *quota, void *context)
{
    (void)quota;
    *(bool *)context = true;
    return false;
}

static bool
has_quotas(const struct request *q)
{
    bool is_any = false;

    store_visit_index(q->server->store, &resource_quota_kind, RESOURCE_QUOTA_BY_NAMESPACE,
                      STORE_PUBLISHED, q->route.namespace, note_any, &is_any);
    return is_any;
}

static void
ask_about_job(struct request *q, const struct object *object)
{
    if (!has_quotas(q))
        ask_scheduler(q, object, false, finish_job);
    else if (user_limits_begin_question(q))
        responders_ask(q->server->quota_responders, q, object, false, take_quota_wait);
    else
        request_finish(q);
}

/* A held job is explained from the store; its pods that do not run are counted
 * as waiting.
 */
static void
explain_job(struct request *q, const struct object *object)
{
    const struct job *job = job_of(object);
    struct json *answer;
    struct job_pods pods;

    if (!job_is_finished(job) && !job_is_held(job)) {
        ask_about_job(q, object);
        return;
    }
    pods = count_pods(job, job->status.active - job->status.ready);
    answer = start_answer(q);
    add_status(q, answer, object);
    add_pods(q, answer, &pods);
    explain_job_alone(q, answer, object, &pods);
}

static void
add_topology(struct request *q, const struct json *job, struct json *meta)
{
    const struct json *list = json_get_path(job, "spec.scheduling.schedulingConstraints.topology");
    const char *key = json_path_text(json_at(list, 0), "key");

    if (key != NULL)
        json_set_string(q->arena, json_make_object(q->arena, meta, "annotations"),
                        ANNOTATION_GANG_TOPOLOGY, key);
}

/* Makes a pod from the job's template. */
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
    json_set(q->arena, meta, "name",
             json_stringf(q->arena, "%.200s-0", name != NULL ? name : "new"));
    json_set_string(q->arena, meta, "namespace", q->route.namespace);
    if (labels != NULL)
        json_set(q->arena, meta, "labels", json_dup(q->arena, labels));
    if (json_is_true(json_get_path(job, "spec.scheduling.onePerNode"))
        && json_get_path(job, "spec.scheduling.schedulingPolicy.gang") != NULL)
        json_set(q->arena, json_make_object(q->arena, meta, "annotations"), ANNOTATION_GANG_SIZE,
                 json_stringf(q->arena, "%lld",
                              (long long)json_get_int(json_get(job, "spec"), "parallelism", 1)));
    add_topology(q, job, meta);
    json_set(q->arena, pod, "spec", json_dup(q->arena, json_get(template, "spec")));
    return pod;
}

/* The kinds that are explained. make_pod: a pod that the object would make; NULL: it is one. */
static const struct explained {
    const struct kind *kind;
    void (*explain)(struct request *q, const struct object *object);
    struct json *(*make_pod)(struct request *q, const struct json *tree);
} explained[] = {
    {&job_kind, explain_job, make_pod},
    {&pod_kind, explain_pod, NULL},
};

static const struct explained *
find_explained(const struct request *q)
{
    unsigned i = 0;

    while (i < ARRAY_SIZE(explained) - 1 && explained[i].kind != q->route.kind)
        i++;
    return &explained[i];
}

void
verb_get_why(struct request *q)
{
    const struct object *object = find_object(q);

    if (object == NULL)
        write_not_found(q);
    else if (authorization_covers(q, object) && user_limits_take_question(q)) {
        find_explained(q)->explain(q, object);
        return;
    }
    request_finish(q);
}

/* ---- Objects that do not exist yet ---- */

bool
why_is_asked(const struct request *q)
{
    const char *value = parameter_find(q->options.parameters, q->options.n_parameters, "why");

    return q->server->profile->has_additions && value != NULL && strcmp(value, "true") == 0
           && subresource_allows(q->route.kind, SUBRESOURCE_WHY, VERB_GET);
}

struct quota_question {
    struct request *q;
    const struct json *pod;
};

static bool
ask_quota(const struct object *quota, void *context)
{
    const struct quota_question *asked = context;
    struct request *q = asked->q;

    if (quota_charge(q->arena, object_tree(quota, q->arena), &pod_kind, asked->pod, NULL,
                     clock_real_us(q->server->clock), &q->quota_refusal)
        != NULL)
        q->quota_refusal = NULL;
    return q->quota_refusal == NULL;
}

/* A quota refuses the pods of a Job only when the Job is to start them. */
static void
ask_quotas(struct request *q, const struct json *pod)
{
    struct quota_question asked = {.q = q, .pod = pod};

    store_visit_index(q->server->store, &resource_quota_kind, RESOURCE_QUOTA_BY_NAMESPACE,
                      STORE_PUBLISHED, q->route.namespace, ask_quota, &asked);
}

/* The scheduler knows no quotas. */
static void
finish_new(struct request *q, struct json *members)
{
    struct json *quota;

    if (members != NULL && q->quota_refusal != NULL) {
        quota = json_make_object(q->arena, members, "quota");
        json_set_string(q->arena, quota, "message", q->quota_refusal);
    }
    finish_pod(q, members);
}

void
why_explain_new(struct request *q, struct json *tree)
{
    struct json *(*make)(struct request * q, const struct json *tree) = find_explained(q)->make_pod;
    CLEANUP(object_unrefp) const struct object *pod = NULL;
    struct json *wanted = tree;
    struct error err = {0};

    if (!user_limits_take_question(q)) {
        request_finish(q);
        return;
    }
    if (make != NULL)
        wanted = make(q, tree);
    json_set_string(q->arena, json_make_object(q->arena, wanted, "metadata"), "resourceVersion",
                    "1");
    if (record_normalize(pod_kind.record, q->arena, wanted, NULL, &err) < 0) {
        reply_errno(&q->reply, err.code, &err);
        request_finish(q);
        return;
    }
    pod = object_new(&pod_kind, wanted);
    if (make != NULL)
        ask_quotas(q, wanted);
    q->route.name = pod->meta->name;
    ask_scheduler(q, pod, true, finish_new);
}
