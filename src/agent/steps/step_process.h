/* SPDX-License-Identifier: Apache-2.0 */
/* step_process.h - the kiln-step of a running step, and the processes that it leaves
 *
 *   started, or resumed --> gone --> over
 *
 * Gone: kiln-step has ended, and a worker kills what is left in the step's cgroup, for
 * as long as that takes. Over: nothing of the step is on this node.
 *
 * Owns:   the process, the step's cgroup, and a copy of krun's connection, which kiln-step reads.
 * Thread: the loop's; a worker borrows one that is gone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct agent_context;
struct cgroup;
struct cgroup_usage;
struct error;
struct object;
struct step_channel;
struct step_layout;
struct step_log_entry;
struct step_process;

/* Texts are borrowed for as long as the process is here. Over may free it. */
struct step_process_settings {
    const struct agent_context *agent;
    const char *program; /* kiln-step */
    const char *log_dir; /* of step_log.h */
    const char *pod_uid;
    int64_t id;
    uid_t owner;
    const struct cgroup *outer; /* the pod's, borrowed for the call; NULL: none */
    void (*over)(void *context);
    void *context;
};

/* A new kiln-step gets these. */
struct step_process_order {
    const struct object *pod;
    const struct step_channel *connection; /* of krun */
    const char *text;                      /* the request as krun sent it */
    size_t length;
    const struct step_layout *layout;
    unsigned node; /* of the layout: this one */
    int figures;   /* the file of step_account.h, or -1 */
};

/* Life. Start creates kiln-step. Resume: one that an earlier agent has started, or was about
 * to. Watch_krun: a kiln-step that does not end with its krun is killed.
 */
void step_process_free(struct step_process *p);
int step_process_start(const struct step_process_settings *settings,
                       const struct step_process_order *order, struct step_process **ret_process,
                       struct error *err);
struct step_process *step_process_resume(const struct step_process_settings *settings,
                                         const struct step_log_entry *entry)
    OWNED_BY(step_process_free);
void step_process_watch_krun(struct step_process *p, int fd TAKES);

/* Kill kills kiln-step; the rest follows from that. Freeze tells kiln-step to stop its
 * tasks, or to let them go on; signal: that somebody sends the step a signal; 0: cancels it.
 */
void step_process_kill(struct step_process *p);
void step_process_freeze(struct step_process *p, bool still);
void step_process_signal(struct step_process *p, int number);

/* Usage: what its cgroup has counted; of one that is over, what it had at its end, and of
 * that only the CPU time. Without a cgroup nothing is set.
 */
bool step_process_is_gone(const struct step_process *p);
void step_process_read_usage(const struct step_process *p, struct cgroup_usage *ret_usage);
