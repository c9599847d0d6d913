/* SPDX-License-Identifier: Apache-2.0 */
#include "step/step_events.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "lib/base/alloc.h"

#define EVENTS 64

struct step_events {
    int fd;
};

int
step_events_open(struct step_events **ret_events)
{
    const int fd = epoll_create1(EPOLL_CLOEXEC);

    if (fd < 0)
        return -errno;
    *ret_events = xnew(struct step_events);
    (*ret_events)->fd = fd;
    return 0;
}

void
step_events_add(struct step_events *e, int fd, uint32_t events, struct step_watch *w)
{
    struct epoll_event event = {.events = events | EPOLLET, .data.ptr = w};

    if (epoll_ctl(e->fd, EPOLL_CTL_ADD, fd, &event) < 0)
        abort();
}

void
step_events_remove(struct step_events *e, int fd)
{
    (void)epoll_ctl(e->fd, EPOLL_CTL_DEL, fd, NULL);
}

void
step_events_take(struct step_events *e, int wait_ms)
{
    struct epoll_event events[EVENTS];
    const int n = epoll_wait(e->fd, events, EVENTS, wait_ms);

    for (int i = 0; i < n; i++) {
        struct step_watch *w = events[i].data.ptr;

        w->ready(w, events[i].events);
    }
}
