/* SPDX-License-Identifier: Apache-2.0 */
/* step_output.c - what the tasks write, on its way to krun
 *
 * A piece goes from the pipe into the link's queue at once, so a task that writes
 * more than krun takes waits in its write(2), as for any pipe.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "step/step_state.h"

static struct step_output *
output_of(struct list *link)
{
    return container_of(link, struct step_output, ready);
}

static void
on_output(struct step *s, struct step_watch *w, UNUSED uint32_t events)
{
    struct step_output *o = container_of(w, struct step_output, watch);

    list_remove(&o->ready);
    list_add_last(&s->ready[o->stream], &o->ready);
}

int
step_output_open(struct step *s, struct step_task *t, enum step_stream stream, int *ret_fd)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    step_output_add(s, t, stream, ends[0]);
    *ret_fd = ends[1];
    return 0;
}

void
step_output_add(struct step *s, struct step_task *t, enum step_stream stream, int fd)
{
    struct step_output *o = &t->outputs[stream];

    (void)fd_set_nonblocking(fd, true);
    *o = (struct step_output){
        .watch.ready = on_output,
        .fd = fd,
        .owner = t,
        .stream = stream,
    };
    list_init(&o->ready);
    step_watch(s, o->fd, EPOLLIN, &o->watch);
    s->n_outputs++;
}

void
step_output_check(struct step *s, struct step_task *t, enum step_stream stream)
{
    if (t->outputs[stream].fd >= 0)
        on_output(s, &t->outputs[stream].watch, 0);
}

static void
end_output(struct step *s, struct step_output *o)
{
    list_remove(&o->ready);
    /* A child that is between fork() and exec() has the pipe, too, so close() alone leaves it in
     * the set, and its end would be told once more.
     */
    (void)epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, o->fd, NULL);
    close(o->fd);
    o->fd = -1;
    s->n_outputs--;
    step_frame_add(&s->link.out, &(struct step_frame){
                                     .type = STEP_FRAME_DATA,
                                     .stream = o->stream,
                                     .task = o->owner->rank,
                                 });
}

/* EIO: no process has the terminal open, which one may do again while the task runs. */
static bool
is_empty(const struct step_output *o)
{
    return errno == EAGAIN || (errno == EIO && o->owner->has_terminal && o->owner->pid != 0);
}

/* Reads a piece behind the room for its header. */
static void
send_piece(struct step *s, struct step_output *o)
{
    struct strbuf *out = &s->link.out;
    struct step_send_window *w = &s->windows[o->stream];
    const size_t before = out->length;
    const size_t most = w->credit < STEP_FRAME_BYTES ? w->credit : STEP_FRAME_BYTES;
    char *at = strbuf_extend(out, STEP_FRAME_HEADER + most);
    ssize_t n = read(o->fd, at + STEP_FRAME_HEADER, most);

    if (n <= 0) {
        const bool is_interrupted = n < 0 && errno == EINTR;
        const bool has_nothing = n < 0 && is_empty(o);

        strbuf_truncate(out, before);
        if (is_interrupted)
            return;
        if (has_nothing)
            list_remove(&o->ready);
        else
            end_output(s, o);
        return;
    }
    strbuf_truncate(out, before + STEP_FRAME_HEADER + (size_t)n);
    step_frame_encode_header(
        &(struct step_frame){
            .type = STEP_FRAME_DATA,
            .stream = o->stream,
            .task = o->owner->rank,
            .length = (size_t)n,
        },
        out->text + before);
    step_send_window_take(w, (size_t)n);
    list_remove(&o->ready);
    list_add_last(&s->ready[o->stream], &o->ready);
}

void
step_output_pump(struct step *s)
{
    bool goes_on = true;

    while (goes_on) {
        goes_on = false;
        for (enum step_stream stream = STEP_STDOUT; stream <= STEP_STDERR; stream++) {
            struct list *ready = &s->ready[stream];

            if (list_is_empty(ready) || s->windows[stream].credit == 0 || !step_link_has_room(s))
                continue;
            send_piece(s, output_of(ready->next));
            goes_on = true;
        }
        if (!step_link_has_room(s))
            step_link_flush(s);
    }
    step_link_flush(s);
}

/* Reading is how an end is found, and krun may have given no credit for that, if it takes
 * exactly what was written.
 */
void
step_output_find_ends(struct step *s)
{
    for (unsigned i = 0; i < s->n_tasks; i++)
        for (enum step_stream stream = STEP_STDOUT; stream <= STEP_STDERR; stream++) {
            struct step_output *o = &s->tasks[i].outputs[stream];
            struct pollfd p = {.fd = o->fd, .events = POLLIN};

            if (o->fd >= 0 && s->windows[stream].credit == 0 && poll(&p, 1, 0) == 1
                && (p.revents & (POLLIN | POLLHUP)) == POLLHUP)
                end_output(s, o);
        }
}

/* A process outside the step has a task's pipe: a descriptor can be sent anywhere. */
void
step_output_give_up(struct step *s)
{
    for (unsigned i = 0; i < s->n_tasks; i++)
        for (enum step_stream stream = STEP_STDOUT; stream <= STEP_STDERR; stream++) {
            struct step_output *o = &s->tasks[i].outputs[stream];

            if (o->fd >= 0 && list_is_empty(&o->ready))
                end_output(s, o);
        }
}
