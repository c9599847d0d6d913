/* SPDX-License-Identifier: Apache-2.0 */
/* log_pods.h - which of a job's pods has the output that is asked for
 *
 * Thread: the main one.
 */
#pragma once

#include <stdint.h>

struct arena;
struct error;
struct json;
struct target_object;

/* The newest pod of that attempt, counted from 1; NULL: there is none. */
const struct json *log_pods_find_attempt(const struct json *pods,
                                         int64_t attempt);

/* Fails always (-ENOENT), saying whether the attempt is gone or never was. The
 * newest pod may be NULL.
 */
int log_pods_refuse_attempt(const struct target_object *job,
                            int64_t attempt,
                            const struct json *newest,
                            struct arena *arena,
                            struct error *err);

/* Names on standard error how many other indexes have written, because the log
 * that is shown is one index's.
 */
void log_pods_tell_of_others(const struct target_object *job,
                             const struct json *pods,
                             const struct json *chosen);
