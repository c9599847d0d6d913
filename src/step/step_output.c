/* SPDX-License-Identifier: Apache-2.0 */
/* step_output.c - what the tasks write, on its way to krun
 *
 * A piece goes from the pipe into the link's queue at once, so a task that writes
 * more than krun takes waits in its write(2), as for any pipe. Each stream has one list of
 * outputs that may have more, and each gives one piece in its turn: a task that writes
 * without end does not silence the others.
 */
#include "step/step_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/fd.h"
#include "lib/base/list.h"
#include "lib/base/strbuf.h"
#include "step/step_events.h"
#include "step/step_link.h"

/* A pipe from a task, or the master of its terminal. */
struct task_output {
    struct step_watch watch;
    struct list ready; /* in the list of its stream, while there may be more to read */
    struct step_output *all;
    int fd; /* -1: closed */
    bool is_terminal;
    bool is_task_over; /* of a terminal: nobody opens it again */
    uint32_t rank;
    enum step_stream stream;
};

struct step_output {
    struct step_events *events;
    struct step_link *link;
    struct task_output *tasks; /* STEP_STREAMS for each */
    unsigned n_tasks, n_open;
    struct list ready[STEP_STREAMS];
    struct step_send_window windows[STEP_STREAMS];
};

static struct task_output *
get(const struct step_output *o, unsigned task, enum step_stream stream)
{
    return &o->tasks[task * STEP_STREAMS + stream];
}

struct step_output *
step_output_new(struct step_events *events, struct step_link *link, const unsigned *ranks,
                unsigned n_tasks)
{
    struct step_output *o = xnew(struct step_output);

    o->events = events;
    o->link = link;
    o->n_tasks = n_tasks;
    o->tasks = xnew_array(struct task_output, n_tasks * STEP_STREAMS);
    for (unsigned i = 0; i < n_tasks * STEP_STREAMS; i++) {
        o->tasks[i].all = o;
        o->tasks[i].fd = -1;
        o->tasks[i].rank = ranks[i / STEP_STREAMS];
        o->tasks[i].stream = i % STEP_STREAMS;
        list_init(&o->tasks[i].ready);
    }
    for (enum step_stream i = 0; i < STEP_STREAMS; i++) {
        list_init(&o->ready[i]);
        step_send_window_init(&o->windows[i]);
    }
    return o;
}

static void
note_ready(struct task_output *t)
{
    list_remove(&t->ready);
    list_add_last(&t->all->ready[t->stream], &t->ready);
}

static void
on_output(struct step_watch *w, UNUSED uint32_t events)
{
    note_ready(container_of(w, struct task_output, watch));
}

static void
add(struct task_output *t, int fd)
{
    (void)fd_set_nonblocking(fd, true);
    t->watch.ready = on_output;
    t->fd = fd;
    step_events_add(t->all->events, fd, EPOLLIN, &t->watch);
    t->all->n_open++;
}

int
step_output_open(struct step_output *o, unsigned task, enum step_stream stream, int *ret_fd)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    add(get(o, task, stream), ends[0]);
    *ret_fd = ends[1];
    return 0;
}

void
step_output_add_terminal(struct step_output *o, unsigned task, int fd)
{
    struct task_output *t = get(o, task, STEP_STDOUT);

    t->is_terminal = true;
    add(t, fd);
}

/* There may be more to read of a terminal, or its end, and no event says so. */
void
step_output_end_task(struct step_output *o, unsigned task)
{
    struct task_output *t = get(o, task, STEP_STDOUT);

    if (!t->is_terminal)
        return;
    t->is_task_over = true;
    if (t->fd >= 0)
        note_ready(t);
}

int
step_output_terminal(const struct step_output *o, unsigned task)
{
    const struct task_output *t = get(o, task, STEP_STDOUT);

    return t->is_terminal ? t->fd : -1;
}

void
step_output_close_terminal(struct step_output *o, unsigned task)
{
    struct task_output *t = get(o, task, STEP_STDOUT);

    close(t->fd);
    t->fd = -1;
}

int
step_output_credit(struct step_output *o, enum step_stream stream, uint32_t bytes)
{
    return step_send_window_credit(&o->windows[stream], bytes);
}

unsigned
step_output_count(const struct step_output *o)
{
    return o->n_open;
}

void
step_output_add_notice(struct step_output *o, unsigned task, const char *words)
{
    const size_t length = strlen(words);

    if (length > o->windows[STEP_STDERR].credit)
        return;
    step_send_window_take(&o->windows[STEP_STDERR], length);
    step_frame_add(step_link_out(o->link), &(struct step_frame){
                                               .type = STEP_FRAME_DATA,
                                               .stream = STEP_STDERR,
                                               .task = get(o, task, STEP_STDERR)->rank,
                                               .payload = words,
                                               .length = length,
                                           });
}

static void
end_output(struct task_output *t)
{
    struct step_output *o = t->all;

    list_remove(&t->ready);
    /* A child that is between fork() and exec() has the pipe, too, so close() alone leaves it in
     * the set, and its end would be told once more.
     */
    step_events_remove(o->events, t->fd);
    close(t->fd);
    t->fd = -1;
    o->n_open--;
    step_frame_add(step_link_out(o->link), &(struct step_frame){
                                               .type = STEP_FRAME_DATA,
                                               .stream = t->stream,
                                               .task = t->rank,
                                           });
}

/* EIO: no process has the terminal open, which one may do again while the task runs. */
static bool
is_empty(const struct task_output *t)
{
    return errno == EAGAIN || (errno == EIO && t->is_terminal && !t->is_task_over);
}

/* Reads a piece behind the room for its header. */
static void
send_piece(struct step_output *o, struct task_output *t)
{
    struct strbuf *out = step_link_out(o->link);
    struct step_send_window *w = &o->windows[t->stream];
    const size_t before = out->length;
    const size_t most = w->credit < STEP_FRAME_BYTES ? w->credit : STEP_FRAME_BYTES;
    char *at = strbuf_extend(out, STEP_FRAME_HEADER + most);
    ssize_t n = read(t->fd, at + STEP_FRAME_HEADER, most);

    if (n <= 0) {
        const bool is_interrupted = n < 0 && errno == EINTR;
        const bool has_nothing = n < 0 && is_empty(t);

        strbuf_truncate(out, before);
        if (is_interrupted)
            return;
        if (has_nothing)
            list_remove(&t->ready);
        else
            end_output(t);
        return;
    }
    strbuf_truncate(out, before + STEP_FRAME_HEADER + (size_t)n);
    step_frame_encode_header(
        &(struct step_frame){
            .type = STEP_FRAME_DATA,
            .stream = t->stream,
            .task = t->rank,
            .length = (size_t)n,
        },
        out->text + before);
    step_send_window_take(w, (size_t)n);
    note_ready(t);
}

void
step_output_pump(struct step_output *o)
{
    bool goes_on = true;

    while (goes_on) {
        goes_on = false;
        for (enum step_stream stream = STEP_STDOUT; stream <= STEP_STDERR; stream++) {
            struct list *ready = &o->ready[stream];

            if (list_is_empty(ready) || o->windows[stream].credit == 0
                || !step_link_has_room(o->link))
                continue;
            send_piece(o, container_of(ready->next, struct task_output, ready));
            goes_on = true;
        }
        if (!step_link_has_room(o->link))
            step_link_flush(o->link);
    }
    step_link_flush(o->link);
}

/* Reading is how an end is found, and krun may have given no credit for that, if it takes
 * exactly what was written.
 */
void
step_output_find_ends(struct step_output *o)
{
    for (unsigned i = 0; i < o->n_tasks; i++)
        for (enum step_stream stream = STEP_STDOUT; stream <= STEP_STDERR; stream++) {
            struct task_output *t = get(o, i, stream);
            struct pollfd p = {.fd = t->fd, .events = POLLIN};

            if (t->fd >= 0 && o->windows[stream].credit == 0 && poll(&p, 1, 0) == 1
                && (p.revents & (POLLIN | POLLHUP)) == POLLHUP)
                end_output(t);
        }
}

/* A process outside the step has a task's pipe: a descriptor can be sent anywhere. */
void
step_output_give_up(struct step_output *o)
{
    for (unsigned i = 0; i < o->n_tasks; i++)
        for (enum step_stream stream = STEP_STDOUT; stream <= STEP_STDERR; stream++) {
            struct task_output *t = get(o, i, stream);

            if (t->fd >= 0 && list_is_empty(&t->ready))
                end_output(t);
        }
}
