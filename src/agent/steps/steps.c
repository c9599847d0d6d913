/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/steps/steps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/cgroup/cgroup.h"
#include "agent/pods/agent_context.h"
#include "agent/pods/pod_host.h"
#include "agent/pods/pod_run.h"
#include "agent/pods/pods.h"
#include "agent/steps/step_log.h"
#include "agent/steps/step_socket.h"
#include "agent/steps/steps_state.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/loop/child.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/timer.h"
#include "lib/step/step_channel.h"
#include "lib/step/step_frames.h"
#include "lib/step/step_grant.h"
#include "lib/step/step_info.h"
#include "lib/step/step_layout.h"
#include "lib/step/step_request.h"

/* Kruns of one pod that wait. */
#define WAITING_MOST 4096u
/* Of one user: connections of kruns that wait or have a grant, and the bytes of requests. */
#define USER_MOST    16384u
#define USER_BYTES   (128u << 20)

/* ---- Jobs and steps ---- */

struct step_job *
steps_get_job(struct steps *s, const char *uid)
{
    struct step_job *job = map_find(s->jobs, uid);

    if (job != NULL)
        return job;
    job = xnew(struct step_job);
    job->steps = s;
    job->uid = xstrdup(uid);
    list_init(&job->waiting);
    list_init(&job->blocked);
    list_init(&job->running);
    list_init(&job->held);
    list_init(&job->holds);
    map_put(s->jobs, job->uid, job);
    return job;
}

struct agent_step *
agent_step_find(struct list *steps, int64_t id)
{
    list_foreach(at, steps)
    {
        struct agent_step *e = container_of(at, struct agent_step, link);

        if (e->id == id)
            return e;
    }
    return NULL;
}

void
agent_step_free(struct agent_step *e)
{
    list_remove(&e->link);
    step_blockers_remove(&e->blocked);
    fdwatch_free(e->watch);
    step_socket_close(e->connection);
    if (e->pidfd >= 0)
        close(e->pidfd);
    child_free(e->child);
    timer_free(e->again);
    fdwatch_free(e->krun_watch);
    if (e->krun_fd >= 0)
        close(e->krun_fd);
    cgroup_free(e->cgroup);
    arena_free(e->arena);
    free(e->text);
    free(e->words);
    free(e->told);
    free(e);
}

static void
free_job(struct step_job *job)
{
    list_foreach_safe(at, &job->waiting) agent_step_free(container_of(at, struct agent_step, link));
    list_foreach_safe(at, &job->blocked) agent_step_free(container_of(at, struct agent_step, link));
    list_foreach_safe(at, &job->running) agent_step_free(container_of(at, struct agent_step, link));
    list_foreach_safe(at, &job->held) agent_step_free(container_of(at, struct agent_step, link));
    step_hold_end(job);
    step_nodes_fini(job);
    step_blockers_free(job->blockers);
    timer_free(job->look);
    free(job->uid);
    free(job);
}

static struct agent_step *
add_step(struct step_job *job)
{
    struct agent_step *e = xnew(struct agent_step);

    e->job = job;
    e->pidfd = e->krun_fd = -1;
    list_init(&e->link);
    list_init(&e->blocked.link);
    return e;
}

/* ---- Requests ---- */

/* Whether the pod is here and of this user, also while it starts. The answer does not tell
 * a stranger which pods are here.
 */
static int
check_pod(const struct steps *s, const char *uid, uid_t user, struct error *err)
{
    const struct security_context *who;
    struct running_pod running;
    int r = pods_find_running(s->s.pods, uid, &running);

    if (r < 0)
        return error_set(err, -ENOENT, "no job of this user with pod '%.64s' runs on node '%s'",
                         uid, s->s.agent->node);
    who = pod_of(running.pod)->spec.security_context;
    if (who == NULL || who->run_as_user == NULL || *who->run_as_user != (int64_t)user)
        return error_set(err, -EPERM, "no job of this user with pod '%.64s' runs on node '%s'", uid,
                         s->s.agent->node);
    return 0;
}

/* A user may have many jobs here. */
static bool
has_room(const struct steps *s, const struct agent_step *e)
{
    size_t at = 0, n = 0, bytes = e->weight;
    void *value;

    if (e->job->n_waiting >= WAITING_MOST)
        return false;
    while (map_next(s->jobs, &at, NULL, &value)) {
        const struct step_job *job = value;

        n += job->owner == e->owner ? job->n_waiting + job->n_held : 0;
        bytes += job->owner == e->owner ? job->waiting_bytes : 0;
    }
    return n < USER_MOST && bytes <= USER_BYTES;
}

static void
add_request(struct steps *s, struct agent_step *e)
{
    struct step_job *job = steps_get_job(s, e->request.pod_uid);

    e->job = job;
    job->owner = e->owner;
    if (job->is_ending || !has_room(s, e)) {
        agent_step_refuse(e, job->is_ending
                                 ? "the job is ending"
                                 : "too many of your steps wait on this node; try again");
        return;
    }
    step_queue_add(e);
}

static int
take_request(struct steps *s, struct agent_step *e, const struct step_asked *asked,
             struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct step_request all;
    int r = step_request_decode(arena, asked->text, asked->length, &all, err);

    if (r == 0) {
        step_request_keep_place(e->arena, &all, &e->request);
        step_account_take_request(e, &all);
    }
    if (r == 0 && asked->grant != NULL) {
        e->grant = arena_new_array(e->arena, struct step_grant, 1);
        r = step_grant_decode(e->arena, asked->grant, asked->grant_length, e->grant, err);
    }
    if (r < 0)
        return r;
    if (asked->peer.pod != NULL) {
        const char *uid = step_nodes_find_pod(s, asked->peer.pod);

        e->request.pod_uid = uid != NULL ? arena_strdup(e->arena, uid) : "";
    }
    return check_pod(s, e->request.pod_uid, asked->peer.uid, err);
}

/* A krun that does not know what the nodes of its job have is asked by its manager. */
static void
take_places(struct steps *s, const char *uid, const struct step_asked *asked)
{
    struct step_job *job = steps_get_job(s, uid);
    struct step_place *places;
    unsigned n;

    step_nodes_read(job);
    if (asked->places == NULL || job->n_nodes < 2 || job->places != NULL)
        return;
    if (step_places_decode(job->nodes_arena, asked->places, asked->places_length, &places, &n, NULL)
            == 0
        && n == job->n_nodes)
        job->places = places;
}

static void
answer_question(struct steps *s, struct step_channel *connection, const struct step_asked *asked)
{
    CLEANUP_FREE char *name = xstrndup(asked->text, asked->length);
    const char *uid = asked->peer.pod != NULL ? step_nodes_find_pod(s, asked->peer.pod) : name;
    struct running_pod running;
    struct error err = {0};
    int r = check_pod(s, uid != NULL ? uid : "", asked->peer.uid, &err);

    if (r == 0 && pods_find_running(s->s.pods, uid, &running) > 0) {
        step_nodes_answer(s, connection, &running);
        return;
    }
    /* While it starts, krun asks again. */
    if (r < 0)
        step_socket_answer(connection, STEP_FRAME_REFUSE, err.text);
    step_socket_close(connection);
}

static void
on_asked(struct step_channel *connection, const struct step_asked *asked, void *context)
{
    struct steps *s = context;
    struct agent_step *e;
    struct error err = {0};

    if (asked->type == STEP_FRAME_ENTER) {
        step_enter_take(s, connection, asked);
        return;
    }
    if (asked->type == STEP_FRAME_CALL) {
        step_signal_take(s, connection, asked);
        return;
    }
    if (asked->type == STEP_FRAME_WHY) {
        step_why_take(s, connection, asked);
        return;
    }
    if (asked->type != STEP_FRAME_HELLO) {
        (asked->type == STEP_FRAME_ASK ? answer_question : step_hold_take)(s, connection, asked);
        return;
    }
    e = add_step(NULL);
    e->connection = connection;
    e->arena = arena_new(0);
    e->owner = asked->peer.uid;
    e->krun_pid = asked->peer.pid;
    if (take_request(s, e, asked, &err) < 0) {
        agent_step_refuse(e, err.text);
        return;
    }
    if (asked->peer.by != NULL)
        log_info("by a grant of the controller, '%s' starts a program in pod '%s' of uid %u",
                 asked->peer.by, e->request.pod_uid, (unsigned)asked->peer.uid);
    e->text = xmemdup(asked->text, asked->length);
    e->length = asked->length;
    e->weight = e->length + arena_bytes(e->arena);
    take_places(s, e->request.pod_uid, asked);
    add_request(s, e);
}

int
steps_check_caller(struct steps *s, const char *pod, uid_t user, struct error *err)
{
    const char *uid = step_nodes_find_pod(s, pod);

    return check_pod(s, uid != NULL ? uid : "", user, err);
}

void
steps_take(struct steps *s, int fd, const struct step_caller *caller)
{
    if (s->is_stopping)
        close(fd);
    else
        step_socket_take(s->door, fd, caller);
}

void
steps_set_port(struct steps *s, unsigned port)
{
    s->port = port;
}

/* ---- After a restart ---- */

static void
resume_step(struct step_job *job, const struct step_log_entry *entry, const struct cgroup *outer)
{
    CLEANUP_FREE char *name = xasprintf("step-%" PRId64, entry->id);
    struct agent_step *e = add_step(job);

    e->id = entry->id;
    e->owner = entry->owner;
    e->overlaps = entry->overlaps;
    e->cpus = entry->cpus;
    e->gpus = entry->gpus;
    e->memory_bytes = entry->memory_bytes;
    if (outer != NULL)
        e->cgroup = cgroup_new_inner(outer, name);
    list_add_last(&job->running, &e->link);
    step_end_resume(e, entry);
}

static void
resume_pod(const char *uid, void *context)
{
    struct steps *s = context;
    struct step_log_entry *entries = NULL;
    CLEANUP(cgroup_freep) struct cgroup *outer = pod_host_find_cgroup(s->s.agent, uid);
    unsigned n = 0;
    int64_t next_id;
    struct step_job *job;

    if (step_log_read(s->log_dir, uid, &entries, &n, &next_id) < 0)
        return;
    job = steps_get_job(s, uid);
    job->next_id = next_id;
    for (unsigned i = 0; i < n; i++)
        resume_step(job, &entries[i], outer);
    free(entries);
}

/* ---- Life ---- */

bool
steps_end_pod(const char *uid, void *context)
{
    struct steps *s = context;
    struct step_job *job = map_find(s->jobs, uid);

    if (job == NULL) {
        step_account_close(s, uid);
        return true;
    }
    job->is_ending = true;
    step_queue_refuse(job, "the job is ending");
    list_foreach(at, &job->running) step_end_kill(container_of(at, struct agent_step, link));
    if (!list_is_empty(&job->running))
        return false;
    step_account_close(s, uid);
    step_log_remove(s->log_dir, uid);
    map_remove(s->jobs, uid);
    free_job(job);
    return true;
}

void
steps_freeze_pod(const char *uid, bool still, void *context)
{
    struct steps *s = context;
    struct step_job *job = still ? steps_get_job(s, uid) : map_find(s->jobs, uid);

    if (job == NULL)
        return;
    job->is_still = still;
    list_foreach(at, &job->running)
        step_end_freeze(container_of(at, struct agent_step, link), still);
    if (!still)
        step_queue_try_all(job);
}

void
steps_end_unknown(struct steps *s)
{
    const char *uid;
    size_t at = 0;
    void *job;

    while (map_next(s->jobs, &at, &uid, &job))
        if (!pods_has(s->s.pods, uid) && steps_end_pod(uid, s))
            at = 0; /* the map has changed */
    step_account_close_unknown(s);
}

int
steps_open(const struct steps_settings *settings, struct steps **ret_steps, struct error *err)
{
    CLEANUP(steps_freep) struct steps *s = xnew(struct steps);
    int r;

    s->s = *settings;
    s->opened_s = clock_real_us(settings->agent->clock) / 1000000;
    s->program = xstrdup(settings->program);
    s->log_dir = xasprintf("%s/steps", settings->agent->run_dir);
    s->jobs = map_new();
    r = dir_make(s->log_dir, 0700, err);
    if (r == 0)
        r = step_account_open(s, err);
    if (r == 0)
        r = step_socket_open(
            &(struct step_socket_settings){
                .loop = settings->agent->loop,
                .path = settings->socket,
                .asked = on_asked,
                .context = s,
            },
            &s->door, err);
    if (r < 0)
        return r;
    step_log_visit(s->log_dir, resume_pod, s);
    *ret_steps = s;
    s = NULL;
    return 0;
}

/* The connections of waiting kruns are closed, which then ask the next agent. */
void
steps_stop(struct steps *s)
{
    if (s == NULL)
        return;
    s->is_stopping = true;
    step_account_stop(s);
    step_socket_free(s->door);
    s->door = NULL;
}

/* The workers have ended: nothing is busy. */
void
steps_free(struct steps *s)
{
    size_t at = 0;
    void *job;

    if (s == NULL)
        return;
    step_socket_free(s->door);
    while (map_next(s->jobs, &at, NULL, &job))
        free_job(job);
    map_free(s->jobs);
    step_account_fini(s);
    step_why_fini(s);
    free(s->program);
    free(s->log_dir);
    free(s);
}
