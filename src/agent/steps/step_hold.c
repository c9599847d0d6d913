/* SPDX-License-Identifier: Apache-2.0 */
/* step_hold.c - the connection between kalloc and the job that it holds
 *
 * A job of kalloc runs kiln-pause --hold on its first node. That program waits here
 * (AWAIT), kalloc connects from wherever it is (HOLD), and its beats and the end are
 * passed on. kiln-pause judges how long silence is too long, so an agent that is
 * restarted forgets nothing.
 */
#include "agent/steps/step_hold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/steps/step_pace.h"
#include "agent/steps/step_socket.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/strbuf.h"
#include "lib/loop/fdwatch.h"
#include "lib/step/step_channel.h"
#include "lib/step/step_frames.h"

#define HOLDS_MOST 8u /* of a job; a kalloc has one */
/* Of a frame that is not complete. Those that a connection has are small, but the header of
 * another one would have the reader keep what follows.
 */
#define LEFT_MOST  256u

struct step_hold {
    struct loop *loop;
    struct list ends;
};

/* One end: a connection of kalloc, or of the job itself. */
struct hold_end {
    struct list link;
    struct step_hold *hold;
    struct step_channel *connection;
    struct step_reader in;
    struct fdwatch *watch;
    struct step_pace *pace;
    bool is_of_job; /* kiln-pause */
};

static void
free_end(struct hold_end *e)
{
    list_remove(&e->link);
    step_pace_free(e->pace);
    fdwatch_free(e->watch);
    step_reader_fini(&e->in);
    step_socket_close(e->connection);
    free(e);
}

struct step_hold *
step_hold_new(struct loop *loop)
{
    struct step_hold *h = xnew(struct step_hold);

    h->loop = loop;
    list_init(&h->ends);
    return h;
}

void
step_hold_free(struct step_hold *h)
{
    if (h == NULL)
        return;
    list_foreach_safe(at, &h->ends) free_end(container_of(at, struct hold_end, link));
    free(h);
}

static struct hold_end *
find_of_job(const struct step_hold *h)
{
    list_foreach(at, &h->ends)
    {
        struct hold_end *e = container_of(at, struct hold_end, link);

        if (e->is_of_job)
            return e;
    }
    return NULL;
}

/* A job that is suspended reads nothing; then the socket has beats enough. */
static bool
pass_on(const struct step_hold *h, enum step_frame_type type, const struct step_exit *end)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const struct hold_end *to = find_of_job(h);

    if (to == NULL)
        return false;
    if (type == STEP_FRAME_EXIT)
        step_frame_add_exit(&out, 0, end);
    else
        step_frame_add(&out, &(struct step_frame){.type = type, .task = STEP_ALL_TASKS});
    return step_channel_send(to->connection, out.text, out.length) == (ssize_t)out.length;
}

/* Any number of beats in one piece is one. False: the connection is over. */
static bool
take_frames(struct hold_end *e)
{
    struct step_exit end = {0};
    struct step_frame f;
    bool has_beat = false, has_end = false;
    int r;

    while ((r = step_reader_next(&e->in, &f)) == 1) {
        if (f.type == STEP_FRAME_BEAT)
            has_beat = true;
        else if (f.type == STEP_FRAME_EXIT && step_frame_exit(&f, &end) == 0)
            has_end = true;
        else
            return false;
        end.message = NULL; /* the frame's */
        end.message_length = 0;
    }
    if (r < 0 || step_reader_left(&e->in) > LEFT_MOST)
        return false;
    if (e->is_of_job)
        return true;
    if (has_beat)
        (void)pass_on(e->hold, STEP_FRAME_BEAT, NULL);
    /* Without an answer, kalloc tries again. */
    if (has_end && !pass_on(e->hold, STEP_FRAME_EXIT, &end))
        return false;
    if (has_end)
        step_socket_answer(e->connection, STEP_FRAME_END, "");
    return true;
}

static void
on_readable(UNUSED int fd, UNUSED unsigned ready, void *context)
{
    struct hold_end *e = context;
    size_t bytes = 0;

    do {
        size_t room;
        char *at = step_reader_space(&e->in, &room);
        ssize_t n = step_channel_receive(e->connection, at, room);

        if (n == -EAGAIN)
            break;
        if (n > 0)
            step_reader_add(&e->in, (size_t)n);
        bytes += n > 0 ? (size_t)n : 0;
        if (n <= 0 || !take_frames(e)) {
            free_end(e);
            return;
        }
    } while (step_channel_has_bytes(e->connection));
    step_pace_take(e->pace, bytes);
}

static int
check(const struct step_hold *h, const struct step_asked *asked, struct error *err)
{
    unsigned n = 0;

    if (asked->type == STEP_FRAME_AWAIT && asked->peer.pod != NULL)
        return error_set(err, -EINVAL, "only the job itself waits for the one who holds it");
    list_foreach(at, &h->ends) n++;
    return n >= HOLDS_MOST ? error_set(err, -EBUSY, "the job is held by too many already") : 0;
}

void
step_hold_take(struct step_hold *h, struct step_channel *connection, const struct step_asked *asked)
{
    struct hold_end *e;
    struct error err = {0};

    if (check(h, asked, &err) < 0) {
        step_socket_answer(connection, STEP_FRAME_REFUSE, err.text);
        step_socket_close(connection);
        return;
    }
    e = asked->type == STEP_FRAME_AWAIT ? find_of_job(h) : NULL;
    if (e != NULL)
        free_end(e); /* its process is gone, or is not the only one */
    e = xnew(struct hold_end);
    e->hold = h;
    e->connection = connection;
    e->is_of_job = asked->type == STEP_FRAME_AWAIT;
    e->watch = fdwatch_new(h->loop, connection->fd, FDWATCH_READ, on_readable, e);
    e->pace = step_pace_new(h->loop, e->watch);
    list_add_last(&h->ends, &e->link);
    if (e->is_of_job)
        return;
    step_socket_answer(connection, STEP_FRAME_BEAT, "");
    (void)pass_on(h, STEP_FRAME_BEAT, NULL);
}
