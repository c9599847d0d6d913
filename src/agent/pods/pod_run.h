/* SPDX-License-Identifier: Apache-2.0 */
/* pod_run.h - one pod's run on this node, from its arrival to its last report
 *
 * A run has three states, each with its own moves (pod_run_state.c has the tables, and
 * checks every move).
 *
 * The phase says how far the pod is here:
 *
 *   ARRIVED --> WAITING --> HELD --> PREPARING --> LAUNCHED --> RUNNING --> ENDED --> DONE
 *
 * ARRIVED: known. WAITING: for its cores, which another pod still has here. HELD: the
 * node is broken, so the pod is refused after a pause. PREPARING: its blobs are fetched;
 * a worker makes directories and cgroup and starts a shepherd. LAUNCHED: the shepherd
 * has the pod. RUNNING: the user's process was seen. ENDED: the process is over and its
 * leftovers are removed; its cores are not free yet. DONE: clean; the end is reported
 * until the API has it, however long that takes.
 *
 * WAITING and HELD may be left out. A pod that an earlier agent has launched goes from
 * ARRIVED or WAITING to LAUNCHED or ENDED. A pod that does not start goes from any phase before
 * LAUNCHED to DONE, or to ENDED if a part of a start is to be removed. A job may end
 * before it was seen: LAUNCHED goes to ENDED, too.
 *
 * The state in the API says what the API makes of the pod:
 *
 *      +---------------------------+
 *      |                           v
 *   KNOWN <--> ORPHAN ---------> FORGOTTEN
 *      |          |                ^
 *      +----------+--> GIVEN_UP ---+
 *
 * ORPHAN: its store has lost the pod, which goes on until an administrator decides.
 * GIVEN_UP: the controller has finished the pod, because its node was lost; what is left
 * is killed, and nothing is reported. FORGOTTEN: the API has the pod no more; it is
 * killed, and nobody is asked.
 *
 * The kill says whether its processes obey: NOT_KILLED --> KILLED --> UNKILLABLE. It may
 * come in LAUNCHED, RUNNING and ENDED. The cores of an unkillable pod stay taken.
 *
 * A run survives the agent: after a restart it is resumed from the files on the
 * disk and the shepherd's live record.
 *
 * Owns:    the pod's directories and cgroup, one reference to the pod.
 * Thread:  the loop's; work on workers does not access this struct.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/api/node/allocation.h"
#include "lib/base/macro.h"
#include "lib/client/event_recorder.h"

struct agent_context;
struct blobs;
struct group_nodes;
struct cgroup;
struct end_records;
struct gpu_use;
struct json;
struct object;
struct pod_mounts;
struct pod_run;
struct shared_pool;
struct strbuf;

enum pod_run_phase {
    POD_RUN_ARRIVED,
    POD_RUN_WAITING,
    POD_RUN_HELD,
    POD_RUN_PREPARING,
    POD_RUN_LAUNCHED,
    POD_RUN_RUNNING,
    POD_RUN_ENDED,
    POD_RUN_DONE,
};

/* In this order: whoever is given up or forgotten is ended at once. */
enum pod_run_api_state { POD_RUN_KNOWN, POD_RUN_ORPHAN, POD_RUN_GIVEN_UP, POD_RUN_FORGOTTEN };

enum pod_run_kill_state { POD_RUN_NOT_KILLED, POD_RUN_KILLED, POD_RUN_UNKILLABLE };

/* The run is over and reported, or the pod is gone from the API: the callback
 * frees the run.
 */
typedef void pod_run_over_fn(struct pod_run *run, void *context);

struct pod_run_settings {
    const struct agent_context *agent;
    struct blobs *blobs;
    struct group_nodes *group_nodes;
    struct pod_mounts *pod_mounts;
    struct shared_pool *shared_pool;
    pod_run_over_fn *over;
    /* The run has released its resources (its end may not be reported yet),
     * became unkillable, was frozen or was thawed.
     */
    pod_run_over_fn *holding_changed;
    /* Whether other pods run on the cores of this frozen pod; NULL: never. */
    bool (*has_lent)(const struct pod_run *run, void *context);
    allocation_given_fn *given; /* memory given to all pods here; or NULL */
    void *context;              /* for all callbacks */
    unsigned *n_launched;       /* counts the runs that are in phase LAUNCHED */
    struct end_records *ends;
};

/* Life. Freeing only stops following: a running pod continues with its
 * shepherd.
 */
void pod_run_free(struct pod_run *run);
struct pod_run *pod_run_new(const struct pod_run_settings *settings, const struct object *pod)
    OWNED_BY(pod_run_free);
DEFINE_CLEANUP(struct pod_run, pod_run_free)

/* pod_run_resume runs a new pod, or continues what an earlier agent
 * left: a live shepherd, an exit record, or a pod that was lost with the
 * machine. pod_run_refuse ends the pod before it began. pod_run_wait_for_cores
 * keeps the run until its cores are free, which its owner checks; the owner
 * then resumes or refuses it. pod_run_dismiss: the pod was over before it
 * arrived; ends the run without a report. pod_run_recheck: the node's topology,
 * or the memory that is allocated to other pods, has changed. pod_run_update:
 * the API has a newer state, possibly a deletion. pod_run_report_now sends
 * pending reports without waiting for the next retry. pod_run_note_forgotten:
 * the API no longer has the pod, which is killed at once and not reported.
 * pod_run_set_orphan: the API's store has lost the pod, which continues and is
 * counted. pod_run_repeat_end: the pod ended here before; reports that again.
 */
void pod_run_resume(struct pod_run *run);
void pod_run_refuse(struct pod_run *run, const char *reason, const char *message);
void pod_run_wait_for_cores(struct pod_run *run);
void pod_run_update(struct pod_run *run, const struct object *pod);
void pod_run_report_now(struct pod_run *run);
void pod_run_note_forgotten(struct pod_run *run);
void pod_run_set_orphan(struct pod_run *run, bool is_orphan);
void pod_run_dismiss(struct pod_run *run);
void pod_run_repeat_end(struct pod_run *run, const struct json *report, int64_t after_ms);
void pod_run_recheck(struct pod_run *run);

/* pod_run_format_cgroup returns false before the run has a cgroup, and
 * after the run has given it back.
 */
const struct object *pod_run_pod(const struct pod_run *run);
const char *pod_run_uid(const struct pod_run *run);
bool pod_run_holds_cores(const struct pod_run *run);
bool pod_run_has_yielded(const struct pod_run *run); /* lends its cores */
bool pod_run_is_unkillable(const struct pod_run *run);
bool pod_run_is_waiting(const struct pod_run *run); /* until cores are free */
bool pod_run_format_cgroup(const struct pod_run *run, struct strbuf *out);
bool pod_run_is_orphan(const struct pod_run *run);
bool pod_run_is_forgotten(const struct pod_run *run); /* by the API */
bool pod_run_is_abandoned(const struct pod_run *run); /* forgotten or given up */

/* Whether nothing of the pod can run here although the API considers it active: it
 * has ended, or an earlier agent has cleaned up after it, and the end is still to be
 * reported.
 */
bool pod_run_is_past(const struct agent_context *agent, const struct object *pod);
bool pod_run_has_lost(const struct pod_run *run); /* a part of its allocation */
bool pod_run_has_ended(const struct pod_run *run);
bool pod_run_is_starting(const struct pod_run *run); /* does not run yet */

/* Whether something of the pod is here that nobody else knows: the API has
 * forgotten the pod or given it up.
 */
bool pod_run_is_retained(const struct pod_run *run);

/* The place of a run's process. Everything is borrowed until the next change. The
 * function returns false while no process runs.
 */
struct running_pod {
    const struct object *pod;
    const struct cgroup *cgroup; /* NULL: no cgroups are used */
    pid_t shepherd;              /* 0: unknown */
    int64_t started_at_us;
    struct gpu_use *gpu_use; /* for samples to be added */
};
bool pod_run_get_running(struct pod_run *run, struct running_pod *ret_running);

/* Reads the record of a run whose job may have begun since the last look. */
void pod_run_poll(struct pod_run *run);

/* For the parts of a run. A run is not freed before the work that was begun has ended: end_work
 * returns false when the run was to be freed meanwhile; it is gone then. check_over calls
 * `over` when the run is over. is_unwanted: the pod is not to run, or to end.
 *
 * Record adds an Event about the pod, without the quoted paths in the message: every member of
 * the namespace can read it, but only the pod's owner may know its paths. The pod's status has
 * the whole message.
 */
void pod_run_begin_work(struct pod_run *run);
bool pod_run_end_work(struct pod_run *run);
void pod_run_check_over(struct pod_run *run);
bool pod_run_is_unwanted(const struct pod_run *run);
void pod_run_record(const struct pod_run *run, enum recorded_event_kind kind, const char *reason,
                    const char *message);
