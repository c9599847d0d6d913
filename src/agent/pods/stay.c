/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/stay.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/cgroup/cgpool.h"
#include "agent/cgroup/cgroot.h"
#include "agent/cgroup/cgroup.h"
#include "agent/pods/blobs.h"
#include "agent/pods/compose.h"
#include "agent/pods/deadline.h"
#include "agent/pods/ground.h"
#include "agent/pods/report.h"
#include "agent/pods/site.h"
#include "agent/shepherd/ending.h"
#include "agent/shepherd/launch.h"
#include "agent/shepherd/live.h"
#include "lib/api/kind.h"
#include "lib/api/object.h"
#include "lib/api/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/client/client.h"
#include "lib/json/json.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/timer.h"
#include "lib/loop/workers.h"

#define DEFAULT_GRACE_S 30
#define LOOK_FIRST_MS   10
#define LOOK_LAST_MS    500
#define TELL_FIRST_MS   500
#define TELL_LAST_MS    15000
#define CLEAN_AGAIN_MS  500

enum told { TOLD_NOTHING, TOLD_RUNNING, TOLD_END };

struct stay {
    struct stay_settings s;
    const struct object *pod;
    char *uid;
    enum stay_phase phase;
    unsigned busy; /* work and calls under way that come back to us */
    bool freed;    /* by its owner; the last of them really frees */
    bool vanished;
    bool overruled; /* the API has given the pod up, as its node's was */

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

    /* The end. */
    struct ending *ending;
    char *end_reason;
    char *end_message;
    bool is_disruption;
    struct timer *clean_timer;

    /* The telling. */
    enum told wanted, told;
    bool telling;
    bool doubted;    /* the API says otherwise than it was told */
    bool confirming; /* the deletion */
    struct timer *tell_timer;
    int64_t tell_ms;
};

static void tell(struct stay *s);
static void clean(struct stay *s);
static void follow(struct stay *s);

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

static void
move(struct stay *s, enum stay_phase to)
{
    if (!may_move[s->phase][to])
        abort();
    s->phase = to;
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
    if (s->busy == 0)
        really_free(s);
}

/* Ends a piece of work that came back; false when the stay is gone. */
static bool
come_back(struct stay *s)
{
    s->busy--;
    if (!s->freed)
        return true;
    if (s->busy == 0)
        really_free(s);
    return false;
}

static void
check_over(struct stay *s)
{
    bool deleted = s->pod->meta->deleted_at_us != 0;

    if (s->phase != STAY_DONE || s->busy > 0)
        return;
    if (s->vanished || (s->told == TOLD_END && !deleted))
        s->s.over(s, s->s.context);
}

/* ---- Telling the API ---- */

static void
tell_later(struct stay *s)
{
    s->tell_ms = s->tell_ms == 0 ? TELL_FIRST_MS : s->tell_ms * 2;
    if (s->tell_ms > TELL_LAST_MS)
        s->tell_ms = TELL_LAST_MS;
    timer_start(s->tell_timer, s->tell_ms);
}

static void
on_confirmed(const struct client_reply *reply, void *context)
{
    struct stay *s = context;

    s->confirming = false;
    if (!come_back(s))
        return;
    if (reply->code == 200 || reply->code == 404 || reply->code == 409)
        s->vanished = true;
    else
        tell_later(s);
    check_over(s);
}

/* The process is gone and cleaned up after: the API may forget the pod. */
static void
confirm_deletion(struct stay *s)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);
    struct client_request request = {
        .verb = CLIENT_DELETE,
        .kind = &pod_kind,
        .namespace = s->pod->meta->namespace,
        .name = s->pod->meta->name,
        .body = body,
    };

    json_set_string(arena, body, "kind", "DeleteOptions");
    json_set_string(arena, body, "apiVersion", "v1");
    json_set_int(arena, body, "gracePeriodSeconds", 0);
    json_set_string(arena,
                    json_make_object(arena, body, "preconditions"),
                    "uid",
                    s->uid);
    s->confirming = true;
    s->busy++;
    client_call(s->s.ground->client, arena, &request, on_confirmed, s);
}

struct telling {
    struct stay *stay;
    enum told what;
};

static void
on_told(const struct client_reply *reply, void *context)
{
    struct telling *t = context;
    struct stay *s = t->stay;
    enum told what = t->what;
    struct error err = {0};

    free(t);
    s->telling = false;
    if (!come_back(s))
        return;
    if (reply->code == 200) {
        s->told = s->doubted ? TOLD_NOTHING : what;
        s->doubted = false;
        s->tell_ms = 0;
    } else if (reply->code == 404 || reply->code == 409) {
        s->vanished = reply->code == 404;
        if (reply->code == 409)
            tell_later(s);
    } else {
        client_reply_error(reply, &err);
        if (reply->code >= 400 && reply->code < 500)
            log_warning("pod '%s/%s': the controller refuses its status: %s",
                        s->pod->meta->namespace,
                        s->pod->meta->name,
                        err.text);
        tell_later(s);
    }
    if (!timer_is_running(s->tell_timer))
        tell(s);
}

static struct json *
compose_report(struct stay *s, struct arena *arena)
{
    const struct ground *g = s->s.ground;

    if (s->wanted == TOLD_RUNNING)
        return report_running(arena,
                              s->pod,
                              &(struct report_running){
                                  .host_address = g->address,
                                  .boot_id = g->boot_id,
                                  .started_at_us = s->live->started_at_us,
                                  .cpus = s->live->cpus_allowed,
                                  .memory_nodes = s->live->memory_allowed,
                              });
    return report_end(arena,
                      s->pod,
                      &(struct report_end){
                          .ending = s->ending,
                          .reason = s->end_reason,
                          .message = s->end_message,
                          .is_disruption = s->is_disruption,
                          .now_us = clock_real_us(g->clock),
                          .host_address = g->address,
                          .boot_id = g->boot_id,
                      });
}

/* Sends what is wanted and not told yet; then, of a pod being deleted, that
 * it is gone.
 */
static void
tell(struct stay *s)
{
    struct arena *arena;
    struct telling *t;
    struct client_request request = {
        .verb = CLIENT_MERGE_PATCH,
        .kind = &pod_kind,
        .namespace = s->pod->meta->namespace,
        .name = s->pod->meta->name,
        .subresource = "status",
    };

    if (s->telling || s->confirming)
        return;
    if (!s->vanished && s->told < s->wanted) {
        arena = arena_new(0);
        request.body = compose_report(s, arena);
        t = xnew(struct telling);
        t->stay = s;
        t->what = s->wanted;
        s->telling = true;
        s->busy++;
        client_call(s->s.ground->client, arena, &request, on_told, t);
        return;
    }
    if (!s->vanished && s->phase == STAY_DONE
        && s->pod->meta->deleted_at_us != 0) {
        confirm_deletion(s);
        return;
    }
    check_over(s);
}

static void
tell_now(void *context)
{
    tell(context);
}

static void
want(struct stay *s, enum told what)
{
    if (what > s->wanted)
        s->wanted = what;
    timer_stop(s->tell_timer);
    tell(s);
}

/* ---- The end ---- */

static void
set_end(struct stay *s, const char *reason, const char *message)
{
    free(s->end_reason);
    free(s->end_message);
    s->end_reason = reason != NULL ? xstrdup(reason) : NULL;
    s->end_message = message != NULL ? xstrdup(message) : NULL;
}

/* It was to be deleted before it ran, or was over before we came: nothing is
 * said of how it went.
 */
static void
be_done_silently(struct stay *s)
{
    move(s, STAY_DONE);
    s->wanted = s->told = TOLD_END;
    tell(s);
}

static void
be_done(struct stay *s)
{
    if (s->overruled) {
        be_done_silently(s);
        return;
    }
    move(s, STAY_DONE);
    want(s, TOLD_END);
}

void
stay_refuse(struct stay *s, const char *reason, const char *message)
{
    set_end(s, reason, message);
    log_warning("pod '%s/%s' is refused: %s",
                s->pod->meta->namespace,
                s->pod->meta->name,
                message);
    be_done(s);
}

/* Reads how it went and removes what is left; on a worker. */
struct cleaning {
    struct stay *stay;
    const struct ground *ground;
    char *uid;
    struct cgroup *cgroup; /* lent */
    struct ending *ending;
    bool read_ending;
    bool is_clean;
    char *trouble;
};

static void
clean_work(void *arg)
{
    struct cleaning *c = arg;
    struct error err = {0};
    int r;

    if (c->read_ending)
        c->ending = site_read_ending(c->ground, c->uid);
    if (c->cgroup != NULL) {
        r = cgroup_is_empty(c->cgroup);
        if (r == 0) {
            (void)cgroup_kill(c->cgroup, NULL);
            return; /* looked at again */
        }
    }
    r = site_leave(c->ground, c->uid, &err);
    if (r < 0)
        c->trouble = xstrdup(err.text);
    c->is_clean = true;
}

static void
clean_done(void *arg)
{
    struct cleaning *c = arg;
    struct stay *s = c->stay;

    if (c->trouble != NULL)
        log_warning("cleaning up after pod '%s': %s", c->uid, c->trouble);
    if (c->ending != NULL && s->ending == NULL) {
        s->ending = c->ending;
        c->ending = NULL;
    }
    ending_free(c->ending);
    free(c->trouble);
    free(c->uid);
    bool is_clean = c->is_clean;
    free(c);
    if (!come_back(s))
        return;
    if (!is_clean) {
        timer_start(s->clean_timer, CLEAN_AGAIN_MS);
        return;
    }
    if (s->cgroup != NULL) {
        cgpool_retire(s->s.ground->pool, s->cgroup);
        s->cgroup = NULL;
        site_sweep(s->s.ground);
    }
    if (s->ending == NULL && s->end_reason == NULL) {
        set_end(s,
                "ShepherdLost",
                "the process that watched over this pod was killed, and with "
                "it the record of how the pod ended");
        s->is_disruption = true;
    } else if (s->ending != NULL && s->ending->was_fenced
               && s->end_reason == NULL) {
        set_end(s,
                "NodeLost",
                "its node was cut off from the controller for longer than "
                "fenceAfterSeconds, and ended it");
        s->is_disruption = true;
    } else if (s->deadline_exceeded && s->end_reason == NULL) {
        set_end(s,
                "DeadlineExceeded",
                "Pod was active on the node longer than the specified "
                "deadline");
    }
    be_done(s);
}

static void
clean(struct stay *s)
{
    struct cleaning *c = xnew(struct cleaning);

    c->stay = s;
    c->ground = s->s.ground;
    c->uid = xstrdup(s->uid);
    c->cgroup = s->cgroup;
    c->read_ending = s->ending == NULL;
    s->busy++;
    workers_submit(s->s.ground->workers,
                   s->s.ground->loop,
                   clean_work,
                   clean_done,
                   c);
}

static void
clean_now(void *context)
{
    clean(context);
}

static void
on_shepherd_ended(UNUSED int fd, UNUSED unsigned ready, void *context)
{
    struct stay *s = context;
    siginfo_t info;

    fdwatch_free(s->end_watch);
    s->end_watch = NULL;
    (void)waitid(P_PIDFD, (id_t)s->pidfd, &info, WEXITED | WNOHANG);
    close(s->pidfd);
    s->pidfd = -1;
    timer_stop(s->look);
    timer_stop(s->deadline_timer);
    move(s, STAY_ENDED);
    clean(s);
}

/* ---- While it runs ---- */

static void
act_on_deadline(void *context)
{
    struct stay *s = context;
    int64_t now = clock_monotonic_us(s->s.ground->clock);
    int64_t next = DEADLINE_NEVER;
    const struct execution *e = pod_of(s->pod)->spec.execution;

    for (;;) {
        switch (deadline_next(&s->deadline, now, &next)) {
        case DEADLINE_WARN:
            s->deadline.warned = true;
            launch_signal(s->pidfd,
                          e->signal->batch_only ? LAUNCH_MAIN : LAUNCH_ALL,
                          site_signal_number(e->signal->name),
                          NULL);
            break;
        case DEADLINE_TERMINATE:
            s->deadline.terminated = true;
            s->deadline_exceeded = deadline_is_exceeded(&s->deadline, now);
            launch_signal(s->pidfd, LAUNCH_ALL, SIGTERM, NULL);
            break;
        case DEADLINE_KILL:
            s->deadline.terminated = s->deadline.killed = true;
            s->deadline_exceeded =
                s->deadline_exceeded || deadline_is_exceeded(&s->deadline, now);
            launch_signal(s->pidfd, LAUNCH_ALL, SIGKILL, NULL);
            break;
        case DEADLINE_WAIT:
            if (next != DEADLINE_NEVER)
                timer_start(s->deadline_timer, (next - now) / 1000 + 1);
            return;
        }
    }
}

static int64_t
grace_us(const struct object *pod)
{
    const int64_t *s = pod_of(pod)->spec.termination_grace_seconds;

    return (s != NULL ? *s : DEFAULT_GRACE_S) * 1000000;
}

static void
note_deletion(struct stay *s)
{
    const struct meta *meta = s->pod->meta;
    int64_t grace = meta->deletion_grace_s != NULL
                        ? *meta->deletion_grace_s * 1000000
                        : grace_us(s->pod);

    if (meta->deleted_at_us == 0 && !s->vanished && !s->overruled)
        return;
    if (s->vanished || s->overruled)
        grace = 0;
    if (s->deadline.delete_us == DEADLINE_NEVER)
        s->deadline.delete_us = clock_monotonic_us(s->s.ground->clock);
    if (grace < s->deadline.delete_grace_us)
        s->deadline.delete_grace_us = grace;
}

/* The start is known by real time alone (the shepherd's); what has passed
 * since is taken off the monotonic clock now.
 */
static void
begin_deadline(struct stay *s)
{
    const struct pod *pod = pod_of(s->pod);
    const struct ground *g = s->s.ground;
    int64_t ago = clock_real_us(g->clock) - s->live->started_at_us;

    s->deadline.started_us = clock_monotonic_us(g->clock) - (ago > 0 ? ago : 0);
    if (pod->spec.active_deadline_seconds != NULL)
        s->deadline.limit_us = *pod->spec.active_deadline_seconds * 1000000;
    if (pod->spec.execution != NULL && pod->spec.execution->signal != NULL)
        s->deadline.warn_us =
            pod->spec.execution->signal->seconds_before * 1000000;
    s->deadline.grace_us = grace_us(s->pod);
    act_on_deadline(s);
}

/* A file in /run: cheap, and asked for with growing pauses. A job that is over
 * before the first look is never told to be running.
 */
static void
look_for_start(void *context)
{
    struct stay *s = context;

    live_free(s->live);
    s->live = site_read_live(s->s.ground, s->uid);
    if (s->live == NULL || s->live->phase < LIVE_RUNNING) {
        s->look_ms =
            s->look_ms * 2 > LOOK_LAST_MS ? LOOK_LAST_MS : s->look_ms * 2;
        timer_start(s->look, s->look_ms);
        return;
    }
    move(s, STAY_RUNNING);
    begin_deadline(s);
    want(s, TOLD_RUNNING);
}

static void
follow(struct stay *s)
{
    s->end_watch = fdwatch_new(s->s.ground->loop,
                               s->pidfd,
                               FDWATCH_READ,
                               on_shepherd_ended,
                               s);
    s->look_ms = LOOK_FIRST_MS;
    timer_start(s->look, s->look_ms);
    note_deletion(s);
    if (s->deadline.delete_us != DEADLINE_NEVER)
        act_on_deadline(s);
}

/* ---- The start ---- */

struct starting {
    struct stay *stay;
    const struct blob *script;
    const struct blob *environment;
    struct site_start start;
    int result;
    struct error err;
};

static void
end_starting(struct starting *st)
{
    blob_release(st->script);
    blob_release(st->environment);
    object_unref(st->start.pod);
    free(st);
}

static void
start_work(void *arg)
{
    struct starting *st = arg;

    st->result = site_start(&st->start, &st->err);
}

static void
start_done(void *arg)
{
    struct starting *st = arg;
    struct stay *s = st->stay;
    struct error err = st->err;
    int result = st->result;

    s->cgroup = st->start.cgroup;
    s->pidfd = st->start.pidfd;
    end_starting(st);
    if (!come_back(s))
        return;
    if (result < 0) {
        set_end(s, "StartError", err.text);
        log_warning("pod '%s/%s' cannot be started: %s",
                    s->pod->meta->namespace,
                    s->pod->meta->name,
                    err.text);
        move(s, STAY_ENDED);
        clean(s);
        return;
    }
    move(s, STAY_LAUNCHED);
    follow(s);
}

static void
start_on_worker(struct starting *st)
{
    struct stay *s = st->stay;
    const struct ground *g = s->s.ground;

    if (s->pod->meta->deleted_at_us != 0 || s->vanished || s->overruled) {
        end_starting(st);
        if (come_back(s))
            be_done_silently(s);
        return;
    }
    st->start.ground = g;
    st->start.pod = object_ref(s->pod);
    st->start.pidfd = -1;
    if (st->script != NULL) {
        st->start.script = blob_bytes(st->script);
        st->start.script_length = blob_length(st->script);
    }
    if (st->environment != NULL) {
        st->start.environment = blob_bytes(st->environment);
        st->start.environment_length = blob_length(st->environment);
    }
    if (g->pool != NULL)
        st->start.cgroup = cgpool_take(g->pool);
    workers_submit(g->workers, g->loop, start_work, start_done, st);
}

static void
fail_to_fetch(struct starting *st, const char *what, const struct error *err)
{
    struct stay *s = st->stay;
    char *text = xasprintf("cannot fetch the job's %s: %s", what, err->text);

    end_starting(st);
    if (come_back(s)) {
        set_end(s, "StartError", text);
        be_done(s);
    }
    free(text);
}

static void
on_environment(const struct blob *blob, const struct error *err, void *context)
{
    struct starting *st = context;

    st->environment = blob;
    if (blob == NULL)
        fail_to_fetch(st, "environment", err);
    else
        start_on_worker(st);
}

static void
fetch_environment(struct starting *st)
{
    struct stay *s = st->stay;
    struct compose_needs needs;

    compose_needs(s->pod, &needs);
    if (needs.environment == NULL)
        start_on_worker(st);
    else
        blobs_get(s->s.blobs,
                  s->pod->meta->namespace,
                  needs.job,
                  "environment",
                  needs.environment,
                  on_environment,
                  st);
}

static void
on_script(const struct blob *blob, const struct error *err, void *context)
{
    struct starting *st = context;

    st->script = blob;
    if (blob == NULL)
        fail_to_fetch(st, "script", err);
    else
        fetch_environment(st);
}

void
stay_start(struct stay *s)
{
    struct starting *st;
    struct compose_needs needs;
    struct error err = {0};

    if (s->pod->meta->deleted_at_us != 0) {
        be_done_silently(s);
        return;
    }
    if (compose_check(s->s.ground, s->pod, &err) < 0) {
        stay_refuse(s, "Refused", err.text);
        return;
    }
    move(s, STAY_PREPARING);
    st = xnew(struct starting);
    st->stay = s;
    s->busy++;
    compose_needs(s->pod, &needs);
    if (needs.script == NULL)
        fetch_environment(st);
    else
        blobs_get(s->s.blobs,
                  s->pod->meta->namespace,
                  needs.job,
                  "script",
                  needs.script,
                  on_script,
                  st);
}

/* ---- After a restart of the agent ---- */

static bool
was_started(const struct object *pod)
{
    const char *phase = pod_of(pod)->status.phase;

    return phase != NULL
           && (strcmp(phase, "Running") == 0 || strcmp(phase, "Unknown") == 0);
}

static void
take_up_lost(struct stay *s)
{
    set_end(s,
            "NodeRebooted",
            "the node was restarted while the pod ran on it");
    s->is_disruption = true;
    move(s, STAY_ENDED);
    clean(s);
}

void
stay_resume(struct stay *s)
{
    const struct ground *g = s->s.ground;

    s->live = site_read_live(g, s->uid);
    s->ending = site_read_ending(g, s->uid);
    s->cgroup = site_find_cgroup(g, s->uid);
    if (s->ending != NULL) {
        move(s, STAY_ENDED);
        clean(s);
        return;
    }
    if (s->live != NULL)
        s->pidfd = live_open(s->live, g->boot_id);
    if (s->pidfd >= 0) {
        log_info("pod '%s/%s' still runs, following it",
                 s->pod->meta->namespace,
                 s->pod->meta->name);
        move(s, STAY_LAUNCHED);
        follow(s);
    } else if (s->live != NULL && s->live->phase > LIVE_PREPARING) {
        move(s, STAY_ENDED); /* its shepherd is gone without a word */
        clean(s);
    } else if (was_started(s->pod) || site_is_of_earlier_boot(g, s->uid)) {
        take_up_lost(s);
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

/* The node was not heard of for a while, and the pod was marked so. */
static void
tell_again(struct stay *s)
{
    if (s->telling) {
        s->doubted = true;
        return;
    }
    s->told = TOLD_NOTHING;
    tell(s);
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
stay_update(struct stay *s, const struct object *pod)
{
    object_unref(s->pod);
    s->pod = object_ref(pod);
    if (pod_is_finished(pod_of(pod)) && s->phase != STAY_DONE)
        be_overruled(s);
    else if (s->phase == STAY_RUNNING && is_unknown(pod))
        tell_again(s);
    if (pod->meta->deleted_at_us == 0 && !s->overruled)
        return;
    note_deletion(s);
    if (s->pidfd >= 0)
        act_on_deadline(s);
    else if (s->phase == STAY_DONE && !timer_is_running(s->tell_timer))
        tell(s);
}

void
stay_vanish(struct stay *s)
{
    s->vanished = true;
    note_deletion(s);
    if (s->pidfd >= 0)
        act_on_deadline(s);
    check_over(s);
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
    s->look = timer_new(loop, look_for_start, s);
    s->deadline_timer = timer_new(loop, act_on_deadline, s);
    s->clean_timer = timer_new(loop, clean_now, s);
    s->tell_timer = timer_new(loop, tell_now, s);
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
stay_is_gone(const struct stay *s)
{
    return s->vanished;
}
