/* SPDX-License-Identifier: Apache-2.0 */
/* stay_state.h - what the files of a stay share
 *
 * stay.c has the phases and what the API says, starting.c the way to a
 * shepherd, following.c the time while it runs, cleaning.c the end, stuck.c
 * what does not end, telling.c what the API is told, observing.c where it is
 * while it runs.
 *
 * Thread: the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/pods/stay.h"
#include "agent/shepherd/deadline.h"

struct cgroup;
struct client_call;
struct ending;
struct fdwatch;
struct live;
struct object;
struct observation;
struct timer;

enum told { TOLD_NOTHING, TOLD_WAITING, TOLD_RUNNING, TOLD_END };

struct stay {
    struct stay_settings s;
    const struct object *pod;
    char *uid;
    enum stay_phase phase;
    unsigned busy; /* work and calls under way that come back to us */
    bool freed;    /* by its owner; the last of them really frees */
    bool vanished;
    bool is_orphan; /* the API's store has lost it: an administrator decides */
    bool overruled; /* the API has given the pod up, as its node's was */
    bool waits;     /* for its cores to be free */
    bool is_silent; /* nothing is said of how it went */

    /* The process. */
    int pidfd;
    struct fdwatch *end_watch;
    struct cgroup *cgroup;
    struct timer *look; /* for the first sign that the job runs */
    int64_t look_ms;
    struct live *live;
    struct deadline deadline;
    struct timer *deadline_timer;
    bool deadline_exceeded;

    /* Where it was seen to be (observing.c), and what of its allocation is not
     * as it was given: a reason and a sentence, or NULL.
     */
    struct timer *observe_timer;
    struct observation *seen;
    int64_t seen_at_us;
    bool resumed; /* by this agent: to be audited at once */
    char *astray;
    char *lost; /* the machine does not have it any more */

    struct timer *hold; /* before it is refused by a node that is broken */

    /* The end. */
    struct ending *ending;
    bool ended_before; /* this agent was there */
    char *end_reason;
    char *end_message;
    bool is_disruption;
    struct timer *clean_timer;
    int64_t killed_at_us; /* and still there; 0: was not, or is not */
    bool is_stuck;        /* which was said */

    /* The telling. */
    enum told wanted, told;
    struct client_call *call; /* tells, or confirms the deletion */
    enum told telling;
    bool doubted; /* the API says otherwise than it was told */
    struct timer *tell_timer;
    int64_t tell_ms;
};

/* stay.c. Move aborts on a move that no table allows. Come_back ends a piece
 * of work that came back; false when the stay is gone. Check_over: says that
 * it is, when it is.
 */
void stay_move(struct stay *s, enum stay_phase to);
bool stay_come_back(struct stay *s);
void stay_check_over(struct stay *s);
void stay_set_end(struct stay *s, const char *reason, const char *message);
void stay_be_done(struct stay *s);
void stay_be_done_silently(struct stay *s);

/* starting.c: fetches the blobs and starts a shepherd. Fail: it cannot be
 * started, which is not its own fault: it is tried elsewhere. Note: one was.
 */
void starting_begin(struct stay *s);
void starting_fail(struct stay *s, const char *words);
void starting_note(const struct stay *s, const char *failure);

/* following.c: until the shepherd ends. Act: does what its deadline and its
 * deletion demand; look: for the first sign that the job runs; both of a
 * timer.
 */
void following_begin(struct stay *s);
void following_note_deletion(struct stay *s);
void following_act(void *stay);
void following_look(void *stay);

/* cleaning.c: reads how it went and removes what is left; now: of a timer. */
void cleaning_begin(struct stay *s);
void cleaning_now(void *stay);

/* stuck.c: processes that were killed and do not go. Note: so many were seen,
 * one of them this; says so when that has lasted. Look: the same, while the
 * shepherd waits for them itself. Wait: until when it is worth a look.
 */
#define STUCK_MS 3000
void stuck_note(struct stay *s, unsigned n, pid_t one);
void stuck_look(struct stay *s);

/* observing.c: looks where the pod's processes are, from time to time; now: of
 * a timer. Broken: what is wrong with its allocation, as a condition's reason;
 * NULL when nothing is.
 */
void observing_begin(struct stay *s);
void observing_now(void *stay);
const char *observing_broken(const struct stay *s, const char **ret_words);

/* telling.c: go sends what is wanted and not told yet; now: of a timer. */
void telling_want(struct stay *s, enum told what);
void telling_go(struct stay *s);
void telling_now(void *stay);
void telling_again(struct stay *s);
