/* SPDX-License-Identifier: Apache-2.0 */
/* task_summary.h - one task of an array as lines of "Name: value", as
 * jobs/NAME/elements has it: also where it has no pod yet, or none any more
 *
 * Thread: the main one.
 */
#pragma once

struct error;
struct kctl;
struct strbuf;

/* Task: "1042_7". A fact that is not known has no line. */
int task_summary_add(struct kctl *kctl,
                     const char *task,
                     struct strbuf *out,
                     struct error *err);
