/* SPDX-License-Identifier: Apache-2.0 */
/* removed_counts.h - counts the pods that were removed while nobody counted them
 *
 * The transaction that removes a pod of a Job adds it to status.removedPods
 * (lib/api/job/removed_pod.h). A running job controller counts the pod by its
 * events, and one that was just started by this list. The next write of the status
 * empties the list.
 *
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct job;
struct job_pod_counts;

/* Between the present pods and job_pod_counts_settle. */
void removed_counts_see(struct job_pod_counts *counts, const struct job *job);

/* Within job_pod_counts_settle: takes the ends of the pods that are in neither from the
 * status, and returns how many it has not.
 */
int64_t removed_counts_restore(struct job_pod_counts *counts, const struct job *job);

/* Whether the list has pods, all of which are counted. */
bool removed_counts_are_complete(const struct job_pod_counts *counts, const struct job *job);
