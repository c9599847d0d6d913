/* SPDX-License-Identifier: Apache-2.0 */
/* kiln-step - starts the tasks of one step on one node, and moves their streams
 *
 * The agent starts it as the user, in the step's cgroup, with three descriptors: 0 is
 * krun's connection, 1 has what the agent has granted and what krun has asked for, 2 is
 * for what the agent records (step_figures.h).
 * It needs no agent from then on, so a restart of the agent does not disturb a
 * step. When krun's connection is lost, it kills its tasks; when it is killed
 * itself, the agent kills what is left in the cgroup.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "agent/shepherd/descendants.h"
#include "lib/auth/step_handshake.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/backoff.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/version/version.h"
#include "step/step_pmix.h"
#include "step/step_state.h"

#define INPUT_FD 1
#define EVENTS   64

#define KILL_AGAIN_MS 10
#define FREEZE_TRIES  20
#define CANCEL_MS     32000 /* a little more than krun waits after SIGTERM */
#define ASK_MS        2000  /* in which a krun that is not stopped has sent that */
/* How long the output of ended tasks is waited for while a process outside the step
 * holds its pipe.
 */
#define GIVE_UP_MS    2000
#define RECEIVED_MS   100 /* at most, between two looks at what krun's kernel has */

static int64_t
now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void
step_watch(struct step *s, int fd, uint32_t events, struct step_watch *w)
{
    struct epoll_event e = {.events = events | EPOLLET, .data.ptr = w};

    if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0)
        abort();
}

/* ---- The beginning ---- */

static int
read_frame(struct step_reader *r, enum step_frame_type type, struct step_frame *ret_frame)
{
    return step_reader_next(r, ret_frame) == 1 && ret_frame->type == type ? 0 : -EBADMSG;
}

static void
read_input(struct step_reader *in)
{
    for (;;) {
        size_t room;
        char *at = step_reader_space(in, &room);
        ssize_t n = read(INPUT_FD, at, room);

        if (n > 0)
            step_reader_add(in, (size_t)n);
        else if (n == 0 || errno != EINTR)
            return;
    }
}

/* Keys are there for krun on another node. */
static int
open_channel(struct step *s, const struct step_frame *f)
{
    struct step_keys keys;

    if (f->length == 0) {
        step_channel_init(&s->link.channel, STEP_LINK_FD, NULL);
        return 0;
    }
    if (f->length != sizeof(keys))
        return -EBADMSG;
    memcpy(&keys, f->payload, sizeof(keys));
    step_channel_init(&s->link.channel, STEP_LINK_FD, &keys);
    explicit_bzero(&keys, sizeof(keys));
    return 0;
}

/* The user's words are read as the user. */
static int
take_orders(struct step *s, int kept_fd, struct error *err)
{
    struct step_reader in = {0};
    struct step_frame order, keys, grant, request;
    int r = 0;

    read_input(&in);
    if (read_frame(&in, STEP_FRAME_ORDER, &order) < 0 || read_frame(&in, STEP_FRAME_KEYS, &keys) < 0
        || open_channel(s, &keys) < 0 || read_frame(&in, STEP_FRAME_ACCEPT, &grant) < 0
        || read_frame(&in, STEP_FRAME_HELLO, &request) < 0)
        r = error_set(err, -EBADMSG, "the agent's order is incomplete");
    if (r == 0)
        r = step_user_become(order.payload, order.length, kept_fd, &s->job, &s->cgroup, err);
    if (r == 0)
        r = step_grant_decode(s->arena, grant.payload, grant.length, &s->grant, err);
    if (r == 0)
        r = step_request_decode(s->arena, request.payload, request.length, &s->request, err);
    step_reader_fini(&in);
    return r;
}

/* Signals for all processes of the pod reach this program, too, which outlives its
 * tasks.
 */
static int
take_signals(struct step *s)
{
    sigset_t all, child;

    sigfillset(&all);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigaddset(&child, SIGURG);
    sigaddset(&child, SIGWINCH);
    if (sigprocmask(SIG_SETMASK, &all, NULL) < 0)
        return -errno;
    s->signal_fd = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
    return s->signal_fd < 0 ? -errno : 0;
}

/* The agent says so where no cgroup can do it. Processes that are created meanwhile are
 * found the next time.
 */
static void
freeze(bool still)
{
    if (!still)
        (void)descendants_signal(SIGCONT, 0);
    for (int i = 0; still && i < FREEZE_TRIES && descendants_stop() > 0; i++)
        ;
}

/* Somebody sends the step a signal, or cancels it (0). Krun knows how a step is ended, and all of
 * its nodes; one that is stopped does not keep the step: each node of it is told.
 */
static void
take_call(struct step *s, int number)
{
    if (number == 0 || number == SIGTERM || number == SIGKILL)
        s->figures->flags |= STEP_FIGURES_CANCELLED;
    if (number == 0 && s->kill_ms == 0) {
        s->kill_ms = now_ms() + CANCEL_MS;
        s->ask_ms = now_ms() + ASK_MS;
    }
    if (number != 0 && s->grant.layout.n_nodes == 1) {
        step_tasks_signal(s, STEP_ALL_TASKS, number);
        return;
    }
    step_frame_add_number(&s->link.out, STEP_FRAME_SIGNAL, STEP_STDIN, STEP_ALL_TASKS,
                          (uint32_t)number);
    step_link_flush(s);
}

static void
ask_to_end(struct step *s)
{
    s->ask_ms = 0;
    step_tasks_signal(s, STEP_ALL_TASKS, SIGCONT);
    if (s->request.has_terminal)
        step_tasks_signal(s, STEP_ALL_TASKS, SIGHUP);
    step_tasks_signal(s, STEP_ALL_TASKS, SIGTERM);
}

/* In place of a krun that does nothing; the last output is lost that it does not take. When it
 * looks again; -1: never.
 */
static int
end_cancelled(struct step *s)
{
    const int64_t now = now_ms();
    int64_t next;

    if (s->kill_ms == 0)
        return -1;
    if (s->ask_ms > 0 && now >= s->ask_ms)
        ask_to_end(s);
    if (now >= s->kill_ms && s->n_running == 0)
        s->link.is_lost = true;
    else if (now >= s->kill_ms) {
        step_tasks_signal(s, STEP_ALL_TASKS, SIGKILL);
        s->kill_ms = now + KILL_AGAIN_MS;
    }
    next = s->ask_ms > 0 && s->ask_ms < s->kill_ms ? s->ask_ms : s->kill_ms;
    return next > now ? (int)(next - now) : 0;
}

static void
on_signal(struct step *s, UNUSED struct step_watch *w, UNUSED uint32_t events)
{
    struct signalfd_siginfo info;

    while (read(s->signal_fd, &info, sizeof(info)) > 0)
        if (info.ssi_signo == SIGURG && info.ssi_code == SI_QUEUE)
            freeze(info.ssi_int != 0);
        else if (info.ssi_signo == SIGWINCH && info.ssi_code == SI_QUEUE)
            take_call(s, info.ssi_int);
    (void)step_tasks_reap(s);
}

/* Three descriptors for each task. */
static void
raise_limit(struct step *s)
{
    struct rlimit l;

    s->limits = 1024;
    if (getrlimit(RLIMIT_NOFILE, &l) < 0)
        return;
    s->limits = l.rlim_cur;
    l.rlim_cur = l.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &l);
}

static int
prepare_limits(struct step *s, struct error *err)
{
    for (unsigned i = 0; i < s->request.limits.count; i++) {
        const struct step_limit *l = &s->request.limits.items[i];
        CLEANUP_FREE char *soft =
            l->soft < 0 ? xstrdup("unlimited") : xasprintf("%lld", (long long)l->soft);
        int r;

        if (s->n_task_limits == RLIMIT_SETTINGS_MAX)
            return error_set(err, -E2BIG, "limits: too many");
        r = rlimit_parse(l->name, soft, "unlimited", &s->task_limits[s->n_task_limits], err);
        if (r < 0)
            return error_wrap(err, r, "limits");
        s->n_task_limits++;
    }
    return 0;
}

static int
open_step(struct step *s, int pmix_program, struct error *err)
{
    int r;

    for (enum step_stream i = 0; i < STEP_STREAMS; i++) {
        list_init(&s->ready[i]);
        step_send_window_init(&s->windows[i]);
    }
    s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (s->epoll_fd < 0)
        return error_set(err, -errno, "epoll: %s", strerror(errno));
    r = take_signals(s);
    if (r < 0)
        return error_set(err, r, "signals: %s", strerror(-r));
    s->signal_watch.ready = on_signal;
    step_watch(s, s->signal_fd, EPOLLIN, &s->signal_watch);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return error_set(err, -errno, "subreaper: %s", strerror(errno));
    raise_limit(s);
    r = prepare_limits(s, err);
    if (r < 0)
        return r;
    step_link_open(s);
    s->place = &s->grant.layout.nodes[s->grant.node];
    s->n_tasks = s->place->n_tasks;
    s->tasks = xnew_array(struct step_task, s->n_tasks);
    for (unsigned i = 0; i < s->n_tasks; i++) {
        s->tasks[i].rank = s->place->tasks[i];
        s->tasks[i].input_fd = -1;
        for (enum step_stream j = 0; j < STEP_STREAMS; j++)
            s->tasks[i].outputs[j].fd = -1;
    }
    return step_pmix_open(s, pmix_program, err);
}

/* ---- The life ---- */

static void
accept_step(struct step *s)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    step_grant_encode(&s->grant, &text);
    step_frame_add(&s->link.out, &(struct step_frame){
                                     .type = STEP_FRAME_ACCEPT,
                                     .task = STEP_ALL_TASKS,
                                     .payload = text.text,
                                     .length = text.length,
                                 });
    step_link_flush(s);
}

static void
refuse_step(struct step *s, const struct error *err)
{
    step_frame_add(&s->link.out, &(struct step_frame){
                                     .type = STEP_FRAME_REFUSE,
                                     .task = STEP_ALL_TASKS,
                                     .payload = err->text,
                                     .length = strlen(err->text),
                                 });
    step_link_flush(s);
}

/* When all tasks have ended, nothing of theirs may go on, and krun gets the rest of
 * their output. Returns how long to wait; -1: until something happens.
 */
static int
finish(struct step *s)
{
    int wait_ms;

    if (!s->has_started)
        return -1;
    if (!s->is_over) {
        if (s->n_running > 0)
            return -1;
        s->is_over = true;
        step_result_end(s);
        s->give_up_ms = now_ms() + GIVE_UP_MS;
    }
    wait_ms = step_pmix_close(s, now_ms());
    if (wait_ms > 0)
        return wait_ms;
    if (step_tasks_reap(s)) {
        step_tasks_kill();
        return KILL_AGAIN_MS;
    }
    step_pmix_clean(s);
    step_output_find_ends(s);
    if (s->n_outputs > 0 && now_ms() < s->give_up_ms)
        return (int)(s->give_up_ms - now_ms()) + 1;
    if (s->n_outputs > 0)
        step_output_give_up(s);
    if (s->n_outputs == 0 && !s->has_ended) {
        s->has_ended = true;
        step_result_send(s);
        step_link_flush(s);
    }
    return -1;
}

void
step_start_tasks(struct step *s)
{
    struct error err = {0};

    if (!s->has_begun || s->has_started || step_pmix_is_starting(s))
        return;
    s->has_started = true;
    /* A node whose server of PMIx starts slowly may hear of the end before it has tasks.
     * These have ended like the others: the step was there.
     */
    if (s->ending.is_of_other_node) {
        step_tasks_end_unstarted(s);
        return;
    }
    if (s->ending.has_begun)
        error_set(&err, -ECANCELED, "%s", step_ending_reason(s));
    else if (step_tasks_start(s, &err) == 0)
        return;
    refuse_step(s, &err);
    s->is_refused = true;
}

int
step_begin(struct step *s)
{
    if (s->has_begun)
        return -EBADMSG;
    s->has_begun = true;
    step_result_begin(s);
    step_memory_begin(s);
    step_start_tasks(s);
    return 0;
}

/* The tasks of a step on several nodes begin when all nodes have accepted it. */
static int
accept_and_begin(struct step *s)
{
    step_result_accept(s);
    accept_step(s);
    return s->grant.layout.n_nodes > 1 ? 0 : step_begin(s);
}

/* The time to wait for the next event, -1: any. */
static int
look_at_link(struct step *s, int wait_ms)
{
    const int look_ms = step_channel_check(&s->link.channel, now_ms());

    if (look_ms == -ETIMEDOUT)
        s->link.is_lost = true;
    return look_ms < 0 || (wait_ms >= 0 && wait_ms < look_ms) ? wait_ms : look_ms;
}

static void
take_events(struct step *s, int wait_ms)
{
    struct epoll_event events[EVENTS];
    const int n = epoll_wait(s->epoll_fd, events, EVENTS, wait_ms);

    for (int i = 0; i < n; i++) {
        struct step_watch *w = events[i].data.ptr;

        w->ready(s, w, events[i].events);
    }
}

static void
run_step(struct step *s)
{
    while (!s->link.is_lost && !s->is_refused && !(s->has_ended && step_link_is_flushed(s))) {
        int wait_ms = look_at_link(s, finish(s));
        const int turn_ms = step_terminal_turn(s, now_ms());
        const int cancel_ms = end_cancelled(s), usage_ms = step_usage_report(s, now_ms());

        if (s->link.is_lost || (s->has_ended && step_link_is_flushed(s)))
            break;
        if (turn_ms >= 0 && (wait_ms < 0 || turn_ms < wait_ms))
            wait_ms = turn_ms;
        if (cancel_ms >= 0 && (wait_ms < 0 || cancel_ms < wait_ms))
            wait_ms = cancel_ms;
        if (usage_ms >= 0 && (wait_ms < 0 || usage_ms < wait_ms))
            wait_ms = usage_ms;
        take_events(s, wait_ms);
        step_output_pump(s);
    }
}

/* Krun gives credit for what it reads. A kernel that has no process for that answers with a
 * reset, and forgets what krun's kernel has not had: all of the last output, if krun was
 * stopped. There is no event for that, so it is looked at.
 */
static void
wait_until_received(struct step *s)
{
    int64_t wait_ms = 1;

    while (!s->link.is_lost && !step_channel_is_received(&s->link.channel)) {
        take_events(s, look_at_link(s, (int)wait_ms));
        wait_ms = backoff_next(wait_ms, 1, RECEIVED_MS);
    }
}

/* Until nothing is left; what cannot be killed by its user is the agent's. */
static void
kill_rest(struct step *s)
{
    for (int i = 0; step_tasks_reap(s) && i < 3000 / KILL_AGAIN_MS; i++) {
        step_tasks_kill();
        usleep(KILL_AGAIN_MS * 1000);
    }
    step_pmix_clean(s);
}

static int
print_usage(const char *option)
{
    if (strcmp(option, "--version") == 0) {
        printf("kiln-step %s\n", version_text());
        return EXIT_SUCCESS;
    }
    if (strcmp(option, "--help") == 0) {
        printf("Usage: kiln-step\n"
               "Runs the tasks of one step on one node. Started by kiln-agent, which passes it\n"
               "the connection of krun; not for use by hand.\n"
               "\n"
               "      --help     show this\n"
               "      --version  show the version\n");
        return EXIT_SUCCESS;
    }
    fprintf(stderr,
            "kiln-step: unexpected argument '%s'; kiln-agent starts this program, without "
            "arguments\n",
            option);
    return EXIT_FAILURE;
}

int
main(int argc, char **argv)
{
    struct step *s;
    struct error err = {0};
    bool is_well;
    int pmix_program;
    int r;

    if (argc > 1)
        return print_usage(argv[1]);
    s = xnew(struct step);
    s->arena = arena_new(0);
    step_result_open(s);
    step_channel_init(&s->link.channel, STEP_LINK_FD, NULL);
    strbuf_init(&s->link.out);
    pmix_program = step_pmix_find();
    r = take_orders(s, pmix_program, &err);
    if (r == 0)
        r = open_step(s, pmix_program, &err);
    if (r < 0)
        refuse_step(s, &err);
    else
        r = accept_and_begin(s);
    if (r == 0)
        run_step(s);
    step_terminal_hang_up(s);
    kill_rest(s);
    is_well = r == 0 && !s->is_refused && !s->link.is_lost;
    if (is_well)
        wait_until_received(s);
    return is_well ? EXIT_SUCCESS : EXIT_FAILURE;
}
