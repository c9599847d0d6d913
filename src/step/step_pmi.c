/* SPDX-License-Identifier: Apache-2.0 */
/* step_pmi.c - carries the lines of PMI-1 between the tasks, the server and krun
 *
 * The protocol is lib/step/pmi_server.h. It is decided here who may hurt whom: a client that
 * does not keep to the protocol, or does not read, loses its connection and nobody else's, and
 * one that is gone while others wait for it ends the step, for they would wait for ever.
 */
#include "step/step_pmi.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/step/pmi_server.h"
#include "lib/step/step_frames.h"
#include "lib/step/step_grant.h"
#include "step/step_ending.h"
#include "step/step_events.h"
#include "step/step_link.h"

static const char left_words[] = "has ended and other tasks wait for it";

struct pmi_client {
    struct step_watch watch;
    struct step_pmi *all;
    int fd;             /* -1: closed, or not yet there */
    struct strbuf rest; /* the begin of a line */
    uint32_t code;      /* of its task, which has ended */
};

struct step_pmi {
    struct step_events *events;
    struct step_link *link;
    struct step_ending *ending;
    const unsigned *ranks;
    bool has_other_nodes;
    struct pmi_server *server;
    struct pmi_client *clients; /* by index of the task */
    unsigned n_clients;
};

struct step_pmi *
step_pmi_new(const struct step_grant *grant, struct step_events *events, struct step_link *link,
             struct step_ending *ending)
{
    const struct step_layout_node *place = &grant->layout.nodes[grant->node];
    struct step_pmi *p = xnew(struct step_pmi);

    p->events = events;
    p->link = link;
    p->ending = ending;
    p->ranks = place->tasks;
    p->has_other_nodes = grant->layout.n_nodes > 1;
    p->server = pmi_server_new(&grant->layout, grant->node);
    p->n_clients = place->n_tasks;
    p->clients = xnew_array(struct pmi_client, p->n_clients + 1);
    for (unsigned i = 0; i < p->n_clients; i++) {
        p->clients[i].all = p;
        p->clients[i].fd = -1;
        strbuf_init(&p->clients[i].rest);
    }
    return p;
}

/* --- ends --------------------------------------------------------------------
 */

static void
drop(struct pmi_client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    strbuf_fini(&c->rest);
    strbuf_init(&c->rest);
}

/* --- requests ------------------------------------------------------------------
 */

/* A client waits for its answer, so there is room for it, unless it is no client of PMI. */
static void
send_answer(struct pmi_client *c, const struct strbuf *answer)
{
    ssize_t n;

    if (c->fd < 0 || answer->length == 0)
        return;
    do {
        n = send(c->fd, answer->text, answer->length, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n != (ssize_t)answer->length)
        drop(c);
}

static void
open_barrier(struct step_pmi *p)
{
    for (unsigned i = 0; i < p->n_clients; i++) {
        CLEANUP_STRBUF struct strbuf answer = STRBUF_INIT;

        if (pmi_server_leave(p->server, i, &answer))
            send_answer(&p->clients[i], &answer);
    }
}

/* In frames of whole lines; then one without a line. */
static void
send_lines(struct step_pmi *p)
{
    CLEANUP_STRBUF struct strbuf lines = STRBUF_INIT;
    size_t at = 0, length;

    pmi_server_take_lines(p->server, &lines);
    do {
        length = lines.length - at < STEP_FRAME_BYTES ? lines.length - at : STEP_FRAME_BYTES;
        while (length > 0 && lines.text[at + length - 1] != '\n')
            length--;
        step_frame_add(step_link_out(p->link), &(struct step_frame){
                                                   .type = STEP_FRAME_PMI,
                                                   .task = STEP_ALL_TASKS,
                                                   .payload = lines.text + at,
                                                   .length = length,
                                               });
        at += length;
    } while (length > 0);
}

static void
take_line(struct step_pmi *p, unsigned index, const char *line, size_t length)
{
    CLEANUP_STRBUF struct strbuf answer = STRBUF_INIT;
    struct pmi_client *c = &p->clients[index];

    switch (pmi_server_take(p->server, index, line, length, &answer)) {
    case PMI_GO_ON:
        send_answer(c, &answer);
        break;
    case PMI_BARRIER:
        send_answer(c, &answer);
        if (p->has_other_nodes)
            send_lines(p);
        else
            open_barrier(p);
        break;
    case PMI_ABORT:
        step_ending_begin(p->ending, p->ranks[index], (uint32_t)pmi_server_code(p->server),
                          "has aborted the step");
        break;
    case PMI_LEFT:
        index = pmi_server_left(p->server);
        step_ending_begin(p->ending, p->ranks[index], p->clients[index].code, left_words);
        break;
    case PMI_BROKEN:
        drop(c);
        break;
    }
}

/* Takes the lines that are complete. */
static void
take_bytes(struct step_pmi *p, unsigned index, const char *bytes, size_t length)
{
    struct pmi_client *c = &p->clients[index];

    while (length > 0 && c->fd >= 0) {
        const char *newline = memchr(bytes, '\n', length);
        const size_t n = newline != NULL ? (size_t)(newline - bytes) : length;

        if (c->rest.length + n >= PMI_LINE_MOST) {
            drop(c);
            return;
        }
        if (newline == NULL || c->rest.length > 0)
            strbuf_add(&c->rest, bytes, n);
        if (newline == NULL)
            return;
        if (c->rest.length > 0) {
            struct strbuf line = c->rest;

            strbuf_init(&c->rest);
            take_line(p, index, line.text, line.length);
            strbuf_fini(&line);
        } else {
            take_line(p, index, bytes, n);
        }
        bytes += n + 1;
        length -= n + 1;
    }
}

static void
read_client(struct step_pmi *p, unsigned index)
{
    struct pmi_client *c = &p->clients[index];
    char bytes[PMI_LINE_MOST];

    while (c->fd >= 0) {
        ssize_t n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

        if (n > 0)
            take_bytes(p, index, bytes, (size_t)n);
        else if (n == 0 || (errno != EAGAIN && errno != EINTR))
            drop(c);
        else if (errno == EAGAIN)
            return;
    }
}

static void
on_client(struct step_watch *w, UNUSED uint32_t events)
{
    struct pmi_client *c = container_of(w, struct pmi_client, watch);

    read_client(c->all, (unsigned)(c - c->all->clients));
}

int
step_pmi_connect(struct step_pmi *p, unsigned task, int *ret_fd)
{
    struct pmi_client *c;
    int ends[2];

    if (p == NULL)
        return 0;
    c = &p->clients[task];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    c->fd = ends[0];
    c->watch.ready = on_client;
    step_events_add(p->events, c->fd, EPOLLIN, &c->watch);
    *ret_fd = ends[1];
    return 0;
}

int
step_pmi_receive(struct step_pmi *p, const struct step_frame *f)
{
    if (p == NULL)
        return -EBADMSG;
    if (f->length > 0)
        return pmi_server_merge(p->server, f->payload, f->length);
    open_barrier(p);
    return 0;
}

/* Its last requests may still be unread. */
void
step_pmi_end_task(struct step_pmi *p, unsigned task, uint32_t code)
{
    if (p == NULL)
        return;
    read_client(p, task);
    drop(&p->clients[task]);
    p->clients[task].code = code;
    if (pmi_server_end(p->server, task))
        step_ending_begin(p->ending, p->ranks[task], code, left_words);
}
