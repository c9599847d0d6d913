/* SPDX-License-Identifier: Apache-2.0 */
/* requeue.h - the patch that starts a job anew
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>

struct arena;
struct json;

/* Adds to a patch of the job that its pods so far end and do not count as
 * failures. Returns false and adds nothing when it had no pods.
 */
bool requeue_add_to_patch(struct arena *arena,
                          struct json *patch,
                          const struct json *job,
                          const struct json *pods);
