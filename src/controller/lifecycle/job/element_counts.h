/* SPDX-License-Identifier: Apache-2.0 */
/* element_counts.h - the elements of an array, as part of the counts of a Job's
 * pods: their states in the store, and their ends
 *
 * The functions are for the counts of arrays only.
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

/* Called before any pod is counted: loads the states of the elements from the
 * answer of jobs/NAME/elements. False: it cannot be parsed.
 */
bool element_counts_load(struct job_pod_counts *counts, const struct job *job,
                         const struct json *elements);

/* Called after the pods are counted: finds live pods of elements that are to
 * run again.
 */
void element_counts_find_requeued(struct job_pod_counts *counts, const struct job *job);

/* Withdraw: ends a pod that has not started, because its element is held or
 * cancelled or there are too many. Keep undoes that when the pod has got a node
 * meanwhile.
 */
void element_counts_withdraw(struct job_pod_counts *counts, const struct pod *pod,
                             bool is_cancelled);
void element_counts_keep(struct job_pod_counts *counts, const char *pod_name);

/* Ends up to `most` elements whose dependency on an element of another array is
 * never met, as cancelled.
 */
void element_counts_give_up(struct job_pod_counts *counts, unsigned most);

/* A withdrawn pod that never started is gone: the element waits as if it had
 * had no pod.
 */
void element_counts_forget(struct job_pod_counts *counts, int64_t index, int64_t attempt);

/* Adds the elements of whose pods none ever had a node. Called when no pod is
 * left.
 */
void element_counts_find_unstarted(const struct job_pod_counts *counts,
                                   struct index_set *ret_indexes);

/* Queues the end of an element whose pod has ended or is gone, to be recorded
 * in the store.
 */
void element_counts_add_end(struct job_pod_counts *counts, const struct job *job,
                            const struct pod *pod, bool is_gone, int64_t index);
