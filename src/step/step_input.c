/* SPDX-License-Identifier: Apache-2.0 */
/* step_input.c - what krun reads, on its way to the tasks
 *
 * All tasks read the same bytes, each at its own speed: the slowest task decides when
 * krun may send more. A task that has closed its input is not waited for.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/fd.h"
#include "step/step_state.h"

#define RING STEP_WINDOW_BYTES

void
step_input_drop(UNUSED struct step *s, struct step_task *t)
{
    if (t->input_fd >= 0)
        close(t->input_fd);
    t->input_fd = -1;
}

/* Writes to one task what it has not got. */
static void
write_on(struct step *s, struct step_task *t)
{
    const struct step_input *in = &s->input;

    while (t->input_fd >= 0 && t->read < in->end) {
        const size_t at = t->read % RING;
        size_t length = (size_t)(in->end - t->read);
        ssize_t n;

        if (length > RING - at)
            length = RING - at;
        n = write(t->input_fd, in->ring + at, length);
        if (n >= 0)
            t->read += (uint64_t)n;
        else if (errno == EAGAIN || (errno == EIO && t->has_terminal))
            return;
        else if (errno != EINTR)
            step_input_drop(s, t);
    }
    if (in->is_over && !t->has_terminal)
        step_input_drop(s, t);
}

/* The bytes that every task has got make room for others. On a node where no task
 * has asked for input, they do at once: tasks on other nodes want the rest.
 */
static void
credit(struct step *s)
{
    struct step_input *in = &s->input;
    uint64_t least = in->end;
    uint32_t credit;
    bool has_reader = false;

    for (unsigned i = 0; i < s->n_tasks; i++)
        if (s->tasks[i].input_fd >= 0) {
            has_reader = true;
            if (s->tasks[i].read < least)
                least = s->tasks[i].read;
        }
    if ((!has_reader && s->n_inputs > 0) || least == in->begin)
        return;
    credit = step_receive_window_consume(&in->window, (size_t)(least - in->begin));
    in->begin = least;
    if (credit > 0)
        step_frame_add_number(&s->link.out, STEP_FRAME_CREDIT, STEP_STDIN, STEP_ALL_TASKS, credit);
}

static void
on_writable(struct step *s, struct step_watch *w, uint32_t events)
{
    struct step_task *t = container_of(w, struct step_task, input_watch);

    if ((events & (EPOLLERR | EPOLLHUP)) && !t->has_terminal)
        step_input_drop(s, t);
    else
        write_on(s, t);
    credit(s);
}

int
step_input_open(struct step *s, struct step_task *t, int *ret_fd)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    step_input_add(s, t, ends[1]);
    *ret_fd = ends[0];
    return 0;
}

void
step_input_add(struct step *s, struct step_task *t, int fd)
{
    (void)fd_set_nonblocking(fd, true);
    t->input_fd = fd;
    t->input_watch.ready = on_writable;
    s->n_inputs++;
    step_watch(s, t->input_fd, EPOLLOUT, &t->input_watch);
}

void
step_input_write(struct step *s, struct step_task *t)
{
    write_on(s, t);
    credit(s);
}

int
step_input_receive(struct step *s, const struct step_frame *f)
{
    struct step_input *in = &s->input;
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
    for (unsigned i = 0; i < s->n_tasks; i++)
        write_on(s, &s->tasks[i]);
    credit(s);
    return 0;
}
