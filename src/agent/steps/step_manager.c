/* SPDX-License-Identifier: Apache-2.0 */
/* step_manager.c - what the agent of a job's first node gives to kruns, and how each checks it
 *
 * The agent of the first node is the step manager of the job: it gives out ids and CPUs of
 * all its nodes. A krun keeps its connection to the manager as long as it has them, and shows
 * the grant to the agents of the nodes. Each checks it again, so a krun that lies harms
 * only its own job; CPUs that an ended step still has somewhere are waited for there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/pods/agent_context.h"
#include "agent/pods/pod_run.h"
#include "agent/steps/step_account.h"
#include "agent/steps/step_blockers.h"
#include "agent/steps/step_log.h"
#include "agent/steps/step_nodes.h"
#include "agent/steps/step_pace.h"
#include "agent/steps/step_socket.h"
#include "agent/steps/steps_state.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/timer.h"
#include "lib/step/step_channel.h"
#include "lib/step/step_figures.h"
#include "lib/step/step_frames.h"
#include "lib/step/step_grant.h"
#include "lib/step/step_layout.h"

#define LAST_BYTES   1024      /* of krun on a connection that it only holds */
#define HELD_MOST    4096u     /* steps of a job that have a connection here */
#define STEP_ID_MOST INT32_MAX /* of a grant, which a user may have made up */
#define CANCEL_MS    34000     /* a little more than kiln-step waits with SIGKILL */

/* ---- The step manager ---- */

/* False: krun has told its last words, or something else; both are the end. */
static bool
take_told(struct agent_step *e, struct step_reader *in)
{
    struct step_frame f;
    int r;

    while ((r = step_reader_next(in, &f)) == 1) {
        struct step_figures *figures =
            f.type == STEP_FRAME_BEAT ? &e->outcome.observed : &e->outcome.figures;

        if ((f.type != STEP_FRAME_BEAT && f.type != STEP_FRAME_END)
            || step_figures_parse(f.payload, f.length, figures) < 0)
            return false;
        if (f.type == STEP_FRAME_END) {
            e->outcome.has_figures = true;
            return false;
        }
    }
    return r == 0;
}

/* Of a frame that has come in pieces its beginning is kept: a reader takes more memory than one
 * frame, and a user may have thousands.
 */
static bool
keep_rest(struct agent_step *e, struct step_reader *in)
{
    const size_t left = step_reader_left(in);

    if (left >= LAST_BYTES)
        return false;
    free(e->told);
    e->told = left > 0 ? xmemdup(in->bytes + in->start, left) : NULL;
    e->told_length = left;
    return true;
}

/* Takes what all nodes use so far, or have used. False: the connection is at its end. */
static bool
receive_figures(struct agent_step *e)
{
    struct step_reader in = {0};
    size_t bytes = 0;
    bool is_open = true;
    ssize_t n = 1;

    if (e->told_length > 0) {
        size_t room;

        memcpy(step_reader_space(&in, &room), e->told, e->told_length);
        step_reader_add(&in, e->told_length);
    }
    while (is_open && n > 0) {
        size_t room;
        char *at = step_reader_space(&in, &room);

        n = step_channel_receive(e->connection, at, room);
        if (n > 0)
            step_reader_add(&in, (size_t)n);
        bytes += n > 0 ? (size_t)n : 0;
        is_open =
            (n > 0 || n == -EAGAIN) && take_told(e, &in) && step_reader_left(&in) < LAST_BYTES;
        if (!step_channel_has_bytes(e->connection))
            break;
    }
    is_open = is_open && keep_rest(e, &in);
    step_reader_fini(&in);
    step_pace_take(e->pace, bytes);
    return is_open;
}

static void
end_held(void *context)
{
    struct agent_step *e = context;
    struct step_job *job = e->job;
    struct agent_step *here = agent_step_find(&job->running, e->id);

    if (here != NULL)
        here->is_given_back = true;
    job->n_held--;
    step_account_end_held(job->steps->account, &job->account, e->id, &e->outcome, here != NULL);
    agent_step_free(e);
    step_queue_try_first(job);
}

static void
on_held_connection(UNUSED int fd, UNUSED unsigned ready, void *context)
{
    struct agent_step *e = context;

    if (!receive_figures(e))
        end_held(e);
}

/* Also of a step whose krun is stopped: all of its nodes have killed it by then. */
void
step_manager_cancel(struct agent_step *e)
{
    if (e->again != NULL)
        return;
    e->again = timer_new(e->job->steps->s.agent->loop, end_held, e);
    timer_start(e->again, CANCEL_MS);
}

/* The id is recorded, so that the next agent does not give it out again. */
static int
take_id(struct agent_step *e, struct error *err)
{
    struct step_job *job = e->job;
    const char *dir = job->steps->log_dir;
    int r;

    e->id = job->next_id;
    r = step_log_begin(dir, job->uid, &(struct step_log_entry){.id = e->id}, err);
    if (r < 0)
        return r;
    step_log_end(dir, job->uid, e->id);
    job->next_id++;
    return 0;
}

static void
answer_grant(struct agent_step *e, const struct step_layout *layout)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    step_grant_encode(&(struct step_grant){.step_id = e->id, .layout = *layout}, &text);
    step_socket_answer(e->connection, STEP_FRAME_GRANT, text.text);
    /* Krun may tell what the nodes use, in frames of that type; an earlier one passes it over. */
    step_socket_answer(e->connection, STEP_FRAME_BEAT, "");
}

/* Only what others may not take is kept, not the request: nothing of a step that overlaps
 * others, of which a job may have any number on all of its nodes.
 */
static void
keep_layout(struct agent_step *e, const struct step_layout *layout)
{
    arena_free(e->arena);
    e->arena = arena_new(0);
    free(e->text);
    e->text = NULL;
    e->request = (struct step_request){0};
    e->title = (struct step_title){0};
    if (e->overlaps)
        return;
    e->layout = arena_memdup(e->arena, layout, sizeof(*layout));
    e->layout->nodes =
        arena_memdup(e->arena, layout->nodes, layout->n_nodes * sizeof(*layout->nodes));
    for (unsigned i = 0; i < layout->n_nodes; i++) {
        e->layout->nodes[i].name = NULL;
        e->layout->nodes[i].tasks = NULL;
    }
}

/* Krun keeps the connection, and tells what the step uses; anything else is its end. */
static void
hold(struct agent_step *e, const struct running_pod *running, const struct step_layout *layout)
{
    struct step_job *job = e->job;

    step_queue_leave(e);
    e->overlaps = e->request.overlaps;
    e->memory_bytes = e->request.memory_bytes;
    e->phase = STEP_HELD;
    list_add_last(&job->held, &e->link);
    job->n_held++;
    e->watch = fdwatch_new(job->steps->s.agent->loop, e->connection->fd, FDWATCH_READ,
                           on_held_connection, e);
    e->pace = step_pace_new(job->steps->s.agent->loop, e->watch);
    step_account_begin(job->steps->account, running->pod,
                       &(struct step_begin){.id = e->id,
                                            .title = &e->title,
                                            .layout = layout,
                                            .distribution = e->request.distribution,
                                            .krun_pid = e->krun_pid});
    answer_grant(e, layout);
    keep_layout(e, layout);
}

/* All nodes of the job, with what steps hold of them. Krun's words say nothing about this
 * node. Of a step whose krun has ended nothing counts, also here, where it may be seen
 * ending for some milliseconds more: the next krun of a script gets the nodes that it
 * would get a moment later, and waits on each until they are free.
 */
static struct step_place *
make_places(struct step_job *job, const struct running_pod *running, struct arena *arena)
{
    struct step_place *own;
    struct step_place *places = step_nodes_copy_places(job->nodes, arena, &own);

    if (own != NULL)
        steps_fill_place(job, running, true, own);
    list_foreach(at, &job->held)
    {
        const struct agent_step *e = container_of(at, struct agent_step, link);

        for (unsigned i = 0; !e->overlaps && i < e->layout->n_nodes; i++) {
            const struct step_layout_node *n = &e->layout->nodes[i];

            bitset_or(&places[n->place].busy, &n->cpus);
            bitset_or(&places[n->place].busy_gpus, &n->gpus);
            places[n->place].busy_memory_bytes += e->memory_bytes;
        }
    }
    return places;
}

int
step_manager_place(struct agent_step *e, const struct running_pod *running, bool is_first,
                   struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct step_job *job = e->job;
    struct step_layout layout;
    int r;

    if (!step_nodes_is_manager(job->nodes))
        return error_set(err, -EINVAL, "node '%s' gives out the CPUs of this job, not this one",
                         step_nodes_manager(job->nodes));
    if (!step_nodes_have_places(job->nodes)) {
        step_socket_answer(e->connection, STEP_FRAME_NEED, "");
        step_queue_leave(e);
        agent_step_free(e);
        return 1;
    }
    if (job->n_held >= HELD_MOST)
        return error_set(err, -EINVAL, "the job has %u steps, as many as a job may have",
                         job->n_held);
    r = step_layout_make(arena, &e->request, make_places(job, running, arena),
                         step_nodes_count(job->nodes), &layout, err);
    if (r == 0 && !is_first && !e->request.overlaps)
        r = error_set(err, -EBUSY, "other steps of the job wait for CPUs");
    if (r == 0)
        r = take_id(e, err);
    if (r < 0)
        return r;
    hold(e, running, &layout);
    return 1;
}

/* ---- The agent of any node ---- */

/* Whether the grant has to wait, and for which CPU or GPU. */
static bool
find_blocker(const struct agent_step *e, const struct step_place *place, unsigned *ret_blocker)
{
    const struct step_layout_node *n = &e->grant->layout.nodes[e->grant->node];
    const struct agent_step *same = agent_step_find(&e->job->running, e->grant->step_id);
    struct bitset cpus = n->cpus, gpus = n->gpus;

    bitset_and(&cpus, &place->busy);
    bitset_and(&gpus, &place->busy_gpus);
    if (same != NULL)
        cpus = same->cpus;
    *ret_blocker = !bitset_is_empty(&cpus)   ? bitset_next(&cpus, 0)
                   : !bitset_is_empty(&gpus) ? STEP_BLOCKER_GPU(bitset_next(&gpus, 0))
                                             : STEP_BLOCKER_ANY;
    return same != NULL
           || (!e->request.overlaps && (!bitset_is_empty(&cpus) || !bitset_is_empty(&gpus)));
}

int
step_manager_check_grant(struct agent_step *e, const struct running_pod *running, struct error *err)
{
    const struct step_grant *g = e->grant;
    const struct step_layout_node *n = &g->layout.nodes[g->node];
    struct step_place place = {0};

    steps_fill_place(e->job, running, false, &place);
    if (strcmp(n->name, place.name) != 0 || !bitset_contains(&place.cpus, &n->cpus)
        || g->step_id < 0 || g->step_id > STEP_ID_MOST)
        return error_set(err, -EINVAL,
                         "the step manager's grant is for node '%s' with other CPUs than the job "
                         "has on node '%s'",
                         n->name, place.name);
    if (find_blocker(e, &place, &e->blocked.blocker))
        return error_set(err, -EBUSY, "an earlier step is still ending on node '%s'", place.name);
    return 0;
}
