/* SPDX-License-Identifier: Apache-2.0 */
/* content.h - a job's script and environment: taken out of the Job on the way
 * in, kept by digest, served to those who may read them
 *
 * See: doc/decisions.md 6.
 * Thread:  any; no state.
 */
#pragma once

#include <stdbool.h>

struct json;
struct object;
struct request;
struct store_txn;

#define CONTENT_SCRIPT_MAX      (4u << 20)
#define CONTENT_ENVIRONMENT_MAX (1u << 20)

/* The rule of admission that takes them out of a new Job's tree, and keeps
 * what an updated one had. Tree and old_object are as in admission.h.
 */
bool content_admit(struct request *q,
                   struct json *tree,
                   const struct object *old_object);

/* The verb of jobs/NAME/script and jobs/NAME/environment. */
void verb_get_content(struct request *q);

/* Stores what was taken out, with the Job that names it. */
void content_put(const struct request *q, struct store_txn *txn);
