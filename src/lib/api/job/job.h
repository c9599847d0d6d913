/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - work that is done by pods of one template
 *
 * Kiln's additions: status.id (the integer that users type), spec.script and
 * spec.environment (content-addressed blobs), spec.beginTime, spec.deadline,
 * spec.requeue, spec.array, spec.dependencies, status.array, dependencies,
 * attempts, excused, requeued, removedPods, exitCode, lastRun, state, cancelledBy
 * and cause.
 *
 * Thread:  any; plain data.
 */
#pragma once

#include "lib/api/job/job_state.h"
#include "lib/api/object/meta.h"
#include "lib/api/pod/pod.h"

/* Submitted with its content, as text or base64 data; stored as its digest. */
struct job_blob {
    const char *digest; /* "sha256:<64 hex>" */
    int64_t size_bytes;
    const char *text; /* only in requests */
    const char *data; /* only in requests; base64 */
};

/* Rules for the failure of a pod: the first rule that matches decides. A rule
 * has either exit codes or conditions.
 */
struct exit_code_match {
    const char *operator_; /* In, NotIn */
    LIST_OF(int64_t) values;
    const char *container_name; /* NULL: any */
};

struct condition_match {
    const char *type;
    const char *status;
};

struct failure_rule {
    const char *action; /* Ignore, Count, FailIndex, FailJob */
    const struct exit_code_match *on_exit_codes;
    LIST_OF(struct condition_match) on_conditions;
};

struct failure_policy {
    LIST_OF(struct failure_rule) rules;
};

/* The indexes that must succeed; of these (NULL: of all), at least `count`. */
struct success_rule {
    const char *succeeded_indexes; /* "0-3,5" */
    const int64_t *succeeded_count;
};

struct success_policy {
    LIST_OF(struct success_rule) rules;
};

/* Kiln: a job array. Its elements are identified by their index, 0 to n-1, and
 * for people by their task id, which is the id in `tasks` at that place. Lists
 * of task ids are in the form of lib/api/value/task_list.h.
 */
struct job_array {
    const char *tasks;       /* "1-1000:7" */
    const int64_t *throttle; /* elements that run at once; NULL: no limit */
    bool fail_fast;          /* the first failure cancels the others */
    const char *held;        /* elements that must not start; or NULL */
    const char *cancelled;   /* elements to end or never start; or NULL */
    int64_t requeues;        /* requests so far to run elements again */
};

/* Kiln: a job that this one waits for (job_dependency.h). Admission writes all
 * members but type, job, tasks and delay.
 */
struct job_dependency {
    const char *type;  /* "afterok"; "singleton" stands alone */
    int64_t job;       /* number of the job */
    const char *tasks; /* task ids of the array: "3-9"; NULL: all */
    int64_t delay_s;   /* after the job has started */
    const char *uid;
    const char *namespace;
    const char *name;
    const char *ended;         /* state of a job that was gone at admission */
    int64_t ended_began_at_us; /* when that job had begun; its end where it never did */
};

struct job_dependencies {
    const char *require; /* All (NULL), Any */
    LIST_OF(struct job_dependency) jobs;
};
extern const struct record job_dependencies_record;

struct job_scheduling;

struct job_spec {
    const int64_t *parallelism;
    const int64_t *completions;
    const int64_t *active_deadline_seconds; /* pending time included */
    const struct failure_policy *pod_failure_policy;
    const struct success_policy *success_policy;
    const int64_t *backoff_limit;
    const int64_t *backoff_limit_per_index;
    const int64_t *max_failed_indexes;
    const char *pod_replacement_policy; /* TerminatingOrFailed, Failed */
    const char *managed_by;             /* NULL: the job controller */
    const int64_t *ttl_seconds_after_finished;
    const char *completion_mode; /* NonIndexed, Indexed */
    bool suspend;                /* no pods while true */
    const struct label_selector *selector;
    struct pod_template template_;
    const struct job_blob *script;
    const struct job_blob *environment;          /* NAME=value, each ended by a NUL */
    int64_t begin_at_us;                         /* 0: at once */
    int64_t deadline_us;                         /* the job must have ended; 0: none */
    bool requeue;                                /* start again when its node is lost */
    const struct job_array *array;               /* NULL: not an array */
    const struct job_dependencies *dependencies; /* or NULL */
    const struct job_scheduling *scheduling;     /* or NULL */
};

struct job_condition {
    const char *type; /* Complete, Failed, Suspended, FailureTarget, ... */
    const char *status;
    const char *reason;
    const char *message;
    int64_t last_transition_at_us;
};

/* Kiln: how the last pod that ended ran. It is kept when the pod is gone. */
struct job_run {
    const char *pod_name;
    const char *node_name;
    int64_t started_at_us; /* start of the process; 0: never */
    int64_t finished_at_us;
    int64_t frozen_us; /* time suspended */
    int64_t exit_code;
    int64_t signal;
    const char *reason; /* of the pod, else of its container */
    const char *message;
    const struct pod_usage *usage;
};

/* Kiln: the progress of an array's elements. */
struct job_array_status {
    const char *waiting;   /* task ids without a pod; shortened: "7-99,..." */
    int64_t cancelled;     /* elements */
    const char *unstarted; /* of an array that has ended: task ids that never
                            * started; shortened */
};

/* Kiln: the end of a job that this one waits for and that is gone by now. */
struct job_dependency_end {
    const char *uid;
    const char *tasks; /* of these tasks; NULL: of the whole job */
    const char *state;
    int64_t began_at_us; /* start, or end if never started; 0: unknown */
};

struct job_dependency_status {
    int64_t met_at_us; /* 0: not yet */
    LIST_OF(struct job_dependency_end) ended;
};
extern const struct record job_dependency_status_record;

struct job_status {
    int64_t id;
    LIST_OF(struct job_condition) conditions;
    int64_t start_at_us;
    int64_t completion_at_us;
    int64_t active, succeeded, failed, ready, terminating;
    const char *completed_indexes; /* "0-3,5" */
    const char *failed_indexes;
    /* Kiln */
    int64_t attempts;                /* pods created so far */
    int64_t excused;                 /* pods that ended through no fault of the job */
    int64_t requeued;                /* the last requeue that was carried out */
    const struct json *removed_pods; /* a list (removed_pod.h), or NULL */
    const int64_t *exit_code;        /* of the last pod that ended */
    const struct job_run *last_run;
    const char *state; /* NULL: not written yet; job_find_state */
    const char *cancelled_by;
    const struct pod_cause *cause;                    /* why there are no pods; or NULL */
    const struct job_array_status *array;             /* NULL: not an array */
    const struct job_dependency_status *dependencies; /* or NULL */
};

struct job {
    struct meta meta;
    struct job_spec spec;
    struct job_status status;
};

extern const struct record job_record;
extern const struct record job_spec_record;

/* Messages of the condition of a Job that its deadline ended. */
#define JOB_AT_DEADLINE     "Job has reached its deadline"
#define JOB_BEFORE_DEADLINE "Job cannot end before its deadline any more"

/* The value of spec.managedBy, if set, for jobs of the job controller. */
#define MANAGED_BY_KILN "kubernetes.io/job-controller"

/* Message of the condition Suspended. */
#define JOB_SUSPENDED_MESSAGE "Job suspended"

const struct job *job_of(const struct object *object);

enum job_index {
    JOB_BY_ID,
    JOB_BY_SUBMISSION, /* "UID/SUBMISSION-KEY" */
    JOB_BY_USER,
    JOB_BY_RECENCY,          /* see job_recency */
    JOB_BY_LAST_NODE,        /* likewise, by the node of the last run */
    JOB_BY_ACTIVE_PARTITION, /* only jobs that have not ended */
    JOB_BY_ACTIVE_STATE,
};

/* The index value of a user's (or node's) jobs that have not ended, or that
 * ended in that hour since 1970, so that a query for recent jobs reads nothing
 * else. Several long names may share one value.
 */
#define JOB_HOUR_ACTIVE (-1)
#define JOB_HOUR_US     INT64_C(3600000000)
const char *job_recency(const char *of, int64_t hour, char buffer[64]);

/* Longer submission keys are refused, so that the index value fits. */
#define SUBMISSION_KEY_MAX 48

bool job_is_finished(const struct job *job);

/* A held Job gets no new pods. A Job that is suspended counts as held, because
 * former releases held it that way; so does one whose pods are suspended. Held
 * by an operator: the owner cannot release the job.
 */
bool job_is_held(const struct job *job);
bool job_is_held_on_request(const struct job *job);
bool job_is_held_for_requeues(const struct job *job); /* by the system */
bool job_is_held_by_operator(const struct job *job);

/* Whether the whole Job is cancelled: it is ending or has ended for this. */
bool job_is_cancelled(const struct job *job);

/* Whether a task of an array with failFast has failed and thereby ended the
 * others; true from the Job's verdict on.
 */
bool job_has_failed_fast(const struct job *job);

/* The operator who suspended the running pods (kctl suspend), or NULL. */
const char *job_find_freezer(const struct job *job);

/* The state, for any reader: the one in the status, unless the status is older
 * than what the rest of the Job implies (it was held a moment ago, or written
 * by a former release); then the implied state.
 */
enum job_state job_find_state(const struct job *job);

/* The name of the owner, or "". */
const char *job_find_user(const struct job *job);

/* 0: the job has not ended. */
int64_t job_ended_at_us(const struct job *job);

/* Since when the job could have started: it was submitted or released, its begin
 * time has come, and the jobs that it waited for have ended.
 */
int64_t job_eligible_at_us(const struct job *job);

/* The exit code for a program that waits for the job, which must have ended: 0
 * if the job is Completed, otherwise the job's exit code, but never 0.
 */
int job_exit_code(const struct job *job);

/* The condition of that type if its status is True, otherwise NULL. */
const struct job_condition *job_find_condition(const struct job *job, const char *type);

/* The condition FailureTarget=False of a Job whose deadline has passed: its pod is told
 * to end, and the Job fails by it if that has not ended by itself before. NULL: none.
 */
const struct job_condition *job_find_order(const struct job *job);
