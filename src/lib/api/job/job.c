/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/api/job/job_scheduling.h"
#include "lib/api/job/job_strategy.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object/rights.h"
#include "lib/api/value/rows.h"
#include "lib/base/decimal.h"
#include "lib/base/strbuf.h"

/* clang-format off */
static const struct field on_exit_codes_fields[] = {
    STRING("operator", exit_code_match, operator_, ALWAYS | REQUIRED,
        ONE_OF("In", "NotIn"),
        HELP("In or NotIn.")),
    LIST(INT, "values", exit_code_match, values, ALWAYS | REQUIRED, APPLY_SET,
        HELP("The exit codes; 0 only with NotIn.")),
    STRING("containerName", exit_code_match, container_name, KEPT,
        HELP("Only of this container.")),
};
static RECORD(on_exit_codes, exit_code_match,
       "io.k8s.api.batch.v1.PodFailurePolicyOnExitCodesRequirement",
       MESSAGE("containerName operator values"),
       HELP("A requirement on exit codes."));

static const struct field on_pod_conditions_fields[] = {
    STRING("status", condition_match, status, ALWAYS | REQUIRED,
        HELP("The required status.")),
    STRING("type", condition_match, type, ALWAYS | REQUIRED,
        HELP("The condition, such as DisruptionTarget.")),
};
static RECORD(on_pod_conditions, condition_match,
       "io.k8s.api.batch.v1.PodFailurePolicyOnPodConditionsPattern",
       MESSAGE("type status"),
       HELP("A requirement on a condition of the pod."));

static const struct field pod_failure_policy_rule_fields[] = {
    STRING("action", failure_rule, action, ALWAYS | REQUIRED,
        ONE_OF("Count", "FailIndex", "FailJob", "Ignore"),
        HELP("The action for a matching failure.")),
    OBJECT("onExitCodes", failure_rule, on_exit_codes, on_exit_codes, OPTIONAL,
        HELP("Exit codes; for a process killed by a signal, 128 plus the "
             "signal's number.")),
    OBJECTS("onPodConditions", failure_rule, on_conditions, on_pod_conditions,
        0,
        HELP("It matches if one of these conditions holds.")),
};
static RECORD(pod_failure_policy_rule, failure_rule,
       "io.k8s.api.batch.v1.PodFailurePolicyRule",
       MESSAGE("action onExitCodes onPodConditions"),
       HELP("What is done about a failure; the first matching rule counts."));

static const struct field pod_failure_policy_fields[] = {
    OBJECTS("rules", failure_policy, rules, pod_failure_policy_rule,
        ALWAYS | REQUIRED,
        HELP("Read from the first; at most 20.")),
};
static RECORD(pod_failure_policy, failure_policy,
       "io.k8s.api.batch.v1.PodFailurePolicy",
       MESSAGE("rules"),
       HELP("What is done about failures of a Job's pods."));

static const struct field success_policy_rule_fields[] = {
    INT("succeededCount", success_rule, succeeded_count, OPTIONAL,
        HELP("At least this many indexes have succeeded.")),
    STRING("succeededIndexes", success_rule, succeeded_indexes, KEPT,
        HELP("All of these indexes have succeeded: \"0,3-5\".")),
};
static RECORD(success_policy_rule, success_rule,
       "io.k8s.api.batch.v1.SuccessPolicyRule",
       MESSAGE("succeededIndexes succeededCount"),
       HELP("A criterion for the early success of an Indexed Job."));

static const struct field success_policy_fields[] = {
    OBJECTS("rules", success_policy, rules, success_policy_rule,
        ALWAYS | REQUIRED,
        HELP("One match is enough.")),
};
static RECORD(success_policy, success_policy,
       "io.k8s.api.batch.v1.SuccessPolicy",
       MESSAGE("rules"),
       HELP("When an Indexed Job succeeds although indexes are left."));

static const struct field uncounted_terminated_pods_fields[] = {
    OPAQUE_LIST(STRING, "failed", 0, APPLY_SET,
        HELP("Uids of those that failed.")),
    OPAQUE_LIST(STRING, "succeeded", 0, APPLY_SET,
        HELP("Uids of those that succeeded.")),
};
static OPAQUE_RECORD(uncounted_terminated_pods,
       "io.k8s.api.batch.v1.UncountedTerminatedPods",
       MESSAGE("succeeded failed"),
       HELP("Pods that have ended and are not counted yet."));

static const struct field job_condition_fields[] = {
    STRING("type", job_condition, type, ALWAYS | REQUIRED,
        OFTEN("Complete", "Failed", "Suspended", "SuccessCriteriaMet",
            "FailureTarget"),
        HELP("Suspended, Complete, Failed, FailureTarget or "
             "SuccessCriteriaMet.")),
    STRING("status", job_condition, status, ALWAYS | REQUIRED,
        OFTEN("True", "False", "Unknown"),
        HELP("True, False or Unknown.")),
    OPAQUE(TIME, "lastProbeTime", ALWAYS,
        HELP("When it was last checked.")),
    TIME("lastTransitionTime", job_condition, last_transition_at_us, ALWAYS,
        HELP("When the status last changed.")),
    STRING("reason", job_condition, reason, 0,
        HELP("Reason in one word, for programs.")),
    STRING("message", job_condition, message, 0,
        HELP("Explanation, for people.")),
};
static RECORD(job_condition, job_condition, "io.k8s.api.batch.v1.JobCondition",
       MESSAGE("type status lastProbeTime lastTransitionTime reason message"),
       HELP("A condition of a Job."));

static const struct field job_run_fields[] = {
    STRING("podName", job_run, pod_name, 0,
        HELP("The pod.")),
    STRING("nodeName", job_run, node_name, 0,
        HELP("Where it ran.")),
    TIME("startedAt", job_run, started_at_us, KEPT,
        HELP("When its process started.")),
    TIME("finishedAt", job_run, finished_at_us, KEPT,
        HELP("When it ended.")),
    INT64("frozenMicroseconds", job_run, frozen_us, 0,
        HELP("How long it was suspended in that time.")),
    INT("exitCode", job_run, exit_code, 0,
        HELP("Its exit code.")),
    INT("signal", job_run, signal, 0,
        HELP("The signal that killed it, if any.")),
    STRING("reason", job_run, reason, 0, HELP("One word on how it ended.")),
    STRING("message", job_run, message, 0,
        HELP("Explanation, for people.")),
    OBJECT("usage", job_run, usage, pod_usage, OPTIONAL,
        HELP("What its process used.")),
};
static RECORD(job_run, job_run, "hpc.kiln.v1.JobRun",
       HELP("The result of the Job's pod that ended last."), ATOMIC);

static const struct field job_array_fields[] = {
    STRING("tasks", job_array, tasks, ALWAYS | REQUIRED,
        HELP("The numbers of its elements: \"0-99\", \"1-1000:7\", "
             "\"3,5,9-12\".")),
    INT("throttle", job_array, throttle, OPTIONAL,
        HELP("The maximum number of elements that run at once; 0 starts "
             "none; without it there is no such limit.")),
    BOOL("failFast", job_array, fail_fast, 0,
        HELP("The first element that fails cancels the others.")),
    STRING("held", job_array, held, 0,
        HELP("The numbers of held elements.")),
    STRING("cancelled", job_array, cancelled, 0,
        HELP("The numbers of cancelled elements.")),
    INT64("requeues", job_array, requeues, 0,
        HELP("How often elements were requeued; counted by the server.")),
};
static RECORD(job_array, job_array, "hpc.kiln.v1.JobArray",
       HELP("A job array: one Job with many elements; only elements that "
            "run or can start soon have pods."));

static const struct field job_array_status_fields[] = {
    STRING("waiting", job_array_status, waiting, 0,
        HELP("The elements that have no pod yet: \"57-999\"; a long list "
             "ends in \"...\".")),
    INT("cancelled", job_array_status, cancelled, 0,
        HELP("How many elements were cancelled.")),
    STRING("unstarted", job_array_status, unstarted, 0,
        HELP("The tasks that never started, of an array that has ended; a long "
             "list ends in \"...\".")),
};
static RECORD(job_array_status, job_array_status,
       "hpc.kiln.v1.JobArrayStatus",
       HELP("The state of the elements of an array."));

static const struct field job_status_fields[] = {
    OBJECTS("conditions", job_status, conditions, job_condition, 0,
        PATCH_BY_KEY("type"), HELP("Complete, Failed, Suspended and when.")),
    TIME("startTime", job_status, start_at_us, KEPT,
        HELP("When the controller first processed the Job.")),
    INT("active", job_status, active, 0, HELP("Pods that wait or run.")),
    TIME("completionTime", job_status, completion_at_us, KEPT,
        HELP("When the Job was complete.")),
    INT("failed", job_status, failed, 0, HELP("Pods that failed.")),
    INT("succeeded", job_status, succeeded, 0, HELP("Pods that succeeded.")),
    INT("terminating", job_status, terminating, KEPT,
        HELP("Pods that were told to end and have not ended yet.")),
    OPAQUE_OBJECT("uncountedTerminatedPods", uncounted_terminated_pods, 0,
        HELP("Pods that have ended and are not counted yet.")),
    INT("ready", job_status, ready, KEPT,
        HELP("Pods that are ready.")),
    STRING("completedIndexes", job_status, completed_indexes, 0,
        HELP("Of an Indexed Job, the indexes that have succeeded.")),
    STRING("failedIndexes", job_status, failed_indexes, KEPT,
        HELP("Those that have failed more often than backoffLimitPerIndex.")),
    INT64("id", job_status, id, KILN,
        HELP("The number of the job in this cluster.")),
    INT("attempts", job_status, attempts, KILN, HELP("Pods made so far.")),
    INT("excused", job_status, excused, KILN,
        HELP("Pods that ended because the Job was held or requeued, or their "
             "node lost; not held against it.")),
    INT("requeued", job_status, requeued, KILN,
        HELP("The kiln.hpc/requeue-before that was carried out last.")),
    ANY("removedPods", job_status, removed_pods, KILN,
        HELP("How pods ended that were removed and are not counted yet.")),
    OBJECT("lastRun", job_status, last_run, job_run, OPTIONAL | KILN,
        HELP("The result of the pod that ended last.")),
    INT("exitCode", job_status, exit_code, OPTIONAL | KILN,
        HELP("The exit code of the last pod that ended.")),
    STRING("state", job_status, state, KILN,
        HELP("What the Job is doing, or how it ended, in one word: "
             "kiln-states(7).")),
    STRING("cancelledBy", job_status, cancelled_by, KILN,
        HELP("Who ended it, if its state is Cancelled.")),
    OBJECT("cause", job_status, cause, pod_cause, OPTIONAL | KILN,
        HELP("Why its pods cannot be made, when they cannot.")),
    OBJECT("array", job_status, array, job_array_status, OPTIONAL | KILN,
        HELP("The state of the elements of an array.")),
    OBJECT("dependencies", job_status, dependencies, job_dependency_status,
        OPTIONAL | KILN,
        HELP("The state of spec.dependencies.")),
};
static RECORD(job_status, job_status, "io.k8s.api.batch.v1.JobStatus",
       MESSAGE("conditions startTime completionTime active succeeded failed "
               "completedIndexes uncountedTerminatedPods ready failedIndexes "
               "terminating"),
       HELP("The state of a Job."));

static const struct field job_blob_fields[] = {
    STRING("digest", job_blob, digest, 0,
        HELP("sha256: and 64 hexadecimal digits.")),
    INT64("size", job_blob, size_bytes, 0, HELP("Bytes.")),
    STRING("text", job_blob, text, 0,
        HELP("The content; only in requests.")),
    BYTES("data", job_blob, data, 0,
        HELP("The content in base64; only in requests.")),
};
static RECORD(job_blob, job_blob, "hpc.kiln.v1.Blob",
       HELP("A script or an environment: its digest, and at submission "
            "its content."));

static const struct field job_spec_fields[] = {
    INT("parallelism", job_spec, parallelism, OPTIONAL,
        HELP("How many pods at once.")),
    INT("completions", job_spec, completions, OPTIONAL,
        HELP("How many pods must succeed.")),
    INT64("activeDeadlineSeconds", job_spec, active_deadline_seconds, OPTIONAL,
        HELP("The time limit from the Job's start to its end, including "
             "waiting.")),
    OBJECT("podFailurePolicy", job_spec, pod_failure_policy,
        pod_failure_policy, OPTIONAL,
        HELP("What the failure of a pod means; the first rule that matches.")),
    OBJECT("successPolicy", job_spec, success_policy, success_policy, OPTIONAL,
        HELP("Which indexes are enough for an Indexed Job to be complete.")),
    INT("backoffLimit", job_spec, backoff_limit, OPTIONAL,
        HELP("How many times a failed pod is tried again.")),
    INT("backoffLimitPerIndex", job_spec, backoff_limit_per_index, OPTIONAL,
        HELP("The same for each index of an Indexed Job.")),
    OBJECT("selector", job_spec, selector, label_selector, OPTIONAL,
        HELP("Which pods are the Job's; set by the server.")),
    OPAQUE(BOOL, "manualSelector", KEPT,
        HELP("Whether the selector is the client's own.")),
    OBJECT("template", job_spec, template_, pod_template, ALWAYS | REQUIRED,
        HELP("The pods to make.")),
    INT("ttlSecondsAfterFinished", job_spec, ttl_seconds_after_finished,
        OPTIONAL, HELP("How long the Job is kept once it has ended.")),
    STRING("completionMode", job_spec, completion_mode, KEPT,
        ONE_OF("Indexed", "NonIndexed"),
        HELP("Indexed: every pod has a number, as in a job array.")),
    BOOL("suspend", job_spec, suspend, KEPT,
        HELP("Held: no pods are made, and running ones are ended.")),
    STRING("podReplacementPolicy", job_spec, pod_replacement_policy, KEPT,
        ONE_OF("Failed", "TerminatingOrFailed"),
        OFTEN("Failed", "TerminatingOrFailed"),
        HELP("Failed: the next pod is created when the last one has ended, "
             "not when it is told to end.")),
    STRING("managedBy", job_spec, managed_by, KEPT,
        HELP("A controller other than Kiln's, which then ignores the Job.")),
    INT("maxFailedIndexes", job_spec, max_failed_indexes, OPTIONAL,
        HELP("With more failed indexes than these the Job fails at once.")),
    OBJECT("script", job_spec, script, job_blob, OPTIONAL | KILN,
        HELP("The program that the pods run; kept by its digest.")),
    OBJECT("environment", job_spec, environment, job_blob, OPTIONAL | KILN,
        HELP("NAME=value entries, each ended by a NUL; kept by its digest.")),
    TIME("beginTime", job_spec, begin_at_us, KEPT | KILN,
        HELP("No pods are created before this time.")),
    TIME("deadline", job_spec, deadline_us, KEPT | KILN,
        HELP("The deadline: it is ended at this time, and not started if "
             "its time limit does not fit before; the start of 1970: none.")),
    BOOL("requeue", job_spec, requeue, KILN,
        HELP("Start again when the node of a pod is lost.")),
    OBJECT("array", job_spec, array, job_array, OPTIONAL | KILN,
        HELP("Makes it a job array: which elements, and how many at once.")),
    OBJECT("dependencies", job_spec, dependencies, job_dependencies,
        OPTIONAL | KILN,
        HELP("The jobs that it waits for before it has pods.")),
    OBJECT("scheduling", job_spec, scheduling, job_scheduling,
        OPTIONAL | KILN, HELP("How its pods are placed together.")),
};
RECORD(job_spec, job_spec, "io.k8s.api.batch.v1.JobSpec",
       MESSAGE("parallelism completions activeDeadlineSeconds selector "
               "manualSelector template backoffLimit ttlSecondsAfterFinished "
               "completionMode suspend podFailurePolicy backoffLimitPerIndex "
               "maxFailedIndexes podReplacementPolicy managedBy "
               "successPolicy scheduling"),
       HELP("The desired state of a Job."));

static const struct field job_fields[] = {
    TYPE_META,
    METADATA(job),
    OBJECT("spec", job, spec, job_spec, ALWAYS,
        HELP("Desired state.")),
    OBJECT("status", job, status, job_status, ALWAYS,
        HELP("Current state; set only by the system.")),
};
RECORD(job, job, "io.k8s.api.batch.v1.Job",
       MESSAGE("metadata spec status"),
       HELP("Work that runs to completion: pods from a template, with "
            "retries, parallelism and indexes."));
/* clang-format on */

/* ---- Selectable fields ---- */

static const char *
select_successful(const struct object *object, char buffer[64])
{
    snprintf(buffer, 64, "%" PRId64, job_of(object)->status.succeeded);
    return buffer;
}

static const char *
select_id(const struct object *object, char buffer[64])
{
    return decimal_of(job_of(object)->status.id, buffer);
}

/* An extension: a client that cancels jobs need not read those that ended. */
static const char *
select_finished(const struct object *object, char buffer[64])
{
    (void)buffer;
    return job_is_finished(job_of(object)) ? "true" : "false";
}

static const char *
find_partition(const struct job *job)
{
    const struct pod_spec *spec = job->spec.template_.spec;
    const char *partition = spec != NULL ? pod_spec_partition(spec) : NULL;

    return partition != NULL ? partition : "";
}

/* Extensions for the columns of `kctl jobs`. */
static const char *
select_user(const struct object *object, char buffer[64])
{
    (void)buffer;
    return job_find_user(job_of(object));
}

static const char *
select_partition(const struct object *object, char buffer[64])
{
    (void)buffer;
    return find_partition(job_of(object));
}

static const char *
select_state(const struct object *object, char buffer[64])
{
    (void)buffer;
    return job_state_words(job_find_state(job_of(object)))->name;
}

static const struct selectable_field selectable[] = {
    {"spec.partition", select_partition}, {"spec.user", select_user},
    {"status.finished", select_finished}, {"status.id", select_id},
    {"status.state", select_state},       {"status.successful", select_successful},
};

static const char *
id_value(const struct object *object, char buffer[64])
{
    return job_of(object)->status.id != 0 ? select_id(object, buffer) : NULL;
}

/* Keys belong to the principal. The Job has an annotation with the submitter's
 * uid if it was submitted for somebody else; otherwise the submitter is the
 * owner.
 */
static const char *
submission_key(const struct object *object, char buffer[64])
{
    const char *key = string_map_find(&object->meta->annotations, ANNOTATION_SUBMISSION);
    const char *submitter = string_map_find(&object->meta->annotations, ANNOTATION_SUBMITTER);
    const struct security_context *context = job_of(object)->spec.template_.spec->security_context;

    if (key != NULL && submitter != NULL) {
        snprintf(buffer, 64, "%.12s/%s", submitter, key);
        return buffer;
    }
    if (key == NULL || context == NULL || context->run_as_user == NULL)
        return NULL;
    snprintf(buffer, 64, "%" PRId64 "/%s", *context->run_as_user, key);
    return buffer;
}

const char *
job_recency(const char *of, int64_t hour, char buffer[64])
{
    CLEANUP_STRBUF struct strbuf text;

    strbuf_init_in(&text, buffer, 64);
    strbuf_add_int(&text, hour);
    strbuf_add_char(&text, '/');
    strbuf_add(&text, of, strnlen(of, 40));
    return buffer;
}

static int64_t
hour_of(const struct job *job)
{
    return job_is_finished(job) ? job_ended_at_us(job) / JOB_HOUR_US : JOB_HOUR_ACTIVE;
}

static const char *
recency_value(const struct object *object, char buffer[64])
{
    const struct job *job = job_of(object);

    return job_recency(job_find_user(job), hour_of(job), buffer);
}

static const char *
last_node_value(const struct object *object, char buffer[64])
{
    const struct job *job = job_of(object);
    const struct job_run *run = job->status.last_run;

    return run != NULL && run->node_name != NULL ? job_recency(run->node_name, hour_of(job), buffer)
                                                 : NULL;
}

static const char *
active_partition(const struct object *object, char buffer[64])
{
    return job_is_finished(job_of(object)) ? NULL : select_partition(object, buffer);
}

static const char *
active_state(const struct object *object, char buffer[64])
{
    return job_is_finished(job_of(object)) ? NULL : select_state(object, buffer);
}

static const struct kind_index indexes[] = {
    [JOB_BY_ID] = {NULL, id_value},
    [JOB_BY_SUBMISSION] = {NULL, submission_key},
    [JOB_BY_USER] = {"spec.user", select_user},
    [JOB_BY_RECENCY] = {NULL, recency_value},
    [JOB_BY_LAST_NODE] = {NULL, last_node_value},
    [JOB_BY_ACTIVE_PARTITION] = {NULL, active_partition},
    [JOB_BY_ACTIVE_STATE] = {NULL, active_state},
};

/* Users own their jobs. Operators hold, release and cancel other users' jobs
 * but do not see what these run. An agent fetches what its node is to run.
 */
/* clang-format off */
static const struct right rights[] = {
    {BY_OPERATOR, MAY_UPDATE | MAY_REMOVE, SUBRESOURCE_NONE, SCOPE_ALL},
    {BY_OPERATOR, MAY_READ, SUBRESOURCE_WHY, SCOPE_ALL},
    {BY_OPERATOR, MAY_READ, SUBRESOURCE_ELEMENTS, SCOPE_ALL},
    {BY_LIFECYCLE, MAY_READ | MAY_CREATE, SUBRESOURCE_ELEMENTS, SCOPE_ALL},
    {BY_LIFECYCLE, MAY_CREATE, SUBRESOURCE_START, SCOPE_ALL},
    {BY_LIFECYCLE, MAY_CREATE, SUBRESOURCE_GANG, SCOPE_ALL},
    {BY_USERS, MAY_CREATE, SUBRESOURCE_NONE, SCOPE_MEMBERS},
    {BY_USERS, MAY_UPDATE | MAY_REMOVE, SUBRESOURCE_NONE, SCOPE_OWN},
    {BY_USERS, MAY_READ, SUBRESOURCE_SCRIPT, SCOPE_OWN},
    {BY_USERS, MAY_READ, SUBRESOURCE_ENVIRONMENT, SCOPE_OWN},
    {BY_USERS, MAY_READ, SUBRESOURCE_WHY, SCOPE_OWN},
    {BY_USERS, MAY_READ, SUBRESOURCE_ELEMENTS, SCOPE_OWN},
    {BY_USERS, MAY_READ, SUBRESOURCE_LOG, SCOPE_OWN},
    {BY_AGENT, MAY_READ, SUBRESOURCE_SCRIPT, SCOPE_NODE},
    {BY_AGENT, MAY_READ, SUBRESOURCE_ENVIRONMENT, SCOPE_NODE},
};
/* clang-format on */

static const char *const operator_fields[] = {
    "metadata.annotations",
    "metadata.labels",
    "metadata.managedFields", /* they follow from the change */
    "metadata.resourceVersion",
    "metadata.generation",
    "spec.array.cancelled",
    "spec.array.held",
    "spec.array.throttle",
    "spec.parallelism", /* it follows from the throttle */
    "spec.suspend",
    "spec.template.spec.activeDeadlineSeconds",
    "spec.template.spec.priority",
    "spec.template.spec.priorityClassName",
    NULL,
};

static const struct kind_subresource subresources[] = {
    {SUBRESOURCE_ELEMENTS, MAY_GET | MAY_CREATE | KILN_ONLY},
    {SUBRESOURCE_END, MAY_GET | KILN_ONLY},
    {SUBRESOURCE_ENVIRONMENT, MAY_GET | KILN_ONLY},
    {SUBRESOURCE_GANG, MAY_CREATE | KILN_ONLY},
    {SUBRESOURCE_LOG, MAY_GET | KILN_ONLY},
    {SUBRESOURCE_SCRIPT, MAY_GET | KILN_ONLY},
    {SUBRESOURCE_START, MAY_CREATE | KILN_ONLY},
    {SUBRESOURCE_WHY, MAY_GET | KILN_ONLY},
};

const struct kind job_kind = {
    .group = "batch",
    .version = "v1",
    .api_version = "batch/v1",
    .name = "Job",
    .list_name = "JobList",
    .plural = "jobs",
    .singular = "job",
    .categories = (const char *const[]){"all", NULL},
    .flags = KIND_NAMESPACED | KIND_HAS_STATUS | KIND_UNCONDITIONAL_UPDATE | KIND_GENERATION
             | KIND_SPEC_DEFAULTS | KIND_ORPHANS_PODS,
    .pod_spec = "spec.template.spec",
    .content = "spec",
    .record = &job_record,
    .set_defaults = job_set_defaults,
    .prepare = job_prepare,
    .validate = job_validate,
    .validate_status = job_validate_status,
    .check_status = job_check_status,
    .part_of_spec = job_part_of_spec,
    .warn = job_warn,
    .redact = job_redact,
    .selectable = selectable,
    .n_selectable = ARRAY_SIZE(selectable),
    .table = &job_table,
    .kiln_table = &job_kiln_table,
    .indexes = indexes,
    .n_indexes = ARRAY_SIZE(indexes),
    KIND_RIGHTS(rights),
    .operator_fields = operator_fields,
    KIND_SUBRESOURCES(subresources),
};
