/* SPDX-License-Identifier: Apache-2.0 */
/* step_process.c - starts kiln-step, and ends what it leaves
 *
 * Kiln-step begins as root, which takes no request of a user into account, and becomes the user
 * by itself: the agent only creates a process. From then on the agent has no part in what
 * the tasks read and write, so that it can be restarted below them; it holds the
 * process by a pidfd or as its child, and krun's connection only to see its end.
 *
 * CPUs of a step are free only when its cgroup is empty. That is a worker's work, for a
 * process that the kernel does not let die would stop the loop, and it is repeated for ever:
 * there is nothing else to do about such a process, and its CPUs are not free.
 */
#include "agent/steps/step_process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/cgroup/cgroup.h"
#include "agent/cgroup/spawn_into.h"
#include "agent/cgroup/stray_processes.h"
#include "agent/pods/agent_context.h"
#include "agent/shepherd/files/live_record.h"
#include "agent/shepherd/files/order.h"
#include "agent/steps/step_log.h"
#include "lib/api/node/allocation.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/auth/step_handshake.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/loop/child.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/timer.h"
#include "lib/loop/workers.h"
#include "lib/step/step_channel.h"
#include "lib/step/step_frames.h"
#include "lib/step/step_grant.h"

#define KILL_TRIES    50
#define KILL_PAUSE_US 2000
#define KILL_AGAIN_MS 100
/* A kiln-step whose krun is gone ends at once, unless it hangs or is stopped. */
#define HANG_MS       1500

struct step_process {
    struct step_process_settings s;
    struct cgroup *cgroup; /* NULL: none */
    struct child *child;   /* NULL: resumed, or gone */
    int pidfd;             /* of a resumed one, or -1 */
    struct fdwatch *watch; /* of the pidfd */
    int krun_fd;           /* -1: not watched */
    struct fdwatch *krun_watch;
    struct timer *again; /* until it is killed with its krun, or what is left is killed again */
    bool may_be_left;    /* processes: kiln-step did not see the last one end */
    bool is_gone, is_over;
    bool is_clean;             /* the worker's answer */
    struct cgroup_usage usage; /* at the end: the worker's until it is over */
};

static struct step_process *
new_process(const struct step_process_settings *settings)
{
    CLEANUP_FREE char *name = xasprintf("step-%" PRId64, settings->id);
    struct step_process *p = xnew(struct step_process);

    p->s = *settings;
    p->s.outer = NULL;
    p->pidfd = p->krun_fd = -1;
    if (settings->outer != NULL)
        p->cgroup = cgroup_new_inner(settings->outer, name);
    return p;
}

void
step_process_free(struct step_process *p)
{
    if (p == NULL)
        return;
    fdwatch_free(p->watch);
    if (p->pidfd >= 0)
        close(p->pidfd);
    child_free(p->child);
    timer_free(p->again);
    fdwatch_free(p->krun_watch);
    if (p->krun_fd >= 0)
        close(p->krun_fd);
    cgroup_free(p->cgroup);
    free(p);
}

bool
step_process_is_gone(const struct step_process *p)
{
    return p->is_gone;
}

void
step_process_read_usage(const struct step_process *p, struct cgroup_usage *ret_usage)
{
    *ret_usage = (struct cgroup_usage){0};
    if (p->is_over)
        *ret_usage = p->usage;
    else if (p->cgroup != NULL)
        cgroup_read_usage(p->cgroup, ret_usage);
}

/* ---- The end ---- */

static void
note_usage(struct step_process *p)
{
    struct cgroup_usage usage = {0};

    cgroup_read_usage(p->cgroup, &usage);
    if (usage.has_cpu)
        p->usage = usage;
}

static void
end_work(void *context)
{
    struct step_process *p = context;

    for (int i = 0; i < KILL_TRIES; i++) {
        if (p->cgroup != NULL && cgroup_is_empty(p->cgroup) != 0) {
            note_usage(p);
            p->is_clean = cgroup_remove_inner(p->cgroup, NULL) == 0;
            if (p->is_clean)
                return;
        }
        if (p->cgroup != NULL)
            (void)cgroup_kill(p->cgroup, NULL);
        else if (!p->may_be_left || stray_processes_kill(p->s.pod_uid, p->s.id, p->s.owner) == 0) {
            p->is_clean = true;
            return;
        }
        usleep(KILL_PAUSE_US);
    }
}

static void end(void *process);

static void
on_end_worked(void *context)
{
    struct step_process *p = context;

    if (!p->is_clean) {
        if (p->again == NULL)
            p->again = timer_new(p->s.agent->loop, end, p);
        timer_start(p->again, KILL_AGAIN_MS);
        return;
    }
    p->is_over = true;
    p->s.over(p->s.context);
}

/* Kiln-step is gone, and now krun sees its end: also if what the step has left cannot be
 * killed for a while.
 */
static void
stop_watching_krun(struct step_process *p)
{
    fdwatch_free(p->krun_watch);
    p->krun_watch = NULL;
    if (p->krun_fd >= 0)
        close(p->krun_fd);
    p->krun_fd = -1;
}

static void
end(void *process)
{
    struct step_process *p = process;

    p->is_gone = true;
    stop_watching_krun(p);
    timer_free(p->again);
    p->again = NULL;
    workers_submit(p->s.agent->workers, p->s.agent->loop, end_work, on_end_worked, p);
}

static void
on_child_end(const struct child_exit *exit, void *process)
{
    struct step_process *p = process;

    p->may_be_left = !exit->is_known || exit->status != 0;
    child_free(p->child);
    p->child = NULL;
    end(p);
}

static void
on_exit_of_resumed(UNUSED int fd, UNUSED unsigned ready, void *process)
{
    struct step_process *p = process;

    fdwatch_free(p->watch);
    p->watch = NULL;
    end(p);
}

/* ---- While it runs ---- */

void
step_process_kill(struct step_process *p)
{
    if (p->child != NULL)
        (void)child_kill(p->child, SIGKILL);
    else if (p->pidfd >= 0)
        (void)syscall(SYS_pidfd_send_signal, p->pidfd, SIGKILL, NULL, 0);
}

static void
on_hang(void *process)
{
    struct step_process *p = process;

    log_warning("step %" PRId64 " of pod %s: kiln-step has not ended with its krun; it is killed",
                p->s.id, p->s.pod_uid);
    step_process_kill(p);
}

static void
on_krun_end(UNUSED int fd, UNUSED unsigned ready, void *process)
{
    struct step_process *p = process;

    fdwatch_want(p->krun_watch, 0);
    p->again = timer_new(p->s.agent->loop, on_hang, p);
    timer_start(p->again, HANG_MS);
}

/* Nothing is read: what wakes the loop is only the end of the connection. */
void
step_process_watch_krun(struct step_process *p, int fd)
{
    p->krun_fd = fd;
    p->krun_watch = fdwatch_new(p->s.agent->loop, fd, FDWATCH_END, on_krun_end, p);
}

/* A signal that a kiln-step which is just being started ignores. */
static void
signal_kiln_step(struct step_process *p, int signal_number, int value)
{
    siginfo_t info = {
        .si_signo = signal_number,
        .si_code = SI_QUEUE,
    };

    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_int = value;
    if (p->child != NULL)
        (void)sigqueue(child_pid(p->child), signal_number, info.si_value);
    else if (p->pidfd >= 0)
        (void)syscall(SYS_pidfd_send_signal, p->pidfd, signal_number, &info, 0);
}

void
step_process_freeze(struct step_process *p, bool still)
{
    signal_kiln_step(p, SIGURG, still);
}

/* A kiln-step of the release before this one does not react to it. */
void
step_process_signal(struct step_process *p, int number)
{
    signal_kiln_step(p, SIGWINCH, number);
}

/* ---- After a restart of the agent ---- */

static bool
reopen(struct step_process *p, const struct step_log_entry *entry)
{
    int64_t ticks;

    if (entry->pid == 0)
        return false;
    p->pidfd = (int)syscall(SYS_pidfd_open, entry->pid, 0);
    if (p->pidfd >= 0 && live_record_read_start(entry->pid, &ticks) == 0 && ticks == entry->ticks)
        return true;
    /* Another process has that pid now, and may not get the step's signals. */
    if (p->pidfd >= 0)
        close(p->pidfd);
    p->pidfd = -1;
    return false;
}

struct step_process *
step_process_resume(const struct step_process_settings *settings,
                    const struct step_log_entry *entry)
{
    struct step_process *p = new_process(settings);
    int krun_fd;

    p->may_be_left = true;
    if (!reopen(p, entry)) {
        end(p);
        return p;
    }
    p->watch = fdwatch_new(p->s.agent->loop, p->pidfd, FDWATCH_READ, on_exit_of_resumed, p);
    krun_fd = (int)syscall(SYS_pidfd_getfd, p->pidfd, STEP_LINK_FD, 0);
    if (krun_fd >= 0)
        step_process_watch_krun(p, krun_fd);
    return p;
}

/* ---- The start ---- */

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
add_order(struct strbuf *out, const struct step_process *p, const struct object *object)
{
    const struct agent_context *g = p->s.agent;
    const struct pod *pod = pod_of(object);
    const struct allocation *a = pod->status.allocation;
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf cgroup = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char *arguments[] = {"kiln-step"};
    struct order o;

    order_init(&o);
    o.pod = arena_printf(arena, "%s/%s", pod->meta.namespace, pod->meta.name);
    o.pod_uid = p->s.pod_uid;
    o.state_dir = arena_printf(arena, "%s/pods/%s", g->state_dir, p->s.pod_uid);
    o.run_dir = arena_printf(arena, "%s/pods/%s", g->run_dir, p->s.pod_uid);
    o.uid = p->s.owner;
    o.allow_root = g->allow_root;
    o.arguments = (struct order_list){arguments, 1};
    o.work_dir = "/";
    if (a != NULL && !g->is_virtual) {
        o.cpus = a->cpus;
        o.memory_nodes = a->memory_nodes;
        if (a->memory_nodes != NULL)
            o.memory_policy = pod_memory_policy(pod);
    }
    if (p->cgroup != NULL) {
        cgroup_format(p->cgroup, &cgroup);
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
make_input(const struct step_process *p, const struct step_process_order *o, struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf grant = STRBUF_INIT;
    const struct allocation *a = pod_of(o->pod)->status.allocation;
    int fd = memfd_create("step", MFD_CLOEXEC);
    int r;

    if (fd < 0)
        return error_set(err, -errno, "memfd_create: %s", strerror(errno));
    step_grant_encode(
        &(struct step_grant){
            .step_id = p->s.id,
            .node = o->node,
            .is_bound = a != NULL && a->cpus != NULL && !p->s.agent->is_virtual,
            .task_prolog = p->s.agent->task_prolog,
            .layout = *o->layout,
        },
        &grant);
    add_order(&text, p, o->pod);
    add_keys(&text, o->connection);
    add_frame(&text, STEP_FRAME_ACCEPT, grant.text, grant.length);
    add_frame(&text, STEP_FRAME_HELLO, o->text, o->length);
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
open_cgroup(const struct step_process *p)
{
    int fd;

    if (p->cgroup == NULL || cgroup_make_inner(p->cgroup, NULL) < 0)
        return -1;
    fd = cgroup_open_clone(p->cgroup);
    if (fd < 0)
        (void)cgroup_remove_inner(p->cgroup, NULL);
    return fd < 0 ? -1 : fd;
}

/* 1: the kernel cannot do it, and nothing has happened. */
static int
spawn_in_cgroup(struct step_process *p, const int fds[3], char *const envp[], struct error *err)
{
    CLEANUP_FD int cgroup_fd = open_cgroup(p);
    CLEANUP_FD int null = cgroup_fd < 0 ? -1 : open("/dev/null", O_RDWR | O_CLOEXEC);
    char name[] = "kiln-step";
    bool forked = false;
    pid_t pid = 0;
    int r;

    if (cgroup_fd < 0)
        return 1;
    r = spawn_into(cgroup_fd,
                   &(struct spawn_program){
                       .path = p->s.program,
                       .arguments = (char *[]){name, NULL},
                       .environment = envp,
                       .fds = {{fds[0], 0}, {fds[1], 1}, {fds[2] >= 0 ? fds[2] : null, 2}},
                       .n_fds = 3,
                   },
                   &pid, &forked);
    if (r == 0)
        return child_watch(p->s.agent->loop, pid, on_child_end, p, &p->child, err);
    (void)cgroup_remove_inner(p->cgroup, NULL);
    return forked ? error_set(err, r, "starting '%s': %s", p->s.program, strerror(-r)) : 1;
}

static int
spawn(struct step_process *p, const int fds[3], struct error *err)
{
    CLEANUP_FREE char *pod = xasprintf("KILN_POD_UID=%s", p->s.pod_uid);
    CLEANUP_FREE char *id = xasprintf("KILN_STEP_ID=%" PRId64, p->s.id);
    char name[] = "kiln-step", in_cgroup[] = STEP_IN_CGROUP "=yes";
    char *argv[] = {name, NULL};
    char *envp[] = {pod, id, in_cgroup, NULL};
    struct step_log_entry entry = {.id = p->s.id};
    struct child_plan plan = {
        .path = p->s.program,
        .argv = argv,
        .envp = envp,
        .fds = {fds[0], fds[1], fds[2]},
    };
    int r = spawn_in_cgroup(p, fds, envp, err);

    if (r > 0) {
        envp[2] = NULL;
        r = child_spawn(p->s.agent->loop, &plan, on_child_end, p, &p->child, err);
    }
    if (r < 0)
        return r;
    entry.pid = child_pid(p->child);
    if (live_record_read_start(entry.pid, &entry.ticks) == 0)
        (void)step_log_run(p->s.log_dir, p->s.pod_uid, &entry, NULL);
    return 0;
}

int
step_process_start(const struct step_process_settings *settings,
                   const struct step_process_order *order, struct step_process **ret_process,
                   struct error *err)
{
    struct step_process *p = new_process(settings);
    CLEANUP_FD int input = make_input(p, order, err);
    const int fds[] = {order->connection->fd, input, order->figures};
    int r = input < 0 ? input : spawn(p, fds, err);

    if (r < 0) {
        step_process_free(p);
        return r;
    }
    *ret_process = p;
    return 0;
}
