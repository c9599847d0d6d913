/* SPDX-License-Identifier: Apache-2.0 */
/* steps_state.h - the private structs of the steps of a node
 *
 * steps.c has the requests, step_queue.c those that wait, step_place.c the CPUs,
 * step_start.c the start of a kiln-step, step_end.c the time from then on.
 *
 * Thread: the loop's; a worker borrows a step that is in phase ENDING.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/steps/step_blockers.h"
#include "agent/steps/steps.h"
#include "lib/base/bitset.h"
#include "lib/base/list.h"
#include "lib/step/step_figures.h"
#include "lib/step/step_request.h"

struct arena;
struct cgroup;
struct child;
struct fdwatch;
struct map;
struct object;
struct running_pod;
struct step_channel;
struct step_grant;
struct step_layout;
struct step_log_entry;
struct step_place;
struct step_socket;
struct timer;

/* A kiln-step that the kernel has killed together with its pod, for memory (step_why.c). */
#define STEP_DEATHS 64u
struct step_death {
    char *uid, *group; /* the pod's names; the second may be NULL */
    uid_t owner;
    int64_t id;
};

struct steps {
    struct steps_settings s;
    char *program, *log_dir, *figures_dir;
    struct step_records *records;
    struct step_reporter *reporter;
    unsigned observed_before; /* running steps, before the next report */
    struct step_socket *door;
    struct map *jobs; /* step_job, by the uid of the pod */
    unsigned port;    /* of the agent; 0: none */
    int64_t opened_s; /* when this agent began; wall clock */
    bool is_stopping;
    struct step_death deaths[STEP_DEATHS]; /* a ring */
    unsigned n_deaths;                     /* all that were */
};

/* The steps of one pod. */
struct step_job {
    struct steps *steps;
    char *uid;
    uid_t owner;
    int64_t next_id;
    struct list waiting, running;
    struct list holds;              /* connections of kalloc, and of the job to hear from it */
    struct list blocked;            /* grants that wait (step_queue.c) */
    struct step_blockers *blockers; /* NULL: none has waited yet */
    struct list held; /* steps on several nodes whose kruns have CPUs of this manager */
    unsigned n_waiting, n_held;
    size_t waiting_bytes;
    struct timer *look; /* while the pod starts */
    unsigned n_looks;
    bool is_ending;
    uint64_t oom_kills;    /* of the pod, when they were looked at last */
    bool is_still;         /* frozen, without a cgroup: no step is started */
    struct bitset ordered; /* CPUs of the pod that `order` is for */
    uint16_t *order;       /* NULL: not made yet, or by number */

    /* Of a job of several nodes (step_nodes.c). */
    struct arena *nodes_arena;
    const char **nodes; /* their names, in the order of their ranks; NULL: not looked up */
    unsigned n_nodes;
    struct step_place *places; /* NULL: krun has not told them */
};

enum agent_step_phase { STEP_WAITING, STEP_HELD, STEP_RUNNING, STEP_ENDING };

struct agent_step {
    struct list link; /* in one list of the job */
    struct step_blocked blocked;
    struct step_job *job;
    enum agent_step_phase phase;
    int64_t id;
    bool overlaps;
    struct bitset cpus, gpus; /* that others may not take; GPUs by their place in the pod */
    int64_t memory_bytes;     /* the same; 0: nothing was asked for */

    /* While it waits. */
    struct step_channel *connection;
    struct fdwatch *watch; /* of the connection, or of the pidfd of a resumed step */
    struct arena *arena;
    struct step_request request;
    char *text; /* the request as krun sent it */
    size_t length;
    size_t weight;                            /* bytes that it takes while it waits */
    const char *name, *command, *submit_line; /* for its record, in the arena */
    int64_t time_limit_s;
    pid_t krun_pid; /* of a krun on this node; else 0 */
    char *words;    /* why it waits, which krun is told after a moment */

    /* In a job of several nodes: what krun has got from the step manager; and, at the
     * manager, what it has given (phase HELD).
     */
    struct step_grant *grant;   /* NULL: krun asks for one; borrowed from the arena */
    struct step_layout *layout; /* of phase HELD; borrowed from the arena */

    /* While it runs, kiln-step has the connection, too, and ends when krun does. */
    int krun_fd; /* -1: not watched */
    struct fdwatch *krun_watch;
    struct child *child; /* NULL: resumed */
    int pidfd;           /* of a resumed step, or -1 */
    bool may_be_left;    /* processes: kiln-step did not see the last one end */
    bool is_given_back;  /* its krun has told the step manager, here, that it has ended */
    struct cgroup *cgroup;
    struct timer *again; /* also of phase HELD */
    uid_t owner;

    /* For its record. */
    bool is_cancelled;
    bool is_out_of_memory;               /* kiln-step was killed for it, too */
    uint64_t cpu_user_us, cpu_system_us; /* of its cgroup, at its end */
    struct step_figures figures;         /* of phase HELD: of the tasks on this node, or */
    bool has_figures;                    /* of all nodes, by krun */
    struct step_figures observed;        /* of phase HELD: so far, of all nodes, by krun */
    char *told;                          /* the beginning of a frame of krun; or NULL */
    size_t told_length;
};

/* steps.c. Free takes the step out of its list. */
void agent_step_free(struct agent_step *e);
struct agent_step *agent_step_find(struct list *steps, int64_t id); /* or NULL */

/* step_queue.c. Leave: out of the queue. Refuse frees it. Add tries the new one; try_all: after
 * a time in which none could start; try_first: when the first one has left, or CPUs of other
 * nodes are free; take_freed: when a step here has ended that had these.
 */
void agent_step_leave_queue(struct agent_step *e);
void agent_step_refuse(struct agent_step *e, const char *words);
void step_queue_refuse(struct step_job *job, const char *words);
void step_queue_add(struct agent_step *e);
void step_queue_try_all(struct step_job *job);
void step_queue_try_first(struct step_job *job);
void step_queue_take_freed(struct step_job *job, const struct bitset *cpus,
                           const struct bitset *gpus);

/* The pod's; made if there is none. */
struct step_job *steps_get_job(struct steps *s, const char *uid);

/* step_place.c: what the pod has here, and what steps hold of it; to_manager: without those that
 * are given back, or are ending, for whoever gets their CPUs waits for that.
 */
void steps_fill_place(struct step_job *job, const struct running_pod *running, bool to_manager,
                      struct step_place *p);

/* step_nodes.c: jobs of several nodes. Find_pod returns the uid of the pod that a caller on
 * another node means, or NULL; name_group: how such a caller names a pod, or NULL, to be
 * freed. Answer says what a pod has here. Look finds the nodes of a
 * job. Place is the step manager's decision: 0, or -EBUSY; or the step has left the
 * queue, and the answer is 1. Check_grant: whether a grant is one for this node and pod; 0,
 * -EBUSY while other steps have the CPUs, one of which it notes as the blocker, or -EINVAL.
 * Cancel: a step of phase HELD is given back, if its krun has not by the time that all is killed.
 */
const char *step_nodes_find_pod(const struct steps *s, const char *name);
char *step_nodes_name_group(const struct object *pod);
void step_nodes_answer(const struct steps *s, struct step_channel *connection TAKES,
                       const struct running_pod *running);
void step_nodes_read(struct step_job *job);
int step_nodes_place(struct agent_step *e, const struct running_pod *running, bool is_first,
                     struct error *err);
int step_nodes_check_grant(struct agent_step *e, const struct running_pod *running,
                           struct error *err);
void step_nodes_cancel(struct agent_step *e);
void step_nodes_fini(struct step_job *job);

/* step_account.c: the records of steps. Open_figures: the file for kiln-step; -1: none. End:
 * nothing of the step is left on this node; fail: it could not be started; end_held:
 * krun has given back what the manager gave. Cancel: that user is about to end it.
 * Has_begun: kiln-step has started its tasks. Close: the pod is over; close_unknown: pods
 * that an earlier agent had.
 */
int step_account_open(struct steps *s, struct error *err);
void step_account_stop(struct steps *s);
void step_account_fini(struct steps *s);
void step_account_take_request(struct agent_step *e, const struct step_request *request);
void step_account_begin(const struct agent_step *e, const struct running_pod *running,
                        const struct step_layout *layout);
int step_account_open_figures(const struct agent_step *e);
void step_account_end(struct agent_step *e);
void step_account_fail(const struct agent_step *e);
void step_account_end_held(struct agent_step *e);
void step_account_cancel(const struct agent_step *e, int64_t uid);
bool step_account_has_begun(const struct agent_step *e);
void step_account_close(const struct steps *s, const char *pod_uid);
void step_account_close_unknown(struct steps *s);

/* step_hold.c: HOLD and AWAIT, and the end of all that came so. */
struct step_asked;
void step_hold_take(struct steps *s, struct step_channel *connection TAKES,
                    const struct step_asked *asked);
void step_hold_end(struct step_job *job);

/* step_signal.c: CALL. */
void step_signal_take(struct steps *s, struct step_channel *connection TAKES,
                      const struct step_asked *asked);

/* step_why.c: WHY. Note: the kernel has killed kiln-step for memory. */
void step_why_take(const struct steps *s, struct step_channel *connection TAKES,
                   const struct step_asked *asked);
void step_why_note(const struct agent_step *e);
void step_why_fini(struct steps *s);

/* step_enter.c: ENTER. */
void step_enter_take(struct steps *s, struct step_channel *connection TAKES,
                     const struct step_asked *asked);

/* step_start.c: gives the connection to a new kiln-step, for that node of the layout. The
 * step gets its id, unless its grant has one, and joins the running ones.
 */
int step_start(struct agent_step *e, const struct running_pod *running,
               const struct step_layout *layout, unsigned node, struct error *err);

/* step_end.c. Of_child: the end of a kiln-step that is this agent's child. Resume: a
 * step that an earlier agent has started, or was about to. Watch_krun: a kiln-step that does
 * not end with its krun is killed. Kill kills kiln-step; the rest follows from that. Freeze
 * tells kiln-step to stop its tasks, or to let them go on; signal: that somebody sends the step a
 * signal; 0: cancels it.
 */
struct child_exit;
void step_end_of_child(const struct child_exit *exit, void *step);
void step_end_resume(struct agent_step *e, const struct step_log_entry *entry);
void step_end_watch_krun(struct agent_step *e, int fd TAKES);
void step_end_kill(struct agent_step *e);
void step_end_freeze(struct agent_step *e, bool still);
void step_end_signal(struct agent_step *e, int number);
