/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/fdwatch.h"

#include <event2/event.h>
#include <event2/event_struct.h>

#include "lib/base/alloc.h"
#include "lib/loop/base.h"

struct fdwatch {
    struct event event;
    struct event_base *base;
    int fd;
    unsigned wanted;
    fdwatch_fn fn;
    void *arg;
};

static void
on_ready(evutil_socket_t fd, short events, void *arg)
{
    struct fdwatch *w = arg;
    unsigned ready = ((events & EV_READ) != 0 ? FDWATCH_READ : 0)
                     | ((events & EV_WRITE) != 0 ? FDWATCH_WRITE : 0)
                     | ((events & EV_CLOSED) != 0 ? FDWATCH_END : 0);

    w->fn(fd, ready, w->arg);
}

void
fdwatch_free(struct fdwatch *w)
{
    if (w == NULL)
        return;
    if (w->wanted != 0)
        event_del(&w->event);
    free(w);
}

struct fdwatch *
fdwatch_new(struct loop *loop, int fd, unsigned wanted, fdwatch_fn fn, void *arg)
{
    struct fdwatch *w = xnew(struct fdwatch);

    w->base = loop_base(loop);
    w->fd = fd;
    w->fn = fn;
    w->arg = arg;
    fdwatch_want(w, wanted);
    return w;
}

void
fdwatch_want(struct fdwatch *w, unsigned wanted)
{
    short events = EV_PERSIST;

    if (wanted == w->wanted)
        return;
    if (w->wanted != 0)
        event_del(&w->event);
    w->wanted = wanted;
    if (wanted == 0)
        return;
    if ((wanted & FDWATCH_READ) != 0)
        events |= EV_READ;
    if ((wanted & FDWATCH_WRITE) != 0)
        events |= EV_WRITE;
    if ((wanted & FDWATCH_END) != 0)
        events |= EV_CLOSED;
    event_assign(&w->event, w->base, w->fd, events, on_ready, w);
    event_add(&w->event, NULL);
}
