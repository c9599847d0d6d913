/* SPDX-License-Identifier: Apache-2.0 */
/* waiting_jobs.h - the pods of the queue by their Job
 *
 * With it one answer serves all pods of a Job, however many wait.
 *
 * Owns:       the lists; not the pods, which the queue owns.
 * Called by:  the queue alone.
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct pod_view;
struct queued_pod;
struct waiting_jobs;

/* Life */
void waiting_jobs_free(struct waiting_jobs *w);
struct waiting_jobs *waiting_jobs_new(void) OWNED_BY(waiting_jobs_free);
DEFINE_CLEANUP(struct waiting_jobs, waiting_jobs_free)

/* A pod without a Job is ignored. Between add and remove the Job of a
 * pod must not change.
 */
void waiting_jobs_add(struct waiting_jobs *w, struct queued_pod *pod);
void waiting_jobs_remove(struct waiting_jobs *w, struct queued_pod *pod);

/* Whether both pods have the same Job, or none. */
bool waiting_jobs_is_same_job(const struct pod_view *a, const struct pod_view *b);

/* Returns the pod of the Job that came first, or NULL, and how many it has. */
const struct queued_pod *waiting_jobs_find(const struct waiting_jobs *w, const char *job_uid,
                                           size_t *ret_count);
