/* SPDX-License-Identifier: Apache-2.0 */
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
#include <time.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_grant.h"

/* How long an agent may be away, and how often it is tried. */
#define AGENT_AWAY_MS  60000
#define AGENT_AGAIN_MS 100
#define INPUT_BYTES    (32u << 10)
/* A pipe that poll calls writable takes as many bytes at once. */
#define SAFE_BYTES     4096u
/* Less than this in the queue: the sender may send more. */
#define QUEUE_LOW      (64u << 10)

/* One of krun's descriptors, and the bytes that wait to be written to it. */
struct krun_sink {
    int fd;
    bool may_block; /* a write of more than SAFE_BYTES */
    bool is_broken; /* nobody reads it any more */
    struct strbuf out;
    size_t written;
    size_t owed; /* bytes of the tasks that are in `out`, and not credited */
    struct step_receive_window window;
};

struct krun_stream {
    struct krun_stream_settings s;
    int fd;
    struct step_reader in;
    struct strbuf out;
    size_t sent;
    struct krun_sink sinks[STEP_STREAMS];
    struct step_send_window input_window;
    bool has_input;
    bool is_accepted, has_ended, is_stopped, is_lost;
    int64_t asked_ms; /* when the agent was first tried */
    int signal_fd;
    int64_t late_ms; /* 0: no call is wanted */
    void (*late)(void *context);
};

static int64_t
now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- The connection ---- */

/* A path may be longer than an address can hold, so its directory is opened first. */
static int
connect_once(const char *path)
{
    const char *slash = strrchr(path, '/');
    CLEANUP_FREE char *folder = xstrndup(path, slash != NULL ? (size_t)(slash - path) : 0);
    CLEANUP_FD int dir = open(slash != NULL ? folder : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int r;

    if (fd < 0 || dir < 0) {
        r = -errno;
        if (fd >= 0)
            close(fd);
        return r;
    }
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%.80s", dir,
             slash != NULL ? slash + 1 : path);
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0) {
        (void)fd_set_nonblocking(fd, true);
        return fd;
    }
    r = -errno;
    close(fd);
    return r;
}

static int
connect_agent(struct krun_stream *s, struct error *err)
{
    for (;;) {
        int fd = connect_once(s->s.socket);

        if (fd >= 0) {
            s->fd = fd;
            return 0;
        }
        if ((fd != -ECONNREFUSED && fd != -ENOENT && fd != -EAGAIN)
            || now_ms() - s->asked_ms > AGENT_AWAY_MS)
            return error_set(err, fd, "the agent of this node cannot be reached at '%s': %s",
                             s->s.socket, strerror(-fd));
        usleep(AGENT_AGAIN_MS * 1000);
    }
}

static int
ask(struct krun_stream *s, struct error *err)
{
    int r = connect_agent(s, err);

    if (r < 0)
        return r;
    step_reader_fini(&s->in);
    strbuf_truncate(&s->out, 0);
    s->sent = 0;
    step_frame_add(&s->out, &(struct step_frame){
                                .type = STEP_FRAME_HELLO,
                                .task = STEP_ALL_TASKS,
                                .payload = s->s.request,
                                .length = s->s.length,
                            });
    return 0;
}

static void
flush(struct krun_stream *s)
{
    while (!s->is_lost && s->sent < s->out.length) {
        ssize_t n = send(s->fd, s->out.text + s->sent, s->out.length - s->sent, MSG_NOSIGNAL);

        if (n > 0)
            s->sent += (size_t)n;
        else if (errno == EAGAIN)
            return;
        else if (errno != EINTR)
            return; /* what the other side has sent before is read first */
    }
    strbuf_truncate(&s->out, 0);
    s->sent = 0;
}

static void
credit(struct krun_stream *s, enum step_stream stream)
{
    struct krun_sink *k = &s->sinks[stream];
    uint32_t n;

    if (k->owed == 0 || k->out.length - k->written >= QUEUE_LOW)
        return;
    n = step_receive_window_consume(&k->window, k->owed);
    k->owed = 0;
    if (n > 0)
        step_frame_add_number(&s->out, STEP_FRAME_CREDIT, stream, STEP_ALL_TASKS, n);
}

/* ---- Frames ---- */

static int
take_words(struct krun_stream *s, const struct step_frame *f,
           void (*tell)(const char *words, void *context))
{
    CLEANUP_FREE char *words = xstrndup(f->payload, f->length);

    tell(words, s->s.context);
    return 0;
}

static int
take_grant(struct krun_stream *s, const struct step_frame *f)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct step_grant grant;

    if (s->is_accepted || step_grant_decode(arena, f->payload, f->length, &grant, NULL) < 0)
        return -EBADMSG;
    s->is_accepted = true;
    s->s.accepted(&grant, s->s.context);
    return 0;
}

static int
take_output(struct krun_stream *s, const struct step_frame *f)
{
    struct krun_sink *k = &s->sinks[f->stream];

    if (f->stream == STEP_STDIN || step_receive_window_receive(&k->window, f->length) < 0)
        return -EBADMSG;
    if (!k->is_broken)
        s->s.output(f->task, f->stream, f->payload, f->length, &k->out, s->s.context);
    k->owed += f->length;
    credit(s, f->stream);
    return 0;
}

static int
take_exit(struct krun_stream *s, const struct step_frame *f)
{
    struct step_exit end;

    if (step_frame_exit(f, &end) < 0)
        return -EBADMSG;
    s->s.ended(f->task, &end, s->s.context);
    return 0;
}

static int
take_frame(struct krun_stream *s, const struct step_frame *f)
{
    uint32_t number;

    switch (f->type) {
    case STEP_FRAME_WAIT:
        return take_words(s, f, s->s.waiting);
    case STEP_FRAME_REFUSE:
        s->is_stopped = true;
        return take_words(s, f, s->s.refused);
    case STEP_FRAME_ACCEPT:
        return take_grant(s, f);
    case STEP_FRAME_DATA:
        return take_output(s, f);
    case STEP_FRAME_CREDIT:
        return step_frame_number(f, &number) < 0 || f->stream != STEP_STDIN
                   ? -EBADMSG
                   : step_send_window_credit(&s->input_window, number);
    case STEP_FRAME_EXIT:
        return take_exit(s, f);
    case STEP_FRAME_END:
        s->has_ended = true;
        return 0;
    case STEP_FRAME_BEAT:
        return 0;
    default:
        return -EBADMSG;
    }
}

/* One piece at a time, so that output is written meanwhile. */
static int
receive(struct krun_stream *s)
{
    struct step_frame f;
    size_t room;
    char *at = step_reader_space(&s->in, &room);
    ssize_t n = recv(s->fd, at, room, MSG_DONTWAIT);
    int r;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0) {
        s->is_lost = true;
        return 0;
    }
    step_reader_add(&s->in, (size_t)n);
    while ((r = step_reader_next(&s->in, &f)) == 1 && (r = take_frame(s, &f)) == 0)
        ;
    return r;
}

/* ---- Input and output ---- */

static void
end_input(struct krun_stream *s)
{
    s->has_input = false;
    step_frame_add(&s->out, &(struct step_frame){
                                .type = STEP_FRAME_DATA,
                                .stream = STEP_STDIN,
                                .task = STEP_ALL_TASKS,
                            });
}

static void
read_input(struct krun_stream *s)
{
    char bytes[INPUT_BYTES];
    size_t most = s->input_window.credit < sizeof(bytes) ? s->input_window.credit : sizeof(bytes);
    ssize_t n = read(s->s.input_fd, bytes, most);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        end_input(s);
        return;
    }
    step_send_window_take(&s->input_window, (size_t)n);
    step_frame_add(&s->out, &(struct step_frame){
                                .type = STEP_FRAME_DATA,
                                .stream = STEP_STDIN,
                                .task = STEP_ALL_TASKS,
                                .payload = bytes,
                                .length = (size_t)n,
                            });
}

/* Output that nobody reads is dropped: the tasks would not get SIGPIPE anyway. */
static void
write_sink(struct krun_stream *s, enum step_stream stream)
{
    struct krun_sink *k = &s->sinks[stream];
    size_t length = k->out.length - k->written;
    ssize_t n;

    if (k->may_block && length > SAFE_BYTES)
        length = SAFE_BYTES;
    n = write(k->fd, k->out.text + k->written, length);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0) {
        k->is_broken = true;
        k->written = k->out.length;
    } else
        k->written += (size_t)n;
    if (k->written == k->out.length) {
        strbuf_truncate(&k->out, 0);
        k->written = 0;
    }
    credit(s, stream);
}

static bool
has_output(const struct krun_stream *s)
{
    for (int i = STEP_STDOUT; i <= STEP_STDERR; i++)
        if (s->sinks[i].out.length > s->sinks[i].written)
            return true;
    return false;
}

static void
open_sink(struct krun_sink *k, int fd)
{
    struct stat st;

    k->fd = fd;
    strbuf_init(&k->out);
    k->may_block = fstat(fd, &st) < 0 || !S_ISREG(st.st_mode);
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

static int
turn(struct krun_stream *s)
{
    const bool reads =
        s->is_accepted && s->has_input && !s->has_ended && s->input_window.credit > 0;
    struct pollfd p[] = {
        {.fd = s->is_lost ? -1 : s->fd,
         .events = (short)(POLLIN | (s->sent < s->out.length ? POLLOUT : 0))},
        {.fd = s->signal_fd, .events = POLLIN},
        {.fd = reads ? s->s.input_fd : -1, .events = POLLIN},
        {.fd = -1, .events = POLLOUT},
        {.fd = -1, .events = POLLOUT},
    };
    int r = 0;

    for (int i = STEP_STDOUT; i <= STEP_STDERR; i++)
        if (s->sinks[i].out.length > s->sinks[i].written)
            p[2 + i].fd = s->sinks[i].fd;
    if (poll(p, ARRAY_SIZE(p), find_wait(s)) < 0)
        return errno == EINTR ? 0 : -errno;
    if (p[1].revents)
        take_signals(s);
    for (int i = STEP_STDOUT; i <= STEP_STDERR; i++)
        if (p[2 + i].revents)
            write_sink(s, (enum step_stream)i);
    if (p[2].revents)
        read_input(s);
    if (p[0].revents & (POLLIN | POLLHUP | POLLERR))
        r = receive(s);
    flush(s);
    check_late(s);
    return r;
}

int
krun_stream_run(struct krun_stream *s, struct error *err)
{
    flush(s);
    while (!s->is_stopped && !(s->has_ended && !has_output(s))) {
        int r = turn(s);

        if (r < 0)
            return error_set(err, r, "the connection to the step is out of step: %s", strerror(-r));
        if (!s->is_lost || s->has_ended || s->is_stopped)
            continue;
        if (s->is_accepted)
            return error_set(err, -ECONNRESET, "the connection to the step was lost");
        /* The agent was restarted before the step began. */
        close(s->fd);
        s->fd = -1;
        s->is_lost = false;
        usleep(AGENT_AGAIN_MS * 1000);
        r = ask(s, err);
        if (r < 0)
            return r;
    }
    return s->is_stopped ? -ECANCELED : 0;
}

void
krun_stream_stop(struct krun_stream *s)
{
    s->is_stopped = true;
}

void
krun_stream_signal(struct krun_stream *s, uint32_t task, int signal_number)
{
    if (s->is_accepted)
        step_frame_add_number(&s->out, STEP_FRAME_SIGNAL, STEP_STDIN, task,
                              (uint32_t)signal_number);
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
    s->fd = s->signal_fd = -1;
    s->has_input = settings->input_fd >= 0;
    strbuf_init(&s->out);
    step_send_window_init(&s->input_window);
    for (int i = STEP_STDOUT; i <= STEP_STDERR; i++)
        open_sink(&s->sinks[i], settings->output_fds[i]);
    sigemptyset(&watched);
    for (const int *signo = settings->signals; *signo != 0; signo++)
        sigaddset(&watched, *signo);
    (void)sigprocmask(SIG_BLOCK, &watched, NULL);
    signal(SIGPIPE, SIG_IGN);
    s->signal_fd = signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC);
    s->asked_ms = now_ms();
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
    if (s->fd >= 0)
        close(s->fd);
    if (s->signal_fd >= 0)
        close(s->signal_fd);
    step_reader_fini(&s->in);
    strbuf_fini(&s->out);
    for (int i = STEP_STDOUT; i <= STEP_STDERR; i++)
        if (s->sinks[i].out.text != NULL)
            strbuf_fini(&s->sinks[i].out);
    free(s);
}
