/* SPDX-License-Identifier: Apache-2.0 */
/* step_link.c - the connection to krun */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>

#include "lib/base/macro.h"
#include "step/step_ending.h"
#include "step/step_pmi.h"
#include "step/step_pmix.h"
#include "step/step_state.h"

/* Bytes that wait to be sent, above which no more output is read from tasks. */
#define QUEUE_MOST (128u << 10)

static void
break_link(struct step *s)
{
    s->link.is_lost = true;
    strbuf_truncate(&s->link.out, 0);
    s->link.sent = 0;
}

bool
step_link_has_room(const struct step *s)
{
    return s->link.out.length - s->link.sent < QUEUE_MOST;
}

bool
step_link_is_flushed(const struct step *s)
{
    return s->link.out.length == s->link.sent && step_channel_is_flushed(&s->link.channel);
}

void
step_link_flush(struct step *s)
{
    struct step_link *l = &s->link;
    int r;

    while (!l->is_lost && l->sent < l->out.length) {
        ssize_t n = step_channel_send(&l->channel, l->out.text + l->sent, l->out.length - l->sent);

        if (n == -EAGAIN) {
            strbuf_drop_sent(&l->out, &l->sent);
            return;
        }
        if (n > 0)
            l->sent += (size_t)n;
        else
            break_link(s);
    }
    strbuf_truncate(&l->out, 0);
    l->sent = 0;
    if (!l->is_lost && (r = step_channel_flush(&l->channel)) < 0 && r != -EAGAIN)
        break_link(s);
}

static int
take_frame(struct step *s, const struct step_frame *f)
{
    uint16_t rows, columns;
    uint32_t number;
    int r;

    switch (f->type) {
    case STEP_FRAME_DATA:
        return f->stream == STEP_STDIN ? step_input_receive(s, f) : -EBADMSG;
    case STEP_FRAME_CREDIT:
        if (f->stream == STEP_STDIN)
            return -EBADMSG;
        r = step_frame_number(f, &number);
        return r < 0 ? r : step_send_window_credit(&s->windows[f->stream], number);
    case STEP_FRAME_SIGNAL:
        r = step_frame_number(f, &number);
        if (r == 0) {
            step_result_note_signal(s);
            if (number == SIGTERM || number == SIGKILL)
                s->ask_ms = 0;
            step_tasks_signal(s, f->task, (int)number);
        }
        return r;
    case STEP_FRAME_SIZE:
        r = step_frame_size(f, &rows, &columns);
        if (r == 0)
            step_terminal_resize(s, rows, columns);
        return r;
    case STEP_FRAME_START:
        return step_begin(s);
    case STEP_FRAME_PMI:
        return step_pmi_receive(s, f);
    case STEP_FRAME_PMIX:
        return step_pmix_receive(s, f);
    case STEP_FRAME_ABORT:
        return step_ending_receive(s, f);
    case STEP_FRAME_BEAT:
        return 0;
    default:
        return -EBADMSG;
    }
}

/* A krun that breaks the protocol is as good as none. */
static void
receive(struct step *s)
{
    struct step_link *l = &s->link;

    for (;;) {
        struct step_frame f;
        size_t room;
        char *at = step_reader_space(&l->in, &room);
        ssize_t n = step_channel_receive(&l->channel, at, room);
        int r;

        if (n == -EAGAIN)
            return;
        if (n <= 0) {
            break_link(s);
            return;
        }
        step_reader_add(&l->in, (size_t)n);
        while ((r = step_reader_next(&l->in, &f)) == 1 && (r = take_frame(s, &f)) == 0)
            ;
        if (r < 0) {
            break_link(s);
            return;
        }
    }
}

static void
on_link(struct step *s, UNUSED struct step_watch *w, uint32_t events)
{
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        receive(s);
    step_link_flush(s);
}

void
step_link_open(struct step *s)
{
    static const unsigned never = 0;

    /* The agent's, for krun's request; now krun may be stopped for any time. */
    (void)setsockopt(s->link.channel.fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &never, sizeof(never));
    s->link.watch.ready = on_link;
    step_watch(s, s->link.channel.fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP, &s->link.watch);
}
