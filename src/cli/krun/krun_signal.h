/* SPDX-License-Identifier: Apache-2.0 */
/* krun_signal.h - sends a signal to a running step of a job, from wherever it is called
 *
 * Thread: the program's main one; blocks.
 */
#pragma once

#include <stdint.h>

struct error;

/* Place (krun_place.h) is the agent of the job's first node, pod_uid the job there. Signal 0
 * cancels the step: its tasks are asked to end, and killed after a while.
 * -ESRCH: no step of that id runs. Others: what the agent says.
 */
int krun_signal_step(const char *place, const char *pod_uid, int64_t id, int signal_number,
                     struct error *err);
