/* SPDX-License-Identifier: Apache-2.0 */
/* why_answer.h - the scheduler's answer about a waiting pod or a job
 * (pods/NAME/why, jobs/NAME/why), printed below the main cause
 *
 *   Not placed:  1 of 3 nodes: Insufficient cpu (InsufficientCPU)
 *   Needs:       2 CPUs on whole cores
 *   Nearest:     real has 1 CPU free
 *   Quota:       chem, where 3 of 17 waiting jobs are before it
 *   Outlook:     it could start at 2026-11-23 13:50:28 at the earliest, on real
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/error.h"

struct arena;
struct json;
struct kctl;
struct strbuf;
struct target_object;

/* The scheduler's answer for the pod, or for the first waiting pod of the job,
 * because the pods of a job are alike.
 */
struct why_answer {
    const char *pod;        /* its name, or NULL */
    const struct json *why; /* NULL: no answer... */
    struct error error;     /* ...and the reason */
};

/* It is no failure when the scheduler cannot be asked: while none is the
 * leader, or about another user's job.
 */
void why_answer_get(struct kctl *kctl, const struct target_object *target, struct arena *arena,
                    struct why_answer *ret_answer);

/* Whether the pod has no node yet. */
bool why_answer_is_waiting(const struct json *pod);

/* Adds the reasons of the nodes; if the scheduler was not asked, those of the
 * pod's condition. Outlook: when and where the pod could run.
 */
void why_answer_add_wait(const struct why_answer *answer, const struct json *pod,
                         struct strbuf *out);
void why_answer_add_quota(const struct why_answer *answer, struct strbuf *out);
void why_answer_add_dependencies(const struct why_answer *answer, struct strbuf *out);
void why_answer_add_outlook(const struct why_answer *answer, struct strbuf *out);
