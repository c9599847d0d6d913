/* SPDX-License-Identifier: Apache-2.0 */
/* log_pods.h - finds the pod of a job that has the requested output
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct error;
struct json;
struct target_object;

/* Removes the pods that have no output, because the job's program runs in the first
 * pod of each attempt only.
 */
void log_pods_leave_out_pauses(struct json *pods);

/* Removes the pods on other nodes; false: none is left, and the list is as it was.
 */
bool log_pods_keep_node(struct json *pods, struct arena *arena, const char *node);

/* Of a job whose program runs on each of several nodes: those of its first pod;
 * otherwise the list itself.
 */
struct json *log_pods_of_first(struct json *pods, struct arena *arena);

/* The newest pod of that attempt, counted from 1; NULL: there is none. */
const struct json *log_pods_find_attempt(const struct json *pods, int64_t attempt);

/* Attempts of a job with one pod write to one file, one after another, so the
 * newest pod has the output of an earlier one whose pod is gone. NULL: it has
 * not. Attempt 0: the one before the newest.
 */
const struct json *log_pods_find_appended(const struct json *pods, int64_t attempt);

/* Always fails (-ENOENT); the error says whether the attempt is gone or never
 * existed. The newest pod may be NULL.
 */
int log_pods_refuse_attempt(const struct target_object *job, int64_t attempt,
                            const struct json *newest, struct arena *arena, struct error *err);

/* Prints to standard error how many other indexes have output, because the log
 * shown is that of one index.
 */
void log_pods_print_others(const struct target_object *job, const struct json *pods,
                           const struct json *chosen);
