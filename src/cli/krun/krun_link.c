/* SPDX-License-Identifier: Apache-2.0 */
/* An agent may be restarted at any time, which must not fail a step that has not begun:
 * connecting is repeated for a minute. Once the step runs, there is no reconnection; a
 * connection that is lost is a step that is lost, because nobody could tell which bytes of its
 * streams have arrived.
 */
#include "cli/krun/krun_link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"

/* How long an agent may be away, and how often it is tried. */
#define AGENT_AWAY_US  (60 * INT64_C(1000000))
#define AGENT_AGAIN_US 100000
#define AGENT_SLOW_US  (3 * INT64_C(1000000))
/* An agent answers a question at once. */
#define ANSWER_MS      30000
#define SILENCE_MS     5000  /* which is told, if anything is */
#define TELL_MS        10000 /* between two words to the step manager, if not all nodes have told */

/* A link has to send the rest of shared frames. */
struct krun_share {
    struct krun_share *next;
    struct krun_shared *shared;
    size_t at;
};

struct krun_shared *
krun_shared_new(void)
{
    struct krun_shared *s = xnew(struct krun_shared);

    strbuf_init(&s->text);
    s->n_users = 1;
    return s;
}

void
krun_shared_release(struct krun_shared *s)
{
    if (--s->n_users > 0)
        return;
    strbuf_fini(&s->text);
    free(s);
}

static void
drop_share(struct krun_link *l)
{
    struct krun_share *first = l->shares;

    l->shares = first->next;
    krun_shared_release(first->shared);
    free(first);
}

void
krun_link_open(struct krun_link *l, int fd, const struct step_keys *keys)
{
    *l = (struct krun_link){.fd = fd};
    step_channel_init(&l->channel, fd, keys);
    strbuf_init(&l->out);
    step_send_window_init(&l->input);
}

void
krun_link_close(struct krun_link *l)
{
    if (l->fd < 0)
        return;
    step_channel_fini(&l->channel);
    close(l->fd);
    l->fd = -1;
    step_reader_fini(&l->in);
    strbuf_fini(&l->out);
    while (l->shares != NULL)
        drop_share(l);
}

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

static const char *told_program; /* NULL: nobody is told of waits */

void
krun_link_announce_waits(const char *program)
{
    told_program = program;
}

static void
report_wait(int64_t waited_us, bool *has_told)
{
    if (waited_us < AGENT_SLOW_US || *has_told || told_program == NULL)
        return;
    *has_told = true;
    fprintf(stderr,
            "%s: the agent of this node does not answer; it may be starting, and is waited for, a "
            "minute at most\n",
            told_program);
}

int
krun_link_await_answer(int fd, short events)
{
    static atomic_flag has_told = ATOMIC_FLAG_INIT;
    struct pollfd p = {.fd = fd, .events = events};
    int r = poll(&p, 1, SILENCE_MS);

    if (r != 0)
        return r;
    if (told_program != NULL && !atomic_flag_test_and_set(&has_told))
        fprintf(stderr,
                "%s: an agent does not answer; it may be stopped or very busy, and is waited for, "
                "half a minute at most\n",
                told_program);
    return poll(&p, 1, ANSWER_MS - SILENCE_MS);
}

int
krun_link_dial_own(const char *socket, bool is_impatient, int *ret_fd, struct error *err)
{
    const int64_t began_us = clock_monotonic_us(&clock_system);
    bool has_told = false;

    for (;;) {
        int fd = connect_once(socket);

        if (fd >= 0) {
            *ret_fd = fd;
            return 0;
        }
        if (is_impatient || (fd != -ECONNREFUSED && fd != -ENOENT && fd != -EAGAIN)
            || clock_monotonic_us(&clock_system) - began_us > AGENT_AWAY_US)
            return error_set(err, fd,
                             "the agent of this node cannot be reached at '%s': %s (is "
                             "kiln-agent running there?)",
                             socket, strerror(-fd));
        report_wait(clock_monotonic_us(&clock_system) - began_us, &has_told);
        usleep(AGENT_AGAIN_US);
    }
}

void
krun_link_add(struct krun_link *l, enum step_frame_type type, const void *payload, size_t length)
{
    step_frame_add(&l->out, &(struct step_frame){
                                .type = type,
                                .task = STEP_ALL_TASKS,
                                .payload = payload,
                                .length = length,
                            });
}

void
krun_link_share(struct krun_link *l, struct krun_shared *shared)
{
    struct krun_share **end = &l->shares;
    struct krun_share *s = xnew(struct krun_share);

    s->shared = shared;
    shared->n_users++;
    while (*end != NULL)
        end = &(*end)->next;
    *end = s;
}

/* Moves the next shared frame into the queue, which is empty. */
static bool
take_shared(struct krun_link *l)
{
    struct krun_share *s = l->shares;
    size_t length;

    if (s == NULL || l->is_lost)
        return false;
    length = step_frame_bytes(s->shared->text.text + s->at);
    strbuf_truncate(&l->out, 0);
    strbuf_add(&l->out, s->shared->text.text + s->at, length);
    l->sent = 0;
    s->at += length;
    if (s->at == s->shared->text.length)
        drop_share(l);
    return true;
}

/* After an error, what the other side has sent before is read first. Returns false if there is
 * no room in the connection.
 */
static bool
flush_queue(struct krun_link *l)
{
    while (!l->is_lost && l->sent < l->out.length) {
        ssize_t n = step_channel_send(&l->channel, l->out.text + l->sent, l->out.length - l->sent);

        if (n < 0) {
            strbuf_drop_sent(&l->out, &l->sent);
            return false;
        }
        l->sent += (size_t)n;
    }
    strbuf_truncate(&l->out, 0);
    l->sent = 0;
    return true;
}

void
krun_link_flush(struct krun_link *l)
{
    do {
        if (!flush_queue(l))
            return;
    } while (take_shared(l));
    (void)step_channel_flush(&l->channel);
}

bool
krun_link_is_flushed(const struct krun_link *l)
{
    return l->sent == l->out.length && l->shares == NULL && step_channel_is_flushed(&l->channel);
}

int
krun_link_check(struct krun_link *l, int wait_ms)
{
    int look_ms;

    if (l->fd < 0 || l->is_lost)
        return wait_ms;
    if (step_channel_has_bytes(&l->channel))
        return 0;
    look_ms = step_channel_check(&l->channel, clock_monotonic_us(&clock_system) / 1000);
    if (look_ms == -ETIMEDOUT) {
        l->is_lost = true;
        return 0;
    }
    return look_ms < 0 || (wait_ms >= 0 && wait_ms < look_ms) ? wait_ms : look_ms;
}

void
krun_link_receive(struct krun_link *l)
{
    do {
        size_t room;
        char *at = step_reader_space(&l->in, &room);
        ssize_t n = step_channel_receive(&l->channel, at, room);

        if (n > 0)
            step_reader_add(&l->in, (size_t)n);
        else if (n != -EAGAIN)
            l->is_lost = true;
        if (n <= 0)
            return;
    } while (step_channel_has_bytes(&l->channel) && step_reader_left(&l->in) < STEP_FRAME_BYTES);
}

int
krun_link_next(struct krun_link *l, struct step_frame *ret_frame)
{
    return step_reader_next(&l->in, ret_frame);
}

/* A kiln-step of an earlier release tells no figures. */
bool
krun_link_take_end(struct krun_link *l, const struct step_frame *f)
{
    if (l->has_ended)
        return false;
    l->has_ended = true;
    (void)step_figures_parse(f->payload, f->length, &l->figures);
    return true;
}

static void
report_sum(struct krun_link *manager, enum step_frame_type type, const struct krun_link *links,
           unsigned n)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct step_figures sum = {0};

    for (unsigned i = 0; i < n; i++)
        if (links[i].figures.version != 0)
            step_figures_add(&sum, &links[i].figures);
    if (sum.version == 0)
        return;
    step_figures_format(&sum, &text);
    krun_link_add(manager, type, text.text, text.length);
    krun_link_flush(manager);
}

void
krun_link_send_ends(struct krun_link *manager, const struct krun_link *links, unsigned n)
{
    report_sum(manager, STEP_FRAME_END, links, n);
}

static bool
have_all_told(const struct krun_link *links, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (!links[i].has_news && !links[i].has_ended)
            return false;
    return true;
}

void
krun_link_take_beat(struct krun_link *l, const struct step_frame *f, struct krun_link *manager,
                    struct krun_link *links, unsigned n)
{
    const int64_t now_ms = clock_boottime_us() / 1000;

    if (l->has_ended || step_figures_parse(f->payload, f->length, &l->figures) < 0)
        return;
    l->has_news = true;
    if (!manager->takes_beats || manager->is_lost
        || (!have_all_told(links, n) && now_ms - manager->told_ms < TELL_MS))
        return;
    report_sum(manager, STEP_FRAME_BEAT, links, n);
    manager->told_ms = now_ms;
    for (unsigned i = 0; i < n; i++)
        links[i].has_news = false;
}

int
krun_link_wait(struct krun_link *l, struct step_frame *ret_frame, struct error *err)
{
    for (;;) {
        int r;

        krun_link_flush(l);
        r = krun_link_next(l, ret_frame);
        if (r != 0)
            return r > 0 ? 0 : error_set(err, r, "the agent's answer is not understood");
        if (l->is_lost)
            return error_set(err, -ECONNRESET, "the agent has closed the connection");
        if (!step_channel_has_bytes(&l->channel)) {
            r = krun_link_await_answer(l->fd, krun_link_is_flushed(l) ? POLLIN
                                                                      : (short)(POLLIN | POLLOUT));
            if (r == 0)
                return error_set(err, -ETIMEDOUT, "the agent does not answer");
        }
        krun_link_receive(l);
    }
}
