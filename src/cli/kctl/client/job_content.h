/* SPDX-License-Identifier: Apache-2.0 */
/* job_content.h - the script and the environment of a job, which the server
 * keeps beside the Job
 *
 * Thread: the main one.
 */
#pragma once

#include <stddef.h>

struct error;
struct kctl;
struct sync_call;
struct target_object;

/* `what`: "script" or "environment". The bytes are the text of the call, which
 * the caller ends with sync_call_fini. -ENOENT: the job has none.
 */
int job_content_fetch(struct kctl *kctl, const struct target_object *job, const char *what,
                      struct sync_call *ret_call, struct error *err);

/* The only command of a script, as ksub --wrap makes it; NULL: it has none, or
 * several lines of commands.
 */
const char *job_content_find_command(const char *script, size_t *ret_length);
