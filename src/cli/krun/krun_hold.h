/* SPDX-License-Identifier: Apache-2.0 */
/* krun_hold.h - holds an allocation: keeps telling its first node that its kalloc is there
 *
 * Thread: the program's only one; blocks.
 */
#pragma once

struct error;

/* Until a byte arrives on the descriptor, which is the exit status of the job, or its end does:
 * kalloc was killed. A connection that is lost is made again. 0: the job knows. A negative errno:
 * its node could not be told.
 */
int krun_hold_run(const char *place, const char *pod_uid, int control, struct error *err);
