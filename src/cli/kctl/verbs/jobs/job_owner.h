/* SPDX-License-Identifier: Apache-2.0 */
/* job_owner.h - whose a Job is
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>

struct json;

/* Whether it belongs to the user who runs this process. */
bool job_owner_is_self(const struct json *job);

/* The name of the owner; "another user" if the Job does not have it. */
const char *job_owner_name(const struct json *job);
