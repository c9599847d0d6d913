/* SPDX-License-Identifier: Apache-2.0 */
/* pod_marks.h - a Job's pods that are held, or to stand still: the annotations
 * that say so
 *
 * Only pods that are live are marked, and only where the mark differs; with the
 * pod's revision, so that one that changes meanwhile is looked at again.
 *
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>

struct job_sync;

/* Marks the pods that have no node as held, or takes that off them. One that is
 * given a node meanwhile is left alone.
 */
void pod_marks_hold_waiting(struct job_sync *sync, bool is_held);

/* Marks the pods that have a node as to stand still, as the Job is, or takes
 * that off them.
 */
void pod_marks_freeze_placed(struct job_sync *sync);
