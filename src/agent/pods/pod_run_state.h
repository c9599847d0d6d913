/* SPDX-License-Identifier: Apache-2.0 */
/* pod_run_state.h - what the files of a run share
 *
 * pod_run.c has the phases and what the API says, pod_start.c the way to a
 * shepherd, shepherd_watch.c the time while it runs, pod_cleanup.c the end,
 * unkillable.c what does not end, status_report.c what the API is told,
 * placement_watch.c where it is while it runs.
 *
 * Thread: the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/pods/pod_run.h"
#include "agent/shepherd/deadline.h"

struct cgroup;
struct client_call;
struct exit_record;
struct fdwatch;
struct live_record;
struct object;
struct observation;
struct timer;

enum report_kind { REPORT_NOTHING, REPORT_WAITING, REPORT_RUNNING, REPORT_END };

struct pod_run {
    struct pod_run_settings s;
    const struct object *pod;
    char *uid;
    enum pod_run_phase phase;
    unsigned busy; /* work and calls under way that come back to us */
    bool freed;    /* by its owner; the last of them really frees */
    bool forgotten;
    bool is_orphan; /* the API's store has lost it: an administrator decides */
    bool given_up;  /* the API has given the pod up, as its node's was */
    bool waits;     /* for its cores to be free */
    bool is_silent; /* nothing is said of how it went */

    /* The process. */
    int pidfd;
    int channel; /* on which it says that it has done; or -1 */
    struct fdwatch *end_watch;
    struct cgroup *cgroup;
    char *tmp_dir;            /* of a pod that this agent has started */
    struct timer *poll_timer; /* for the first sign that the job runs */
    int64_t poll_ms;
    struct live_record *live;
    struct deadline deadline;
    bool is_preemption_warned; /* by its user's signal, */
    int64_t delete_grace_us;   /* and so long the grace is from then on */
    bool is_limit_changed;     /* since its shepherd was started */
    int64_t began_us; /* monotonic; its deadline's start without freezes */
    struct timer *freeze_timer;
    int64_t freeze_look_ms;
    int64_t told_frozen_at_us, told_frozen_us; /* the API, or is being told */
    bool told_yielding;                        /* that this is for another */
    bool is_freeze_refused; /* its shepherd cannot, which was said */
    struct timer *deadline_timer;
    bool deadline_exceeded;

    /* The placement that was seen last (placement_watch.c), and the part of
     * its allocation that is not as given: a reason and a sentence, or NULL.
     */
    struct timer *observe_timer;
    struct observation *seen;
    int64_t seen_at_us;
    bool resumed;      /* by this agent: to be audited at once */
    bool was_restored; /* a worker was asked to set its CPUs anew */
    char *misplaced;
    char *lost; /* the machine does not have it any more */

    struct timer
        *hold_timer; /* before it is refused by a node that is broken */

    /* The end. */
    struct exit_record *exit_record;
    bool ended_before; /* this agent was there */
    char *end_reason;
    char *end_message;
    bool is_disruption;
    struct timer *clean_timer;
    int64_t killed_at_us; /* and still there; 0: was not, or is not */
    bool is_unkillable;   /* which was said */

    /* The telling. */
    enum report_kind wanted, reported;
    struct client_call *call; /* tells, or confirms the deletion */
    enum report_kind reporting;
    bool report_again; /* the API says otherwise than it was told */
    struct timer *report_timer;
    int64_t report_retry_ms;
};

/* pod_run.c. Set_phase aborts on a change that no table allows. End_work ends a
 * piece of work that came back; false when the run is gone. Check_over: says
 * that it is, when it is.
 */
void pod_run_set_phase(struct pod_run *s, enum pod_run_phase to);
bool pod_run_end_work(struct pod_run *s);
void pod_run_check_over(struct pod_run *s);
void
pod_run_set_end(struct pod_run *s, const char *reason, const char *message);
void pod_run_finish(struct pod_run *s);
void pod_run_finish_silently(struct pod_run *s);

/* pod_start.c: fetches the blobs and starts a shepherd. Fail: it cannot be
 * started, which is not its own fault: it is tried elsewhere. Note: one was.
 */
void pod_start_begin(struct pod_run *s);
void pod_start_fail(struct pod_run *s, const char *words);
void pod_start_note(const struct pod_run *s, const char *failure);

/* shepherd_watch.c: until the shepherd ends. Note limit: the pod has another one
 * than its shepherd was started with; freeze: it is to stand still, or to go on,
 * and look_frozen, of a timer, whether it does; freezer: by whose wish, or NULL
 * (it may still have to, for another).
 * Act: does what its deadline and
 * its deletion demand; look: for the first sign that the job runs; both of a
 * timer.
 */
void shepherd_watch_begin(struct pod_run *s);
void shepherd_watch_note_deletion(struct pod_run *s);
void shepherd_watch_note_limit(struct pod_run *s);
void shepherd_watch_note_freeze(struct pod_run *s);
void shepherd_watch_look_frozen(void *run);
const char *shepherd_watch_freezer(const struct pod_run *s);
void shepherd_watch_enforce(void *run);
void shepherd_watch_poll(void *run);

/* pod_cleanup.c: reads how it went and removes what is left; now: of a timer.
 */
void pod_cleanup_begin(struct pod_run *s);
void pod_cleanup_on_timer(void *run);

/* unkillable.c: processes that were killed and do not go. Note: so many were
 * seen, one of them this; says so when that has lasted. Look: the same, while
 * the shepherd waits for them itself. Wait: until when it is worth a look.
 */
#define UNKILLABLE_MS 3000
void unkillable_note(struct pod_run *s, unsigned n, pid_t one);
void unkillable_check(struct pod_run *s);

/* placement_watch.c: looks where the pod's processes are, from time to time;
 * now: of a timer. Broken: what is wrong with its allocation, as a condition's
 * reason; NULL when nothing is.
 */
void placement_watch_begin(struct pod_run *s);
void placement_watch_on_timer(void *run);
const char *placement_watch_find_fault(const struct pod_run *s,
                                       const char **ret_words);

/* status_report.c: go sends what is wanted and not told yet; now: of a timer.
 */
void status_report_request(struct pod_run *s, enum report_kind what);
void status_report_send(struct pod_run *s);
void status_report_on_timer(void *run);
void status_report_repeat(struct pod_run *s);
