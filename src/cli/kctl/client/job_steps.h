/* SPDX-License-Identifier: Apache-2.0 */
/* job_steps.h - starts steps in a running job from outside of it, and signals them
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
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
 * `takes_grants`: where this user is not the job's, or MUNGE does not answer, the controller is
 * asked to allow one program (krun_grants.h), which krun has to start next. Variables of another
 * user's job could tell krun what to do as this user, so this process does not get them: they are
 * in ret_entry->exported.
 *
 * -EPERM: it is another user's. -EAGAIN: it does not run, with what it does instead.
 * -EHOSTUNREACH: its node cannot be asked.
 */
struct job_entry {
    const char *directory; /* the job's; texts are of the arena */
    const char *exported;  /* value of krun's --export, for another user's job; else NULL */
};
int job_steps_enter(struct kctl *kctl, const struct target_object *job, bool takes_grants,
                    struct arena *arena, struct job_entry *ret_entry, struct error *err);

/* Sends a signal to all tasks of a running step; 0 cancels the step. Errors as above, and -ESRCH:
 * no step of that id runs. *ret_is_spread: the job runs on several nodes.
 */
int job_steps_signal(struct kctl *kctl, const struct target_object *job, int64_t id,
                     int signal_number, struct arena *arena, bool *ret_is_spread,
                     struct error *err);
