/* SPDX-License-Identifier: Apache-2.0 */
/* admission.h - the rules of the site and of the API about incoming objects
 *
 * Admission runs after the body is decoded and defaulted, and before it is
 * validated. A rule changes the tree or refuses it. Each rule has a name, which
 * its refusals carry. One table (admission.c) has the rules, in the order in
 * which they run; then the rules follow that only one kind has (kind_hooks.admit).
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct json;
struct kind;
struct object;
struct request;
struct strbuf;

/* Return false when the reply is made. */
bool admission_create(struct request *q, struct json *tree);
bool admission_update(struct request *q, struct json *tree, const struct object *old_object);
bool admission_delete(struct request *q, const struct object *old_object);

/* A rule. The tree is NULL in deletions, old_object in creations. */
typedef bool admission_rule_fn(struct request *q, struct json *tree,
                               const struct object *old_object);

/* For rules: replies with a 403 "RULE: WHY" about the object, and returns
 * false.
 */
bool admission_refuse(struct request *q, const struct json *tree, const char *rule,
                      const char *why);

/* admission_namespace.c */
admission_rule_fn namespace_lifecycle_admit;
admission_rule_fn namespace_deletion_admit;
admission_rule_fn account_name_admit; /* of a namespace */
admission_rule_fn account_copy_admit; /* of its jobs and pods */

/* admission_scheduling.c */
admission_rule_fn priority_admit;
admission_rule_fn job_priority_admit;
admission_rule_fn default_class_admit;
admission_rule_fn system_class_admit;
admission_rule_fn default_tolerations_admit;
admission_rule_fn taint_new_node_admit;
admission_rule_fn allocation_admit;
admission_rule_fn finished_pod_admit;

/* admission_quota.c. quota_put writes the charged quotas, before the object is
 * put; it returns false when the reply is a 500.
 */
admission_rule_fn quota_admit;
admission_rule_fn quota_update_admit;
struct store_txn;
bool quota_put(struct request *q, struct store_txn *txn);

/* admission_storage.c */
admission_rule_fn volume_in_use_admit;
admission_rule_fn claim_in_use_admit;
admission_rule_fn default_storage_admit;
admission_rule_fn claim_owner_admit;

/* admission_node.c */
admission_rule_fn node_in_use_admit;

/* admission_owner.c */
admission_rule_fn owner_admit;
admission_rule_fn root_jobs_admit;
admission_rule_fn root_pods_admit;
admission_rule_fn placing_admit;
admission_rule_fn node_owner_admit;
admission_rule_fn own_name_admit;

/* admission_hold.c */
admission_rule_fn freeze_admit;
admission_rule_fn yield_admit;
admission_rule_fn held_job_admit;

/* admission_dependency.c */
admission_rule_fn dependencies_admit;

/* admission_requeue.c */
admission_rule_fn requeue_admit;

/* admission_job_update.c */
admission_rule_fn job_update_admit;
admission_rule_fn pod_update_admit;

/* admission_signature.c. signature_delete is called when the object gets its
 * deletionTimestamp.
 */
admission_rule_fn signature_admit;
admission_rule_fn job_signature_admit;
void signature_delete(struct request *q, struct json *meta);

/* admission_class_use.c */
admission_rule_fn class_mark_admit;
admission_rule_fn class_use_admit;
admission_rule_fn qos_admit;
/* for a priority class: the scheduler must know its preemption mode */
admission_rule_fn preemption_mode_admit;

/* admission_limits.c */
admission_rule_fn array_admit;
admission_rule_fn user_limits_admit;
admission_rule_fn maximum_time_admit;
admission_rule_fn maximum_grace_admit;
admission_rule_fn delete_grace_admit;
admission_rule_fn pids_admit;
admission_rule_fn default_memory_admit;

/* admission_eligible.c */
admission_rule_fn pod_eligible_time_admit;
admission_rule_fn job_eligible_time_admit;
admission_rule_fn deadline_admit;
admission_rule_fn schedule_admit;

/* admission_job.c */
admission_rule_fn job_name_admit;
admission_rule_fn job_pod_admit;
admission_rule_fn mail_admit;

/* admission_lengths.c */
admission_rule_fn list_lengths_admit;
admission_rule_fn attempt_bytes_admit;

/* admission_references.c */
admission_rule_fn owner_references_admit;

/* admission_tolerations.c */
admission_rule_fn tolerations_admit;

/* admission_affinity.c */
admission_rule_fn affinity_terms_admit;
admission_rule_fn repelling_admit;

/* admission_member.c */
admission_rule_fn member_object_admit;
admission_rule_fn event_admit;
admission_rule_fn known_members_admit; /* of namespaces and priority classes */

/* admission_partition.c, admission_partition_defaults.c */
admission_rule_fn partition_admit;
admission_rule_fn partition_defaults_admit;

/* capacity/admission_impossible.c; format: adds why the pods of this Job, which are placed
 * together, could never run, whatever is free. False: they could.
 */
admission_rule_fn impossible_pod_admit;
admission_rule_fn impossible_job_admit;
admission_rule_fn impossible_cron_job_admit;
bool impossible_format(struct request *q, struct json *tree, struct strbuf *out);

/* admission_reservation.c: for jobs */
admission_rule_fn reservation_admit;

/* admission_process.c */
admission_rule_fn process_admit;
admission_rule_fn pod_process_admit;

/* For messages: the names of the kind's objects, or "none", in the request's
 * memory. A long list is cut off.
 */
const char *admission_list_names(struct request *q, const struct kind *kind);

/* Whether a list of accounts, which may be empty, has this account (or NULL).
 */
bool admission_allows_account(const char *const *accounts, unsigned count, const char *account);

/* Writes the annotation of what the request is admitted to, by its uids; NULL
 * removes it. Keep keeps that of the old object, and returns false if a client
 * has removed it, to be admitted again.
 */
void admission_note_uids(struct request *q, struct json *tree, const char *annotation,
                         const char *uids);
bool admission_keep_uids(struct request *q, struct json *tree, const char *annotation,
                         const struct object *old_object);

/* The pod spec of a Pod's, Job's or CronJob's tree, or NULL; and the Pod or the template
 * that has it.
 */
struct json *admission_pod_spec(const struct request *q, struct json *tree);
struct json *admission_pod(const struct request *q, struct json *tree);

/* The pod spec of the object before an update; valid as long as the request. */
const struct json *admission_old_pod_spec(struct request *q, const struct object *old_object);
