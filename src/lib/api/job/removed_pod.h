/* SPDX-License-Identifier: Apache-2.0 */
/* removed_pod.h - how a pod of a Job ended, kept in the Job until it is counted
 *
 * A pod that was deleted (by preemption, a drain, a user) is removed as soon as
 * its node has ended it. The job controller may not have counted it by then, and
 * may be killed before it does. So the transaction that removes the pod adds what
 * the controller needs of it to status.removedPods of the Job: without the pod,
 * the controller could not know whether it completed, failed, or ended through no
 * fault of the job. The controller empties the list when it writes its counts.
 *
 * Arrays have records of their elements instead (element_states.h).
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>

struct arena;
struct json;
struct pod;

/* More are not kept: the pods of a parallel job, all removed before the job
 * controller counted one of them. Those that were unwanted are dropped first. Those
 * that are dropped count as failed, but not those of a gang.
 */
#define REMOVED_PODS_MOST 20

/* Adds the pod, of which `tree` is the last state, to the status of the Job. */
void removed_pod_add(struct arena *arena, struct json *job_status, const struct json *tree);

/* The pod: of its spec only the node, of its annotations only Kiln's and
 * upstream's. Returns false if the entry cannot be read.
 */
bool removed_pod_read(struct arena *arena, const struct json *entry, struct pod *ret_pod);
