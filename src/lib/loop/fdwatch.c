/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/fdwatch.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/macro.h"
#include "lib/loop/base.h"

struct fdwatch {
    struct event event;
    struct event_base *base;
    int fd;
    int end_fd; /* an epoll for the end of the descriptor's peer; -1: not wanted yet */
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

static void
on_end(UNUSED evutil_socket_t end_fd, UNUSED short events, void *arg)
{
    struct fdwatch *w = arg;

    w->fn(w->fd, FDWATCH_END, w->arg);
}

void
fdwatch_free(struct fdwatch *w)
{
    if (w == NULL)
        return;
    if (w->wanted != 0)
        event_del(&w->event);
    if (w->end_fd >= 0)
        close(w->end_fd);
    free(w);
}

struct fdwatch *
fdwatch_new(struct loop *loop, int fd, unsigned wanted, fdwatch_fn fn, void *arg)
{
    struct fdwatch *w = xnew(struct fdwatch);

    w->base = loop_base(loop);
    w->fd = fd;
    w->end_fd = -1;
    w->fn = fn;
    w->arg = arg;
    fdwatch_want(w, wanted);
    return w;
}

/* Libevent tells the error of a peer that has reset its connection only to events that read
 * or write: one for the end alone hears nothing, and the loop finds the descriptor ready for
 * ever.
 */
static bool
open_end(struct fdwatch *w)
{
    struct epoll_event e = {.events = EPOLLRDHUP};

    if (w->end_fd >= 0)
        return true;
    w->end_fd = epoll_create1(EPOLL_CLOEXEC);
    if (w->end_fd >= 0 && epoll_ctl(w->end_fd, EPOLL_CTL_ADD, w->fd, &e) == 0)
        return true;
    if (w->end_fd >= 0)
        close(w->end_fd);
    w->end_fd = -1;
    return false;
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
    if (wanted == FDWATCH_END && open_end(w)) {
        event_assign(&w->event, w->base, w->end_fd, EV_READ | EV_PERSIST, on_end, w);
        event_add(&w->event, NULL);
        return;
    }
    if ((wanted & FDWATCH_READ) != 0)
        events |= EV_READ;
    if ((wanted & FDWATCH_WRITE) != 0)
        events |= EV_WRITE;
    if ((wanted & FDWATCH_END) != 0)
        events |= EV_CLOSED;
    event_assign(&w->event, w->base, w->fd, events, on_ready, w);
    event_add(&w->event, NULL);
}
