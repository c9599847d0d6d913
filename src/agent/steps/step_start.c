/* SPDX-License-Identifier: Apache-2.0 */
/* step_start.c - starts the kiln-step of a step
 *
 * It begins as root, which takes no request of a user into account, and becomes the user
 * by itself: the agent only creates a process.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/cgroup/cgroup.h"
#include "agent/cgroup/spawn_into.h"
#include "agent/pods/agent_context.h"
#include "agent/pods/pod_run.h"
#include "agent/shepherd/files/live_record.h"
#include "agent/shepherd/files/order.h"
#include "agent/steps/step_log.h"
#include "agent/steps/step_socket.h"
#include "agent/steps/steps_state.h"
#include "lib/api/node/allocation.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/auth/step_handshake.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/loop/child.h"
#include "lib/step/step_channel.h"
#include "lib/step/step_frames.h"
#include "lib/step/step_grant.h"

static void
add_frame(struct strbuf *out, enum step_frame_type type, const char *payload, size_t length)
{
    step_frame_add(out, &(struct step_frame){
                            .type = type,
                            .task = STEP_ALL_TASKS,
                            .payload = payload,
                            .length = length,
                        });
}

static void
add_order(struct strbuf *out, struct agent_step *e, const struct running_pod *running)
{
    const struct agent_context *g = e->job->steps->s.agent;
    const struct pod *pod = pod_of(running->pod);
    const struct allocation *a = pod->status.allocation;
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf cgroup = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char *arguments[] = {"kiln-step"};
    struct order o;

    order_init(&o);
    o.pod = arena_printf(arena, "%s/%s", pod->meta.namespace, pod->meta.name);
    o.pod_uid = e->job->uid;
    o.state_dir = arena_printf(arena, "%s/pods/%s", g->state_dir, e->job->uid);
    o.run_dir = arena_printf(arena, "%s/pods/%s", g->run_dir, e->job->uid);
    o.uid = e->owner;
    o.allow_root = g->allow_root;
    o.arguments = (struct order_list){arguments, 1};
    o.work_dir = "/";
    if (a != NULL && !g->is_virtual) {
        o.cpus = a->cpus;
        o.memory_nodes = a->memory_nodes;
        if (a->memory_nodes != NULL)
            o.memory_policy = pod_memory_policy(pod);
    }
    if (e->cgroup != NULL) {
        cgroup_format(e->cgroup, &cgroup);
        o.job_cgroup = cgroup.text;
    }
    order_encode(&o, &text);
    add_frame(out, STEP_FRAME_ORDER, text.text, text.length);
}

/* A connection from another node is sealed. */
static void
add_keys(struct strbuf *out, const struct step_channel *connection)
{
    struct step_keys keys;
    const bool has_keys = step_channel_keys(connection, &keys);

    add_frame(out, STEP_FRAME_KEYS, (const char *)&keys, has_keys ? sizeof(keys) : 0);
    explicit_bzero(&keys, sizeof(keys));
}

static int
make_input(struct agent_step *e, const struct running_pod *running,
           const struct step_layout *layout, unsigned node, struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf grant = STRBUF_INIT;
    const struct allocation *a = pod_of(running->pod)->status.allocation;
    int fd = memfd_create("step", MFD_CLOEXEC);
    int r;

    if (fd < 0)
        return error_set(err, -errno, "memfd_create: %s", strerror(errno));
    step_grant_encode(
        &(struct step_grant){
            .step_id = e->id,
            .node = node,
            .is_bound = a != NULL && a->cpus != NULL && !e->job->steps->s.agent->is_virtual,
            .task_prolog = e->job->steps->s.agent->task_prolog,
            .layout = *layout,
        },
        &grant);
    add_order(&text, e, running);
    add_keys(&text, e->connection);
    add_frame(&text, STEP_FRAME_ACCEPT, grant.text, grant.length);
    add_frame(&text, STEP_FRAME_HELLO, e->text, e->length);
    r = fd_write_all(fd, text.text, text.length);
    if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
        r = -errno;
    if (r == 0)
        return fd;
    close(fd);
    return error_set(err, r, "writing the step's order: %s", strerror(-r));
}

/* The step's cgroup, if kiln-step can be created there: moving there by itself would take
 * it an RCU grace period. A descriptor, or -1: kiln-step makes the cgroup and goes there.
 */
static int
open_cgroup(const struct agent_step *e)
{
    int fd;

    if (e->cgroup == NULL || cgroup_make_inner(e->cgroup, NULL) < 0)
        return -1;
    fd = cgroup_open_clone(e->cgroup);
    if (fd < 0)
        (void)cgroup_remove_inner(e->cgroup, NULL);
    return fd < 0 ? -1 : fd;
}

/* 1: the kernel cannot do it, and nothing has happened. */
static int
spawn_in_cgroup(struct agent_step *e, int input, int figures, char *const envp[], struct error *err)
{
    struct steps *s = e->job->steps;
    CLEANUP_FD int cgroup_fd = open_cgroup(e);
    CLEANUP_FD int null = cgroup_fd < 0 ? -1 : open("/dev/null", O_RDWR | O_CLOEXEC);
    char name[] = "kiln-step";
    bool forked = false;
    pid_t pid = 0;
    int r;

    if (cgroup_fd < 0)
        return 1;
    r = spawn_into(
        cgroup_fd,
        &(struct spawn_program){
            .path = s->program,
            .arguments = (char *[]){name, NULL},
            .environment = envp,
            .fds = {{e->connection->fd, 0}, {input, 1}, {figures >= 0 ? figures : null, 2}},
            .n_fds = 3,
        },
        &pid, &forked);
    if (r == 0)
        return child_watch(s->s.agent->loop, pid, step_end_of_child, e, &e->child, err);
    (void)cgroup_remove_inner(e->cgroup, NULL);
    return forked ? error_set(err, r, "starting '%s': %s", s->program, strerror(-r)) : 1;
}

static int
spawn(struct agent_step *e, int input, int figures, struct error *err)
{
    struct steps *s = e->job->steps;
    CLEANUP_FREE char *pod = xasprintf("KILN_POD_UID=%s", e->job->uid);
    CLEANUP_FREE char *id = xasprintf("KILN_STEP_ID=%" PRId64, e->id);
    char name[] = "kiln-step", in_cgroup[] = STEP_IN_CGROUP "=yes";
    char *argv[] = {name, NULL};
    char *envp[] = {pod, id, in_cgroup, NULL};
    struct step_log_entry entry = {.id = e->id};
    struct child_plan plan = {
        .path = s->program,
        .argv = argv,
        .envp = envp,
        .fds = {e->connection->fd, input, figures},
    };
    int r = spawn_in_cgroup(e, input, figures, envp, err);

    if (r > 0) {
        envp[2] = NULL;
        r = child_spawn(s->s.agent->loop, &plan, step_end_of_child, e, &e->child, err);
    }
    if (r < 0)
        return r;
    entry.pid = child_pid(e->child);
    if (live_record_read_start(entry.pid, &entry.ticks) == 0)
        (void)step_log_run(s->log_dir, e->job->uid, &entry, NULL);
    return 0;
}

/* The step is recorded before it has a process, so that no agent gives out its id or
 * its CPUs again.
 */
int
step_start(struct agent_step *e, const struct running_pod *running,
           const struct step_layout *layout, unsigned node, struct error *err)
{
    struct step_job *job = e->job;
    CLEANUP_FREE char *name = NULL;
    CLEANUP_FD int input = -1;
    CLEANUP_FD int figures = -1;
    int r;

    e->id = e->grant != NULL ? e->grant->step_id : job->next_id;
    e->overlaps = e->request.overlaps;
    e->cpus = layout->nodes[node].cpus;
    e->gpus = layout->nodes[node].gpus;
    e->memory_bytes = e->request.memory_bytes;
    name = xasprintf("step-%" PRId64, e->id);
    if (running->cgroup != NULL)
        e->cgroup = cgroup_new_inner(running->cgroup, name);
    r = step_log_begin(job->steps->log_dir, job->uid,
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
        step_account_begin(e, running, layout);
    figures = step_account_open_figures(e);
    input = make_input(e, running, layout, node, err);
    r = input < 0 ? input : spawn(e, input, figures, err);
    if (r < 0) {
        step_account_fail(e);
        step_log_end(job->steps->log_dir, job->uid, e->id);
        return r;
    }
    step_end_watch_krun(e, step_socket_release(e->connection));
    e->connection = NULL;
    arena_free(e->arena);
    e->arena = NULL;
    e->grant = NULL; /* the arena had it */
    free(e->text);
    e->text = NULL;
    e->phase = STEP_RUNNING;
    list_add_last(&job->running, &e->link);
    return 0;
}
