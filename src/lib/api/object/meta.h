/* SPDX-License-Identifier: Apache-2.0 */
/* meta.h - the metadata of every API object (ObjectMeta)
 *
 * The struct of every kind begins with a struct meta, so any object's metadata
 * can be read through it.
 *
 * Thread:  any; plain data.
 */
#pragma once

#include "lib/api/value/name.h"
#include "lib/json/record.h"

struct owner_reference {
    const char *api_version;
    const char *kind;
    const char *name;
    const char *uid;
    bool controller;
    bool block_owner_deletion;
};

struct meta {
    const char *name;
    const char *generate_name;
    const char *namespace; /* NULL for cluster-scoped kinds */
    const char *uid;
    const char *resource_version; /* text of object->revision */
    int64_t generation;
    int64_t created_at_us;
    int64_t deleted_at_us; /* deadline of the deletion; 0: none */
    const int64_t *deletion_grace_s;
    struct string_map labels;
    struct string_map annotations;
    LIST_OF(struct owner_reference) owners;
    LIST_OF(const char *) finalizers;
};

extern const struct record meta_condition_record;
extern const struct record meta_record;
extern const struct record owner_reference_record;

/* The owner with controller: true, or NULL. Anybody may write such a reference:
 * where it grants a right or is counted, use meta_controller_of.
 */
const struct owner_reference *meta_controller(const struct meta *meta);

/* Whether the reference names an object of that kind (group, version and name)
 * with that uid.
 */
struct kind;
struct object;
bool owner_reference_is_to(const struct owner_reference *r, const struct kind *kind,
                           const char *uid);

/* The owner with controller: true if it is of that kind, or NULL; and whether
 * `owner` is that object.
 */
const struct owner_reference *meta_controller_of(const struct meta *meta, const struct kind *kind);
bool meta_is_controlled_by(const struct meta *meta, const struct object *owner);

bool meta_has_finalizer(const struct meta *meta, const char *name);

/* Adds the mistakes in the metadata of a tree; `old` is NULL at creation.
 * `form` is the required form of the name.
 */
struct causes;
struct json;
void meta_check(struct causes *c, const struct kind *kind, enum name_form form,
                const struct json *object, const struct json *old);

/* Checks the name of a finalizer; the path must point at it. standard: a name
 * without a domain must be one of upstream's own.
 */
void meta_check_finalizer(struct causes *c, const struct json *name, bool standard);

/* Checks labels and annotations; the path must point at the metadata. */
void meta_check_labels(struct causes *c, const struct json *meta);

/* Checks the conditions (metav1.Condition) of a status. */
void meta_check_conditions(struct causes *c, const struct json *status);

/* Copies from the old tree the fields that clients may not change. */
struct arena;
void meta_prepare(struct arena *arena, struct json *object, const struct json *old);

/* Removes from the metadata of an object or a template what only its owner may
 * see: all annotations except those that reveal nothing about what it runs.
 */
void meta_redact(struct arena *arena, struct json *object);

/* Whether only Kiln and its rules may write this label or annotation of a pod:
 * it is below kiln.hpc/, or the job controller of upstream writes it. Some
 * annotations below kiln.hpc/ are requests of the pod's user; those are not
 * reserved.
 */
bool meta_is_reserved(const char *name);

/* Removes the reserved members of a map, which must not be shared with another
 * tree.
 */
void meta_remove_reserved(struct json *map);

/* Kiln's own labels and annotations. Each new annotation of pods is reserved,
 * unless it is in the list of meta_is_reserved.
 */
#define LABEL_USER                 "kiln.hpc/user" /* owner's name, if a valid value */
#define LABEL_JOB_NAME             "batch.kubernetes.io/job-name"
#define LABEL_JOB_UID              "batch.kubernetes.io/controller-uid"
#define LABEL_HOSTNAME             "kubernetes.io/hostname"
#define LABEL_ROOTLESS             "kiln.hpc/rootless-uid" /* on nodes: whose agent it is */
#define LABEL_PARTITION            "kiln.hpc/partition"    /* on nodes: ksub -p */
#define ANNOTATION_USER            "kiln.hpc/user"         /* owner's name, always */
#define ANNOTATION_UID             "kiln.hpc/uid"
#define ANNOTATION_REQUEUE_BEFORE  "kiln.hpc/requeue-before" /* earlier pods do not count */
#define ANNOTATION_SUBMISSION      "kiln.hpc/submission-key"
#define ANNOTATION_SUBMITTER       "kiln.hpc/submitter-uid"
#define ANNOTATION_CANCEL          "kiln.hpc/cancel" /* by whom; ends a Job */
#define ANNOTATION_DELETED_BY      "kiln.hpc/deleted-by"
#define ANNOTATION_TASKS_CANCELLED "kiln.hpc/tasks-cancelled-by" /* the last who did */
#define ANNOTATION_REQUEUED_BY     "kiln.hpc/requeued-by"
/* On Jobs: who holds the Job; with hold-at, since when. No new pods are
 * created. On pods: the pod must not be scheduled, because its Job is held.
 */
#define ANNOTATION_HOLD            "kiln.hpc/hold"
#define ANNOTATION_HOLD_AT         "kiln.hpc/hold-at"
/* On Jobs: who asked to suspend the running pods; copied to the pods. */
#define ANNOTATION_FREEZE          "kiln.hpc/freeze"
/* On running pods: for whom the pod must be suspended, as "job 51 of u2";
 * that job runs on the pod's cores meanwhile. Only the scheduler writes it.
 */
#define ANNOTATION_YIELD           "kiln.hpc/yield"
/* On pods that end so that their Job can restart: the agent runs the checkpoint
 * command.
 */
#define ANNOTATION_CHECKPOINT      "kiln.hpc/checkpoint"
/* On running pods: the last signals that a user has sent (pod_signal.h). On Jobs: how many
 * requests there were, so that each of them changes the Job.
 */
#define ANNOTATION_SIGNALS         "kiln.hpc/signals"
#define ANNOTATION_HELD_BY         "kiln.hpc/held-by" /* who suspended the Job */
/* On Jobs and pods: the settings that the partition supplied by default, as
 * "partition,time". The time limit is "none" if the user explicitly asked for
 * no limit.
 */
#define ANNOTATION_DEFAULTED       "kiln.hpc/defaulted"
#define ANNOTATION_TIME_LIMIT      "kiln.hpc/time-limit"
#define TIME_LIMIT_NONE            "none"
#define ANNOTATION_JOB_NAME        "kiln.hpc/job-name"    /* ksub -J */
#define ANNOTATION_JOB_ID          "kiln.hpc/job-id"      /* on pods: status.id */
#define ANNOTATION_ATTEMPT         "kiln.hpc/attempt"     /* on pods: 0, 1, ... */
#define ANNOTATION_SCRIPT          "kiln.hpc/script"      /* on pods: digest */
#define ANNOTATION_ENVIRONMENT     "kiln.hpc/environment" /* likewise */
#define ANNOTATION_ARRAY_TASK      "kiln.hpc/array-task"  /* on pods: task id */
#define ANNOTATION_INDEX           "batch.kubernetes.io/job-completion-index"
#define ANNOTATION_INDEX_FAILURES  "batch.kubernetes.io/job-index-failure-count"
#define ANNOTATION_INDEX_IGNORED   "batch.kubernetes.io/job-index-ignored-failure-count"
/* On pods, from the Job's template: "slurm" gives the pod Slurm's variables. */
#define ANNOTATION_VARIABLES       "kiln.hpc/variables"
/* On pods with these variables, from their binding: the values of the levels of the
 * topology that their node has, the widest first: "block1/rack7".
 */
#define ANNOTATION_TOPOLOGY        "kiln.hpc/topology"
#define ANNOTATION_PIDS            "kiln.hpc/pids-limit" /* on pods: processes */
#define ANNOTATION_SURPLUS         "kiln.hpc/surplus"    /* on pods: unwanted */
/* The first time at which the object could have been scheduled, in
 * microseconds: on Jobs and pods, written by admission. Pods of a Job have the
 * Job's value.
 */
#define ANNOTATION_ELIGIBLE_AT     "kiln.hpc/eligible-at"
/* On the pods of a gang that start together: how many there are, so that each of them
 * waits for the others when it is prepared; and when they were told to start, which
 * jobs/NAME/start writes into all of them.
 */
#define ANNOTATION_START_BARRIER   "kiln.hpc/start-barrier"
#define ANNOTATION_GANG_STARTED    "kiln.hpc/gang-started"
/* On pods: spec.deadline of their Job, so that no start is planned after it. */
#define ANNOTATION_DEADLINE        "kiln.hpc/deadline"
/* On Jobs and their pods: the number of updates of the Job's template since its
 * creation (job_update.h); written by admission.
 */
#define ANNOTATION_UPDATE          "kiln.hpc/update"
/* On templates and pods: the value of ksub's -n, and of -c for a job that was
 * updated.
 */
#define ANNOTATION_TASKS           "kiln.hpc/tasks"
/* Of a job of several nodes whose tasks cannot be divided equally: all of them.
 * ANNOTATION_TASKS is then what the first nodes have.
 */
#define ANNOTATION_TOTAL_TASKS     "kiln.hpc/total-tasks"
/* The value of --ntasks-per-node, which Slurm's commands show. */
#define ANNOTATION_TASKS_PER_NODE  "kiln.hpc/tasks-per-node"
/* On pods of a Job whose attempts are whole: how many each attempt has. */
#define ANNOTATION_GANG_SIZE       "kiln.hpc/gang-size"
/* On the pod that stands for a Job in a question, before there is a PodGroup: the label of
 * nodes whose value all its nodes share.
 */
#define ANNOTATION_GANG_TOPOLOGY   "kiln.hpc/gang-topology"
#define ANNOTATION_CPUS_PER_TASK   "kiln.hpc/cpus-per-task"
/* The account as its site spells it: on a Namespace, where administrators set it,
 * and as it was at their creation on Jobs and pods.
 */
#define ANNOTATION_ACCOUNT         "kiln.hpc/account"
/* On Jobs: of what their user wants mail, and where to (job_mail.h); and marks of
 * what was sent, which the controller writes.
 */
#define ANNOTATION_MAIL_TYPE       "kiln.hpc/mail-type"
#define ANNOTATION_MAIL_USER       "kiln.hpc/mail-user"
#define ANNOTATION_QOS             "kiln.hpc/qos" /* sbatch -q: a priority class, if there is one */
/* On Jobs: how much their owner subtracts from the number of their priority class, as with Slurm's
 * --nice; operators may add to it by a negative number. A priority of its own replaces it.
 */
#define ANNOTATION_NICE            "kiln.hpc/nice"
#define ANNOTATION_MAILED          "kiln.hpc/mailed"
#define ANNOTATION_COMMENT         "kiln.hpc/comment" /* ksub --comment */
/* On Jobs: the absolute path of the file that was submitted, for people. */
#define ANNOTATION_SCRIPT_PATH     "kiln.hpc/script-path"
/* On Jobs: the command line of ksub or sbatch, for people (sacct -o SubmitLine). */
#define ANNOTATION_SUBMIT_LINE     "kiln.hpc/submit-line"
/* On Jobs and pods: the uids of the Partitions (separated by commas, in the order
 * of the job's list) and of the Reservation that the job was admitted to. Another
 * object of the same name does not start it. An administrator's request may use
 * what the owner of the job may not.
 */
#define ANNOTATION_CLASS_UID       "kiln.hpc/priority-class-uid"
#define ANNOTATION_PARTITION_UID   "kiln.hpc/partition-uid"
#define ANNOTATION_RESERVATION_UID "kiln.hpc/reservation-uid"
#define ADMITTED_BY_ADMINISTRATOR  " administrator" /* after the uids */
/* Which pods a pod's affinity terms apply to: those of all users, or only of
 * its owner. On pods and Jobs of administrators.
 */
#define ANNOTATION_REPELS          "kiln.hpc/repels"
#define REPELS_ALL                 "all"
#define REPELS_OWNER               "owner"
/* Protect claims and volumes while they are in use. */
#define FINALIZER_CLAIM            "kubernetes.io/pvc-protection"
#define FINALIZER_VOLUME           "kubernetes.io/pv-protection"
#define TAINT_NOT_READY            "node.kubernetes.io/not-ready"
#define TAINT_UNREACHABLE          "node.kubernetes.io/unreachable"
#define TAINT_HOOK_FAILED          "kiln.hpc/hook-failed"
#define TAINT_CHECK_FAILED         "kiln.hpc/self-check-failed"
#define TAINT_HEALTH_CHECK_FAILED  "kiln.hpc/health-check-failed"
#define TAINT_HARDWARE_MISSING     "kiln.hpc/hardware-missing"
#define TAINT_UNSCHEDULABLE        "node.kubernetes.io/unschedulable"
#define TAINT_VIRTUAL              "kiln.hpc/virtual" /* a configured topology */
#define TAINT_NOT_APPROVED         "kiln.hpc/not-approved"
