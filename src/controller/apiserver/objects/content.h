/* SPDX-License-Identifier: Apache-2.0 */
/* content.h - a job's script and environment: removed from the Job by
 * admission, stored by digest, and served to those who may read them
 *
 * Thread:  any; no state.
 * See:     doc/decisions.md 6.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct job_spec;
struct json;
struct object;
struct request;
struct store_txn;

#define CONTENT_SCRIPT_MAX      (4u << 20)
#define CONTENT_ENVIRONMENT_MAX (1u << 20)

/* The admission rule that removes them from a new Job's tree, and keeps those
 * of an updated Job. `tree` and `old_object` are as in admission.h.
 */
bool content_admit(struct request *q, struct json *tree, const struct object *old_object);

/* The verb of jobs/NAME/script and jobs/NAME/environment. */
void verb_get_content(struct request *q);

/* Stores what content_admit removed, in the transaction of the Job that refers
 * to it.
 */
void content_put(const struct request *q, struct store_txn *txn);

/* Gives the content up when its Job or CronJob is removed; its size. */
void content_release(struct store_txn *txn, const struct job_spec *spec);
int64_t content_bytes(const struct job_spec *spec);
