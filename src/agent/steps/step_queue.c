/* SPDX-License-Identifier: Apache-2.0 */
/* step_queue.c - the steps of a pod that wait, and when they are tried
 *
 * A request for CPUs of the pod waits in `waiting`, in order of arrival: a step that needs
 * many CPUs is not overtaken for ever by small ones. So only the first one is tried again
 * when CPUs become free; a step that overlaps others needs no free CPUs, and does not wait.
 *
 * A grant of the step manager has passed that queue. On a node where an earlier step is
 * still ending it waits in `blocked`, for one CPU (step_blockers.h).
 *
 * So an event costs the same, whatever number of them wait.
 */
#include <errno.h>
#include <stdlib.h>

#include "agent/pods/agent_context.h"
#include "agent/pods/pod_run.h"
#include "agent/pods/pods.h"
#include "agent/steps/step_account.h"
#include "agent/steps/step_blockers.h"
#include "agent/steps/step_log.h"
#include "agent/steps/step_nodes.h"
#include "agent/steps/step_process.h"
#include "agent/steps/step_socket.h"
#include "agent/steps/steps_state.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/timer.h"
#include "lib/step/step_channel.h"
#include "lib/step/step_frames.h"
#include "lib/step/step_grant.h"
#include "lib/step/step_layout.h"

/* While a pod that asks for a step is being started. */
#define LOOK_MS    5
#define LOOKS_MOST 2000
/* A krun that has seen the end of its step is faster than the release of the CPUs. */
#define TELL_MS    500

static struct agent_step *
step_of(struct list *link)
{
    return container_of(link, struct agent_step, link);
}

void
step_queue_leave(struct agent_step *e)
{
    struct step_job *job = e->job;

    list_remove(&e->link);
    step_blockers_remove(&e->blocked);
    job->n_waiting--;
    job->waiting_bytes -= e->weight;
    fdwatch_free(e->watch);
    e->watch = NULL;
    timer_free(e->again);
    e->again = NULL;
}

void
step_queue_refuse(struct agent_step *e, const char *words)
{
    step_socket_answer(e->connection, STEP_FRAME_REFUSE, words);
    if (!list_is_empty(&e->link))
        step_queue_leave(e);
    agent_step_free(e);
}

void
step_queue_refuse_all(struct step_job *job, const char *words)
{
    while (!list_is_empty(&job->waiting))
        step_queue_refuse(step_of(job->waiting.next), words);
    while (!list_is_empty(&job->blocked))
        step_queue_refuse(step_of(job->blocked.next), words);
}

/* ---- One step ---- */

static void
on_waited(void *context)
{
    struct agent_step *e = context;

    if (e->request.is_immediate)
        step_queue_refuse(e, e->words);
    else
        step_socket_answer(e->connection, STEP_FRAME_WAIT, e->words);
}

static void
let_wait(struct agent_step *e, const char *words)
{
    struct step_job *job = e->job;

    if (e->grant != NULL) {
        if (job->blockers == NULL)
            job->blockers = step_blockers_new();
        list_remove(&e->link);
        list_add_last(&job->blocked, &e->link);
        step_blockers_remove(&e->blocked);
        step_blockers_add(job->blockers, &e->blocked, e->blocked.blocker);
    }
    if (e->words != NULL)
        return;
    e->words = xstrdup(words);
    e->again = timer_new(job->steps->s.agent->loop, on_waited, e);
    timer_start(e->again, TELL_MS);
}

/* Finds the place of the step: 0 when it can start now, on that node of the layout; 1 when it has
 * left the queue; -EBUSY when it has to wait.
 */
static int
find_layout(struct agent_step *e, const struct running_pod *running, bool is_first,
            struct arena *arena, struct step_layout *ret_layout, unsigned *ret_node,
            struct error *err)
{
    struct step_place place = {0};
    int r;

    *ret_node = 0;
    if (e->grant != NULL) {
        *ret_layout = e->grant->layout;
        *ret_node = e->grant->node;
        return step_manager_check_grant(e, running, err);
    }
    if (e->job->nodes == NULL)
        e->job->nodes = step_nodes_read(e->job->steps->s.agent, e->job->uid);
    if (step_nodes_count(e->job->nodes) > 1)
        return step_manager_place(e, running, is_first, err);
    steps_fill_place(e->job, running, false, &place);
    r = step_layout_make(arena, &e->request, &place, 1, ret_layout, err);
    if (r == 0 && !is_first && !e->request.overlaps)
        r = error_set(err, -EBUSY, "other steps of the job wait for CPUs");
    return r;
}

static int
start_process(struct agent_step *e, const struct object *pod, const struct cgroup *outer,
              const struct step_layout *layout, unsigned node, struct error *err)
{
    CLEANUP_FD int figures = step_account_open_figures(e->job->steps->account, e->job->uid, e->id);
    struct step_process_settings settings;

    steps_fill_process(e, &settings);
    settings.outer = outer;
    return step_process_start(&settings,
                              &(struct step_process_order){.pod = pod,
                                                           .connection = e->connection,
                                                           .text = e->text,
                                                           .length = e->length,
                                                           .layout = layout,
                                                           .node = node,
                                                           .figures = figures},
                              &e->process, err);
}

/* The request and the connection are kiln-step's from now on. */
static void
become_running(struct agent_step *e)
{
    step_process_watch_krun(e->process, step_socket_release(e->connection));
    e->connection = NULL;
    arena_free(e->arena);
    e->arena = NULL;
    e->grant = NULL; /* the arena had it */
    free(e->text);
    e->text = NULL;
    e->phase = STEP_RUNNING;
    list_add_last(&e->job->running, &e->link);
}

/* The step is recorded before it has a process, so that no agent gives out its id or
 * its CPUs again. It gets its id, unless its grant has one.
 */
static int
start(struct agent_step *e, const struct running_pod *running, const struct step_layout *layout,
      unsigned node, struct error *err)
{
    struct step_job *job = e->job;
    struct steps *s = job->steps;
    int r;

    e->id = e->grant != NULL ? e->grant->step_id : job->next_id;
    e->overlaps = e->request.overlaps;
    e->cpus = layout->nodes[node].cpus;
    e->gpus = layout->nodes[node].gpus;
    e->memory_bytes = e->request.memory_bytes;
    r = step_log_begin(s->log_dir, job->uid,
                       &(struct step_log_entry){.id = e->id,
                                                .overlaps = e->overlaps,
                                                .cpus = e->cpus,
                                                .gpus = e->gpus,
                                                .memory_bytes = e->memory_bytes,
                                                .owner = e->owner},
                       err);
    if (r < 0)
        return r;
    if (e->id >= job->next_id)
        job->next_id = e->id + 1;
    if (e->grant == NULL)
        step_account_begin(s->account, running->pod,
                           &(struct step_begin){.id = e->id,
                                                .title = &e->title,
                                                .layout = layout,
                                                .distribution = e->request.distribution,
                                                .krun_pid = e->krun_pid});
    r = start_process(e, running->pod, running->cgroup, layout, node, err);
    if (r < 0) {
        step_account_fail(s->account, &job->account, e->id);
        step_log_end(s->log_dir, job->uid, e->id);
        return r;
    }
    become_running(e);
    return 0;
}

/* Whether the step has left the queue. */
static bool
try_step(struct agent_step *e, const struct running_pod *running, bool is_first)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct step_layout layout = {0};
    struct error err = {0};
    unsigned node;
    int r = find_layout(e, running, is_first, arena, &layout, &node, &err);

    if (r == -EBUSY)
        let_wait(e, err.text);
    if (r == -EBUSY || r > 0)
        return r > 0;
    if (r == 0) {
        step_queue_leave(e);
        r = start(e, running, &layout, node, &err);
    }
    if (r < 0)
        step_queue_refuse(e, err.text);
    return true;
}

/* ---- All ---- */

static void
on_retry(void *context)
{
    step_queue_try_all(context);
}

/* The job's script may be faster than its agent's look at the shepherd's record. */
static void
wait_for_pod(struct step_job *job)
{
    if (job->n_looks++ > LOOKS_MOST) {
        step_queue_refuse_all(job, "the job has not started");
        return;
    }
    if (job->look == NULL)
        job->look = timer_new(job->steps->s.agent->loop, on_retry, job);
    timer_start(job->look, LOOK_MS);
}

/* Whether steps can start now. Those of a job that ends are refused. */
static bool
may_try(struct step_job *job, struct running_pod *ret_running)
{
    int r;

    if (job->n_waiting == 0 || job->steps->is_stopping || job->is_still)
        return false;
    r = job->account.is_ending ? -ESRCH
                               : pods_find_running(job->steps->s.pods, job->uid, ret_running);
    if (r < 0)
        step_queue_refuse_all(job, "the job is ending");
    else if (r == 0)
        wait_for_pod(job);
    return r > 0;
}

/* The first one, and the next ones as long as they leave. */
static void
try_first(struct step_job *job, const struct running_pod *running)
{
    while (!list_is_empty(&job->waiting))
        if (!try_step(step_of(job->waiting.next), running, true))
            return;
}

/* One that has been looked at and is not the first cannot start. */
static bool
waits_for_others(const struct agent_step *e, bool is_first)
{
    return !is_first && e->words != NULL && !e->request.overlaps;
}

void
step_queue_try_all(struct step_job *job)
{
    const struct list *last = job->blocked.prev;
    struct running_pod running;
    bool is_first = true, is_last = list_is_empty(&job->blocked);

    if (!may_try(job, &running))
        return;
    while (!is_last) { /* those that wait again are added behind */
        is_last = job->blocked.next == last;
        (void)try_step(step_of(job->blocked.next), &running, true);
    }
    list_foreach_safe(at, &job->waiting)
    {
        struct agent_step *e = step_of(at);

        if (waits_for_others(e, is_first) || !try_step(e, &running, is_first))
            is_first = is_first && e->grant != NULL; /* the manager has let it pass others */
    }
}

void
step_queue_try_first(struct step_job *job)
{
    struct running_pod running;

    if (may_try(job, &running))
        try_first(job, &running);
}

static bool
try_blocked(struct step_blocked *w, void *context)
{
    return !try_step(container_of(w, struct agent_step, blocked), context, true);
}

void
step_queue_take_freed(struct step_job *job, const struct bitset *cpus, const struct bitset *gpus)
{
    struct running_pod running;

    if (!may_try(job, &running))
        return;
    if (job->blockers != NULL)
        step_blockers_wake(job->blockers, cpus, gpus, try_blocked, &running);
    try_first(job, &running);
}

/* While it waits, krun says nothing: this is its end. */
static void
on_waiting_connection(UNUSED int fd, UNUSED unsigned ready, void *context)
{
    struct agent_step *e = context;
    struct step_job *job = e->job;

    step_queue_leave(e);
    agent_step_free(e);
    step_queue_try_first(job);
}

void
step_queue_add(struct agent_step *e)
{
    struct step_job *job = e->job;
    struct running_pod running;

    list_add_last(&job->waiting, &e->link);
    job->n_waiting++;
    job->waiting_bytes += e->weight;
    e->watch = fdwatch_new(job->steps->s.agent->loop, e->connection->fd, FDWATCH_READ,
                           on_waiting_connection, e);
    if (may_try(job, &running))
        (void)try_step(e, &running, job->waiting.next == &e->link);
}
