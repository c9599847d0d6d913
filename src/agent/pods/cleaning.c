/* SPDX-License-Identifier: Apache-2.0 */
/* cleaning.c - the end of a stay: how it went, and nothing left of it */
#include <string.h>

#include "agent/cgroup/cgpool.h"
#include "agent/cgroup/cgroup.h"
#include "agent/pods/ground.h"
#include "agent/pods/orphans.h"
#include "agent/pods/site.h"
#include "agent/pods/stay_state.h"
#include "agent/shepherd/ending.h"
#include "agent/volumes/tmp_dirs.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/loop/timer.h"
#include "lib/loop/workers.h"

#define AGAIN_MS 500

/* On a worker. */
struct cleaning {
    struct stay *stay;
    const struct ground *ground;
    char *uid;
    struct cgroup *cgroup; /* lent */
    struct ending *ending;
    bool read_ending;
    bool is_clean;
    bool tmp_left; /* of its TMPDIR, put away */
    char *trouble;
    unsigned n_left; /* processes that were killed and are still there */
    pid_t left;      /* one of them */
};

static int
note_left(pid_t pid, void *context)
{
    struct cleaning *c = context;

    c->n_left++;
    c->left = pid;
    return 0;
}

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
            (void)cgroup_visit_processes(c->cgroup, note_left, c);
            (void)cgroup_kill(c->cgroup, NULL);
            return; /* looked at again */
        }
    }
    if (c->cgroup == NULL && c->ending == NULL && c->read_ending
        && orphans_kill(c->uid) > 0)
        return;
    r = site_leave(c->ground, c->uid, &c->tmp_left, &err);
    if (r < 0)
        c->trouble = xstrdup(err.text);
    c->is_clean = true;
}

/* Who restarts the agent says that it is mended, so what was before that is not
 * held against the node.
 */
static void
complain_of_hook(const struct stay *s, const char *words)
{
    const struct ground *g = s->s.ground;
    CLEANUP_FREE char *what = xasprintf("pod %s/%s: %s",
                                        s->pod->meta->namespace,
                                        s->pod->meta->name,
                                        words);

    log_warning("%s", what);
    if (g->hook_failed != NULL && !s->ended_before)
        g->hook_failed(what, g->hook_context);
}

/* The job has not run when its prolog failed, which is not its fault. */
static void
judge_hooks(struct stay *s)
{
    const struct ending *e = s->ending;

    if (e == NULL)
        return;
    if (e->failed_step != NULL && strcmp(e->failed_step, ENDING_PROLOG) == 0) {
        if (s->end_reason == NULL)
            stay_set_end(s, "PrologFailed", e->message);
        s->is_disruption = true;
        complain_of_hook(s, e->message);
    }
    if (e->epilog_failure != NULL)
        complain_of_hook(s, e->epilog_failure);
}

/* A failure that an earlier agent saw is not held against the node. */
static void
judge_start(struct stay *s)
{
    const struct ending *e = s->ending;

    if (e == NULL)
        return;
    if (e->failed_step == NULL) {
        starting_note(s, NULL);
        return;
    }
    if (!ending_is_nodes_fault(e))
        return;
    if (s->ended_before) {
        stay_set_end(s, "StartError", e->message);
        s->is_disruption = true;
    } else
        starting_fail(s, e->message);
}

static void
clean_done(void *arg)
{
    struct cleaning *c = arg;
    struct stay *s = c->stay;

    if (c->trouble != NULL)
        log_warning("cleaning up after pod '%s': %s", c->uid, c->trouble);
    if (c->tmp_left)
        tmp_dirs_sweep_soon(c->ground->tmp_dirs);
    if (c->ending != NULL && s->ending == NULL) {
        s->ending = c->ending;
        c->ending = NULL;
    }
    ending_free(c->ending);
    free(c->trouble);
    free(c->uid);
    bool is_clean = c->is_clean;
    unsigned n_left = c->n_left;
    pid_t left = c->left;
    free(c);
    if (!stay_come_back(s))
        return;
    if (!is_clean) {
        stuck_note(s, n_left, left);
        timer_start(s->clean_timer, AGAIN_MS);
        return;
    }
    if (s->is_stuck)
        log_info("pod '%s/%s': all of its processes are gone",
                 s->pod->meta->namespace,
                 s->pod->meta->name);
    if (s->cgroup != NULL) {
        if (cgpool_retire(s->s.ground->pool, s->cgroup))
            site_sweep(s->s.ground);
        s->cgroup = NULL;
    }
    judge_hooks(s);
    judge_start(s);
    if (s->ending == NULL && s->end_reason == NULL) {
        stay_set_end(
            s,
            "ShepherdLost",
            "the process that watched over this pod was killed, and with "
            "it the record of how the pod ended");
        s->is_disruption = true;
    } else if (s->ending != NULL && s->ending->was_fenced
               && s->end_reason == NULL) {
        stay_set_end(s,
                     "NodeLost",
                     "its node was cut off from the controller for longer than "
                     "fenceAfterSeconds, and ended it");
        s->is_disruption = true;
    } else if ((s->deadline_exceeded
                || (s->ending != NULL && s->ending->was_late))
               && s->end_reason == NULL) {
        stay_set_end(s,
                     "DeadlineExceeded",
                     "Pod was active on the node longer than the specified "
                     "deadline");
    }
    if (s->is_silent)
        stay_be_done_silently(s);
    else
        stay_be_done(s);
}

void
cleaning_begin(struct stay *s)
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

void
cleaning_now(void *context)
{
    cleaning_begin(context);
}
