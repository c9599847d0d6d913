/* SPDX-License-Identifier: Apache-2.0 */
/* verbs.h - the verbs on resources, one function each
 *
 * Each verb makes the reply and finishes the request: with request_finish,
 * request_finish_durably or request_commit.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct json;
struct object;
struct parameter;
struct request;
struct store_txn;

/* Checks the body, the options and the principal's rights, and runs the verb of
 * the route. The caller has filled in all but the reply; the options are parsed
 * here.
 */
void verbs_start(struct request *q, const struct parameter *parameters, size_t n_parameters);

/* Whether all objects of the kind are here that the request needs: a watch is not started by the
 * function above, and may begin with all of them. Returns false when the reply is made.
 */
bool verbs_check_read(struct request *q);

/* list_objects.c */
void verb_list(struct request *q);

/* create.c, update.c, patch.c */
void verb_create(struct request *q);

/* create.c: creates one more object of the route's kind in a transaction.
 * create_copy_within takes a normalized copy of an object that create_within
 * created, with its own uid and name: only the name is checked, and the quotas
 * are charged. On NULL the reply is made; below 500 the transaction is
 * unchanged.
 */
const struct object *create_within(struct request *q, struct store_txn *txn, struct json *tree);
const struct object *create_copy_within(struct request *q, struct store_txn *txn,
                                        struct json *tree);
void verb_replace(struct request *q);
void verb_patch(struct request *q);

/* delete.c. delete_within takes a transaction that has changes already, or
 * NULL; it is rolled back when the deletion is refused.
 */
void verb_delete(struct request *q);
void delete_within(struct request *q, struct store_txn *txn TAKES);

/* Whether the object is the one that the request means; if not, the reply is a
 * 409.
 */
bool delete_is_meant(struct request *q, const struct object *object);
void verb_delete_collection(struct request *q);

/* self_review.c: who the principal is, and the principal's rights */
void verb_review(struct request *q);

/* bind.c */
void verb_bind(struct request *q);

/* held_pods.c: a node's mark, and the pods that it has */
void verb_mark(struct request *q);

/* evict.c */
void verb_evict(struct request *q);

/* node_enrolment.c: enrolment */
void verb_enrol(struct request *q);
void verb_approve(struct request *q);
void verb_reset(struct request *q);

/* why.c: pods/NAME/why and jobs/NAME/why */
void verb_get_why(struct request *q);

/* end.c: jobs/NAME/end */
void verb_get_end(struct request *q);

/* For the dry run of a create with ?why=true: explains why the pod, or a pod of
 * the job, would not start at once. Finishes the request. The tree is
 * normalized.
 */
bool why_is_asked(const struct request *q);
void why_explain_new(struct request *q, struct json *tree);

/* elements.c, settle.c: jobs/NAME/elements */
void verb_get_elements(struct request *q);
void verb_settle(struct request *q);

/* gang_start.c: jobs/NAME/start */
void verb_start_gang(struct request *q);

/* make_pods.c: jobs/NAME/gang; the pods of an array for settle.c. Is_meant: another
 * Job may have the name by now; returns false when the reply is made.
 */
void verb_make_gang(struct request *q);
void make_pods_of_array(struct request *q, const struct object *job);
bool make_pods_is_meant(struct request *q, const struct object *job);

/* usage.c: nodes/NAME/usage, and the metrics made of the reports */
void verb_report_usage(struct request *q);
void verb_get_usage(struct request *q);
void verb_list_usage(struct request *q);
