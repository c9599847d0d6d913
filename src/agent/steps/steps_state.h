/* SPDX-License-Identifier: Apache-2.0 */
/* steps_state.h - the private structs of the steps of a node
 *
 * steps.c has the requests, the queue and the CPUs, step_start.c the start of a
 * kiln-step, step_end.c the time from then on.
 *
 * Thread: the loop's; a worker borrows a step that is in phase ENDING.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/steps/steps.h"
#include "lib/base/bitset.h"
#include "lib/base/list.h"
#include "lib/step/step_request.h"

struct arena;
struct cgroup;
struct child;
struct fdwatch;
struct map;
struct running_pod;
struct step_layout;
struct step_log_entry;
struct step_socket;
struct timer;

struct steps {
    struct steps_settings s;
    char *program, *log_dir;
    struct step_socket *door;
    struct map *jobs; /* step_job, by the uid of the pod */
    bool is_stopping;
};

/* The steps of one pod. */
struct step_job {
    struct steps *steps;
    char *uid;
    int64_t next_id;
    struct list waiting, running;
    unsigned n_waiting;
    size_t waiting_bytes;
    struct timer *look; /* while the pod starts */
    unsigned n_looks;
    bool is_ending;
};

enum agent_step_phase { STEP_WAITING, STEP_RUNNING, STEP_ENDING };

struct agent_step {
    struct list link; /* in the job's waiting or running */
    struct step_job *job;
    enum agent_step_phase phase;
    int64_t id;
    bool overlaps;
    struct bitset cpus; /* that others may not take */

    /* While it waits. */
    int connection;
    struct fdwatch *watch; /* of the connection, or of the pidfd of a resumed step */
    struct arena *arena;
    struct step_request request;
    char *text; /* the request as krun sent it */
    size_t length;
    char *words; /* why it waits, which krun is told after a moment */

    struct child *child; /* NULL: resumed */
    int pidfd;           /* of a resumed step, or -1 */
    bool may_be_left;    /* processes: kiln-step did not see the last one end */
    struct cgroup *cgroup;
    struct timer *again;
    uid_t owner;
};

/* steps.c. Free takes the step out of its list. Try_waiting starts what can start. */
void agent_step_free(struct agent_step *e);
void steps_try_waiting(struct step_job *job);

/* step_start.c: gives the connection to a new kiln-step. The step gets its id, and
 * joins the running ones.
 */
int step_start(struct agent_step *e, const struct running_pod *running,
               const struct step_layout *layout, struct error *err);

/* step_end.c. Watch: kiln-step is this agent's child, which calls step_end_of_child. Resume: a
 * step that an earlier agent has started, or was about to. Kill kills kiln-step; the
 * rest follows from that.
 */
struct child_exit;
void step_end_of_child(const struct child_exit *exit, void *step);
void step_end_resume(struct agent_step *e, const struct step_log_entry *entry);
void step_end_kill(struct agent_step *e);
