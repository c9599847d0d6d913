/* SPDX-License-Identifier: Apache-2.0 */
/* job_steps.h - starts steps in a running job from outside of it, and signals them
 *
 * Thread: the main one.
 */
#pragma once

#include <stdint.h>

struct arena;
struct error;
struct kctl;
struct target_object;

/* Waits until the job's program runs on its first node, and sets the variables of this
 * process as the job's are there; what is true of that node only is left out. KILN_POD_UID and
 * KILN_STEP_SOCKET tell krun where to ask. The target is a Job, or the pod of a
 * task of an array.
 *
 * -EPERM: it is another user's. -EAGAIN: it does not run, with what it does instead.
 * -EHOSTUNREACH: its node cannot be asked. *ret_directory: the job's, of the arena.
 */
int job_steps_enter(struct kctl *kctl, const struct target_object *job, struct arena *arena,
                    const char **ret_directory, struct error *err);

/* Sends a signal to all tasks of a running step; 0 cancels the step. Errors as above, and -ESRCH:
 * no step of that id runs.
 */
int job_steps_signal(struct kctl *kctl, const struct target_object *job, int64_t id,
                     int signal_number, struct arena *arena, struct error *err);
