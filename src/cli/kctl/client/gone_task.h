/* SPDX-License-Identifier: Apache-2.0 */
/* gone_task.h - a task of a job array whose pod is gone: tells where its output
 * is
 *
 * Thread: the main one.
 */
#pragma once

struct arena;
struct error;
struct kctl;
struct target_object;

/* Always fails: the error has the file and the node, and why the output cannot
 * be shown, or says that the task has not been started. The target is the Job,
 * with its task.
 */
int gone_task_explain(struct kctl *kctl, const struct target_object *target, const char *why,
                      struct arena *arena, struct error *err);
