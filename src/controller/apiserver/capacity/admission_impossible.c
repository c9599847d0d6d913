/* SPDX-License-Identifier: Apache-2.0 */
/* admission_impossible.c - a job that could never run is told when it is
 * submitted, because the user is still there
 *
 * It is compared with what the nodes have, whatever is free or down, and with
 * the quotas of its namespace as if nothing was used. By default it is accepted
 * with a warning: nodes may join, and a quota may be raised. A site may refuse
 * it (`impossible`). A person is told when he asks for it; a job of a CronJob,
 * and a job whose nodes go away later, wait.
 */
#include <string.h>

#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/capacity/feasibility.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_scheduling.h"
#include "lib/api/job/job_wait.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/quota.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

static const struct object *
find(void *owner, const char *kind, const char *name)
{
    const struct request *q = owner;

    return store_find(q->server->store, STORE_PENDING,
                      strcmp(kind, partition_kind.name) == 0 ? &partition_kind : &reservation_kind,
                      NULL, name);
}

/* ---- Quotas ---- */

struct quota_visit {
    struct request *q;
    const struct json *spec;
    struct json *pod; /* NULL: there was no quota yet */
    const char *why;  /* in the words of the API; NULL: all could admit it */
};

static bool
visit_quota(const struct object *quota, void *context)
{
    struct quota_visit *v = context;
    struct json *tree = object_tree(quota, v->q->arena);
    struct quota_amounts nothing;

    if (v->pod == NULL) {
        v->pod = json_object(v->q->arena);
        json_set(v->q->arena, v->pod, "spec", json_dup(v->q->arena, v->spec));
    }
    quota_amounts_init(&nothing, v->q->arena);
    json_set(v->q->arena, json_make_object(v->q->arena, tree, "status"), "used",
             quota_used(v->q->arena, json_get_path(tree, "status.hard"), &nothing));
    (void)quota_charge(v->q->arena, tree, &pod_kind, v->pod, NULL,
                       clock_real_us(v->q->server->clock), &v->why);
    return v->why == NULL;
}

/* Whether an empty quota would refuse a pod of the job. */
static bool
is_over_quota(struct request *q, const struct json *spec, struct strbuf *why)
{
    struct quota_visit v = {.q = q, .spec = spec};

    store_visit_index(q->server->store, &resource_quota_kind, RESOURCE_QUOTA_BY_NAMESPACE,
                      STORE_PENDING, q->route.namespace, visit_quota, &v);
    if (v.why != NULL)
        (void)job_wait_format_refusal(v.why, why);
    return v.why != NULL;
}

/* ---- Pods that are placed together ---- */

static const struct json *
gang_of(const struct json *tree)
{
    const struct json *of_cron = json_get_path(tree, "spec.jobTemplate.spec");
    const struct json *spec = of_cron != NULL ? of_cron : json_get_path(tree, "spec");

    return json_get_path(spec, "scheduling.schedulingPolicy.gang") != NULL ? spec : NULL;
}

/* How many; 0: each by itself. */
static unsigned
count_together(const struct json *tree)
{
    const struct json *spec = gang_of(tree);
    const int64_t all = json_get_int(spec, "parallelism", 1);
    const int64_t least =
        json_get_int(json_get_path(spec, "scheduling.schedulingPolicy.gang"), "minCount", all);

    return spec == NULL || least < 0 ? 0 : least > JOB_GANG_MAX ? JOB_GANG_MAX : (unsigned)least;
}

static const char *
topology_key_of(const struct json *tree)
{
    const struct json *list =
        json_get_path(gang_of(tree), "scheduling.schedulingConstraints.topology");

    return json_path_text(json_at(list, 0), "key");
}

/* ---- The rule ---- */

static bool
is_asked_again(struct request *q, struct json *tree, const struct object *old_object)
{
    return old_object != NULL
           && (json_equals(admission_pod_spec(q, tree), admission_old_pod_spec(q, old_object))
               && count_together(tree) == count_together(object_tree(old_object, q->arena)));
}

static bool
may_run(struct request *q, const struct json *tree, const struct json *spec, struct strbuf *why)
{
    struct pod_spec view = {0};

    record_decode(&pod_spec_record, q->arena, spec, &view);
    return feasibility_judge(
        &(struct feasibility_question){
            .nodes = q->server->node_classes,
            .spec = &view,
            .find = find,
            .owner = q,
            .together = count_together(tree),
            .is_one_per_node = json_is_true(json_get_path(gang_of(tree), "scheduling.onePerNode")),
            .topology_key = topology_key_of(tree),
        },
        why);
}

bool
impossible_format(struct request *q, struct json *tree, struct strbuf *out)
{
    const struct json *spec = json_get_path(tree, "spec.template.spec");

    return q->server->node_classes != NULL && spec != NULL && count_together(tree) > 0
           && !may_run(q, tree, spec, out);
}

/* `noun` is what can never run. With is_by_itself, the rule ResourceQuota judges it. */
static bool
admit(struct request *q, struct json *tree, const struct object *old_object, const char *noun,
      bool is_by_itself)
{
    const enum impossible_jobs what = q->server->policy->impossible;
    const struct json *spec = admission_pod_spec(q, tree);
    CLEANUP_STRBUF struct strbuf why = STRBUF_INIT;

    if (q->server->node_classes == NULL || what == IMPOSSIBLE_ACCEPT || spec == NULL
        || !principal_is_person(q->principal) || q->route.subresource != SUBRESOURCE_NONE
        || is_asked_again(q, tree, old_object))
        return true;
    if (may_run(q, tree, spec, &why) && (is_by_itself || !is_over_quota(q, spec, &why)))
        return true;
    if (what == IMPOSSIBLE_REFUSE)
        return admission_refuse(q, tree, "Impossible", why.text);
    reply_warn(&q->reply, "%s can never run: %s", noun, why.text);
    return true;
}

bool
impossible_pod_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    return admit(q, tree, old_object, "the pod", true);
}

bool
impossible_job_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    return (old_object != NULL && job_is_finished(job_of(old_object)))
           || admit(q, tree, old_object, "the job", false);
}

bool
impossible_cron_job_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    return admit(q, tree, old_object, "its jobs", false);
}
