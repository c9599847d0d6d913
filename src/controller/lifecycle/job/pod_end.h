/* SPDX-License-Identifier: Apache-2.0 */
/* pod_end.h - when a pod has ended, and whether its end counts against its Job
 *
 * Thread:  any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/lifecycle/job/failure_policy.h"

struct job;
struct job_pod_counts;
struct pod;

/* When its process ended; otherwise when the pod was asked to end, or when its
 * conditions last changed.
 */
int64_t pod_end_us(const struct pod *pod);

/* Whether the pod was ended for its Job, or the Job tolerates its end: it was
 * lost with its node or evicted and spec.requeue is set, or it was never
 * started.
 */
bool pod_end_is_excused(const struct job *job, const struct pod *pod, struct failure_ruling ruling);

/* Whether the pod ended through no fault of the job and not at its user's
 * request.
 */
bool pod_end_is_interrupted(const struct job *job, const struct pod *pod);

/* Whether the next attempt may end as fast as this one did: on a node whose
 * shepherds die at their start, a thousand attempts would end in a minute.
 */
bool pod_end_is_refused(const struct pod *pod);

/* Whether the element was cancelled on its own, or, before the pod had ended by
 * itself, with the whole array or by another element's failure (failFast).
 * False if the job is not an array.
 */
bool pod_end_is_cancelled(const struct job_pod_counts *counts, const struct job *job,
                          const struct pod *pod, int64_t index);

bool pod_end_is_success(const struct job *job, const struct pod *pod);

/* Whether the pod was not ended by others. */
bool pod_end_is_own(const struct pod *pod);

/* Whether the failure of the pod, of which the counts do not know yet, is how the job fails. */
bool pod_end_is_cause(const struct job_pod_counts *counts, const struct job *job,
                      const struct pod *pod, int64_t ended_us);

/* Why the script of a gang was ended, if it was because of that pod; a string of the
 * caller's, or NULL.
 */
char *pod_end_describe_cause(const struct job *job, const struct pod *pod);
