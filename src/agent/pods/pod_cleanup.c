/* SPDX-License-Identifier: Apache-2.0 */
/* pod_cleanup.c - the end of a run: reads how it ended and removes what is left
 */
#include <string.h>

#include "agent/cgroup/cgpool.h"
#include "agent/cgroup/cgroup.h"
#include "agent/cgroup/stray_processes.h"
#include "agent/pods/agent_context.h"
#include "agent/pods/pod_host.h"
#include "agent/pods/pod_order.h"
#include "agent/pods/pod_run_state.h"
#include "agent/records/output_record.h"
#include "agent/shepherd/child_end.h"
#include "agent/shepherd/files/exit_record.h"
#include "agent/shepherd/files/live_record.h"
#include "agent/volumes/tmp_dirs.h"
#include "lib/api/cluster/event_reasons.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/loop/timer.h"
#include "lib/loop/workers.h"

#define AGAIN_MS 500
#define STEPS_MS 10 /* between looks whether the pod's steps are over */

/* One attempt; runs on a worker. */
struct pod_cleanup {
    struct pod_run *run;
    const struct agent_context *agent;
    char *uid;
    char *tmp_dir;      /* NULL: unknown to this agent */
    char *output;       /* of an array's pod, to be noted; or NULL */
    char *error_output; /* of its standard error; or NULL */
    uid_t output_uid;
    gid_t output_gid;
    uid_t owner;           /* 0: root, or unknown */
    bool frees_held;       /* of the processes, those that their owner holds */
    struct cgroup *cgroup; /* borrowed */
    struct exit_record *exit_record;
    struct live_record *live; /* as the shepherd left it */
    bool read_ending;
    bool is_clean;
    bool tmp_left; /* a part of TMPDIR waits for a sweep */
    char *trouble;
    unsigned n_left; /* killed processes that still exist */
    pid_t left;      /* one of these */
};

static int
note_left(pid_t pid, void *context)
{
    struct pod_cleanup *c = context;

    c->n_left++;
    c->left = pid;
    if (c->frees_held)
        child_end_free(pid, c->owner);
    return 0;
}

/* Before the end is reported, so that whoever sees the end finds the note. */
static void
note_output(const struct pod_cleanup *c)
{
    CLEANUP_FREE char *error_uid = xasprintf("%s" LOG_OF_ERROR, c->uid);
    struct output_record record = {
        .pod_uid = c->uid,
        .uid = c->output_uid,
        .gid = c->output_gid,
        .path = c->output,
    };
    int r = c->output != NULL ? output_record_note(c->agent->state_dir, &record) : 0;

    record.pod_uid = error_uid;
    record.path = c->error_output;
    if (r == 0 && c->error_output != NULL)
        r = output_record_note(c->agent->state_dir, &record);

    if (r < 0)
        log_warning("the output location of pod '%s' was not recorded, so "
                    "logs cannot show its output: %s",
                    c->uid, strerror(-r));
}

static void
clean_work(void *arg)
{
    struct pod_cleanup *c = arg;
    struct error err = {0};
    int r;

    if (c->read_ending) {
        c->exit_record = pod_host_read_ending(c->agent, c->uid);
        c->live = pod_host_read_live(c->agent, c->uid);
    }
    if (c->cgroup != NULL) {
        r = cgroup_is_empty(c->cgroup);
        if (r == 0) {
            (void)cgroup_visit_processes(c->cgroup, note_left, c);
            (void)cgroup_kill(c->cgroup, NULL);
            return; /* tried again later */
        }
    }
    if (c->cgroup == NULL && c->exit_record == NULL && c->read_ending
        && stray_processes_kill(c->uid, -1, c->owner) > 0)
        return;
    r = pod_host_clean_up(c->agent, c->uid, c->tmp_dir, &c->tmp_left, &err);
    if (r < 0)
        c->trouble = xstrdup(err.text);
    note_output(c);
    c->is_clean = true;
}

/* A restart of the agent means that the node was repaired, so an older failure
 * does not count against the node.
 */
static void
announce_hook_failure(const struct pod_run *s, const char *words)
{
    const struct agent_context *agent = s->s.agent;
    CLEANUP_FREE char *what =
        xasprintf("pod %s/%s: %s", s->pod->meta->namespace, s->pod->meta->name, words);

    log_warning("%s", what);
    if (agent->hook_failed != NULL && s->found != FOUND_ENDED)
        agent->hook_failed(what, agent->hook_context);
}

/* Records an event about the result of the checkpoint command, for the owner.
 */
static void
record_checkpoint(const struct pod_run *s)
{
    const struct exit_record *e = s->exit_record;
    const double seconds = (double)e->checkpoint_us / 1000000;
    CLEANUP_FREE char *words = NULL;
    bool is_good = false;

    if (e->checkpoint_failure != NULL) {
        words = xasprintf("the checkpoint command could not be started: %s", e->checkpoint_failure);
    } else if (e->was_checkpoint_cut) {
        words = xasprintf("the checkpoint command had not ended after %.1f s, "
                          "when its part of the grace period was over, and "
                          "was killed",
                          seconds);
    } else {
        is_good = e->checkpoint_code == 0;
        words = xasprintf("the checkpoint command ended with exit code %d "
                          "after %.1f s",
                          (int)e->checkpoint_code, seconds);
    }
    pod_run_record(s, is_good ? RECORD_NORMAL : RECORD_WARNING,
                   is_good ? EVENT_CHECKPOINTED : EVENT_CHECKPOINT_FAILED, words);
}

/* When the prolog failed, the job has not run, and is not at fault. */
static void
check_hooks(struct pod_run *s)
{
    const struct exit_record *e = s->exit_record;

    if (e == NULL)
        return;
    if (e->failed_step != NULL && strcmp(e->failed_step, EXIT_RECORD_PROLOG) == 0) {
        if (s->end_reason == NULL)
            pod_run_set_end(s, REASON_PROLOG_FAILED, e->message);
        s->is_disruption = true;
        announce_hook_failure(s, e->message);
    }
    if (e->has_checkpoint)
        record_checkpoint(s);
    if (e->epilog_failure != NULL)
        announce_hook_failure(s, e->epilog_failure);
}

/* A failure under an earlier agent does not count against the node. */
static void
check_start(struct pod_run *s)
{
    const struct exit_record *e = s->exit_record;

    if (e == NULL)
        return;
    if (e->failed_step == NULL) {
        pod_start_note(s, NULL);
        return;
    }
    if (!exit_record_is_nodes_fault(e))
        return;
    if (s->found == FOUND_ENDED) {
        pod_run_set_end(s, REASON_START_ERROR, e->message);
        s->is_disruption = true;
    } else
        pod_start_fail(s, e->message);
}

/* The record of a shepherd of the previous release does not say whether the
 * order to end came before the job's own end; this agent has sent it or not.
 */
static void
check_order(struct pod_run *s)
{
    if (s->exit_record != NULL && s->live != NULL && s->live->keeps_limit < LIVE_NOTES_ORDER)
        s->exit_record->was_ended =
            s->is_preemption_warned
            || (s->deadline.terminated && s->deadline.delete_us != DEADLINE_NEVER);
}

static bool
ran_as_root(const struct pod *pod)
{
    const struct security_context *who = pod->spec.security_context;

    return who == NULL || who->run_as_user == NULL || *who->run_as_user == 0;
}

/* Whether a worker may still write to the cgroup of this finished pod. */
static bool
is_written_late(const struct pod_run *s)
{
    const struct allocation *a = pod_of(s->pod)->status.allocation;

    return s->was_restored || (s->s.shared_pool != NULL && (a == NULL || a->cpus == NULL));
}

/* Whether another pod may use the cgroup: the shepherd has waited for all
 * children, so no process is still entering it; nobody has killed the whole
 * cgroup; only this agent has set its limits, and neither a job of root nor a
 * hook of the site could have changed them; and no file on the disk names it
 * any more.
 */
static bool
may_reuse_cgroup(const struct pod_run *s, bool had_trouble)
{
    const struct agent_context *agent = s->s.agent;
    const struct exit_record *e = s->exit_record;

    return !had_trouble && e != NULL && e->failed_step == NULL && e->signal == 0
           && !e->has_left_behind && s->found == FOUND_NOTHING && agent->prolog == NULL
           && agent->epilog == NULL && !ran_as_root(pod_of(s->pod)) && !is_written_late(s);
}

static void
let_go_of_cgroup(struct pod_run *s, bool may_reuse)
{
    struct cgpool *pool = s->s.agent->pool;

    if (s->cgroup == NULL)
        return;
    if (may_reuse ? cgpool_give_back(pool, s->cgroup) : cgpool_retire(pool, s->cgroup))
        pod_host_sweep_cgroups(s->s.agent);
    s->cgroup = NULL;
}

static void
clean_done(void *arg)
{
    struct pod_cleanup *c = arg;
    struct pod_run *s = c->run;

    if (c->trouble != NULL)
        log_warning("cleaning up after pod '%s': %s", c->uid, c->trouble);
    if (c->tmp_left)
        tmp_dirs_sweep_soon(c->agent->tmp_dirs);
    if (c->exit_record != NULL && s->exit_record == NULL) {
        s->exit_record = c->exit_record;
        c->exit_record = NULL;
    }
    exit_record_free(c->exit_record);
    if (c->live != NULL && s->live != NULL) {
        live_record_free(s->live);
        s->live = c->live;
        c->live = NULL;
    }
    live_record_free(c->live);
    bool had_trouble = c->trouble != NULL;
    free(c->trouble);
    free(c->uid);
    free(c->tmp_dir);
    free(c->output);
    free(c->error_output);
    bool is_clean = c->is_clean;
    unsigned n_left = c->n_left;
    pid_t left = c->left;
    free(c);
    if (!pod_run_end_work(s))
        return;
    if (!is_clean) {
        unkillable_note(s, n_left, left);
        timer_start(s->clean_timer, AGAIN_MS);
        return;
    }
    if (s->kill_state == POD_RUN_UNKILLABLE)
        log_info("pod '%s/%s': all of its processes are gone", s->pod->meta->namespace,
                 s->pod->meta->name);
    let_go_of_cgroup(s, may_reuse_cgroup(s, had_trouble));
    check_hooks(s);
    check_start(s);
    check_order(s);
    if (s->exit_record == NULL && s->end_reason == NULL) {
        pod_run_set_end(s, REASON_SHEPHERD_LOST,
                        "the process that supervised this pod was killed, so there is no "
                        "record of how the pod ended");
        s->is_disruption = true;
    } else if (s->exit_record != NULL && s->exit_record->was_fenced && s->end_reason == NULL) {
        pod_run_set_end(s, REASON_NODE_LOST,
                        "its node was cut off from the controller for longer than "
                        "fenceAfterSeconds, and the node ended it");
        s->is_disruption = true;
    } else if (s->exit_record != NULL && s->exit_record->was_shut_down && s->end_reason == NULL) {
        pod_run_set_end(s, REASON_NODE_SHUTDOWN,
                        "it was ended because its node was being shut down");
        s->is_disruption = true;
    } else if ((s->exceeded_at_us != 0 || (s->exit_record != NULL && s->exit_record->was_late))
               && s->end_reason == NULL) {
        pod_run_set_end(s, REASON_DEADLINE_EXCEEDED,
                        "Pod was active on the node longer than the specified "
                        "deadline");
    }
    pod_run_finish(s);
}

/* The pod of an array's task is deleted soon after its end, but its output file
 * remains.
 */
static void
find_output(struct pod_cleanup *c, const struct object *pod)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct execution *e = pod_of(pod)->spec.execution;
    const struct security_context *who = pod_of(pod)->spec.security_context;

    if (string_map_find(&pod->meta->annotations, ANNOTATION_ARRAY_TASK) == NULL || e == NULL
        || e->stdout_path == NULL || pod_order_check_user(c->agent, pod, NULL) < 0)
        return;
    c->output = xstrdup(pod_order_output_path(c->agent, pod, arena));
    if (e->stderr_path != NULL)
        c->error_output = xstrdup(pod_order_error_path(c->agent, pod, arena));
    c->output_uid = (uid_t)*who->run_as_user;
    c->output_gid = (gid_t)(who->run_as_group ? *who->run_as_group : *who->run_as_user);
}

void
pod_cleanup_begin(struct pod_run *s)
{
    const struct agent_context *agent = s->s.agent;
    struct pod_cleanup *c;

    /* The processes of the steps are in the pod's cgroup. */
    if (agent->end_steps != NULL && !agent->end_steps(s->uid, agent->steps_context)) {
        timer_start(s->clean_timer, STEPS_MS);
        return;
    }
    c = xnew(struct pod_cleanup);
    c->run = s;
    c->agent = s->s.agent;
    c->uid = xstrdup(s->uid);
    c->tmp_dir = s->tmp_dir != NULL ? xstrdup(s->tmp_dir) : NULL;
    c->cgroup = s->cgroup;
    find_output(c, s->pod);
    if (!ran_as_root(pod_of(s->pod)))
        c->owner = (uid_t)*pod_of(s->pod)->spec.security_context->run_as_user;
    c->frees_held = s->kill_state != POD_RUN_NOT_KILLED;
    c->read_ending = s->exit_record == NULL;
    s->busy++;
    workers_submit(s->s.agent->workers, s->s.agent->loop, clean_work, clean_done, c);
}

void
pod_cleanup_on_timer(void *context)
{
    pod_cleanup_begin(context);
}
