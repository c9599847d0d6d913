/* SPDX-License-Identifier: Apache-2.0 */
/* pod_marks.h - annotations of a Job's pods that hold or freeze them
 *
 * Only live pods are marked, and only where the mark differs. Each patch
 * carries the pod's resource version, so that a pod that changes meanwhile is
 * marked by the next sync.
 *
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>

struct job_sync;

/* Sets or removes the hold mark of pods that have no node. A pod that gets a
 * node meanwhile is left alone.
 */
void pod_marks_hold_waiting(struct job_sync *sync, bool is_held);

/* Sets or removes the freeze mark of pods that have a node, to match the Job.
 */
void pod_marks_freeze_placed(struct job_sync *sync);
