/* SPDX-License-Identifier: Apache-2.0 */
/* step_input.c - what krun reads, on its way to the tasks
 *
 * All tasks read the same bytes, each at its own speed: the slowest task decides when
 * krun may send more. A task that has closed its input is not waited for. So the bytes that
 * not all tasks have got are at most one window, and fit one ring.
 */
#include "step/step_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_frames.h"
#include "step/step_events.h"
#include "step/step_link.h"

#define RING STEP_WINDOW_BYTES

struct task_input {
    struct step_watch watch;
    struct step_input *all;
    int fd; /* -1: none, or closed; with a terminal, a second descriptor of its master */
    bool has_terminal;
    uint64_t read; /* bytes of the input that the task has got */
};

struct step_input {
    struct step_events *events;
    struct step_link *link;
    struct task_input *tasks;
    unsigned n_tasks;
    unsigned n_opened; /* so far: with none, the input is not kept */
    char *ring;
    uint64_t begin, end; /* positions in the stream */
    struct step_receive_window window;
    bool is_over; /* nothing follows */
};

struct step_input *
step_input_new(struct step_events *events, struct step_link *link, unsigned n_tasks)
{
    struct step_input *in = xnew(struct step_input);

    in->events = events;
    in->link = link;
    in->n_tasks = n_tasks;
    in->tasks = xnew_array(struct task_input, n_tasks);
    for (unsigned i = 0; i < n_tasks; i++) {
        in->tasks[i].all = in;
        in->tasks[i].fd = -1;
    }
    return in;
}

static void
drop(struct task_input *t)
{
    if (t->fd >= 0)
        close(t->fd);
    t->fd = -1;
}

void
step_input_drop(struct step_input *in, unsigned task)
{
    drop(&in->tasks[task]);
}

/* Writes to one task what it has not got. */
static void
write_on(struct step_input *in, struct task_input *t)
{
    while (t->fd >= 0 && t->read < in->end) {
        const size_t at = t->read % RING;
        size_t length = (size_t)(in->end - t->read);
        ssize_t n;

        if (length > RING - at)
            length = RING - at;
        n = write(t->fd, in->ring + at, length);
        if (n >= 0)
            t->read += (uint64_t)n;
        else if (errno == EAGAIN || (errno == EIO && t->has_terminal))
            return;
        else if (errno != EINTR)
            drop(t);
    }
    if (in->is_over && !t->has_terminal)
        drop(t);
}

/* The bytes that every task has got make room for others. On a node where no task
 * has asked for input, they do at once: tasks on other nodes want the rest.
 */
static void
credit(struct step_input *in)
{
    uint64_t least = in->end;
    uint32_t credit;
    bool has_reader = false;

    for (unsigned i = 0; i < in->n_tasks; i++)
        if (in->tasks[i].fd >= 0) {
            has_reader = true;
            if (in->tasks[i].read < least)
                least = in->tasks[i].read;
        }
    if ((!has_reader && in->n_opened > 0) || least == in->begin)
        return;
    credit = step_receive_window_consume(&in->window, (size_t)(least - in->begin));
    in->begin = least;
    if (credit > 0)
        step_frame_add_number(step_link_out(in->link), STEP_FRAME_CREDIT, STEP_STDIN,
                              STEP_ALL_TASKS, credit);
}

static void
on_writable(struct step_watch *w, uint32_t events)
{
    struct task_input *t = container_of(w, struct task_input, watch);

    if ((events & (EPOLLERR | EPOLLHUP)) && !t->has_terminal)
        drop(t);
    else
        write_on(t->all, t);
    credit(t->all);
}

static void
add(struct step_input *in, struct task_input *t, int fd)
{
    (void)fd_set_nonblocking(fd, true);
    t->fd = fd;
    t->watch.ready = on_writable;
    in->n_opened++;
    step_events_add(in->events, fd, EPOLLOUT, &t->watch);
}

int
step_input_open(struct step_input *in, unsigned task, int *ret_fd)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    add(in, &in->tasks[task], ends[1]);
    *ret_fd = ends[0];
    return 0;
}

void
step_input_add_terminal(struct step_input *in, unsigned task, int fd)
{
    in->tasks[task].has_terminal = true;
    add(in, &in->tasks[task], fd);
}

bool
step_input_write(struct step_input *in, unsigned task)
{
    struct task_input *t = &in->tasks[task];

    if (t->read == in->end)
        return false;
    write_on(in, t);
    credit(in);
    return true;
}

bool
step_input_is_over(const struct step_input *in)
{
    return in->is_over;
}

char
step_input_last(const struct step_input *in)
{
    return in->end > 0 ? in->ring[(in->end - 1) % RING] : '\n';
}

int
step_input_fd(const struct step_input *in, unsigned task)
{
    return in->tasks[task].fd;
}

int
step_input_receive(struct step_input *in, const struct step_frame *f)
{
    int r;

    if (in->is_over)
        return -EBADMSG;
    r = step_receive_window_receive(&in->window, f->length);
    if (r < 0)
        return r;
    if (in->ring == NULL)
        in->ring = xmalloc(RING);
    for (size_t done = 0; done < f->length;) {
        const size_t at = in->end % RING;
        size_t n = f->length - done < RING - at ? f->length - done : RING - at;

        memcpy(in->ring + at, f->payload + done, n);
        in->end += n;
        done += n;
    }
    in->is_over = f->length == 0;
    for (unsigned i = 0; i < in->n_tasks; i++)
        write_on(in, &in->tasks[i]);
    credit(in);
    return 0;
}
