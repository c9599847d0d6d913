/* SPDX-License-Identifier: Apache-2.0 */
/* step_link.c - the connection to krun
 *
 * What is sent waits in one queue, in the order in which it happened, for the end of a task
 * must not overtake its output. The queue is short, and output is read from the tasks only
 * while it has room: so a krun that reads slowly slows its tasks, and takes no memory here.
 */
#include "step/step_link.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_channel.h"
#include "lib/step/step_frames.h"
#include "step/step_events.h"

/* Bytes that wait to be sent, above which no more output is read from tasks. */
#define QUEUE_MOST (128u << 10)

struct step_link {
    struct step_watch watch;
    struct step_channel channel;
    struct step_reader in;
    struct strbuf out;
    size_t sent; /* of out */
    bool is_lost;
    step_link_take_fn *take;
    void *context;
};

struct step_link *
step_link_new(int fd)
{
    struct step_link *l = xnew(struct step_link);

    step_channel_init(&l->channel, fd, NULL);
    strbuf_init(&l->out);
    return l;
}

void
step_link_set_keys(struct step_link *l, const struct step_keys *keys)
{
    step_channel_init(&l->channel, l->channel.fd, keys);
}

void
step_link_lose(struct step_link *l)
{
    l->is_lost = true;
    strbuf_truncate(&l->out, 0);
    l->sent = 0;
}

struct strbuf *
step_link_out(struct step_link *l)
{
    return &l->out;
}

bool
step_link_has_room(const struct step_link *l)
{
    return l->out.length - l->sent < QUEUE_MOST;
}

bool
step_link_is_flushed(const struct step_link *l)
{
    return l->out.length == l->sent && step_channel_is_flushed(&l->channel);
}

bool
step_link_is_received(const struct step_link *l)
{
    return step_channel_is_received(&l->channel);
}

bool
step_link_is_lost(const struct step_link *l)
{
    return l->is_lost;
}

bool
step_link_is_sealed(const struct step_link *l)
{
    return l->channel.out_keys != NULL;
}

void
step_link_flush(struct step_link *l)
{
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
            step_link_lose(l);
    }
    strbuf_truncate(&l->out, 0);
    l->sent = 0;
    if (!l->is_lost && (r = step_channel_flush(&l->channel)) < 0 && r != -EAGAIN)
        step_link_lose(l);
}

int
step_link_check(struct step_link *l, int64_t now_ms)
{
    const int look_ms = step_channel_check(&l->channel, now_ms);

    if (look_ms == -ETIMEDOUT)
        step_link_lose(l);
    return look_ms < 0 ? -1 : look_ms;
}

static void
receive(struct step_link *l)
{
    for (;;) {
        struct step_frame f;
        size_t room;
        char *at = step_reader_space(&l->in, &room);
        ssize_t n = step_channel_receive(&l->channel, at, room);
        int r;

        if (n == -EAGAIN)
            return;
        if (n <= 0) {
            step_link_lose(l);
            return;
        }
        step_reader_add(&l->in, (size_t)n);
        while ((r = step_reader_next(&l->in, &f)) == 1 && (r = l->take(l->context, &f)) == 0)
            ;
        if (r < 0) {
            step_link_lose(l);
            return;
        }
    }
}

static void
on_link(struct step_watch *w, uint32_t events)
{
    struct step_link *l = container_of(w, struct step_link, watch);

    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        receive(l);
    step_link_flush(l);
}

void
step_link_open(struct step_link *l, struct step_events *events, step_link_take_fn *take,
               void *context)
{
    static const unsigned never = 0;

    /* The agent's, for krun's request; now krun may be stopped for any time. */
    (void)setsockopt(l->channel.fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &never, sizeof(never));
    l->take = take;
    l->context = context;
    l->watch.ready = on_link;
    step_events_add(events, l->channel.fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP, &l->watch);
}
