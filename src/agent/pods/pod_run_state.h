/* SPDX-License-Identifier: Apache-2.0 */
/* pod_run_state.h - the private struct of a run
 *
 * pod_run.c has the phases, the start, the updates of the API and the end,
 * shepherd_watch.c the time while the shepherd runs, status_report.c the reports to the
 * API. The three states of a run (pod_run.h) change only in pod_run_state.c. Its parts have
 * structs of their own, and know a run by pod_run.h alone: pod_start.h, placement_watch.h,
 * pod_cleanup.h.
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
#include "agent/pods/run_end.h"
#include "agent/shepherd/deadline.h"
#include "lib/client/event_recorder.h"

struct cgroup;
struct client_call;
struct fdwatch;
struct live_record;
struct object;
struct placement_watch;
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

    struct placement_watch *placement;
    struct gpu_use gpu_use;

    struct timer *hold_timer; /* before a broken node refuses it */

    /* The end. */
    struct run_end end;
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

/* pod_run.c. clean_up removes what is left, again and again; then the run is over, and its end is
 * reported.
 */
void pod_run_clean_up(struct pod_run *s);

/* note_start informs the self-check about a start, or about why it has failed. A pod that
 * starts with others of its gang: advance_start is called with each poll before the job runs.
 */
void pod_run_note_start(const struct pod_run *s, const char *failure);
void pod_run_advance_start(struct pod_run *s);

/* Its processes are killed now. check_killed counts them while the shepherd waits for them, and
 * reports those that are left after UNKILLABLE_MS.
 */
#define UNKILLABLE_MS 3000
void pod_run_note_kill(struct pod_run *s, int64_t now_us);
void pod_run_check_killed(struct pod_run *s);

/* shepherd_watch.c: until the shepherd ends. note_limit: the pod's time limit
 * differs from the one its shepherd was started with. note_freeze: the pod is
 * to be frozen or thawed; check_freeze, a timer's callback, checks whether it
 * is. freezer: who asked for the freeze, or NULL (the pod may still be frozen
 * to yield its cores). send_signals: those of users that this agent has not
 * sent yet. enforce acts on the deadline and the deletion; poll waits until the
 * job runs; both are callbacks of timers, too.
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

/* status_report.c: sends the reports that are wanted and were not sent yet. */
void status_report_request(struct pod_run *s, enum report_kind what);
void status_report_send(struct pod_run *s);
void status_report_on_timer(void *run);
void status_report_repeat(struct pod_run *s);
void status_report_note_end(struct pod_run *s);
