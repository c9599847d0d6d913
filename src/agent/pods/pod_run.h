/* SPDX-License-Identifier: Apache-2.0 */
/* pod_run.h - one pod's run on this node, from its arrival to its last report
 *
 *   ARRIVED --> PREPARING --> LAUNCHED --> RUNNING --> ENDED --> DONE
 *      |            |             |                      ^         ^
 *      |            |             +----------------------+         |
 *      +------------+----------------------------------------------+
 *
 * ARRIVED: known. PREPARING: its blobs are fetched; directories and cgroup are
 * made and a shepherd started, on a worker. LAUNCHED: a shepherd has it.
 * RUNNING: the user's process was seen. ENDED: it is over, what is left of it
 * is removed; its cores are not free yet. DONE: clean; the end is told to the
 * API until that has it, however long that takes.
 *
 * A run survives the agent: after a restart it is taken up from the disk and
 * from what the shepherd says of itself.
 *
 * Owns:    the pod's directories and cgroup, one reference to the pod.
 * Thread:  the loop's; its work on workers touches none of this.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/api/node/allocation.h"
#include "lib/base/macro.h"

struct agent_context;
struct blobs;
struct cgroup;
struct error;
struct object;
struct pod_mounts;
struct pod_run;
struct shared_pool;
struct strbuf;

enum pod_run_phase {
    POD_RUN_ARRIVED,
    POD_RUN_PREPARING,
    POD_RUN_LAUNCHED,
    POD_RUN_RUNNING,
    POD_RUN_ENDED,
    POD_RUN_DONE,
};

/* Reasons of refusals that are the condition AllocationBroken, too. */
#define BROKEN_OVERLAP  "AllocationOverlap"
#define BROKEN_NOT_HERE "AllocationNotHere"

/* The node cannot start pods now (agent_context.h). */
#define REFUSED_BROKEN "NodeBroken"

/* The run is over and told, or the pod is gone from the API: it may be freed
 * (the callback does).
 */
typedef void pod_run_over_fn(struct pod_run *run, void *context);

struct pod_run_settings {
    const struct agent_context *agent;
    struct blobs *blobs;
    struct pod_mounts *pod_mounts;
    struct shared_pool *shared_pool;
    pod_run_over_fn *over;
    pod_run_over_fn *holding_changed; /* it holds nothing any more, to be told
                                      yet, or it cannot be killed, or it
                                      stands still, or does not any more */
    /* Others run on the cores of one that stands still; NULL: never. */
    bool (*has_lent)(const struct pod_run *run, void *context);
    allocation_given_fn *given; /* memory, to all pods here; NULL: not known */
    void *context;              /* of them all */
    unsigned *n_launched; /* how many of them are, on the way to RUNNING */
};

/* Life. Freeing stops following: a running pod goes on with its shepherd. */
void pod_run_free(struct pod_run *run);
struct pod_run *pod_run_new(const struct pod_run_settings *settings,
                            const struct object *pod) OWNED_BY(pod_run_free);
DEFINE_CLEANUP(struct pod_run, pod_run_free)

/* Change. Start: runs it. Resume: takes up what an earlier agent left: a live
 * shepherd, an exit record, or a pod that was lost with the machine. Refuse:
 * ends it before it began. Wait_for_cores: keeps it until its cores are free,
 * which its owner looks after; it then resumes or is refused. Dismiss: it was
 * over before it came, and is let go. Recheck: the node's topology is another,
 * or memory that others were given is. Update: the API has a newer state, a
 * deletion perhaps. Report_now: sends what waits to be sent again.
 * Note_forgotten: the API has it no more: it is killed at once and not told.
 * Set_orphan: the API's store has lost it; it goes on, and is counted.
 */
void pod_run_start(struct pod_run *run);
void pod_run_resume(struct pod_run *run);
void
pod_run_refuse(struct pod_run *run, const char *reason, const char *message);
void pod_run_wait_for_cores(struct pod_run *run);
void pod_run_update(struct pod_run *run, const struct object *pod);
void pod_run_report_now(struct pod_run *run);
void pod_run_note_forgotten(struct pod_run *run);
void pod_run_set_orphan(struct pod_run *run, bool is_orphan);
void pod_run_dismiss(struct pod_run *run);
void pod_run_recheck(struct pod_run *run);

/* Look. Format_cgroup: false while it has none, or the one it had is given
 * back.
 */
enum pod_run_phase pod_run_phase(const struct pod_run *run);
const struct object *pod_run_pod(const struct pod_run *run);
const char *pod_run_uid(const struct pod_run *run);
bool pod_run_holds_cores(const struct pod_run *run);
bool pod_run_has_yielded(const struct pod_run *run); /* its cores, to others */
bool pod_run_is_unkillable(const struct pod_run *run); /* it cannot be killed */
bool pod_run_is_waiting(const struct pod_run *run); /* for cores to be free */
bool pod_run_format_cgroup(const struct pod_run *run, struct strbuf *out);
bool pod_run_is_orphan(const struct pod_run *run);
bool pod_run_is_forgotten(const struct pod_run *run); /* from the API */
bool pod_run_has_lost(const struct pod_run *run);     /* what the machine had */

/* Something of it is here, and nobody else knows: the API has forgotten the pod
 * or given it up.
 */
bool pod_run_is_retained(const struct pod_run *run);

/* The place of a running process, borrowed until the next change; false while
 * none runs.
 */
struct running_pod {
    const struct object *pod;
    const struct cgroup *cgroup; /* NULL where there are none */
    pid_t shepherd;              /* 0: not known */
    int64_t started_at_us;
};
bool pod_run_get_running(const struct pod_run *run,
                         struct running_pod *ret_running);
