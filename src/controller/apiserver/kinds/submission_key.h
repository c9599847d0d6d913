/* SPDX-License-Identifier: Apache-2.0 */
/* submission_key.h - the Idempotency-Key of a request that submits a job
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct json;
struct object;
struct request;

/* Notes the key and the digest of the body in a new Job, instead of such notes that
 * the client sent. Returns false when the
 * reply is made: the job exists already (200), or the key is wrong.
 */
bool submission_key_check(struct request *q, struct json *tree);

/* The Job that was created with this request's submission key, or NULL; and
 * whether that request had the same body.
 */
const struct object *submission_key_find(const struct request *q);
bool submission_key_is_same(struct request *q, const struct object *job);
