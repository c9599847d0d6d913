/* SPDX-License-Identifier: Apache-2.0 */
/* element_counts.h - the elements of an array among the counts of a Job's pods:
 * how they stand in the store, and what they come to
 *
 * Of counts that have an array alone.
 *
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct index_set;
struct job;
struct job_pod_counts;
struct json;
struct pod;

/* Before any pod is seen: how the elements stand in the store, as
 * jobs/NAME/elements has it. False: it cannot be read.
 */
bool element_counts_load(struct job_pod_counts *counts,
                         const struct job *job,
                         const struct json *elements);

/* Afterwards, when the pods are counted: those of elements that are to run again
 * are found.
 */
void element_counts_find_requeued(struct job_pod_counts *counts,
                                  const struct job *job);

/* The pod is taken back, which was not started, or is cancelled. It is kept
 * where it has a node by now.
 */
void element_counts_withdraw(struct job_pod_counts *counts,
                             const struct pod *pod,
                             bool is_cancelled);
void element_counts_keep(struct job_pod_counts *counts, const char *pod_name);

/* So many of the elements that wait in vain for those of others end
 * as cancelled.
 */
void element_counts_give_up(struct job_pod_counts *counts, unsigned most);

/* A withdrawn pod is gone, which was never started: the element waits as if it
 * had had none.
 */
void element_counts_forget(struct job_pod_counts *counts,
                           int64_t index,
                           int64_t attempt);

/* Adds the elements of which no pod ever had a node, when no pod is left. */
void element_counts_find_unstarted(const struct job_pod_counts *counts,
                                   struct index_set *ret_indexes);

/* It is to be noted what the element has come to, whose pod has ended, or is
 * gone.
 */
void element_counts_add_end(struct job_pod_counts *counts,
                            const struct job *job,
                            const struct pod *pod,
                            bool is_gone,
                            int64_t index);
