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
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "agent/shepherd/descendants.h"
#include "agent/shepherd/files/rlimit.h"
#include "lib/auth/step_handshake.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/backoff.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/version/version.h"
#include "lib/step/step_channel.h"
#include "lib/step/step_figures.h"
#include "lib/step/step_frames.h"
#include "lib/step/step_grant.h"
#include "lib/step/step_request.h"
#include "step/step_ending.h"
#include "step/step_events.h"
#include "step/step_input.h"
#include "step/step_link.h"
#include "step/step_output.h"
#include "step/step_pmix.h"
#include "step/step_result.h"
#include "step/step_tasks.h"
#include "step/step_terminal.h"
#include "step/step_usage.h"
#include "step/step_user.h"

#define INPUT_FD 1
#define PAGE     4096

#define KILL_AGAIN_MS 10
#define FREEZE_TRIES  20
#define CANCEL_MS     32000 /* a little more than krun waits after SIGTERM */
#define ASK_MS        2000  /* in which a krun that is not stopped has sent that */
/* How long the output of ended tasks is waited for while a process outside the step
 * holds its pipe.
 */
#define GIVE_UP_MS    2000
#define RECEIVED_MS   100 /* at most, between two looks at what krun's kernel has */

struct step {
    struct arena *arena;
    struct step_request request;
    struct step_grant grant;
    pid_t job;             /* its first process on this node */
    struct cgroup *cgroup; /* NULL: none */
    struct step_events *events;
    int signal_fd;
    struct step_watch signal_watch;
    struct step_link *link;
    struct step_input *input;
    struct step_output *output;
    struct step_terminal *terminal;
    struct step_ending *ending;
    struct step_result *result;
    struct step_usage *usage;
    struct step_pmix *pmix;
    struct step_tasks *tasks; /* NULL: the step could not be opened */
    bool has_begun;           /* the tasks may start: no other node can refuse the step */
    bool has_started;         /* they were */
    bool is_over;             /* all tasks have ended */
    bool has_ended;           /* END was sent */
    bool is_refused;          /* the tasks could not be started */
    int64_t ask_ms;           /* when the tasks get SIGTERM, though krun has not sent it; 0: not */
    int64_t kill_ms;          /* the same for SIGKILL; 0: they go on */
    int64_t give_up_ms;       /* on outputs that somebody else holds open; 0: not yet */
    rlim_t n_descriptors;     /* the soft limit that this program began with */
    struct rlimit_setting task_limits[RLIMIT_SETTINGS_MAX];
    unsigned n_task_limits;
};

static int64_t
now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
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

/* The file of the agent, before the user has any part in this. Without a file, the numbers are for
 * nobody.
 */
static struct step_figures *
open_figures(void)
{
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, STEP_FIGURES_FD, 0);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (null < 0 || dup2(null, STEP_FIGURES_FD) < 0)
        close(STEP_FIGURES_FD);
    if (null > STEP_FIGURES_FD)
        close(null);
    return page != MAP_FAILED ? page : xnew(struct step_figures);
}

/* Keys are there for krun on another node. */
static int
take_keys(struct step *s, const struct step_frame *f)
{
    struct step_keys keys;

    if (f->length == 0)
        return 0;
    if (f->length != sizeof(keys))
        return -EBADMSG;
    memcpy(&keys, f->payload, sizeof(keys));
    step_link_set_keys(s->link, &keys);
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
        || take_keys(s, &keys) < 0 || read_frame(&in, STEP_FRAME_ACCEPT, &grant) < 0
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
 * its nodes; one that is stopped does not keep the step: each node of it is told. So it is of
 * SIGKILL.
 */
static void
take_call(struct step *s, int number)
{
    if (number == 0 || number == SIGTERM || number == SIGKILL)
        step_result_cancel(s->result);
    if (number == 0 && s->kill_ms == 0) {
        s->kill_ms = now_ms() + CANCEL_MS;
        s->ask_ms = now_ms() + ASK_MS;
    }
    if (number == SIGKILL || (number != 0 && s->grant.layout.n_nodes == 1))
        step_tasks_signal(s->tasks, STEP_ALL_TASKS, number);
    if (number != 0 && s->grant.layout.n_nodes == 1)
        return;
    step_frame_add_number(step_link_out(s->link), STEP_FRAME_SIGNAL, STEP_STDIN, STEP_ALL_TASKS,
                          (uint32_t)number);
    step_link_flush(s->link);
}

static void
ask_to_end(struct step *s)
{
    s->ask_ms = 0;
    step_tasks_signal(s->tasks, STEP_ALL_TASKS, SIGCONT);
    if (s->request.has_terminal)
        step_tasks_signal(s->tasks, STEP_ALL_TASKS, SIGHUP);
    step_tasks_signal(s->tasks, STEP_ALL_TASKS, SIGTERM);
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
    if (now >= s->kill_ms && step_tasks_count_running(s->tasks) == 0)
        step_link_lose(s->link);
    else if (now >= s->kill_ms) {
        step_tasks_signal(s->tasks, STEP_ALL_TASKS, SIGKILL);
        s->kill_ms = now + KILL_AGAIN_MS;
    }
    next = s->ask_ms > 0 && s->ask_ms < s->kill_ms ? s->ask_ms : s->kill_ms;
    return next > now ? (int)(next - now) : 0;
}

static void
on_signal(struct step_watch *w, UNUSED uint32_t events)
{
    struct step *s = container_of(w, struct step, signal_watch);
    struct signalfd_siginfo info;

    while (read(s->signal_fd, &info, sizeof(info)) > 0)
        if (info.ssi_signo == SIGURG && info.ssi_code == SI_QUEUE)
            freeze(info.ssi_int != 0);
        else if (info.ssi_signo == SIGWINCH && info.ssi_code == SI_QUEUE)
            take_call(s, info.ssi_int);
    (void)step_tasks_reap(s->tasks);
}

/* Three descriptors for each task. */
static void
raise_limit(struct step *s)
{
    struct rlimit l;

    s->n_descriptors = 1024;
    if (getrlimit(RLIMIT_NOFILE, &l) < 0)
        return;
    s->n_descriptors = l.rlim_cur;
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

static void
kill_tasks(void *step)
{
    struct step *s = step;

    step_tasks_signal(s->tasks, STEP_ALL_TASKS, SIGKILL);
}

static void start_tasks(void *step);
static int take_frame(void *step, const struct step_frame *f);

/* The objects of a step, each of which knows only those that it needs. */
static void
make_parts(struct step *s)
{
    const struct step_layout_node *place = &s->grant.layout.nodes[s->grant.node];

    s->input = step_input_new(s->events, s->link, place->n_tasks);
    s->output = step_output_new(s->events, s->link, place->tasks, place->n_tasks);
    s->terminal = step_terminal_new(s->input, s->output);
    s->ending = step_ending_new(s->grant.layout.n_nodes > 1 ? s->link : NULL, kill_tasks, s);
    s->usage = step_usage_new(s->cgroup, s->result, s->link);
    s->pmix = step_pmix_new(&(struct step_pmix_settings){
        .arena = s->arena,
        .request = &s->request,
        .grant = &s->grant,
        .events = s->events,
        .link = s->link,
        .ending = s->ending,
        .ready = start_tasks,
        .context = s,
    });
    s->tasks = step_tasks_new(&(struct step_tasks_settings){
        .arena = s->arena,
        .request = &s->request,
        .grant = &s->grant,
        .job = s->job,
        .cgroup = s->cgroup,
        .events = s->events,
        .link = s->link,
        .input = s->input,
        .output = s->output,
        .terminal = s->terminal,
        .ending = s->ending,
        .result = s->result,
        .pmix = s->pmix,
        .n_descriptors = s->n_descriptors,
        .limits = s->task_limits,
        .n_limits = s->n_task_limits,
    });
}

static int
open_step(struct step *s, int pmix_program, struct error *err)
{
    int r = step_events_open(&s->events);

    if (r < 0)
        return error_set(err, r, "epoll: %s", strerror(-r));
    r = take_signals(s);
    if (r < 0)
        return error_set(err, r, "signals: %s", strerror(-r));
    s->signal_watch.ready = on_signal;
    step_events_add(s->events, s->signal_fd, EPOLLIN, &s->signal_watch);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return error_set(err, -errno, "subreaper: %s", strerror(errno));
    raise_limit(s);
    r = prepare_limits(s, err);
    if (r < 0)
        return r;
    step_link_open(s->link, s->events, take_frame, s);
    make_parts(s);
    return step_pmix_open(s->pmix, pmix_program, err);
}

/* ---- The life ---- */

static void
accept_step(struct step *s)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    step_grant_encode(&s->grant, &text);
    step_frame_add(step_link_out(s->link), &(struct step_frame){
                                               .type = STEP_FRAME_ACCEPT,
                                               .task = STEP_ALL_TASKS,
                                               .payload = text.text,
                                               .length = text.length,
                                           });
    step_link_flush(s->link);
}

static void
refuse_step(struct step *s, const struct error *err)
{
    step_frame_add(step_link_out(s->link), &(struct step_frame){
                                               .type = STEP_FRAME_REFUSE,
                                               .task = STEP_ALL_TASKS,
                                               .payload = err->text,
                                               .length = strlen(err->text),
                                           });
    step_link_flush(s->link);
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
        if (step_tasks_count_running(s->tasks) > 0)
            return -1;
        s->is_over = true;
        step_result_end(s->result);
        s->give_up_ms = now_ms() + GIVE_UP_MS;
    }
    wait_ms = step_pmix_close(s->pmix, now_ms());
    if (wait_ms > 0)
        return wait_ms;
    if (step_tasks_reap(s->tasks)) {
        step_tasks_kill();
        return KILL_AGAIN_MS;
    }
    step_pmix_clean(s->pmix);
    step_output_find_ends(s->output);
    if (step_output_count(s->output) > 0 && now_ms() < s->give_up_ms)
        return (int)(s->give_up_ms - now_ms()) + 1;
    if (step_output_count(s->output) > 0)
        step_output_give_up(s->output);
    if (step_output_count(s->output) == 0 && !s->has_ended) {
        s->has_ended = true;
        step_result_send(s->result, s->link);
        step_link_flush(s->link);
    }
    return -1;
}

/* They start as soon as they may, and what they need is there. */
static void
start_tasks(void *step)
{
    struct step *s = step;
    struct error err = {0};

    if (!s->has_begun || s->has_started || step_pmix_is_starting(s->pmix))
        return;
    s->has_started = true;
    /* A node whose server of PMIx starts slowly may hear of the end before it has tasks.
     * These have ended like the others: the step was there.
     */
    if (step_ending_is_of_other_node(s->ending)) {
        step_tasks_end_unstarted(s->tasks);
        return;
    }
    if (step_ending_has_begun(s->ending))
        error_set(&err, -ECANCELED, "%s", step_ending_reason(s->ending));
    else if (step_tasks_start(s->tasks, &err) == 0)
        return;
    refuse_step(s, &err);
    s->is_refused = true;
}

/* The tasks may start; -EBADMSG for the second time. */
static int
begin(struct step *s)
{
    if (s->has_begun)
        return -EBADMSG;
    s->has_begun = true;
    step_result_begin(s->result, step_tasks_count(s->tasks));
    step_tasks_begin(s->tasks);
    start_tasks(s);
    return 0;
}

/* The tasks of a step on several nodes begin when all nodes have accepted it. */
static int
accept_and_begin(struct step *s)
{
    step_result_accept(s->result, now_ms());
    accept_step(s);
    return s->grant.layout.n_nodes > 1 ? 0 : begin(s);
}

static void
take_signal(struct step *s, uint32_t rank, int number)
{
    if (step_tasks_count_running(s->tasks) > 0)
        step_result_note_signal(s->result, s->request.time_limit_s, now_ms());
    if (number == SIGTERM || number == SIGKILL)
        s->ask_ms = 0;
    step_tasks_signal(s->tasks, rank, number);
}

static int
take_frame(void *step, const struct step_frame *f)
{
    struct step *s = step;
    uint16_t rows, columns;
    uint32_t number;
    int r;

    switch (f->type) {
    case STEP_FRAME_DATA:
        return f->stream == STEP_STDIN ? step_input_receive(s->input, f) : -EBADMSG;
    case STEP_FRAME_CREDIT:
        if (f->stream == STEP_STDIN)
            return -EBADMSG;
        r = step_frame_number(f, &number);
        return r < 0 ? r : step_output_credit(s->output, f->stream, number);
    case STEP_FRAME_SIGNAL:
        r = step_frame_number(f, &number);
        if (r == 0)
            take_signal(s, f->task, (int)number);
        return r;
    case STEP_FRAME_SIZE:
        r = step_frame_size(f, &rows, &columns);
        if (r == 0)
            step_terminal_resize(s->terminal, rows, columns);
        return r;
    case STEP_FRAME_START:
        return begin(s);
    case STEP_FRAME_PMI:
        return step_tasks_receive_pmi(s->tasks, f);
    case STEP_FRAME_PMIX:
        return step_pmix_receive(s->pmix, f);
    case STEP_FRAME_ABORT:
        return step_ending_receive(s->ending, f);
    case STEP_FRAME_BEAT:
        return 0;
    default:
        return -EBADMSG;
    }
}

/* The shorter time to wait; -1: any time. */
static int
sooner(int a_ms, int b_ms)
{
    return a_ms < 0 || (b_ms >= 0 && b_ms < a_ms) ? b_ms : a_ms;
}

static void
run_step(struct step *s)
{
    while (!step_link_is_lost(s->link) && !s->is_refused
           && !(s->has_ended && step_link_is_flushed(s->link))) {
        int wait_ms = finish(s);

        wait_ms = sooner(wait_ms, step_link_check(s->link, now_ms()));
        wait_ms = sooner(wait_ms, step_terminal_turn(s->terminal, now_ms()));
        wait_ms = sooner(wait_ms, end_cancelled(s));
        wait_ms = sooner(wait_ms, step_usage_report(s->usage, s->tasks, now_ms()));
        if (step_link_is_lost(s->link) || (s->has_ended && step_link_is_flushed(s->link)))
            break;
        step_events_take(s->events, wait_ms);
        step_output_pump(s->output);
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

    while (!step_link_is_lost(s->link) && !step_link_is_received(s->link)) {
        step_events_take(s->events, sooner((int)wait_ms, step_link_check(s->link, now_ms())));
        wait_ms = backoff_next(wait_ms, 1, RECEIVED_MS);
    }
}

static bool
reap(void *step)
{
    struct step *s = step;

    return step_tasks_reap(s->tasks);
}

/* Until nothing is left; what cannot be killed by its user is the agent's. */
static void
kill_rest(struct step *s)
{
    if (step_link_is_lost(s->link))
        step_terminal_hang_up(s->terminal, reap, s);
    for (int i = 0; reap(s) && i < 3000 / KILL_AGAIN_MS; i++) {
        step_tasks_kill();
        usleep(KILL_AGAIN_MS * 1000);
    }
    step_pmix_clean(s->pmix);
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
    s->result = step_result_new(open_figures());
    s->link = step_link_new(STEP_LINK_FD);
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
    if (s->tasks != NULL)
        kill_rest(s);
    is_well = r == 0 && !s->is_refused && !step_link_is_lost(s->link);
    if (is_well)
        wait_until_received(s);
    return is_well ? EXIT_SUCCESS : EXIT_FAILURE;
}
