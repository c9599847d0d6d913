/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c - what users ask of the steps of this node, and what becomes of the steps
 *
 * A step is decided here and not at the controller, because a script starts thousands, and
 * each waits for the answer. So this is the one place that says who may have what: whoever
 * asks must be the user of the pod, which the kernel or a credential says, and nothing that a
 * request holds is believed for the pod of another user. One user
 * can make others wait only for a bounded number of requests, and of their bytes.
 */
#include "agent/steps/steps.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/cgroup/cgroup.h"
#include "agent/pods/agent_context.h"
#include "agent/pods/pod_host.h"
#include "agent/pods/pod_run.h"
#include "agent/pods/pods.h"
#include "agent/steps/step_account.h"
#include "agent/steps/step_blockers.h"
#include "agent/steps/step_enter.h"
#include "agent/steps/step_hold.h"
#include "agent/steps/step_log.h"
#include "agent/steps/step_nodes.h"
#include "agent/steps/step_pace.h"
#include "agent/steps/step_process.h"
#include "agent/steps/step_socket.h"
#include "agent/steps/step_why.h"
#include "agent/steps/steps_state.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_signal.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/timer.h"
#include "lib/step/step_channel.h"
#include "lib/step/step_frames.h"
#include "lib/step/step_grant.h"
#include "lib/step/step_layout.h"
#include "lib/step/step_request.h"

/* Kruns of one pod that wait. */
#define WAITING_MOST 4096u
/* Of a call: the highest signal. */
#define SIGNAL_MOST  64
/* Of one user: connections of kruns that wait or have a grant, and the bytes of requests. */
#define USER_MOST    16384u
#define USER_BYTES   (128u << 20)

/* ---- Jobs and steps ---- */

/* The pod's; made if there is none. */
static struct step_job *
get_job(struct steps *s, const char *uid)
{
    struct step_job *job = map_find(s->jobs, uid);

    if (job != NULL)
        return job;
    job = xnew(struct step_job);
    job->steps = s;
    job->uid = xstrdup(uid);
    job->account.uid = job->uid;
    list_init(&job->waiting);
    list_init(&job->blocked);
    list_init(&job->running);
    list_init(&job->held);
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
    step_pace_free(e->pace);
    fdwatch_free(e->watch);
    step_socket_close(e->connection);
    timer_free(e->again);
    step_process_free(e->process);
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
    step_hold_free(job->hold);
    step_nodes_free(job->nodes);
    step_blockers_free(job->blockers);
    timer_free(job->look);
    free(job->order.cpus);
    free(job->uid);
    free(job);
}

static struct agent_step *
add_step(struct step_job *job)
{
    struct agent_step *e = xnew(struct agent_step);

    e->job = job;
    list_init(&e->link);
    list_init(&e->blocked.link);
    return e;
}

/* ---- Running steps ---- */

void
steps_fill_place(struct step_job *job, const struct running_pod *running, bool to_manager,
                 struct step_place *p)
{
    step_place_fill(job->steps->s.agent, running->pod, &job->order, p);
    list_foreach(at, &job->running)
    {
        const struct agent_step *e = container_of(at, struct agent_step, link);

        if (e->overlaps || (to_manager && (e->is_given_back || step_process_is_gone(e->process))))
            continue;
        bitset_or(&p->busy, &e->cpus);
        bitset_or(&p->busy_gpus, &e->gpus);
        p->busy_memory_bytes += e->memory_bytes;
    }
}

static char *
dup_group(const struct steps *s, const char *uid)
{
    const struct object *pod = pods_get(s->s.pods, uid);

    return pod != NULL ? step_nodes_name_group(pod) : NULL;
}

/* Nothing of the step is left here. */
static void
on_over(void *step)
{
    struct agent_step *e = step;
    struct step_job *job = e->job;
    struct steps *s = job->steps;
    struct agent_step *held = agent_step_find(&job->held, e->id);
    const struct bitset cpus = e->cpus, gpus = e->gpus;
    struct cgroup_usage usage;

    step_process_read_usage(e->process, &usage);
    if (step_account_end(s->account, &job->account, e->id, &e->outcome, &usage,
                         held != NULL ? &held->outcome : NULL))
        step_why_add(s->why, job->uid, dup_group(s, job->uid), e->owner, e->id);
    step_log_end(s->log_dir, job->uid, e->id);
    agent_step_free(e);
    step_queue_take_freed(job, &cpus, &gpus);
}

void
steps_fill_process(struct agent_step *e, struct step_process_settings *settings)
{
    const struct steps *s = e->job->steps;

    *settings = (struct step_process_settings){
        .agent = s->s.agent,
        .program = s->program,
        .log_dir = s->log_dir,
        .pod_uid = e->job->uid,
        .id = e->id,
        .owner = e->owner,
        .over = on_over,
        .context = e,
    };
}

/* Of a step on several nodes krun tells more, unless it, or a kiln-step, is of an earlier release. */
static void
observe_running(struct step_job *job, const struct agent_step *e)
{
    const struct agent_step *held = agent_step_find(&job->held, e->id);

    if (held == NULL || held->outcome.observed.version == 0)
        step_account_observe(job->steps->account, job->uid, e->id, e->process);
}

static void
observe(void *context)
{
    struct steps *s = context;
    size_t at = 0;
    void *value;

    while (map_next(s->jobs, &at, NULL, &value)) {
        struct step_job *job = value;

        list_foreach(link, &job->running)
        {
            if (step_account_is_turn(s->account))
                observe_running(job, container_of(link, struct agent_step, link));
        }
        list_foreach(link, &job->held)
        {
            const struct agent_step *e = container_of(link, struct agent_step, link);

            if (step_account_is_turn(s->account))
                step_account_observe_held(s->account, job->uid, e->id, &e->outcome);
        }
    }
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
    struct step_job *job = get_job(s, e->request.pod_uid);

    e->job = job;
    job->owner = e->owner;
    if (job->account.is_ending || !has_room(s, e)) {
        step_queue_refuse(e, job->account.is_ending
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
        step_account_make_title(e->arena, &all, &e->title);
    }
    if (r == 0 && asked->grant != NULL) {
        e->grant = arena_new_array(e->arena, struct step_grant, 1);
        r = step_grant_decode(e->arena, asked->grant, asked->grant_length, e->grant, err);
    }
    if (r < 0)
        return r;
    if (asked->peer.pod != NULL) {
        const char *uid = step_nodes_find_pod(s->s.pods, asked->peer.pod);

        e->request.pod_uid = uid != NULL ? arena_strdup(e->arena, uid) : "";
    }
    return check_pod(s, e->request.pod_uid, asked->peer.uid, err);
}

/* A krun that does not know what the nodes of its job have is asked by its manager. */
static void
take_places(struct steps *s, const char *uid, const struct step_asked *asked)
{
    struct step_job *job = get_job(s, uid);

    if (job->nodes == NULL)
        job->nodes = step_nodes_read(s->s.agent, uid);
    if (asked->places != NULL)
        step_nodes_take_places(job->nodes, asked->places, asked->places_length);
}

static void
answer_question(struct steps *s, struct step_channel *connection, const struct step_asked *asked)
{
    CLEANUP_FREE char *name = xstrndup(asked->text, asked->length);
    const char *uid =
        asked->peer.pod != NULL ? step_nodes_find_pod(s->s.pods, asked->peer.pod) : name;
    struct running_pod running;
    struct error err = {0};
    int r = check_pod(s, uid != NULL ? uid : "", asked->peer.uid, &err);

    if (r == 0 && pods_find_running(s->s.pods, uid, &running) > 0) {
        step_nodes_answer(&(struct step_nodes_settings){s->s.agent, s->port, s->s.munge_socket},
                          connection, running.pod);
        return;
    }
    /* While it starts, krun asks again. */
    if (r < 0)
        step_socket_answer(connection, STEP_FRAME_REFUSE, err.text);
    step_socket_close(connection);
}

static int
find_held(struct steps *s, const struct step_asked *asked, struct step_job **ret_job,
          struct error *err)
{
    CLEANUP_FREE char *text = xstrndup(asked->text, asked->length);
    const char *name = asked->peer.pod != NULL ? asked->peer.pod : text;
    int r = steps_check_caller(s, name, asked->peer.uid, err);

    if (r < 0)
        return r;
    *ret_job = get_job(s, step_nodes_find_pod(s->s.pods, name));
    if ((*ret_job)->account.is_ending)
        return error_set(err, -ECANCELED, "the job is ending");
    if ((*ret_job)->hold == NULL)
        (*ret_job)->hold = step_hold_new(s->s.agent->loop);
    return 0;
}

/* HOLD and AWAIT. */
static void
take_hold(struct steps *s, struct step_channel *connection, const struct step_asked *asked)
{
    struct step_job *job = NULL;
    struct error err = {0};

    if (find_held(s, asked, &job, &err) == 0) {
        step_hold_take(job->hold, connection, asked);
        return;
    }
    step_socket_answer(connection, STEP_FRAME_REFUSE, err.text);
    step_socket_close(connection);
}

/* Of the few pods that have steps here. A pod that ends is not found by its group any more. */
static bool
is_here(const struct step_why_question *q, const void *context)
{
    const struct steps *s = context;
    size_t at = 0;
    void *value;

    while (map_next(s->jobs, &at, NULL, &value)) {
        struct step_job *job = value;
        const struct agent_step *e = agent_step_find(&job->running, q->id);
        CLEANUP_FREE char *group = NULL;

        if (e == NULL || e->owner != q->user)
            continue;
        group = dup_group(s, job->uid);
        if (step_why_is_about(q, job->uid, group))
            return true;
    }
    return false;
}

/* HELLO. */
static void
take_step(struct steps *s, struct step_channel *connection, const struct step_asked *asked)
{
    struct agent_step *e = add_step(NULL);
    struct error err = {0};

    e->connection = connection;
    e->arena = arena_new(0);
    e->owner = asked->peer.uid;
    e->krun_pid = asked->peer.pid;
    if (take_request(s, e, asked, &err) < 0) {
        step_queue_refuse(e, err.text);
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

/* ---- Signals ---- */

/* From outside of the step, for scancel: of its owner (CALL), and of operators, by the controller.
 * Of a job of several nodes this is the step manager, whose connection krun keeps: krun sends
 * the signal to all nodes. Else, and after a restart, the kiln-step of this node is told. It is
 * told also that the step ends, and SIGKILL: krun may be stopped. So are the other nodes, by the
 * controller.
 */
struct signal_call {
    char *pod; /* the text, which ends there */
    int64_t id;
    int number;     /* 0: the step is to end */
    int64_t sender; /* a uid; -1: not known */
};

static int
parse_call(char *text, struct signal_call *c)
{
    char *id = strchr(text, ' '), *number, *end;
    long n;

    if (id == NULL)
        return -EINVAL;
    *id++ = '\0';
    c->pod = text;
    c->id = strtoll(id, &number, 10);
    if (number == id || *number != ' ' || c->id < 0)
        return -EINVAL;
    n = strtol(number + 1, &end, 10);
    if (end == number + 1 || *end != '\0' || n < 0 || n > SIGNAL_MOST)
        return -EINVAL;
    c->number = (int)n;
    return 0;
}

/* False: krun is stopped, and much was sent to it. */
static bool
send_to_krun(const struct agent_step *held, int number)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    step_frame_add_number(&out, STEP_FRAME_SIGNAL, STEP_STDIN, STEP_ALL_TASKS, (uint32_t)number);
    return step_channel_send(held->connection, out.text, out.length) == (ssize_t)out.length;
}

static bool
ends_step(int number)
{
    return number == 0 || number == SIGTERM || number == SIGKILL;
}

/* The type of the answer. */
static enum step_frame_type
pass_signal_on(struct step_job *job, const struct signal_call *c, const char **ret_words)
{
    struct agent_step *held = agent_step_find(&job->held, c->id);
    struct agent_step *running = agent_step_find(&job->running, c->id);
    const bool is_for_all = pod_signal_is_for_all_nodes(c->number);

    *ret_words = "";
    if (running != NULL && step_process_is_gone(running->process))
        running = NULL; /* nothing of it but what the agent is about to kill */
    if (held == NULL && running == NULL)
        return STEP_FRAME_END;
    if (held == NULL && !step_account_has_begun(job->steps->account, job->uid, running->id))
        return STEP_FRAME_WAIT;
    if (held != NULL && !send_to_krun(held, c->number) && !is_for_all) {
        *ret_words = "the step's krun reads nothing";
        return STEP_FRAME_REFUSE;
    }
    if (held != NULL && c->number == 0)
        step_manager_cancel(held);
    if (running != NULL && (held == NULL || is_for_all))
        step_process_signal(running->process, c->number);
    if (held != NULL && ends_step(c->number))
        held->outcome.is_cancelled = true;
    if (running != NULL && ends_step(c->number))
        running->outcome.is_cancelled = true;
    if (is_for_all && c->sender >= 0)
        step_account_cancel(job->steps->account, job->uid, c->id, c->sender);
    return STEP_FRAME_ACCEPT;
}

static enum step_frame_type
answer_call(struct steps *s, const struct step_asked *asked, const char **ret_words,
            struct error *err)
{
    CLEANUP_FREE char *text = xstrndup(asked->text, asked->length);
    struct signal_call c;
    const char *name;
    struct step_job *job;

    *ret_words = "this is not the request of a scancel of this release";
    if (parse_call(text, &c) < 0)
        return STEP_FRAME_REFUSE;
    c.sender = asked->peer.uid;
    name = asked->peer.pod != NULL ? asked->peer.pod : c.pod;
    *ret_words = err->text;
    if (steps_check_caller(s, name, asked->peer.uid, err) < 0)
        return STEP_FRAME_REFUSE;
    *ret_words = "";
    job = map_find(s->jobs, step_nodes_find_pod(s->s.pods, name));
    return job == NULL ? STEP_FRAME_END : pass_signal_on(job, &c, ret_words);
}

static void
take_call(struct steps *s, struct step_channel *connection, const struct step_asked *asked)
{
    struct error err = {0};
    const char *words;
    const enum step_frame_type type = answer_call(s, asked, &words, &err);

    step_socket_answer(connection, type, words);
    step_socket_close(connection);
}

void
steps_signal(const char *uid, const struct pod_signal *signal, void *context)
{
    struct steps *s = context;
    struct step_job *job = s != NULL ? map_find(s->jobs, uid) : NULL;
    const struct signal_call c = {
        .id = signal->step,
        .number = signal->number,
        .sender = signal->has_sender ? signal->sender : -1,
    };
    const char *words;

    /* The agent before this one sent it, or the step has begun since then. */
    if (job == NULL || signal->at_s < s->opened_s)
        return;
    switch (pass_signal_on(job, &c, &words)) {
    case STEP_FRAME_ACCEPT:
    case STEP_FRAME_END:
        break;
    default:
        log_warning("step %" PRId64 " of pod %s got no signal: %s", c.id, uid,
                    words[0] != '\0' ? words : "it was just being started");
    }
}

/* ---- All that is asked ---- */

static void
on_asked(struct step_channel *connection, const struct step_asked *asked, void *context)
{
    struct steps *s = context;

    switch (asked->type) {
    case STEP_FRAME_ENTER:
        step_enter_answer(&(struct step_enter_settings){s->s.pods, s->s.agent->node}, connection,
                          asked);
        break;
    case STEP_FRAME_CALL:
        take_call(s, connection, asked);
        break;
    case STEP_FRAME_WHY:
        step_why_answer(s->why, connection, asked, is_here, s);
        break;
    case STEP_FRAME_HELLO:
        take_step(s, connection, asked);
        break;
    case STEP_FRAME_ASK:
        answer_question(s, connection, asked);
        break;
    default:
        take_hold(s, connection, asked);
    }
}

static bool
has_pod(uid_t user, void *context)
{
    const struct steps *s = context;

    return pods_has_of_user(s->s.pods, user);
}

int
steps_check_caller(struct steps *s, const char *pod, uid_t user, struct error *err)
{
    const char *uid = step_nodes_find_pod(s->s.pods, pod);

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
    struct agent_step *e = add_step(job);
    struct step_process_settings settings;

    e->phase = STEP_RUNNING;
    e->id = entry->id;
    e->owner = entry->owner;
    e->overlaps = entry->overlaps;
    e->cpus = entry->cpus;
    e->gpus = entry->gpus;
    e->memory_bytes = entry->memory_bytes;
    list_add_last(&job->running, &e->link);
    steps_fill_process(e, &settings);
    settings.outer = outer;
    e->process = step_process_resume(&settings, entry);
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
    job = get_job(s, uid);
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
        step_account_close(s->account, uid);
        return true;
    }
    job->account.is_ending = true;
    step_queue_refuse_all(job, "the job is ending");
    list_foreach(at, &job->running)
        step_process_kill(container_of(at, struct agent_step, link)->process);
    if (!list_is_empty(&job->running))
        return false;
    step_account_close(s->account, uid);
    step_log_remove(s->log_dir, uid);
    map_remove(s->jobs, uid);
    free_job(job);
    return true;
}

void
steps_freeze_pod(const char *uid, bool still, void *context)
{
    struct steps *s = context;
    struct step_job *job = still ? get_job(s, uid) : map_find(s->jobs, uid);

    if (job == NULL)
        return;
    job->is_still = still;
    list_foreach(at, &job->running)
        step_process_freeze(container_of(at, struct agent_step, link)->process, still);
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
    step_account_close_unknown(s->account);
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
    s->why = step_why_new();
    r = dir_make(s->log_dir, 0700, err);
    if (r == 0)
        r = step_account_open(
            &(struct step_account_settings){
                .agent = settings->agent, .pods = settings->pods, .observe = observe, .context = s},
            &s->account, err);
    if (r == 0)
        r = step_socket_open(
            &(struct step_socket_settings){
                .loop = settings->agent->loop,
                .path = settings->socket,
                .asked = on_asked,
                .has_pod = has_pod,
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
    step_account_stop(s->account);
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
    step_account_free(s->account);
    step_why_free(s->why);
    free(s->program);
    free(s->log_dir);
    free(s);
}
