/* SPDX-License-Identifier: Apache-2.0 */
/* step_account.h - what is recorded of a step: its beginning, its end, what it used
 *
 * The agent of the job's first node has the records (step_records.h). Kiln-step tells
 * in a file what happened to the tasks (step_figures.h).
 *
 * Owns:   the records, their reporter, and the files of kiln-steps.
 * Thread: the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/macro.h"
#include "lib/step/step_figures.h"

struct agent_context;
struct arena;
struct cgroup_usage;
struct error;
struct object;
struct pods;
struct step_account;
struct step_layout;
struct step_process;
struct step_request;

/* The parts of a request that people see; the texts are in its arena. */
struct step_title {
    const char *name, *command, *submit_line;
    int64_t time_limit_s;
};

/* The pod of a step; a member of what its owner has of the pod. */
struct step_account_pod {
    const char *uid;
    bool is_ending;
    uint64_t oom_kills; /* when they were looked at last */
};

/* The facts about a step that are known before its end; a member of the step. */
struct step_outcome {
    bool is_cancelled;
    bool is_out_of_memory; /* kiln-step was killed for it, too */
    /* Of the manager's: */
    struct step_figures figures;  /* of the tasks on this node, or */
    bool has_figures;             /* of all nodes, by krun */
    struct step_figures observed; /* so far, of all nodes, by krun */
};

struct step_account_settings {
    const struct agent_context *agent;
    const struct pods *pods;
    /* Calls step_account_is_turn for each step that is running, and observes it if it is. */
    void (*observe)(void *context);
    void *context;
};

/* Life. After stop, records are only written down. */
int step_account_open(const struct step_account_settings *settings,
                      struct step_account **ret_account, struct error *err);
void step_account_stop(struct step_account *a);
void step_account_free(struct step_account *a);

void step_account_make_title(struct arena *arena, const struct step_request *request,
                             struct step_title *ret_title);

/* A step begins. Open_figures: the file for kiln-step; -1: none. Has_begun: kiln-step has started
 * its tasks.
 */
struct step_begin {
    int64_t id;
    const struct step_title *title;
    const struct step_layout *layout;
    const char *distribution; /* or NULL */
    pid_t krun_pid;           /* of a krun on this node; else 0 */
};
void step_account_begin(struct step_account *a, const struct object *pod,
                        const struct step_begin *begin);
int step_account_open_figures(const struct step_account *a, const char *pod_uid, int64_t id);
bool step_account_has_begun(const struct step_account *a, const char *pod_uid, int64_t id);

/* It ends. Cancel: that user is about to end it. End: nothing of the step is left on this node;
 * true if the kernel has killed kiln-step for memory; held is of the manager, or NULL. Fail: it
 * could not be started. End_held: krun has given back what the manager gave; is_here: and
 * tasks are left on this node.
 */
void step_account_cancel(struct step_account *a, const char *pod_uid, int64_t id, int64_t user);
bool step_account_end(struct step_account *a, struct step_account_pod *pod, int64_t id,
                      struct step_outcome *outcome, const struct cgroup_usage *usage,
                      struct step_outcome *held);
void step_account_fail(struct step_account *a, struct step_account_pod *pod, int64_t id);
void step_account_end_held(struct step_account *a, struct step_account_pod *pod, int64_t id,
                           struct step_outcome *outcome, bool is_here);

/* The pod is over; close_unknown: pods that an earlier agent had. */
void step_account_close(struct step_account *a, const char *pod_uid);
void step_account_close_unknown(struct step_account *a);

/* A report is due. Is_turn: of very many, some each time. Of a step of several nodes krun has
 * told more than its process here.
 */
bool step_account_is_turn(struct step_account *a);
void step_account_observe(struct step_account *a, const char *pod_uid, int64_t id,
                          const struct step_process *process);
void step_account_observe_held(struct step_account *a, const char *pod_uid, int64_t id,
                               const struct step_outcome *outcome);
