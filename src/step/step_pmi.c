/* SPDX-License-Identifier: Apache-2.0 */
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
#include "step/step_ending.h"
#include "step/step_state.h"

static const char left_words[] = "has ended and other tasks wait for it";

struct pmi_client {
    struct step_watch watch;
    int fd;             /* -1: closed, or not yet there */
    struct strbuf rest; /* the begin of a line */
    uint32_t code;      /* of its task, which has ended */
};

struct step_pmi {
    struct pmi_server *server;
    struct pmi_client *clients; /* by index of the task */
    unsigned n_clients;
};

void
step_pmi_open(struct step *s)
{
    struct step_pmi *p;

    if (s->request.mpi != NULL && strcmp(s->request.mpi, "pmi1") != 0)
        return;
    p = s->pmi = xnew(struct step_pmi);
    p->server = pmi_server_new(&s->grant.layout, s->grant.node);
    p->n_clients = s->n_tasks;
    p->clients = xnew_array(struct pmi_client, s->n_tasks + 1);
    for (unsigned i = 0; i < s->n_tasks; i++) {
        p->clients[i].fd = -1;
        strbuf_init(&p->clients[i].rest);
    }
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
send_lines(struct step *s)
{
    CLEANUP_STRBUF struct strbuf lines = STRBUF_INIT;
    size_t at = 0, length;

    pmi_server_take_lines(s->pmi->server, &lines);
    do {
        length = lines.length - at < STEP_FRAME_BYTES ? lines.length - at : STEP_FRAME_BYTES;
        while (length > 0 && lines.text[at + length - 1] != '\n')
            length--;
        step_frame_add(&s->link.out, &(struct step_frame){
                                         .type = STEP_FRAME_PMI,
                                         .task = STEP_ALL_TASKS,
                                         .payload = lines.text + at,
                                         .length = length,
                                     });
        at += length;
    } while (length > 0);
}

static void
take_line(struct step *s, unsigned index, const char *line, size_t length)
{
    CLEANUP_STRBUF struct strbuf answer = STRBUF_INIT;
    struct step_pmi *p = s->pmi;
    struct pmi_client *c = &p->clients[index];
    const uint32_t rank = s->tasks[index].rank;

    switch (pmi_server_take(p->server, index, line, length, &answer)) {
    case PMI_GO_ON:
        send_answer(c, &answer);
        break;
    case PMI_BARRIER:
        send_answer(c, &answer);
        if (s->grant.layout.n_nodes > 1)
            send_lines(s);
        else
            open_barrier(p);
        break;
    case PMI_ABORT:
        step_ending_begin(s, rank, (uint32_t)pmi_server_code(p->server), "has aborted the step",
                          true);
        break;
    case PMI_LEFT:
        index = pmi_server_left(p->server);
        step_ending_begin(s, s->tasks[index].rank, p->clients[index].code, left_words, true);
        break;
    case PMI_BROKEN:
        drop(c);
        break;
    }
}

/* Takes the lines that are complete. */
static void
take_bytes(struct step *s, unsigned index, const char *bytes, size_t length)
{
    struct pmi_client *c = &s->pmi->clients[index];

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
            take_line(s, index, line.text, line.length);
            strbuf_fini(&line);
        } else {
            take_line(s, index, bytes, n);
        }
        bytes += n + 1;
        length -= n + 1;
    }
}

static void
read_client(struct step *s, unsigned index)
{
    struct pmi_client *c = &s->pmi->clients[index];
    char bytes[PMI_LINE_MOST];

    while (c->fd >= 0) {
        ssize_t n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

        if (n > 0)
            take_bytes(s, index, bytes, (size_t)n);
        else if (n == 0 || (errno != EAGAIN && errno != EINTR))
            drop(c);
        else if (errno == EAGAIN)
            return;
    }
}

static void
on_client(struct step *s, struct step_watch *w, UNUSED uint32_t events)
{
    struct pmi_client *c = container_of(w, struct pmi_client, watch);

    read_client(s, (unsigned)(c - s->pmi->clients));
}

int
step_pmi_connect(struct step *s, struct step_task *t, int *ret_fd)
{
    struct pmi_client *c;
    int ends[2];

    if (s->pmi == NULL)
        return 0;
    c = &s->pmi->clients[t - s->tasks];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    c->fd = ends[0];
    c->watch.ready = on_client;
    step_watch(s, c->fd, EPOLLIN, &c->watch);
    *ret_fd = ends[1];
    return 0;
}

int
step_pmi_receive(struct step *s, const struct step_frame *f)
{
    if (s->pmi == NULL)
        return -EBADMSG;
    if (f->length > 0)
        return pmi_server_merge(s->pmi->server, f->payload, f->length);
    open_barrier(s->pmi);
    return 0;
}

/* Its last requests may still be unread. */
void
step_pmi_end_task(struct step *s, const struct step_task *t, uint32_t code)
{
    struct step_pmi *p = s->pmi;
    const unsigned index = (unsigned)(t - s->tasks);

    if (p == NULL)
        return;
    read_client(s, index);
    drop(&p->clients[index]);
    p->clients[index].code = code;
    if (pmi_server_end(p->server, index))
        step_ending_begin(s, t->rank, code, left_words, true);
}
