/* SPDX-License-Identifier: Apache-2.0 */
/* step_hold.c - the connection between kalloc and the job that it holds
 *
 * A job of kalloc runs kiln-pause --hold on its first node. That program waits here
 * (AWAIT), kalloc connects from wherever it is (HOLD), and its beats and the end are
 * passed on. kiln-pause judges how long silence is too long, so an agent that is
 * restarted forgets nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/pods/agent_context.h"
#include "agent/steps/step_socket.h"
#include "agent/steps/steps.h"
#include "agent/steps/steps_state.h"
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
    struct list link; /* in the job's */
    struct step_channel *connection;
    struct step_reader in;
    struct fdwatch *watch;
    struct step_job *job;
    bool is_of_job; /* kiln-pause */
};

static void
free_hold(struct step_hold *h)
{
    list_remove(&h->link);
    fdwatch_free(h->watch);
    step_reader_fini(&h->in);
    step_socket_close(h->connection);
    free(h);
}

void
step_hold_end(struct step_job *job)
{
    list_foreach_safe(at, &job->holds) free_hold(container_of(at, struct step_hold, link));
}

static struct step_hold *
find_of_job(const struct step_job *job)
{
    list_foreach(at, &job->holds)
    {
        struct step_hold *h = container_of(at, struct step_hold, link);

        if (h->is_of_job)
            return h;
    }
    return NULL;
}

/* A job that is suspended reads nothing; then the socket has beats enough. */
static bool
pass_on(const struct step_job *job, enum step_frame_type type, const struct step_exit *end)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const struct step_hold *to = find_of_job(job);

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
take_frames(struct step_hold *h)
{
    struct step_exit end = {0};
    struct step_frame f;
    bool has_beat = false, has_end = false;
    int r;

    while ((r = step_reader_next(&h->in, &f)) == 1) {
        if (f.type == STEP_FRAME_BEAT)
            has_beat = true;
        else if (f.type == STEP_FRAME_EXIT && step_frame_exit(&f, &end) == 0)
            has_end = true;
        else
            return false;
        end.message = NULL; /* the frame's */
        end.message_length = 0;
    }
    if (r < 0 || step_reader_left(&h->in) > LEFT_MOST)
        return false;
    if (h->is_of_job)
        return true;
    if (has_beat)
        (void)pass_on(h->job, STEP_FRAME_BEAT, NULL);
    /* Without an answer, kalloc tries again. */
    if (has_end && !pass_on(h->job, STEP_FRAME_EXIT, &end))
        return false;
    if (has_end)
        step_socket_answer(h->connection, STEP_FRAME_END, "");
    return true;
}

static void
on_readable(UNUSED int fd, UNUSED unsigned ready, void *context)
{
    struct step_hold *h = context;

    do {
        size_t room;
        char *at = step_reader_space(&h->in, &room);
        ssize_t n = step_channel_receive(h->connection, at, room);

        if (n == -EAGAIN)
            return;
        if (n > 0)
            step_reader_add(&h->in, (size_t)n);
        if (n <= 0 || !take_frames(h)) {
            free_hold(h);
            return;
        }
    } while (step_channel_has_bytes(h->connection));
}

static int
find_job(struct steps *s, const struct step_asked *asked, struct step_job **ret_job,
         struct error *err)
{
    CLEANUP_FREE char *text = xstrndup(asked->text, asked->length);
    const char *name = asked->peer.pod != NULL ? asked->peer.pod : text;
    unsigned n = 0;
    int r = steps_check_caller(s, name, asked->peer.uid, err);

    if (r < 0)
        return r;
    if (asked->type == STEP_FRAME_AWAIT && asked->peer.pod != NULL)
        return error_set(err, -EINVAL, "only the job itself waits for the one who holds it");
    *ret_job = steps_get_job(s, step_nodes_find_pod(s, name));
    list_foreach(at, &(*ret_job)->holds) n++;
    if ((*ret_job)->is_ending)
        return error_set(err, -ECANCELED, "the job is ending");
    if (n >= HOLDS_MOST)
        return error_set(err, -EBUSY, "the job is held by too many already");
    return 0;
}

void
step_hold_take(struct steps *s, struct step_channel *connection, const struct step_asked *asked)
{
    struct step_job *job = NULL;
    struct step_hold *h;
    struct error err = {0};

    if (find_job(s, asked, &job, &err) < 0) {
        step_socket_answer(connection, STEP_FRAME_REFUSE, err.text);
        step_socket_close(connection);
        return;
    }
    h = asked->type == STEP_FRAME_AWAIT ? find_of_job(job) : NULL;
    if (h != NULL)
        free_hold(h); /* its process is gone, or is not the only one */
    h = xnew(struct step_hold);
    h->job = job;
    h->connection = connection;
    h->is_of_job = asked->type == STEP_FRAME_AWAIT;
    h->watch = fdwatch_new(s->s.agent->loop, connection->fd, FDWATCH_READ, on_readable, h);
    list_add_last(&job->holds, &h->link);
    if (h->is_of_job)
        return;
    step_socket_answer(connection, STEP_FRAME_BEAT, "");
    (void)pass_on(job, STEP_FRAME_BEAT, NULL);
}
