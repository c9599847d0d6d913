/* SPDX-License-Identifier: Apache-2.0 */
/* pod_run_state.h - the private struct of a run
 *
 * pod_run.c has the phases and the updates of the API, pod_start.c the start of
 * a shepherd, shepherd_watch.c the time while it runs, pod_cleanup.c the end,
 * unkillable.c processes that do not end, status_report.c the reports to the
 * API, placement_watch.c the placement of a running pod. The three states of a run
 * (pod_run.h) change only in pod_run_state.c.
 *
 * The booleans that are left are facts that go with any state: what the API or the
 * shepherd was told once, what the disk or a worker was given. `freed` is none of the
 * run's states either: its owner has let go of it, and the memory waits for callbacks.
 *
 * Thread: the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/pods/files/gpu_use.h"
#include "agent/pods/pod_run.h"
#include "agent/shepherd/deadline.h"
#include "lib/client/event_recorder.h"

struct cgroup;
struct client_call;
struct exit_record;
struct fdwatch;
struct live_record;
struct object;
struct observation;
struct timer;

/* The state in which this agent found what an earlier one had left of the pod. */
enum pod_run_found { FOUND_NOTHING, FOUND_RUNNING, FOUND_ENDED };

enum report_kind { REPORT_NOTHING, REPORT_PREPARED, REPORT_WAITING, REPORT_RUNNING, REPORT_END };

struct pod_run {
    struct pod_run_settings s;
    const struct object *pod;
    char *uid;
    enum pod_run_phase phase;
    enum pod_run_api_state api_state;
    enum pod_run_kill_state kill_state;
    enum pod_run_found found;
    unsigned busy; /* work on workers and calls that will call back */
    bool freed;    /* by its owner; the last callback frees the memory */

    /* The process. */
    int pidfd;
    int channel; /* for the end of its job by a reused shepherd; or -1 */
    struct fdwatch *end_watch;
    struct cgroup *cgroup;
    char *tmp_dir;            /* of a pod that this agent has started */
    struct timer *poll_timer; /* until the job runs */
    int64_t poll_ms;
    struct live_record *live;
    struct deadline deadline;
    bool is_preemption_warned; /* by the signal that the user configured */
    int64_t delete_grace_us;   /* the grace from that warning on */
    bool is_limit_changed;     /* after its shepherd was started */
    int64_t began_us;          /* monotonic; deadline's start less freezes */
    struct timer *freeze_timer;
    int64_t freeze_look_ms;
    int64_t told_frozen_at_us, told_frozen_us; /* as reported to the API */
    bool told_yielding;                        /* reported: frozen to yield its cores */
    bool is_freeze_refused;                    /* reported: its shepherd cannot freeze */
    int64_t signal_sequence;                   /* of the last signal of the user that was sent */
    struct timer *deadline_timer;
    int64_t exceeded_at_us; /* when it was over its limit, by the wall clock; or 0 */
    int64_t tell_ending_us; /* monotonic: when to report it if the pod has not ended by then */
    bool told_ending;

    /* The latest placement that was observed (placement_watch.c), and the fault
     * of its allocation: a reason and a sentence, or NULL.
     */
    struct timer *observe_timer;
    struct observation *seen;
    int64_t seen_at_us;
    bool was_restored; /* a worker was asked to set its CPUs again */
    char *misplaced;
    char *lost; /* parts of its allocation that the machine no longer has */

    struct gpu_use gpu_use;

    struct timer *hold_timer; /* before a broken node refuses it */

    /* The end. */
    struct exit_record *exit_record;
    char *end_reason;
    char *end_message;
    bool is_disruption;
    char *end_report; /* of an earlier run of the pod: the patch, as JSON; or NULL */
    bool is_end_noted;
    struct timer *clean_timer;
    int64_t killed_at_us; /* monotonic */

    /* Reports to the API. */
    enum report_kind wanted, reported;
    struct client_call *call; /* the report or the confirmation under way */
    enum report_kind reporting;
    bool report_again; /* the API's state differs from the report */
    struct timer *report_timer;
    int64_t report_retry_ms;
};

/* pod_run_state.c. A move that is in no table is logged as a fault; it aborts the
 * agent in tests.
 */
void pod_run_set_phase(struct pod_run *s, enum pod_run_phase to);
void pod_run_set_api_state(struct pod_run *s, enum pod_run_api_state to);
void pod_run_set_kill_state(struct pod_run *s, enum pod_run_kill_state to);

/* pod_run.c. pod_run_is_unwanted: the pod is not to run, or to end. pod_run_end_work ends a piece of work that has called back; false when the
 * run was freed. pod_run_check_over calls `over` when the run is over.
 */
bool pod_run_is_unwanted(const struct pod_run *s);
bool pod_run_end_work(struct pod_run *s);
void pod_run_check_over(struct pod_run *s);
void pod_run_set_end(struct pod_run *s, const char *reason, const char *message);

/* Records an Event about the pod, without the quoted paths in the message:
 * every member of the namespace can read it, but only the pod's owner may know
 * its paths. The pod's status has the whole message.
 */
void pod_run_record(const struct pod_run *s, enum recorded_event_kind kind, const char *reason,
                    const char *message);
void pod_run_finish(struct pod_run *s);
void pod_run_finish_silently(struct pod_run *s);

/* pod_start.c: fetches the blobs and starts a shepherd. pod_start_fail: the pod
 * cannot be started for a reason that is not its own, and is tried elsewhere.
 * pod_start_note: tells the self-check about a start. A pod
 * that starts with others of its gang: pod_start_advance is called with each poll before
 * the job runs, pod_start_note_update when the pod has changed.
 */
void pod_start_begin(struct pod_run *s);
void pod_start_fail(struct pod_run *s, const char *words);
void pod_start_note(const struct pod_run *s, const char *failure);
void pod_start_advance(struct pod_run *s);
void pod_start_note_update(struct pod_run *s);

/* shepherd_watch.c: until the shepherd ends. note_limit: the pod's time limit
 * differs from the one its shepherd was started with. note_freeze: the pod is
 * to be frozen or thawed; look_frozen, a timer's callback, checks whether it
 * is. freezer: who asked for the freeze, or NULL (the pod may still be frozen
 * to yield its cores). send_signals: those of users that this agent has not sent yet. enforce acts on the deadline and the deletion; poll
 * waits until the job runs; both are callbacks of timers, too.
 */
void shepherd_watch_begin(struct pod_run *s);
void shepherd_watch_note_deletion(struct pod_run *s);
void shepherd_watch_note_limit(struct pod_run *s);
void shepherd_watch_note_freeze(struct pod_run *s);
void shepherd_watch_check_freeze(void *run);
const char *shepherd_watch_freezer(const struct pod_run *s);
void shepherd_watch_send_signals(struct pod_run *s);
void shepherd_watch_enforce(void *run);
void shepherd_watch_poll(void *run);
void shepherd_watch_poll_soon(struct pod_run *s);

/* pod_cleanup.c: reads the exit record and removes what is left. */
void pod_cleanup_begin(struct pod_run *s);
void pod_cleanup_on_timer(void *run);

/* unkillable.c: processes that were killed and do not end. unkillable_note_kill: they
 * are killed now. unkillable_note: `n`
 * such processes were seen, among them `one`; reports them after UNKILLABLE_MS.
 * unkillable_check counts the processes while the shepherd waits for them.
 */
#define UNKILLABLE_MS 3000
void unkillable_note_kill(struct pod_run *s, int64_t now_us);
void unkillable_note(struct pod_run *s, unsigned n, pid_t one);
void unkillable_check(struct pod_run *s);

/* placement_watch.c: checks from time to time where the pod's processes run.
 * placement_watch_find_fault: the fault of the allocation, as a condition's
 * reason; NULL if there is none.
 */
void placement_watch_begin(struct pod_run *s);
void placement_watch_on_timer(void *run);
const char *placement_watch_find_fault(const struct pod_run *s, const char **ret_words);

/* status_report.c: sends the reports that are wanted and were not sent yet. */
void status_report_request(struct pod_run *s, enum report_kind what);
void status_report_send(struct pod_run *s);
void status_report_on_timer(void *run);
void status_report_repeat(struct pod_run *s);
void status_report_note_end(struct pod_run *s);
