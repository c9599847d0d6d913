/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.h - turns a submission into the object that the API accepts: a
 * batch/v1 Job
 *
 * Thread: the main one.
 */
#pragma once

#include <stddef.h>

#include "lib/base/strbuf.h"

struct arena;
struct error;
struct json;
struct submission;

/* The Job, in the arena; NULL when the submission cannot be expressed as one.
 * It includes the environment, limits, umask and directory of this process.
 */
struct json *manifest_make(const struct submission *submission, const struct strbuf *script,
                           struct arena *arena, struct error *err);

/* The namespace of the Job: the account, or "default". */
const char *manifest_namespace(const struct submission *submission);
