/* SPDX-License-Identifier: Apache-2.0 */
/* step_nodes.c - steps of jobs of several nodes
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
#include "agent/pods/pod_record.h"
#include "agent/pods/pod_run.h"
#include "agent/pods/pods.h"
#include "agent/steps/step_log.h"
#include "agent/steps/step_socket.h"
#include "agent/steps/steps_state.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/pod_group.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/timer.h"
#include "lib/step/byte_text.h"
#include "lib/step/step_channel.h"
#include "lib/step/step_figures.h"
#include "lib/step/step_frames.h"
#include "lib/step/step_grant.h"
#include "lib/step/step_info.h"
#include "lib/step/step_layout.h"
#include "lib/step/step_order.h"

#define HOSTS_MOST     (1u << 20) /* bytes of a host file */
#define LAST_BYTES     1024       /* of krun on a connection that it only holds */
#define HELD_MOST      4096u      /* steps of a job that have a connection here */
#define STEP_ID_MOST   INT32_MAX  /* of a grant, which a user may have made up */
#define VARIABLES_MOST 512u
#define CANCEL_MS      34000 /* a little more than kiln-step waits with SIGKILL */

/* ---- The nodes of a job ---- */

void
step_nodes_fini(struct step_job *job)
{
    arena_free(job->nodes_arena);
    free(job->order);
}

/* From the host file that the pod was started with, which outlives an agent. */
void
step_nodes_read(struct step_job *job)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP_FREE char *path = NULL;
    unsigned most = 1;

    if (job->nodes != NULL)
        return;
    job->nodes_arena = arena_new(0);
    path = pod_record_state_path(job->steps->s.agent, job->uid, HOSTFILE);
    (void)file_read(path, HOSTS_MOST, &text, NULL);
    for (const char *c = text.text; *c != '\0'; c++)
        most += *c == '\n';
    job->nodes = arena_new_array(job->nodes_arena, const char *, most);
    for (const char *line = text.text; *line != '\0';) {
        const size_t length = strcspn(line, "\n");

        job->nodes[job->n_nodes++] =
            arena_printf(job->nodes_arena, "%.*s", (int)strcspn(line, " \n"), line);
        line += line[length] == '\n' ? length + 1 : length;
    }
}

static unsigned
own_index(const struct step_job *job)
{
    unsigned i = 0;

    while (i < job->n_nodes && strcmp(job->nodes[i], job->steps->s.agent->node) != 0)
        i++;
    return i;
}

/* "NAMESPACE/GROUP": the same for all pods of an attempt of a job; NULL: it has no
 * other.
 */
static const char *
group_of(struct arena *arena, const struct object *pod)
{
    const char *group = pod_group_named_by(pod);

    return group != NULL ? arena_printf(arena, "%s/%s", pod->meta->namespace, group) : NULL;
}

char *
step_nodes_name_group(const struct object *pod)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *name = group_of(arena, pod);

    return name != NULL ? xstrdup(name) : NULL;
}

const char *
step_nodes_find_pod(const struct steps *s, const char *name)
{
    return pods_has(s->s.pods, name) ? name : pods_find_of_group(s->s.pods, name);
}

/* ---- Answers ---- */

/* Control characters would take more room in the answer than a letter does. */
static bool
is_plain(const char *entry)
{
    for (; *entry != '\0'; entry++)
        if ((unsigned char)*entry < ' ')
            return false;
    return true;
}

/* The answer has the first that it has room for; of a pod that an agent of the release before
 * has started it has none.
 */
static void
add_variables(struct arena *arena, const struct step_job *job, struct step_info *info)
{
    CLEANUP_FREE char *path = pod_record_run_path(job->steps->s.agent, job->uid, VARIABLES_FILE);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    size_t bytes = 0;

    if (file_read(path, VARIABLES_BYTES, &text, NULL) < 0)
        return;
    info->variables.items = arena_new_array(arena, const char *, VARIABLES_MOST);
    for (size_t at = 0; at < text.length; at += strlen(text.text + at) + 1) {
        const char *entry = byte_text_encode(arena, text.text + at);
        const size_t length = strlen(entry);

        if (!is_plain(entry) || info->variables.count == VARIABLES_MOST
            || bytes + length > STEP_INFO_VARIABLES_BYTES)
            continue;
        bytes += length;
        info->variables.items[info->variables.count++] = arena_strdup(arena, entry);
    }
}

void
step_nodes_answer(const struct steps *s, struct step_channel *connection,
                  const struct running_pod *running)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf cpus = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct step_job job = {.steps = (struct steps *)(uintptr_t)s};
    struct step_place place = {0};
    struct step_info info = {
        .cluster = s->s.agent->cluster,
        .group = group_of(arena, running->pod),
        .port = s->port,
        .agent_uid = s->s.agent->uid,
        .munge_socket = s->s.munge_socket,
    };

    list_init(&job.running);
    job.uid = (char *)(uintptr_t)running->pod->meta->uid;
    step_nodes_read(&job);
    info.nodes.items = job.nodes;
    info.nodes.count = job.n_nodes;
    steps_fill_place(&job, running, false, &place);
    step_order_format(&place.cpus, place.order, &cpus);
    info.place = (struct step_info_place){
        .name = place.name,
        .cpus = cpus.text,
        .gpus = place.gpus,
        .memory_bytes = place.memory_bytes,
    };
    add_variables(arena, &job, &info);
    step_info_encode(&info, &text);
    step_socket_answer(connection, STEP_FRAME_INFO, text.text);
    step_socket_close(connection);
    step_nodes_fini(&job);
}

/* ---- The step manager ---- */

/* False: krun has told its last words, or something else; both are the end. */
static bool
take_told(struct agent_step *e, struct step_reader *in)
{
    struct step_frame f;
    int r;

    while ((r = step_reader_next(in, &f)) == 1) {
        struct step_figures *figures = f.type == STEP_FRAME_BEAT ? &e->observed : &e->figures;

        if ((f.type != STEP_FRAME_BEAT && f.type != STEP_FRAME_END)
            || step_figures_parse(f.payload, f.length, figures) < 0)
            return false;
        if (f.type == STEP_FRAME_END) {
            e->has_figures = true;
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
        is_open =
            (n > 0 || n == -EAGAIN) && take_told(e, &in) && step_reader_left(&in) < LAST_BYTES;
        if (!step_channel_has_bytes(e->connection))
            break;
    }
    is_open = is_open && keep_rest(e, &in);
    step_reader_fini(&in);
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
    step_account_end_held(e);
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
step_nodes_cancel(struct agent_step *e)
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
    e->name = e->command = e->submit_line = NULL;
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

    agent_step_leave_queue(e);
    e->overlaps = e->request.overlaps;
    e->memory_bytes = e->request.memory_bytes;
    e->phase = STEP_HELD;
    list_add_last(&job->held, &e->link);
    job->n_held++;
    e->watch = fdwatch_new(job->steps->s.agent->loop, e->connection->fd, FDWATCH_READ,
                           on_held_connection, e);
    step_account_begin(e, running, layout);
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
    struct step_place *places =
        arena_memdup(arena, job->places, job->n_nodes * sizeof(*job->places));
    const unsigned own = own_index(job);

    for (unsigned i = 0; i < job->n_nodes; i++)
        places[i].name = job->nodes[i];
    if (own < job->n_nodes) {
        places[own] = (struct step_place){0};
        steps_fill_place(job, running, true, &places[own]);
    }
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
step_nodes_place(struct agent_step *e, const struct running_pod *running, bool is_first,
                 struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct step_job *job = e->job;
    struct step_layout layout;
    int r;

    if (own_index(job) != 0)
        return error_set(err, -EINVAL, "node '%s' gives out the CPUs of this job, not this one",
                         job->nodes[0]);
    if (job->places == NULL) {
        step_socket_answer(e->connection, STEP_FRAME_NEED, "");
        agent_step_leave_queue(e);
        agent_step_free(e);
        return 1;
    }
    if (job->n_held >= HELD_MOST)
        return error_set(err, -EINVAL, "the job has %u steps, as many as a job may have",
                         job->n_held);
    r = step_layout_make(arena, &e->request, make_places(job, running, arena), job->n_nodes,
                         &layout, err);
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

static const struct agent_step *
find_id(const struct step_job *job, int64_t id)
{
    list_foreach(at, &job->running)
    {
        const struct agent_step *e = container_of(at, struct agent_step, link);

        if (e->id == id)
            return e;
    }
    return NULL;
}

/* Whether the grant has to wait, and for which CPU or GPU. */
static bool
find_blocker(const struct agent_step *e, const struct step_place *place, unsigned *ret_blocker)
{
    const struct step_layout_node *n = &e->grant->layout.nodes[e->grant->node];
    const struct agent_step *same = find_id(e->job, e->grant->step_id);
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
step_nodes_check_grant(struct agent_step *e, const struct running_pod *running, struct error *err)
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
