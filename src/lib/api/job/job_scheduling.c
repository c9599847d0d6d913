/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/job_scheduling.h"

#include <inttypes.h>

#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/object/check.h"
#include "lib/api/value/rows.h"
#include "lib/json/json.h"

/* clang-format off */
static const struct field job_scheduling_fields[] = {
    OBJECT_ROW("schedulingPolicy", group_policy,
        AT(job_scheduling, policy), ALWAYS,
        HELP("Whether the pods are placed together (gang) or one by one "
             "(basic); minCount of a gang is parallelism by default.")),
    OPAQUE_OBJECT("schedulingConstraints", group_constraints, KEPT,
        HELP("Where the pods are placed.")),
    OPAQUE_OBJECT("disruptionMode", disruption_mode, KEPT,
        HELP("How the pods are evicted.")),
    OPAQUE_OBJECTS("resourceClaims", group_claim, 0, BY_KEY("name"),
        HELP("Claims of devices; stored only.")),
    OPAQUE(BOOL, "onePerNode", KILN,
        HELP("Each of the pods has a node that no other of them has.")),
};
RECORD(job_scheduling, job_scheduling, "io.k8s.api.batch.v1.JobSchedulingSpec",
       MESSAGE("schedulingPolicy schedulingConstraints disruptionMode "
               "resourceClaims"),
       HELP("How the pods of a Job are placed together."));
/* clang-format on */

int64_t
job_gang_least(const struct job *job)
{
    const struct job_scheduling *s = job->spec.scheduling;

    if (s == NULL || s->policy.gang == NULL)
        return 0;
    if (s->policy.gang->min_count > 0)
        return s->policy.gang->min_count;
    return job->spec.parallelism != NULL ? *job->spec.parallelism : 1;
}

void
job_scheduling_check(struct causes *c, const struct json *spec)
{
    const struct json *scheduling = json_get(spec, "scheduling");
    const struct json *gang = json_get_path(scheduling, "schedulingPolicy.gang");
    int64_t pods = json_get_int(spec, "parallelism", 1);
    int64_t least = json_get_int(gang, "minCount", pods);
    unsigned at;

    if (scheduling == NULL)
        return;
    if (job_array_is_asked(spec))
        causes_add(c, CAUSE_INVALID, "scheduling", NULL,
                   "is not for job arrays: the elements of an array start one by one; leave out "
                   "spec.scheduling or spec.array");
    if (json_get_path(spec, "template.spec.schedulingGroup") != NULL)
        causes_add(c, CAUSE_INVALID, "template.spec.schedulingGroup", NULL,
                   "is set by spec.scheduling; leave one of them out");
    at = causes_enter(c, "scheduling");
    group_scheduling_check(c, scheduling, false);
    if (json_get(scheduling, "schedulingPolicy") == NULL)
        causes_add(c, CAUSE_REQUIRED, "schedulingPolicy", NULL, "gang or basic");
    (void)causes_enter(c, "schedulingPolicy");
    (void)causes_enter(c, "gang");
    if (gang != NULL && least > pods)
        causes_add(c, CAUSE_INVALID, "minCount", json_get(gang, "minCount"),
                   "must not be more than parallelism, which is %" PRId64, pods);
    else if (gang != NULL && least > JOB_GANG_MAX)
        causes_add(c, CAUSE_INVALID, "minCount", json_get(gang, "minCount"),
                   "must be at most %d, the most pods that are placed together", JOB_GANG_MAX);
    causes_leave(c, at);
}

static struct json *
without_count(struct causes *c, const struct json *spec)
{
    struct json *scheduling = json_get(spec, "scheduling");
    struct json *gang;

    if (scheduling == NULL)
        return NULL;
    scheduling = json_dup(c->arena, scheduling);
    gang = json_get_path(scheduling, "schedulingPolicy.gang");
    if (gang != NULL)
        json_remove(gang, "minCount");
    return scheduling;
}

void
job_scheduling_check_change(struct causes *c, const struct json *spec, const struct json *old)
{
    const struct json *is = without_count(c, spec), *was = without_count(c, old);

    if ((is == NULL) != (was == NULL) || (is != NULL && !json_equals(is, was)))
        causes_add(c, CAUSE_INVALID, "scheduling", json_get(spec, "scheduling"),
                   "cannot be changed, except minCount of a gang");
}
