/* SPDX-License-Identifier: Apache-2.0 */
/* pod_cleanup.c - one attempt to remove what a pod has left, after reading how it ended
 *
 * All of it is a worker's: files may be on a slow file system, and processes may take long to
 * die. An attempt that finds processes kills them and gives up; its caller comes again. The
 * records are read first, for they are removed with the rest.
 */
#include "agent/pods/pod_cleanup.h"

#include <stdlib.h>
#include <string.h>

#include "agent/cgroup/cgroup.h"
#include "agent/cgroup/stray_processes.h"
#include "agent/pods/agent_context.h"
#include "agent/pods/pod_host.h"
#include "agent/pods/pod_order.h"
#include "agent/pods/pod_run.h"
#include "agent/records/output_record.h"
#include "agent/shepherd/child_end.h"
#include "agent/shepherd/files/exit_record.h"
#include "agent/shepherd/files/live_record.h"
#include "agent/volumes/tmp_dirs.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/loop/workers.h"

/* One attempt; runs on a worker. */
struct pod_cleanup {
    struct pod_run *run;
    pod_cleanup_done_fn *done;
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

static void
free_cleanup(struct pod_cleanup *c)
{
    exit_record_free(c->exit_record);
    live_record_free(c->live);
    free(c->trouble);
    free(c->uid);
    free(c->tmp_dir);
    free(c->output);
    free(c->error_output);
    free(c);
}

static void
clean_done(void *arg)
{
    struct pod_cleanup *c = arg;
    struct pod_run *run = c->run;
    pod_cleanup_done_fn *const done = c->done;
    struct pod_cleanup_result result = {
        .exit_record = c->exit_record,
        .live = c->live,
        .is_clean = c->is_clean,
        .had_trouble = c->trouble != NULL,
        .left = {c->n_left, c->left},
    };

    if (c->trouble != NULL)
        log_warning("cleaning up after pod '%s': %s", c->uid, c->trouble);
    if (c->tmp_left)
        tmp_dirs_sweep_soon(c->agent->tmp_dirs);
    c->exit_record = NULL;
    c->live = NULL;
    free_cleanup(c);
    if (pod_run_end_work(run))
        done(run, &result);
    exit_record_free(result.exit_record);
    live_record_free(result.live);
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
pod_cleanup_begin(const struct pod_cleanup_settings *s)
{
    const struct object *pod = pod_run_pod(s->run);
    const struct security_context *who = pod_of(pod)->spec.security_context;
    struct pod_cleanup *c = xnew(struct pod_cleanup);

    c->run = s->run;
    c->done = s->done;
    c->agent = s->agent;
    c->uid = xstrdup(pod_run_uid(s->run));
    c->tmp_dir = s->tmp_dir != NULL ? xstrdup(s->tmp_dir) : NULL;
    c->cgroup = s->cgroup;
    find_output(c, pod);
    if (who != NULL && who->run_as_user != NULL)
        c->owner = (uid_t)*who->run_as_user;
    c->frees_held = s->was_killed;
    c->read_ending = s->reads_records;
    pod_run_begin_work(s->run);
    workers_submit(s->agent->workers, s->agent->loop, clean_work, clean_done, c);
}
