/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/stay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/cgroup/cgroup.h"
#include "agent/pods/commons.h"
#include "agent/pods/compose.h"
#include "agent/pods/ground.h"
#include "agent/pods/site.h"
#include "agent/pods/stay_state.h"
#include "agent/shepherd/ending.h"
#include "agent/shepherd/live.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/client/announcer.h"
#include "lib/client/client.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/timer.h"

#define HOLD_MS 1000

/* ---- Phases ---- */

static const bool may_move[STAY_DONE + 1][STAY_DONE + 1] = {
    [STAY_ARRIVED] = {[STAY_PREPARING] = true,
                      [STAY_LAUNCHED] = true,
                      [STAY_ENDED] = true,
                      [STAY_DONE] = true},
    [STAY_PREPARING] =
        {[STAY_LAUNCHED] = true, [STAY_ENDED] = true, [STAY_DONE] = true},
    [STAY_LAUNCHED] = {[STAY_RUNNING] = true, [STAY_ENDED] = true},
    [STAY_RUNNING] = {[STAY_ENDED] = true},
    [STAY_ENDED] = {[STAY_DONE] = true},
};

void
stay_move(struct stay *s, enum stay_phase to)
{
    if (!may_move[s->phase][to])
        abort();
    if (s->phase == STAY_LAUNCHED)
        --*s->s.n_launched;
    s->phase = to;
    if (s->phase == STAY_LAUNCHED)
        ++*s->s.n_launched;
    if (s->s.commons != NULL
        && (to == STAY_PREPARING || to == STAY_LAUNCHED || to == STAY_DONE))
        commons_recount(s->s.commons);
    if (to == STAY_DONE && s->s.holding_changed != NULL)
        s->s.holding_changed(s, s->s.context);
}

/* ---- Life ---- */

static void
really_free(struct stay *s)
{
    object_unref(s->pod);
    fdwatch_free(s->end_watch);
    if (s->pidfd >= 0)
        close(s->pidfd);
    timer_free(s->look);
    timer_free(s->deadline_timer);
    timer_free(s->clean_timer);
    timer_free(s->tell_timer);
    timer_free(s->observe_timer);
    timer_free(s->hold);
    free(s->seen);
    free(s->astray);
    free(s->lost);
    cgroup_free(s->cgroup);
    live_free(s->live);
    ending_free(s->ending);
    free(s->end_reason);
    free(s->end_message);
    free(s->uid);
    free(s);
}

void
stay_free(struct stay *s)
{
    if (s == NULL)
        return;
    s->freed = true;
    timer_stop(s->look);
    timer_stop(s->deadline_timer);
    timer_stop(s->clean_timer);
    timer_stop(s->tell_timer);
    timer_stop(s->observe_timer);
    timer_stop(s->hold);
    if (s->call != NULL) { /* no answer comes to an agent that ends */
        client_cancel(s->call);
        s->busy--;
    }
    if (s->busy == 0)
        really_free(s);
}

/* Ends a piece of work that came back; false when the stay is gone. */
bool
stay_come_back(struct stay *s)
{
    s->busy--;
    if (!s->freed)
        return true;
    if (s->busy == 0)
        really_free(s);
    return false;
}

void
stay_check_over(struct stay *s)
{
    bool deleted = s->pod->meta->deleted_at_us != 0;

    if (s->phase != STAY_DONE || s->busy > 0)
        return;
    if (s->vanished || (s->told == TOLD_END && !deleted))
        s->s.over(s, s->s.context);
}

/* ---- The end ---- */

void
stay_set_end(struct stay *s, const char *reason, const char *message)
{
    free(s->end_reason);
    free(s->end_message);
    s->end_reason = reason != NULL ? xstrdup(reason) : NULL;
    s->end_message = message != NULL ? xstrdup(message) : NULL;
}

/* An agent that was killed while it started the pod has left what it had made
 * by then: that goes before the pod is said to be over, as nobody looks for it
 * afterwards.
 */
static bool
clean_first(struct stay *s, bool is_silent)
{
    if (s->phase > STAY_PREPARING || !site_has_run_dir(s->s.ground, s->uid))
        return false;
    s->is_silent = is_silent;
    if (s->cgroup == NULL)
        s->cgroup = site_find_cgroup(s->s.ground, s->uid);
    stay_move(s, STAY_ENDED);
    cleaning_begin(s);
    return true;
}

/* It was to be deleted before it ran, or was over before we came: nothing is
 * said of how it went.
 */
void
stay_be_done_silently(struct stay *s)
{
    if (clean_first(s, true))
        return;
    stay_move(s, STAY_DONE);
    s->wanted = s->told = TOLD_END;
    telling_go(s);
}

void
stay_be_done(struct stay *s)
{
    if (s->overruled) {
        stay_be_done_silently(s);
        return;
    }
    if (clean_first(s, false))
        return;
    stay_move(s, STAY_DONE);
    telling_want(s, TOLD_END);
}

void
stay_refuse(struct stay *s, const char *reason, const char *message)
{
    s->waits = false;
    stay_set_end(s, reason, message);
    /* That it was put where it cannot be is not the job's fault. */
    s->is_disruption = strcmp(reason, REFUSED_BROKEN) == 0
                       || strcmp(reason, BROKEN_OVERLAP) == 0
                       || strcmp(reason, BROKEN_NOT_HERE) == 0;
    log_warning("pod '%s/%s' is refused: %s",
                s->pod->meta->namespace,
                s->pod->meta->name,
                message);
    announcer_say(s->s.ground->announcer,
                  s->pod,
                  ANNOUNCE_WARNING,
                  reason,
                  message);
    stay_be_done(s);
}

void
stay_dismiss(struct stay *s)
{
    stay_be_done_silently(s);
}

/* ---- The start ---- */

static bool
is_node_broken(const struct stay *s)
{
    const struct ground *g = s->s.ground;

    return g->broken != NULL && g->broken(g->start_context) != NULL;
}

void
stay_start(struct stay *s)
{
    struct error err = {0};
    int r;

    if (s->pod->meta->deleted_at_us != 0) {
        stay_be_done_silently(s);
        return;
    }
    r = compose_check(s->s.ground, s->pod, &err);
    if (r < 0) {
        stay_refuse(s, r == -ENODEV ? BROKEN_NOT_HERE : "Refused", err.text);
        return;
    }
    if (is_node_broken(s)) /* tried elsewhere, though not at once again */
        timer_start(s->hold, HOLD_MS);
    else
        starting_begin(s);
}

/* A node that was mended meanwhile takes it all the same. */
static void
stop_holding(void *context)
{
    struct stay *s = context;

    if (s->phase != STAY_ARRIVED)
        return;
    if (s->pod->meta->deleted_at_us != 0 || s->vanished || s->overruled)
        stay_be_done_silently(s);
    else if (is_node_broken(s))
        stay_refuse(s,
                    REFUSED_BROKEN,
                    s->s.ground->broken(s->s.ground->start_context));
    else
        starting_begin(s);
}

/* ---- After a restart of the agent ---- */

static bool
was_started(const struct object *pod)
{
    const char *phase = pod_of(pod)->status.phase;

    return phase != NULL
           && (strcmp(phase, "Running") == 0 || strcmp(phase, "Unknown") == 0);
}

/* Where the record is gone, the API may know; and a pod that only the disk knows
 * was begun before /run was emptied.
 */
static enum site_boot
find_boot(const struct stay *s)
{
    const struct observed *o = pod_of(s->pod)->status.observed;
    enum site_boot boot = site_boot(s->s.ground, s->uid);

    if (boot != SITE_BOOT_UNKNOWN)
        return boot;
    if (o != NULL && o->node_boot_id != NULL)
        return strcmp(o->node_boot_id, s->s.ground->boot_id) == 0
                   ? SITE_BOOT_UNKNOWN
                   : SITE_BOOT_EARLIER;
    return site_is_there(s->s.ground, s->uid) ? SITE_BOOT_EARLIER
                                              : SITE_BOOT_UNKNOWN;
}

/* A shepherd that was killed is found out when what is left is removed. */
static void
take_up_lost(struct stay *s, enum site_boot boot)
{
    if (boot == SITE_BOOT_EARLIER)
        stay_set_end(s,
                     "NodeRebooted",
                     "the node was restarted while the pod ran on it");
    else if (boot == SITE_BOOT_UNKNOWN)
        stay_set_end(s,
                     "PodLost",
                     "nothing of it is left on its node, which has not been "
                     "restarted meanwhile: its files were removed, or the "
                     "controller's state is older than its end");
    s->is_disruption = true;
    stay_move(s, STAY_ENDED);
    cleaning_begin(s);
}

void
stay_resume(struct stay *s)
{
    const struct ground *g = s->s.ground;
    enum site_boot boot;

    s->waits = false;
    if (!site_is_there(g, s->uid) && !was_started(s->pod)) {
        stay_start(s);
        return;
    }
    s->live = site_read_live(g, s->uid);
    s->ending = site_read_ending(g, s->uid);
    s->cgroup = site_find_cgroup(g, s->uid);
    if (s->ending != NULL) {
        s->ended_before = true;
        stay_move(s, STAY_ENDED);
        cleaning_begin(s);
        return;
    }
    if (s->live != NULL)
        s->pidfd = live_open(s->live, g->boot_id);
    boot = find_boot(s);
    if (s->pidfd >= 0) {
        log_info("pod '%s/%s' still runs, following it",
                 s->pod->meta->namespace,
                 s->pod->meta->name);
        s->resumed = true;
        stay_move(s, STAY_LAUNCHED);
        following_begin(s);
    } else if (was_started(s->pod) || boot == SITE_BOOT_EARLIER
               || (s->live != NULL && s->live->phase > LIVE_PREPARING)) {
        take_up_lost(s, boot);
    } else {
        stay_start(s);
    }
}

/* ---- What the API says ---- */

static bool
is_unknown(const struct object *pod)
{
    const char *phase = pod_of(pod)->status.phase;

    return phase != NULL && strcmp(phase, "Unknown") == 0;
}

/* The node was given up, and the pod with it: it may run elsewhere. */
static void
be_overruled(struct stay *s)
{
    if (s->overruled)
        return;
    s->overruled = true;
    s->wanted = s->told = TOLD_END;
    log_warning("pod '%s/%s' was given up by the controller, ending what is "
                "left of it",
                s->pod->meta->namespace,
                s->pod->meta->name);
}

void
stay_await(struct stay *s)
{
    s->waits = true;
}

void
stay_update(struct stay *s, const struct object *pod)
{
    object_unref(s->pod);
    s->pod = object_ref(pod);
    if (pod_is_finished(pod_of(pod)) && s->phase != STAY_DONE)
        be_overruled(s);
    else if (s->phase == STAY_RUNNING && is_unknown(pod))
        telling_again(s); /* its node was not heard of for a while */
    if (pod->meta->deleted_at_us == 0 && !s->overruled)
        return;
    if (s->waits) {
        s->waits = false;
        stay_be_done_silently(s);
        return;
    }
    following_note_deletion(s);
    if (s->pidfd >= 0)
        following_act(s);
    else if (s->phase == STAY_DONE && !timer_is_running(s->tell_timer))
        telling_go(s);
}

void
stay_vanish(struct stay *s)
{
    s->vanished = true;
    if (s->waits) {
        s->waits = false;
        stay_be_done_silently(s);
        return;
    }
    following_note_deletion(s);
    if (s->pidfd >= 0)
        following_act(s);
    stay_check_over(s);
}

struct stay *
stay_new(const struct stay_settings *settings, const struct object *pod)
{
    struct stay *s = xnew(struct stay);
    struct loop *loop = settings->ground->loop;

    s->s = *settings;
    s->pod = object_ref(pod);
    s->uid = xstrdup(pod->meta->uid);
    s->pidfd = -1;
    s->look = timer_new(loop, following_look, s);
    s->deadline_timer = timer_new(loop, following_act, s);
    s->clean_timer = timer_new(loop, cleaning_now, s);
    s->tell_timer = timer_new(loop, telling_now, s);
    s->observe_timer = timer_new(loop, observing_now, s);
    s->hold = timer_new(loop, stop_holding, s);
    s->deadline.limit_us = DEADLINE_NEVER;
    s->deadline.delete_us = DEADLINE_NEVER;
    s->deadline.delete_grace_us = DEADLINE_NEVER;
    s->deadline.started_us = clock_monotonic_us(settings->ground->clock);
    return s;
}

enum stay_phase
stay_phase(const struct stay *s)
{
    return s->phase;
}

const struct object *
stay_pod(const struct stay *s)
{
    return s->pod;
}

const char *
stay_uid(const struct stay *s)
{
    return s->uid;
}

bool
stay_holds_cores(const struct stay *s)
{
    return s->phase != STAY_DONE;
}

bool
stay_is_stuck(const struct stay *s)
{
    return s->is_stuck;
}

bool
stay_is_waiting(const struct stay *s)
{
    return s->waits;
}

bool
stay_format_cgroup(const struct stay *s, struct strbuf *out)
{
    if (s->cgroup == NULL)
        return false;
    cgroup_format(s->cgroup, out);
    return true;
}

void
stay_orphan(struct stay *s, bool is_orphan)
{
    s->is_orphan = is_orphan;
}

bool
stay_is_orphan(const struct stay *s)
{
    return s->is_orphan;
}

bool
stay_is_gone(const struct stay *s)
{
    return s->vanished;
}

bool
stay_is_unclaimed(const struct stay *s)
{
    return stay_holds_cores(s) && (s->vanished || s->overruled || s->is_orphan)
           && pod_of(s->pod)->status.allocation != NULL;
}

bool
stay_find_footing(const struct stay *s, struct stay_footing *ret_footing)
{
    if (s->phase != STAY_RUNNING || s->live == NULL)
        return false;
    *ret_footing = (struct stay_footing){
        .pod = s->pod,
        .cgroup = s->cgroup,
        .shepherd = (pid_t)s->live->shepherd_pid,
        .started_at_us = s->live->started_at_us,
    };
    return true;
}
