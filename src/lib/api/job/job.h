/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - work to be done by pods of one template
 *
 * Kiln's additions: status.id (the integer that users type), spec.script and
 * spec.environment (content-addressed blobs), spec.beginTime, spec.deadline, spec.requeue,
 * spec.array, spec.dependencies, status.array, dependencies, attempts, excused,
 * requeued, exitCode, lastRun, state, cancelledBy and cause.
 *
 * Thread:  any; plain data.
 */
#pragma once

#include "lib/api/job/job_state.h"
#include "lib/api/object/meta.h"
#include "lib/api/pod/pod.h"

/* Submitted with its content, as text or base64 data; kept as its digest. */
struct job_blob {
    const char *digest; /* "sha256:<64 hex>" */
    int64_t size_bytes;
    const char *text; /* only on the way in */
    const char *data; /* only on the way in, base64 */
};

/* Rules for the failure of a pod: the first that matches decides. A rule has
 * either exit codes or conditions.
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

/* Which indexes are enough; of these, or of all, at least so many. */
struct success_rule {
    const char *succeeded_indexes; /* "0-3,5" */
    const int64_t *succeeded_count;
};

struct success_policy {
    LIST_OF(struct success_rule) rules;
};

/* Kiln: a job array. Its elements are known by their index, 0 to n-1, and to
 * people by their task id, which is the one of `tasks` at that place. Lists of
 * task ids are as of lib/api/value/task_list.h.
 */
struct job_array {
    const char *tasks;       /* "1-1000:7" */
    const int64_t *throttle; /* elements at once; NULL: any number */
    bool fail_fast;          /* the first failure cancels the others */
    const char *held;        /* elements that do not start; or NULL */
    const char *cancelled;   /* elements that end, or never start; or NULL */
    int64_t requeues; /* requests so far by which elements were to run again */
};

/* Kiln: another job, of which something is waited for (job_dependency.h). All
 * but type, job, tasks and delay is written by admission.
 */
struct job_dependency {
    const char *type;  /* "afterok"; "singleton" has no more */
    int64_t job;       /* its number */
    const char *tasks; /* of the array, by their ids: "3-9"; NULL: all of it */
    int64_t delay_s;   /* after it has started */
    const char *uid;
    const char *namespace;
    const char *name;
    const char *ended; /* its state, if it was gone when it was named */
};

struct job_dependencies {
    const char *require; /* All (NULL), Any */
    LIST_OF(struct job_dependency) jobs;
};
extern const struct record job_dependencies_record;

struct job_spec {
    const int64_t *parallelism;
    const int64_t *completions;
    const int64_t *active_deadline_seconds; /* waiting included */
    const struct failure_policy *pod_failure_policy;
    const struct success_policy *success_policy;
    const int64_t *backoff_limit;
    const int64_t *backoff_limit_per_index;
    const int64_t *max_failed_indexes;
    const char *pod_replacement_policy; /* TerminatingOrFailed, Failed */
    const char *managed_by;             /* NULL: the job controller */
    const int64_t *ttl_seconds_after_finished;
    const char *completion_mode; /* NonIndexed, Indexed */
    bool suspend;                /* has no pods */
    const struct label_selector *selector;
    struct pod_template template_;
    const struct job_blob *script;
    const struct job_blob *environment; /* NAME=value, each ended by a NUL */
    int64_t begin_at_us;                /* 0: at once */
    int64_t deadline_us;                /* it has ended by then; 0: none */
    bool requeue;                       /* start again when its node is lost */
    const struct job_array *array;      /* NULL: it is none */
    const struct job_dependencies *dependencies; /* or NULL */
};

struct job_condition {
    const char *type; /* Complete, Failed, Suspended, FailureTarget, ... */
    const char *status;
    const char *reason;
    const char *message;
    int64_t last_transition_at_us;
};

/* Kiln: how the pod that ended last has run; stays when the pod is gone. */
struct job_run {
    const char *pod_name;
    const char *node_name;
    int64_t started_at_us; /* its process; 0: never */
    int64_t finished_at_us;
    int64_t frozen_us; /* of that it stood still */
    int64_t exit_code;
    int64_t signal;
    const char *reason; /* the pod's, else its container's */
    const char *message;
    const struct pod_usage *usage;
};

/* Kiln: how the elements of an array are getting on. */
struct job_array_status {
    const char *waiting;   /* task ids without a pod; shortened: "7-99,..." */
    int64_t cancelled;     /* elements */
    const char *unstarted; /* of one that has ended: task ids that never
                            * started; shortened */
};

/* Kiln: the end of a job that was waited for, and that is gone by now. */
struct job_dependency_end {
    const char *uid;
    const char *tasks; /* these of it; NULL: the whole job */
    const char *state;
    int64_t began_at_us; /* its start, or its end without one; 0: not noted */
};

struct job_dependency_status {
    int64_t met_at_us; /* 0: not yet */
    LIST_OF(struct job_dependency_end) ended;
};
extern const struct record job_dependency_status_record;

/* The reason of a run whose pod was deleted before it told of an end. */
#define REASON_POD_DELETED "PodDeleted"

struct job_status {
    int64_t id;
    LIST_OF(struct job_condition) conditions;
    int64_t start_at_us;
    int64_t completion_at_us;
    int64_t active, succeeded, failed, ready, terminating;
    const char *completed_indexes; /* "0-3,5" */
    const char *failed_indexes;
    /* Kiln */
    int64_t attempts;         /* pods made so far */
    int64_t excused;          /* those that ended by no fault of theirs */
    int64_t requeued;         /* the last requeue that was carried out */
    const int64_t *exit_code; /* of the last pod that ended */
    const struct job_run *last_run;
    const char *state; /* NULL: not written yet; see job_find_state */
    const char *cancelled_by;
    const struct pod_cause *cause;        /* why it has no pods; or NULL */
    const struct job_array_status *array; /* NULL: it is none */
    const struct job_dependency_status *dependencies; /* or NULL */
};

struct job {
    struct meta meta;
    struct job_spec spec;
    struct job_status status;
};

extern const struct record job_record;
extern const struct record job_spec_record;

/* The words of the condition of a Job that has ended by its deadline. */
#define JOB_AT_DEADLINE     "Job has reached its deadline"
#define JOB_BEFORE_DEADLINE "Job cannot end before its deadline any more"

/* spec.managedBy of the jobs that are the job controller's, if it is set. */
#define MANAGED_BY_KILN "kubernetes.io/job-controller"

/* Of the condition Suspended. */
#define JOB_SUSPENDED_REASON  "JobSuspended"
#define JOB_SUSPENDED_MESSAGE "Job suspended"

const struct job *job_of(const struct object *object);

enum job_index {
    JOB_BY_ID,
    JOB_BY_SUBMISSION, /* "UID/SUBMISSION-KEY" */
    JOB_BY_USER,
    JOB_BY_RECENCY,          /* see job_recency */
    JOB_BY_LAST_NODE,        /* the same of the node of the last run */
    JOB_BY_ACTIVE_PARTITION, /* those that have not ended */
    JOB_BY_ACTIVE_STATE,
};

/* The value of a user's jobs that have not ended, or that ended in that hour
 * since 1970, so that "what is mine and of late" looks at nothing else. Several
 * long names may have one value.
 */
#define JOB_HOUR_ACTIVE (-1)
#define JOB_HOUR_US     INT64_C(3600000000)
const char *job_recency(const char *of, int64_t hour, char buffer[64]);

/* A submission key longer than this is refused, so that the value fits. */
#define SUBMISSION_KEY_MAX 48

bool job_is_finished(const struct job *job);

/* Held: no new pods are made. Also a Job that is suspended, which is how former
 * releases held it, or that is to stand still. By an operator: its owner cannot release it.
 */
bool job_is_held(const struct job *job);
bool job_is_held_on_request(const struct job *job);
bool job_is_held_for_requeues(const struct job *job); /* by the system */
bool job_is_held_by_operator(const struct job *job);

/* All of it: it ends, or has ended, for that. */
bool job_is_cancelled(const struct job *job);

/* A task of an array that says so (failFast) has failed, and that ended the
 * others: it is so from the verdict on.
 */
bool job_has_failed_fast(const struct job *job);

/* By whom what runs of it is to stand still (kctl suspend), or NULL. */
const char *job_find_freezer(const struct job *job);

/* The state, whoever reads it: the one in the status, or, where that is behind
 * what the rest of the Job says (held a moment ago, or written by a former
 * release), the one that the rest says.
 */
enum job_state job_find_state(const struct job *job);

/* The name of its owner, or "". */
const char *job_find_user(const struct job *job);

/* 0: it has not ended. */
int64_t job_ended_at_us(const struct job *job);

/* The exit code of a program that waits for the job, which has ended: 0 if it is
 * Completed, and otherwise what the job has exited with, but never 0.
 */
int job_exit_code(const struct job *job);

/* The condition of that type when its status is True, or NULL. */
const struct job_condition *job_find_condition(const struct job *job,
                                               const char *type);
