/* SPDX-License-Identifier: Apache-2.0 */
/* evict.c - POST pods/NAME/eviction: a deletion that a disruption budget may
 * forbid; the pod's status says why it was deleted
 */
#include <inttypes.h>
#include <string.h>

#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/api_profile.h"
#include "controller/apiserver/request/body.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/store.h"
#include "lib/api/job/job_reason.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/pod_disruption_budget.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define RETRY_S 10

static bool
check_name(struct request *q)
{
    const char *name = json_path_text(q->body, "metadata.name");

    if (name == NULL || strcmp(name, q->route.name) == 0)
        return true;
    reply_bad_request(&q->reply, "name in URL does not match name in Eviction object");
    return false;
}

struct search {
    const struct object *pod;
    const struct object *budget;
    unsigned found;
};

static bool
find_budget(const struct object *object, void *context)
{
    struct search *search = context;

    if (label_selector_matches(pod_disruption_budget_of(object)->selector,
                               &search->pod->meta->labels)) {
        search->budget = object;
        search->found++;
    }
    return true;
}

static bool
refuse(struct request *q, const char *why, int64_t retry_after_s)
{
    reply_fail(&q->reply, &(struct reply_failure){
                              .code = 429,
                              .reason = "TooManyRequests",
                              .message = "Cannot evict pod as it would violate the pod's "
                                         "disruption budget.",
                              .cause_reason = "DisruptionBudget",
                              .cause_message = why,
                              .retry_after_s = retry_after_s,
                          });
    return false;
}

static bool
allows(struct request *q, const struct object *object)
{
    const struct pod_disruption_budget *b = pod_disruption_budget_of(object);

    if (b->observed_generation < b->meta.generation)
        return refuse(q,
                      arena_printf(q->arena,
                                   "The disruption budget %s is still being "
                                   "processed by the server.",
                                   b->meta.name),
                      RETRY_S);
    if (b->disruptions_allowed > 0)
        return true;
    return refuse(q,
                  arena_printf(q->arena,
                               "The disruption budget %s needs %" PRId64
                               " healthy pods and has %" PRId64 " currently",
                               b->meta.name, b->desired_healthy, b->current_healthy),
                  0);
}

static void
set_condition(struct request *q, struct json *status, const char *type, const char *value,
              const char *reason, const char *message)
{
    struct json *list = json_get(status, "conditions");
    struct json *condition = json_object(q->arena);
    char now[TIME_TEXT_SIZE];

    time_format(clock_real_us(q->server->clock), false, now);
    json_set_string(q->arena, condition, "type", type);
    json_set_string(q->arena, condition, "status", value);
    json_set_string(q->arena, condition, "lastTransitionTime", now);
    json_set_string(q->arena, condition, "reason", reason);
    json_set_string(q->arena, condition, "message", message);
    if (!json_is(list, JSON_ARRAY)) {
        list = json_array(q->arena);
        json_set(q->arena, status, "conditions", list);
    }
    for (uint32_t i = list->count; i-- > 0;) {
        const char *other = json_get_text(list->items[i], "type");

        if (other != NULL && strcmp(other, type) == 0)
            json_remove_at(list, i);
    }
    json_append(q->arena, list, condition);
}

/* Reduces disruptionsAllowed by one, until the budget is counted again. */
static bool
charge(struct request *q, struct store_txn *txn, const struct object *object)
{
    const struct pod_disruption_budget *b = pod_disruption_budget_of(object);
    struct json *tree = object_tree(object, q->arena);
    struct json *status = json_make_object(q->arena, tree, "status");
    char now[TIME_TEXT_SIZE];

    time_format(clock_real_us(q->server->clock), false, now);
    json_set_string(q->arena, json_make_object(q->arena, status, "disruptedPods"), q->route.name,
                    now);
    json_set_int(q->arena, status, "disruptionsAllowed", b->disruptions_allowed - 1);
    if (b->disruptions_allowed == 1) {
        set_condition(q, status, "DisruptionAllowed", "False", REASON_INSUFFICIENT_PODS, "");
        json_set_int(
            q->arena,
            json_at(json_get(status, "conditions"), json_count(json_get(status, "conditions")) - 1),
            "observedGeneration", b->meta.generation);
    }
    return write_put_other(q, txn, &pod_disruption_budget_kind, tree,
                           object_tree(object, q->arena));
}

/* Sets Kiln's cause beside upstream's condition. */
static void
set_cause(struct request *q, struct json *status)
{
    struct json *cause = json_object(q->arena);

    json_set_string(q->arena, cause, "code", job_reason_name(JOB_REASON_EVICTED));
    json_set(q->arena, cause, "message",
             json_stringf(q->arena, "evicted by %.100s", q->principal->name));
    json_set(q->arena, status, "cause", cause);
}

static bool
mark(struct request *q, struct store_txn *txn, const struct object *pod)
{
    struct json *tree = object_tree(pod, q->arena);

    set_condition(q, json_make_object(q->arena, tree, "status"), "DisruptionTarget", "True",
                  REASON_EVICTION_BY_EVICTION_API, "Eviction API: evicting");
    if (q->server->profile->signs_changes)
        set_cause(q, json_get(tree, "status"));
    return write_put(q, txn, tree, object_tree(pod, q->arena)) != NULL;
}

/* A budget does not protect a pod that has not started or has ended. */
static bool
is_idle(const struct object *object)
{
    const struct pod *pod = pod_of(object);

    return pod_is_finished(pod) || pod->meta.deleted_at_us != 0 || pod->status.phase == NULL
           || strcmp(pod->status.phase, "Pending") == 0;
}

/* Returns false when the budget forbids the eviction; the reply says so. */
static bool
find_allowing_budget(struct request *q, const struct object *pod, const struct object **ret_budget)
{
    struct search search = {.pod = pod};

    *ret_budget = NULL;

    if (is_idle(pod))
        return true;
    store_list(q->server->store, &pod_disruption_budget_kind, q->route.namespace, NULL, 0,
               find_budget, &search);
    if (search.found > 1) {
        reply_internal(&q->reply, "This pod has more than one PodDisruptionBudget, which "
                                  "the eviction subresource does not support.");
        return false;
    }
    if (search.found == 1) {
        /* The newest version: evictions are faster than commits. */
        search.budget = store_find(q->server->store, STORE_PENDING, &pod_disruption_budget_kind,
                                   q->route.namespace, search.budget->meta->name);
        if (search.budget != NULL && !allows(q, search.budget))
            return false;
    }
    *ret_budget = search.budget;
    return true;
}

static void
deleted(struct request *q)
{
    if (q->reply.code == 200)
        reply_success(&q->reply, 201);
    q->done = q->outer_done;
    request_finish(q);
}

/* Budget, condition and deletion are one transaction: a deletion that is
 * refused charges no budget.
 */
static void
evict(struct request *q, const struct object *pod, const struct object *budget)
{
    struct store_txn *txn = NULL;

    if (!is_idle(pod) && !q->options.is_dry_run) {
        txn = store_begin(q->server->store);
        if ((budget != NULL && !charge(q, txn, budget)) || !mark(q, txn, pod)) {
            request_rollback(q, txn);
            return;
        }
        /* mark() has made a new version of the pod. */
        q->options.precondition_version = NULL;
    }
    q->outer_done = q->done;
    q->done = deleted;
    delete_within(q, txn);
}

void
verb_evict(struct request *q)
{
    struct json *options = json_get(q->body, "deleteOptions");
    const struct object *pod, *budget;

    if (!check_name(q)) {
        request_finish(q);
        return;
    }
    /* From here on the request is the deletion. */
    q->route.verb = VERB_DELETE;
    q->route.subresource = SUBRESOURCE_NONE;
    if (!options_parse(&q->options, q->arena, &q->route, q->options.parameters,
                       q->options.n_parameters, options, &q->reply)) {
        request_finish(q);
        return;
    }
    pod = write_find(q);
    /* A refused eviction must not charge a budget; otherwise it would block
     * other evictions.
     */
    if (pod == NULL || !authorization_covers(q, pod) || !delete_is_meant(q, pod)
        || !find_allowing_budget(q, pod, &budget)) {
        request_finish_durably(q);
        return;
    }
    evict(q, pod, budget);
}
