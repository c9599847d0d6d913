/* SPDX-License-Identifier: Apache-2.0 */
/* task_summary.h - one task of an array as lines of "Name: value", from
 * jobs/NAME/elements, also for a task that has no pod yet or whose pod is gone
 *
 * Thread: the main one.
 */
#pragma once

struct error;
struct kctl;
struct strbuf;

/* Task: "1042_7". Unknown values are omitted. */
int task_summary_add(struct kctl *kctl, const char *task, struct strbuf *out, struct error *err);
