/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing is read faster than it can be written: output is credited to its sender only once
 * the descriptor has taken it, so a reader that stops costs one window for each stream, and
 * the tasks wait as they would on a pipe. The standard descriptors are shared with a shell and
 * may not be made non-blocking; so each write is as long as what cannot block.
 *
 * The tasks of a step begin when all nodes have accepted it, for a step that one node refuses
 * must not have begun anywhere.
 */
#include "cli/krun/krun_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/krun/krun_link.h"
#include "cli/krun/krun_nodes.h"
#include "cli/krun/krun_pmi.h"
#include "cli/krun/krun_sink.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_grant.h"

#define AGENT_AGAIN_MS 100
#define INPUT_BYTES    (32u << 10)
#define QUEUE_LOW      (64u << 10) /* with less in its queue, the sender may send more */
/* Signals, the three streams, the step manager; the links follow. */
#define N_OWN_POLLS    5

/* In a job of several nodes, a step has a link to the step manager, and then one to each
 * of its nodes; otherwise one to the agent of this node, which is both.
 */
struct krun_stream {
    struct krun_stream_settings s;
    struct krun_nodes *nodes;
    bool has_manager; /* the job has several nodes */
    struct krun_link manager;
    struct krun_link *links; /* of the step's nodes */
    unsigned n_links, n_accepted, n_ended;
    struct krun_pmi pmi;
    struct strbuf places; /* payload of PLACES; empty: the manager did not ask for it */
    struct pollfd *polls;
    struct krun_sink sinks[STEP_STREAMS];
    bool has_input, is_stopped;
    int signal_fd;
    int64_t late_ms; /* 0: no call is wanted */
    void (*late)(void *context);
};

static int64_t
now_ms(void)
{
    return clock_boottime_us() / 1000;
}

/* ---- The connections ---- */

static void
close_links(struct krun_stream *s)
{
    krun_link_close(&s->manager);
    for (unsigned i = 0; i < s->n_links; i++)
        krun_link_close(&s->links[i]);
    s->n_links = 0;
}

static void
set_links(struct krun_stream *s, unsigned n)
{
    free(s->links);
    free(s->polls);
    s->links = xnew_array(struct krun_link, n);
    s->polls = xnew_array(struct pollfd, n + N_OWN_POLLS);
    s->n_links = n;
    krun_pmi_fini(&s->pmi);
    krun_pmi_begin(&s->pmi, s->links, n);
}

/* Asks for the step. */
static int
ask(struct krun_stream *s, struct error *err)
{
    struct krun_link *l;
    int r;

    close_links(s);
    s->n_accepted = s->n_ended = 0;
    set_links(s, s->has_manager ? 0 : 1);
    l = s->has_manager ? &s->manager : &s->links[0];
    r = krun_nodes_dial_manager(s->nodes, l, err);
    if (r < 0) {
        s->n_links = 0;
        return r;
    }
    if (s->places.length > 0)
        krun_link_add(l, STEP_FRAME_PLACES, s->places.text, s->places.length);
    krun_link_add(l, STEP_FRAME_HELLO, s->s.request, s->s.length);
    return 0;
}

static bool
is_running(const struct krun_stream *s)
{
    return s->n_links > 0 && s->n_accepted == s->n_links;
}

static void
credit(struct krun_stream *s, enum step_stream stream)
{
    const struct krun_sink *k = &s->sinks[stream];

    if (k->out.length - k->written >= QUEUE_LOW)
        return;
    for (unsigned i = 0; i < s->n_links; i++) {
        struct krun_link *l = &s->links[i];
        uint32_t n;

        if (l->owed[stream] == 0)
            continue;
        n = step_receive_window_consume(&l->windows[stream], l->owed[stream]);
        l->owed[stream] = 0;
        if (n > 0)
            step_frame_add_number(&l->out, STEP_FRAME_CREDIT, stream, STEP_ALL_TASKS, n);
    }
}

/* ---- Frames ---- */

static int
take_words(struct krun_stream *s, const struct step_frame *f,
           void (*print)(const char *words, void *context))
{
    CLEANUP_FREE char *words = xstrndup(f->payload, f->length);

    print(words, s->s.context);
    return 0;
}

/* The tasks of a step begin when all its nodes have accepted it: one that is refused
 * somewhere has not begun anywhere.
 */
static int
take_accept(struct krun_stream *s, struct krun_link *l, const struct step_frame *f)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct step_grant grant;

    if (l->is_accepted || step_grant_decode(arena, f->payload, f->length, &grant, NULL) < 0)
        return -EBADMSG;
    l->is_accepted = true;
    if (++s->n_accepted < s->n_links)
        return 0;
    s->s.accepted(&grant, s->s.context);
    for (unsigned i = 0; i < s->n_links && s->n_links > 1; i++)
        krun_link_add(&s->links[i], STEP_FRAME_START, NULL, 0);
    return 0;
}

/* The manager has given the step its CPUs on all nodes. Each gets the grant as its own. */
static int
take_grant(struct krun_stream *s, const struct step_frame *f, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct step_grant grant;
    int r = step_grant_decode(arena, f->payload, f->length, &grant, err);

    if (r < 0)
        return r;
    set_links(s, grant.layout.n_nodes);
    r = krun_nodes_dial(s->nodes, &grant.layout, s->links, err);
    if (r < 0) {
        s->n_links = 0;
        return r;
    }
    for (unsigned i = 0; i < s->n_links; i++) {
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

        grant.node = i;
        step_grant_encode(&grant, &text);
        krun_link_add(&s->links[i], STEP_FRAME_GRANT, text.text, text.length);
        krun_link_add(&s->links[i], STEP_FRAME_HELLO, s->s.request, s->s.length);
        s->links[i].node = NULL; /* the name was the arena's */
    }
    return 0;
}

static int
take_of_manager(struct krun_stream *s, const struct step_frame *f, struct error *err)
{
    int r;

    switch (f->type) {
    case STEP_FRAME_WAIT:
        return take_words(s, f, s->s.waiting);
    case STEP_FRAME_REFUSE:
        s->is_stopped = true;
        return take_words(s, f, s->s.refused);
    case STEP_FRAME_NEED:
        strbuf_truncate(&s->places, 0);
        r = krun_nodes_ask_places(s->nodes, &s->places, err);
        return r < 0 ? r : ask(s, err);
    case STEP_FRAME_GRANT:
        return s->n_links > 0 ? error_set(err, -EBADMSG, "a second grant") : take_grant(s, f, err);
    case STEP_FRAME_SIGNAL:
        return s->s.called(f, s->s.context);
    case STEP_FRAME_BEAT:
        s->manager.takes_beats = true;
        return 0;
    default:
        return error_set(err, -EBADMSG, "the step manager's answer is not understood");
    }
}

static int
take_output(struct krun_stream *s, struct krun_link *l, const struct step_frame *f)
{
    struct krun_sink *k = &s->sinks[f->stream];

    if (f->stream == STEP_STDIN
        || step_receive_window_receive(&l->windows[f->stream], f->length) < 0)
        return -EBADMSG;
    if (!k->is_broken)
        s->s.output(f->task, f->stream, f->payload, f->length, &k->out, s->s.context);
    l->owed[f->stream] += f->length;
    credit(s, f->stream);
    return 0;
}

static int
take_exit(struct krun_stream *s, const struct krun_link *l, const struct step_frame *f)
{
    struct step_exit end;

    if (step_frame_exit(f, &end) < 0)
        return -EBADMSG;
    s->s.ended(f->task, &end, s->s.context);
    krun_pmi_end_task(&s->pmi, l, f->task, &end);
    return 0;
}

static int
take_frame(struct krun_stream *s, struct krun_link *l, const struct step_frame *f)
{
    uint32_t number;

    switch (f->type) {
    case STEP_FRAME_WAIT:
        return take_words(s, f, s->s.waiting);
    case STEP_FRAME_REFUSE:
        s->is_stopped = true;
        return take_words(s, f, s->s.refused);
    case STEP_FRAME_ACCEPT:
        return take_accept(s, l, f);
    case STEP_FRAME_DATA:
        return take_output(s, l, f);
    case STEP_FRAME_CREDIT:
        return step_frame_number(f, &number) < 0 || f->stream != STEP_STDIN
                   ? -EBADMSG
                   : step_send_window_credit(&l->input, number);
    case STEP_FRAME_EXIT:
        return take_exit(s, l, f);
    case STEP_FRAME_END:
        s->n_ended += krun_link_take_end(l, f);
        krun_pmi_end_link(&s->pmi, l);
        return 0;
    case STEP_FRAME_SIGNAL:
        return s->s.called(f, s->s.context);
    case STEP_FRAME_BEAT:
        krun_link_take_beat(l, f, &s->manager, s->links, s->n_links);
        return 0;
    default:
        return krun_pmi_take(&s->pmi, l, f);
    }
}

/* One piece at a time, so that output is written meanwhile. */
static int
receive(struct krun_stream *s, struct krun_link *l)
{
    struct step_frame f;
    int r;

    krun_link_receive(l);
    while ((r = krun_link_next(l, &f)) == 1 && (r = take_frame(s, l, &f)) == 0)
        ;
    return r;
}

/* A question for places opens another link, without frames yet. */
static int
receive_of_manager(struct krun_stream *s, struct error *err)
{
    struct step_frame f;
    int r;

    krun_link_receive(&s->manager);
    while ((r = krun_link_next(&s->manager, &f)) == 1)
        if ((r = take_of_manager(s, &f, err)) != 0)
            return r;
    return r < 0 ? error_set(err, r, "the step manager's answer is not understood") : 0;
}

/* ---- Input and output ---- */

/* All nodes get the input; a task that does not want it has none. */
static void
send_input(struct krun_stream *s, const char *bytes, size_t length)
{
    for (unsigned i = 0; i < s->n_links; i++) {
        struct krun_link *l = &s->links[i];

        if (l->has_ended)
            continue;
        step_send_window_take(&l->input, length);
        step_frame_add(&l->out, &(struct step_frame){
                                    .type = STEP_FRAME_DATA,
                                    .stream = STEP_STDIN,
                                    .task = STEP_ALL_TASKS,
                                    .payload = bytes,
                                    .length = length,
                                });
    }
}

/* How much of it all can take. */
static size_t
count_credit(const struct krun_stream *s)
{
    size_t least = INPUT_BYTES;

    for (unsigned i = 0; i < s->n_links; i++)
        if (!s->links[i].has_ended && s->links[i].input.credit < least)
            least = s->links[i].input.credit;
    return least;
}

static void
read_input(struct krun_stream *s)
{
    char bytes[INPUT_BYTES];
    ssize_t n = read(s->s.input_fd, bytes, count_credit(s));

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    s->has_input = n > 0;
    send_input(s, bytes, n > 0 ? (size_t)n : 0);
}

static bool
has_output(const struct krun_stream *s)
{
    for (int i = STEP_STDOUT; i <= STEP_STDERR; i++)
        if (krun_sink_has_bytes(&s->sinks[i]))
            return true;
    return false;
}

/* ---- The run ---- */

static void
take_signals(struct krun_stream *s)
{
    struct signalfd_siginfo info;

    while (read(s->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        s->s.signalled((int)info.ssi_signo, s->s.context);
}

static int
find_wait(const struct krun_stream *s)
{
    int64_t left;

    if (s->late_ms == 0)
        return -1;
    left = s->late_ms - now_ms();
    return left < 0 ? 0 : left > 3600000 ? 3600000 : (int)left;
}

static void
check_late(struct krun_stream *s)
{
    if (s->late_ms == 0 || now_ms() < s->late_ms)
        return;
    s->late_ms = 0;
    s->late(s->s.context);
}

static void
poll_link(struct pollfd *p, const struct krun_link *l)
{
    p->fd = l->fd >= 0 && !l->is_lost ? l->fd : -1;
    p->events = (short)(POLLIN | (krun_link_is_flushed(l) ? 0 : POLLOUT));
    p->revents = 0;
}

static bool
has_bytes(const struct krun_link *l)
{
    return l->fd >= 0 && !l->is_lost && step_channel_has_bytes(&l->channel);
}

static int
find_timeout(struct krun_stream *s)
{
    int wait_ms = krun_link_check(&s->manager, find_wait(s));

    for (unsigned i = 0; i < s->n_links; i++)
        wait_ms = krun_link_check(&s->links[i], wait_ms);
    return wait_ms;
}

static bool
reads_input(const struct krun_stream *s)
{
    return s->has_input && is_running(s) && s->n_ended < s->n_links && count_credit(s) > 0;
}

static int
turn_links(struct krun_stream *s, const struct pollfd *p, struct error *err)
{
    const unsigned n = s->n_links;
    int r = 0;

    for (unsigned i = 0; r == 0 && i < n; i++)
        if ((p[i].revents & (POLLIN | POLLHUP | POLLERR)) || has_bytes(&s->links[i])) {
            r = receive(s, &s->links[i]);
            if (r < 0)
                error_set(err, r, "the connection to the step is out of step: %s", strerror(-r));
        }
    for (unsigned i = 0; i < n; i++)
        krun_link_flush(&s->links[i]);
    return r;
}

static int
turn(struct krun_stream *s, struct error *err)
{
    struct pollfd *p = s->polls, *of_links = s->polls + N_OWN_POLLS;
    bool of_manager;
    int r;

    p[0] = (struct pollfd){.fd = s->signal_fd, .events = POLLIN};
    p[1] = (struct pollfd){.fd = reads_input(s) ? s->s.input_fd : -1, .events = POLLIN};
    for (int i = STEP_STDOUT; i <= STEP_STDERR; i++) {
        const struct krun_sink *k = &s->sinks[i];

        p[1 + i] =
            (struct pollfd){.fd = k->out.length > k->written ? k->fd : -1, .events = POLLOUT};
    }
    poll_link(&p[4], &s->manager);
    for (unsigned i = 0; i < s->n_links; i++)
        poll_link(&of_links[i], &s->links[i]);
    if (poll(p, N_OWN_POLLS + s->n_links, find_timeout(s)) < 0)
        return errno == EINTR ? 0 : error_set(err, -errno, "poll: %s", strerror(errno));
    of_manager = (p[4].revents & (POLLIN | POLLHUP | POLLERR)) || has_bytes(&s->manager);
    if (p[0].revents)
        take_signals(s);
    for (int i = STEP_STDOUT; i <= STEP_STDERR; i++)
        if (p[1 + i].revents) {
            krun_sink_write(&s->sinks[i]);
            credit(s, (enum step_stream)i);
        }
    if (p[1].revents)
        read_input(s);
    r = turn_links(s, of_links, err);
    if (r == 0 && of_manager)
        r = receive_of_manager(s, err); /* it may change the links */
    krun_link_flush(&s->manager);
    check_late(s);
    return r;
}

/* The manager may be restarted once the step has its CPUs. */
static bool
is_lost(const struct krun_stream *s)
{
    if (s->has_manager && s->n_links == 0)
        return s->manager.is_lost;
    for (unsigned i = 0; i < s->n_links; i++)
        if (s->links[i].is_lost && !s->links[i].has_ended)
            return true;
    return false;
}

static int
finish_turn(struct krun_stream *s, struct error *err)
{
    if (s->is_stopped || !is_lost(s))
        return 0;
    if (is_running(s)) {
        s->s.lost(s->nodes, s->links, s->n_links, s->s.context);
        return error_set(err, -ECONNRESET, "the connection to the step was lost");
    }
    /* An agent was restarted before the step began. */
    usleep(AGENT_AGAIN_MS * 1000);
    return ask(s, err);
}

static bool
has_ended(const struct krun_stream *s)
{
    return s->n_links > 0 && s->n_ended == s->n_links && !has_output(s);
}

int
krun_stream_run(struct krun_stream *s, struct error *err)
{
    for (unsigned i = 0; i < s->n_links; i++)
        krun_link_flush(&s->links[i]);
    krun_link_flush(&s->manager);
    while (!s->is_stopped && !has_ended(s)) {
        int r = turn(s, err);

        if (r == 0)
            r = finish_turn(s, err);
        if (r < 0)
            return r;
    }
    if (!s->is_stopped && s->has_manager)
        krun_link_send_ends(&s->manager, s->links, s->n_links);
    return s->is_stopped ? -ECANCELED : 0;
}

void
krun_stream_stop(struct krun_stream *s)
{
    s->is_stopped = true;
}

bool
krun_stream_send(struct krun_stream *s, enum step_frame_type type, uint32_t number)
{
    for (unsigned i = 0; is_running(s) && i < s->n_links; i++)
        step_frame_add_number(&s->links[i].out, type, STEP_STDIN, STEP_ALL_TASKS, number);
    return is_running(s);
}

void
krun_stream_call_at(struct krun_stream *s, int64_t after_ms, void (*late)(void *context))
{
    s->late_ms = now_ms() + after_ms;
    s->late = late;
}

int
krun_stream_open(const struct krun_stream_settings *settings, struct krun_stream **ret_stream,
                 struct error *err)
{
    CLEANUP(krun_stream_freep) struct krun_stream *s = xnew(struct krun_stream);
    sigset_t watched;
    int r;

    s->s = *settings;
    s->signal_fd = s->manager.fd = -1;
    s->has_input = settings->input_fd >= 0;
    strbuf_init(&s->places);
    krun_pmi_begin(&s->pmi, NULL, 0);
    for (int i = STEP_STDOUT; i <= STEP_STDERR; i++)
        krun_sink_open(&s->sinks[i], settings->output_fds[i]);
    sigemptyset(&watched);
    for (const int *signo = settings->signals; *signo != 0; signo++)
        sigaddset(&watched, *signo);
    (void)sigprocmask(SIG_BLOCK, &watched, NULL);
    signal(SIGPIPE, SIG_IGN);
    s->signal_fd = signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC);
    r = krun_nodes_open(settings->place, settings->pod_uid, !settings->has_several_nodes, &s->nodes,
                        err);
    s->has_manager = r == 0 && krun_nodes_are_several(s->nodes);
    if (r == 0)
        r = ask(s, err);
    if (r < 0)
        return r;
    *ret_stream = s;
    s = NULL;
    return 0;
}

void
krun_stream_free(struct krun_stream *s)
{
    if (s == NULL)
        return;
    close_links(s);
    krun_nodes_free(s->nodes);
    krun_pmi_fini(&s->pmi);
    free(s->links);
    free(s->polls);
    strbuf_fini(&s->places);
    if (s->signal_fd >= 0)
        close(s->signal_fd);
    for (int i = STEP_STDOUT; i <= STEP_STDERR; i++)
        if (s->sinks[i].out.text != NULL)
            strbuf_fini(&s->sinks[i].out);
    free(s);
}
