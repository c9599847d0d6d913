/* SPDX-License-Identifier: Apache-2.0 */
/* meta.h - what every API object says about itself (ObjectMeta)
 *
 * The struct of every kind begins with a struct meta, so an object of any kind
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
    const char *namespace; /* NULL for kinds without one */
    const char *uid;
    const char *resource_version; /* the text of object->revision */
    int64_t generation;
    int64_t created_at_us;
    int64_t deleted_at_us; /* when it must be gone; 0: not being deleted */
    const int64_t *deletion_grace_s;
    struct string_map labels;
    struct string_map annotations;
    LIST_OF(struct owner_reference) owners;
    LIST_OF(const char *) finalizers;
};

extern const struct record meta_condition_record;
extern const struct record meta_record;
extern const struct record owner_reference_record;

/* The owner with controller: true, or NULL. It is whatever the writer of the
 * reference said: where it gives a right, or counts, ask for its kind.
 */
const struct owner_reference *meta_controller(const struct meta *meta);

/* Whether the reference names an object of that kind (group, version and name)
 * with that uid.
 */
struct kind;
struct object;
bool owner_reference_is_to(const struct owner_reference *r,
                           const struct kind *kind,
                           const char *uid);

/* The owner with controller: true if it is of that kind, or NULL; and whether
 * it is that object.
 */
const struct owner_reference *meta_controller_of(const struct meta *meta,
                                                 const struct kind *kind);
bool meta_is_controlled_by(const struct meta *meta, const struct object *owner);

bool meta_has_finalizer(const struct meta *meta, const char *name);

/* Adds what is wrong with the metadata of a tree; `old` is NULL at creation.
 * `form` is that of the name.
 */
struct causes;
struct json;
void meta_check(struct causes *c,
                const struct kind *kind,
                enum name_form form,
                const struct json *object,
                const struct json *old);

/* The name of a finalizer, where the walk stands at it; standard: one without a
 * domain is upstream's own.
 */
void
meta_check_finalizer(struct causes *c, const struct json *name, bool standard);

/* Labels and annotations, below where the walk stands. */
void meta_check_labels(struct causes *c, const struct json *meta);

/* Copies from the old tree the fields that no client may change. */
struct arena;
void
meta_prepare(struct arena *arena, struct json *object, const struct json *old);

/* Removes from an object, or a template of one, what only its owner may see in
 * the metadata: annotations but those that say nothing of what is run.
 */
void meta_redact(struct arena *arena, struct json *object);

/* Labels and annotations of Kiln's own. */
#define LABEL_USER      "kiln.hpc/user" /* the owner's name, when valid */
#define LABEL_JOB_NAME  "batch.kubernetes.io/job-name"
#define LABEL_JOB_UID   "batch.kubernetes.io/controller-uid"
#define LABEL_HOSTNAME  "kubernetes.io/hostname"
#define LABEL_PARTITION "kiln.hpc/partition" /* on nodes: ksub -p */
#define ANNOTATION_USER "kiln.hpc/user"      /* the owner's name, always */
#define ANNOTATION_UID  "kiln.hpc/uid"
#define ANNOTATION_REQUEUE_BEFORE \
    "kiln.hpc/requeue-before" /* pods made before do not count */
#define ANNOTATION_SUBMISSION     "kiln.hpc/submission-key"
#define ANNOTATION_SUBMITTER      "kiln.hpc/submitter-uid"
#define ANNOTATION_CANCEL         "kiln.hpc/cancel" /* by whom; ends a Job */
#define ANNOTATION_DELETED_BY     "kiln.hpc/deleted-by"
#define ANNOTATION_REQUEUED_BY    "kiln.hpc/requeued-by"
/* On Jobs, who holds it and since when: no new pods are made. On pods: it is
 * not to be placed, for its Job's sake.
 */
#define ANNOTATION_HOLD           "kiln.hpc/hold"
#define ANNOTATION_HOLD_AT        "kiln.hpc/hold-at"
/* On Jobs, by whom its pods that run are to stand still; copied to these. */
#define ANNOTATION_FREEZE         "kiln.hpc/freeze"
/* On pods that run, for whom they are to stand still, as "job 51 (user u2)": that
 * one runs on their cores meanwhile. Written by the scheduler alone.
 */
#define ANNOTATION_YIELD          "kiln.hpc/yield"
/* On pods that end for their Job to start anew: its checkpoint command is run. */
#define ANNOTATION_CHECKPOINT     "kiln.hpc/checkpoint"
#define ANNOTATION_HELD_BY        "kiln.hpc/held-by" /* a suspended Job's operator */
/* On Jobs and pods, what their partition gave them that they did not ask for,
 * as "partition,time"; and "none" of one that asks for no time limit.
 */
#define ANNOTATION_DEFAULTED      "kiln.hpc/defaulted"
#define ANNOTATION_TIME_LIMIT     "kiln.hpc/time-limit"
#define TIME_LIMIT_NONE           "none"
#define ANNOTATION_JOB_NAME       "kiln.hpc/job-name" /* ksub -J */
#define ANNOTATION_JOB_ID         "kiln.hpc/job-id"   /* on pods: status.id */
#define ANNOTATION_ATTEMPT        "kiln.hpc/attempt"  /* on pods: 0, 1, ... */
#define ANNOTATION_SCRIPT         "kiln.hpc/script"   /* on pods: digest */
#define ANNOTATION_ENVIRONMENT    "kiln.hpc/environment" /* likewise */
#define ANNOTATION_ARRAY_TASK     "kiln.hpc/array-task"  /* on pods: its id */
#define ANNOTATION_INDEX          "batch.kubernetes.io/job-completion-index"
#define ANNOTATION_INDEX_FAILURES "batch.kubernetes.io/job-index-failure-count"
#define ANNOTATION_INDEX_IGNORED \
    "batch.kubernetes.io/job-index-ignored-failure-count"
/* On pods, from the Job's template: "slurm" for variables as Slurm's jobs have.
 */
#define ANNOTATION_VARIABLES     "kiln.hpc/variables"
#define ANNOTATION_PIDS          "kiln.hpc/pids-limit" /* on pods: of processes */
#define ANNOTATION_SURPLUS       "kiln.hpc/surplus" /* on pods: more than wanted */
/* When it could have been placed first, with microseconds: on Jobs and pods,
 * written by admission; pods of a Job have the Job's.
 */
#define ANNOTATION_ELIGIBLE_AT   "kiln.hpc/eligible-at"
/* On pods: their Job's spec.deadline, so that none is planned behind it. */
#define ANNOTATION_DEADLINE      "kiln.hpc/deadline"
/* On Jobs and their pods: how often the Job's template has changed since it was
 * made (job_update.h); written by admission.
 */
#define ANNOTATION_UPDATE        "kiln.hpc/update"
/* On templates and pods: what stands for ksub's -n, and for -c of a job that was
 * updated.
 */
#define ANNOTATION_TASKS         "kiln.hpc/tasks"
#define ANNOTATION_CPUS_PER_TASK "kiln.hpc/cpus-per-task"
#define ANNOTATION_COMMENT       "kiln.hpc/comment" /* ksub --comment */
/* Says which pods a pod's affinity terms see: everybody's, or its owner's
 * alone. On pods and Jobs of administrators.
 */
#define ANNOTATION_REPELS        "kiln.hpc/repels"
#define REPELS_ALL               "all"
#define REPELS_OWNER             "owner"
/* Keep claims and volumes while somebody uses them. */
#define FINALIZER_CLAIM          "kubernetes.io/pvc-protection"
#define FINALIZER_VOLUME         "kubernetes.io/pv-protection"
#define TAINT_NOT_READY          "node.kubernetes.io/not-ready"
#define TAINT_UNREACHABLE        "node.kubernetes.io/unreachable"
#define TAINT_HOOK_FAILED        "kiln.hpc/hook-failed"
#define TAINT_CHECK_FAILED       "kiln.hpc/self-check-failed"
#define TAINT_HARDWARE_MISSING   "kiln.hpc/hardware-missing"
#define TAINT_UNSCHEDULABLE      "node.kubernetes.io/unschedulable"
#define TAINT_VIRTUAL            "kiln.hpc/virtual" /* a given topology */
#define TAINT_NOT_APPROVED       "kiln.hpc/not-approved"
