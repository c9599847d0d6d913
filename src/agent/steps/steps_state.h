/* SPDX-License-Identifier: Apache-2.0 */
/* steps_state.h - the private structs of the step manager: the steps of each pod
 *
 * steps.c has the pods and what is asked, step_queue.c the steps that wait, and
 * their start, step_manager.c those that have CPUs of other nodes. The rest of a step
 * is in objects of their own: the process (step_process.h), the
 * record (step_account.h).
 *
 * Thread: the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/steps/step_account.h"
#include "agent/steps/step_blockers.h"
#include "agent/steps/step_place.h"
#include "agent/steps/steps.h"
#include "lib/base/bitset.h"
#include "lib/base/list.h"
#include "lib/step/step_request.h"

struct arena;
struct fdwatch;
struct map;
struct running_pod;
struct step_channel;
struct step_grant;
struct step_hold;
struct step_layout;
struct step_nodes;
struct step_pace;
struct step_place;
struct step_process;
struct step_socket;
struct step_why;
struct timer;

struct steps {
    struct steps_settings s;
    char *program, *log_dir;
    struct step_account *account;
    struct step_socket *door;
    struct step_why *why;
    struct map *jobs; /* step_job, by the uid of the pod */
    unsigned port;    /* of the agent; 0: none */
    int64_t opened_s; /* when this agent began; wall clock */
    bool is_stopping;
};

/* The steps of one pod. */
struct step_job {
    struct steps *steps;
    char *uid;
    uid_t owner;
    int64_t next_id;
    struct list waiting, running;
    struct list blocked;            /* grants that wait (step_queue.c) */
    struct step_blockers *blockers; /* NULL: none has waited yet */
    struct list held; /* steps on several nodes whose kruns have CPUs of this manager */
    unsigned n_waiting, n_held;
    size_t waiting_bytes;
    struct timer *look; /* while the pod starts */
    unsigned n_looks;
    bool is_still; /* frozen, without a cgroup: no step is started */
    struct step_account_pod account;
    struct step_hold *hold;      /* NULL: nobody has held it */
    struct step_cpu_order order; /* of the pod's CPUs */
    struct step_nodes *nodes;    /* NULL: not looked up */
};

enum agent_step_phase { STEP_WAITING, STEP_HELD, STEP_RUNNING };

struct agent_step {
    struct list link; /* in one list of the job */
    struct step_blocked blocked;
    struct step_job *job;
    enum agent_step_phase phase;
    int64_t id;
    uid_t owner;
    bool overlaps;
    struct bitset cpus, gpus; /* that others may not take; GPUs by their place in the pod */
    int64_t memory_bytes;     /* the same; 0: nothing was asked for */

    /* While it waits, and of the first three also of phase HELD. */
    struct step_channel *connection;
    struct fdwatch *watch;  /* of the connection */
    struct step_pace *pace; /* of phase HELD */
    struct timer *again;
    struct arena *arena;
    struct step_request request;
    struct step_title title;
    char *text; /* the request as krun sent it */
    size_t length;
    size_t weight;  /* bytes that it takes while it waits */
    pid_t krun_pid; /* of a krun on this node; else 0 */
    char *words;    /* why it waits, which krun is told after a moment */

    /* In a job of several nodes: what krun has got from the step manager; and, at the
     * manager, what it has given (phase HELD).
     */
    struct step_grant *grant;   /* NULL: krun asks for one; borrowed from the arena */
    struct step_layout *layout; /* of phase HELD; borrowed from the arena */
    char *told;                 /* the beginning of a frame of krun; or NULL */
    size_t told_length;

    struct step_process *process; /* of phase RUNNING; krun ends with it, and it with krun */
    bool is_given_back;           /* its krun has told the step manager, here, that it has ended */

    struct step_outcome outcome; /* for its record */
};

/* steps.c. Free takes the step out of its list. Fill_place: what the pod has here, and what steps
 * hold of it; to_manager: without those that are given back, or are ending, for whoever gets their
 * CPUs waits for that. Fill_process: what step_process.h wants to know of a step.
 */
struct step_process_settings;
void agent_step_free(struct agent_step *e);
struct agent_step *agent_step_find(struct list *steps, int64_t id); /* or NULL */
void steps_fill_place(struct step_job *job, const struct running_pod *running, bool to_manager,
                      struct step_place *p);
void steps_fill_process(struct agent_step *e, struct step_process_settings *settings);

/* step_queue.c. Leave: out of the queue. Refuse frees it. Add tries the new one; try_all: after
 * a time in which none could start; try_first: when the first one has left, or CPUs of other
 * nodes are free; take_freed: when a step here has ended that had these.
 */
void step_queue_leave(struct agent_step *e);
void step_queue_refuse(struct agent_step *e, const char *words);
void step_queue_refuse_all(struct step_job *job, const char *words);
void step_queue_add(struct agent_step *e);
void step_queue_try_all(struct step_job *job);
void step_queue_try_first(struct step_job *job);
void step_queue_take_freed(struct step_job *job, const struct bitset *cpus,
                           const struct bitset *gpus);

/* step_manager.c: jobs of several nodes. Place is the step manager's decision: 0, or -EBUSY; or the
 * step has left the queue, and the answer is 1. Check_grant: whether a grant is one for this node
 * and pod; 0, -EBUSY while other steps have the CPUs, one of which it notes as the blocker, or
 * -EINVAL. Cancel: a step of phase HELD is given back, if its krun has not by the time that all is
 * killed.
 */
int step_manager_place(struct agent_step *e, const struct running_pod *running, bool is_first,
                       struct error *err);
int step_manager_check_grant(struct agent_step *e, const struct running_pod *running,
                             struct error *err);
void step_manager_cancel(struct agent_step *e);
