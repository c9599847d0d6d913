/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/job_scheduling.h"

#include <inttypes.h>
#include <string.h>

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
    OPAQUE_OBJECT("switches", switch_limit, KILN | KEPT,
        HELP("How many switches the nodes of the pods have at most.")),
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

static const struct execution *
execution_of(const struct job *job)
{
    return job->spec.template_.spec != NULL ? job->spec.template_.spec->execution : NULL;
}

int64_t
job_gang_size(const struct job *job)
{
    const struct execution *e = execution_of(job);

    if (e == NULL || e->runs == NULL || job_gang_least(job) == 0)
        return 0;
    return job->spec.parallelism != NULL ? *job->spec.parallelism : 1;
}

bool
job_gang_runs_first(const struct job *job)
{
    return job_gang_size(job) > 0 && strcmp(execution_of(job)->runs, EXECUTION_RUNS_FIRST) == 0;
}

static bool
member_is(const struct json *spec, const char *path, const char *wanted)
{
    const char *text = json_path_text(spec, path);

    return text != NULL && strcmp(text, wanted) == 0;
}

/* A Job whose attempts are whole has as many pods as it completes, and all of
 * them or none; the pods that hold resources never succeed.
 */
static void
check_runs(struct causes *c, const struct json *spec)
{
    const struct json *runs = json_get_path(spec, "template.spec.execution.runs");
    const struct json *gang = json_get_path(spec, "scheduling.schedulingPolicy.gang");
    const struct json *rule = json_at(json_get_path(spec, "successPolicy.rules"), 0);
    const char *field = "template.spec.execution.runs";
    int64_t pods = json_get_int(spec, "parallelism", 1);

    if (runs == NULL)
        return;
    if (gang == NULL || json_get_int(gang, "minCount", pods) != pods
        || json_get_path(spec, "scheduling.disruptionMode.all") == NULL)
        causes_add(c, CAUSE_INVALID, field, runs,
                   "needs scheduling.schedulingPolicy.gang of all pods and "
                   "scheduling.disruptionMode.all: the pods start and end together");
    if (!member_is(spec, "completionMode", "Indexed")
        || json_get_int(spec, "completions", -1) != pods)
        causes_add(c, CAUSE_INVALID, field, runs,
                   "needs completionMode Indexed and as many completions as parallelism");
    if (json_get(spec, "backoffLimitPerIndex") != NULL)
        causes_add(c, CAUSE_INVALID, field, runs,
                   "is not for backoffLimitPerIndex: no pod is started again without the others");
    if (member_is(spec, "template.spec.execution.runs", EXECUTION_RUNS_FIRST)
        && !member_is(rule, "succeededIndexes", "0"))
        causes_add(c, CAUSE_INVALID, field, runs,
                   "First needs successPolicy.rules[0].succeededIndexes \"0\": the Job ends when "
                   "its first pod does");
}

void
job_scheduling_check(struct causes *c, const struct json *spec)
{
    const struct json *scheduling = json_get(spec, "scheduling");
    const struct json *gang = json_get_path(scheduling, "schedulingPolicy.gang");
    int64_t pods = json_get_int(spec, "parallelism", 1);
    int64_t least = json_get_int(gang, "minCount", pods);
    unsigned at;

    check_runs(c, spec);
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
    if (json_get_path(old, "template.spec.execution.runs") != NULL
        && json_get_int(spec, "parallelism", 1) != json_get_int(old, "parallelism", 1))
        causes_add(c, CAUSE_INVALID, "parallelism", json_get(spec, "parallelism"),
                   "cannot be changed: the pods of this Job start and end together; submit "
                   "another job");
}
