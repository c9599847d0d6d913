/* SPDX-License-Identifier: Apache-2.0 */
/* requeue.h - the patch that starts a job anew
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>

struct arena;
struct json;

/* Adds to a patch of the job that the pods made so far are ended, and not held
 * against it. False, and nothing is added: it had none.
 */
bool requeue_add_to_patch(struct arena *arena,
                          struct json *patch,
                          const struct json *job,
                          const struct json *pods);
