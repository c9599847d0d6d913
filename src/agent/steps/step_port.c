/* SPDX-License-Identifier: Apache-2.0 */
/* step_port.c - the handshake with strangers, before they cost anything
 *
 * A credential takes a worker some 100 us and a stranger nothing to send, so few are read at once,
 * and only of those whose whole line is here. A connection has no user until then, so they
 * are not counted for one: the oldest without a line gives way. A caller that sends more than
 * its line before the answer is none.
 */
#include "agent/steps/step_port.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/auth/exec_grant.h"
#include "lib/auth/nonces.h"
#include "lib/auth/step_handshake.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/http/http_listener.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "lib/loop/workers.h"

#define READ_AT_ONCE   4 /* credentials; each occupies a worker and munged */
#define ACCEPT_AT_ONCE 64
#define PAUSE_MS       500
#define LOST_MS        30000 /* without an acknowledgement of what was sent */

struct step_port {
    struct step_port_settings s;
    char *cluster, *node;
    struct fdwatch *watch;
    struct timer *sweep, *pause;
    struct nonces *nonces;
    int64_t since_ms;      /* real time: nonces are remembered from then on */
    struct list strangers; /* in the order in which they came: their line is not there yet */
    struct list ready;     /* whose line waits for a worker */
    size_t n_strangers;    /* of both lists */
    unsigned n_reading;    /* on workers */
    int fd;
    bool is_closed;
};

struct stranger {
    struct list place;
    struct step_port *port;
    struct fdwatch *watch;
    int64_t since_ms;
    size_t length;
    int fd;
    char *line; /* NULL before the first byte */
    struct step_caller caller;
    struct error error;
};

static void
stranger_free(struct stranger *x)
{
    fdwatch_free(x->watch);
    if (x->fd >= 0)
        close(x->fd);
    step_caller_fini(&x->caller);
    free(x->line);
    free(x);
}

/* Takes it from the list that it is in. */
static void
drop(struct stranger *x)
{
    list_remove(&x->place);
    x->port->n_strangers--;
    stranger_free(x);
}

static struct stranger *
first_of(struct list *l)
{
    return list_is_empty(l) ? NULL : container_of(l->next, struct stranger, place);
}

/* The socket's buffer is empty, so the line fits; a caller that is gone is not
 * told.
 */
static bool
send_line(int fd, const char *line)
{
    size_t length = strlen(line);

    return send(fd, line, length, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)length;
}

static void
refuse(struct stranger *x)
{
    CLEANUP_STRBUF struct strbuf line = STRBUF_INIT;

    log_info("the step port refused a caller: %s", x->error.text);
    step_refuse(&line, x->error.text);
    (void)send_line(x->fd, line.text);
}

static void
set_options(int fd)
{
    static const int on = 1, lost_ms = LOST_MS;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &lost_ms, sizeof(lost_ms));
}

static void read_next(struct step_port *p);

static void
accept_grant(struct stranger *x)
{
    const struct step_port *p = x->port;
    struct exec_receiver receiver = {
        .cluster = p->cluster,
        .node = p->node,
        .now_ms = clock_real_us(&clock_system) / 1000,
        .since_ms = p->since_ms,
    };

    if (p->s.find_verifier(&receiver.verifier, p->s.context, &x->error) == 0)
        (void)exec_caller_accept(&receiver, x->line, &x->caller, &x->error);
    explicit_bzero(&receiver.verifier, sizeof(receiver.verifier));
}

/* Runs on a worker. */
static void
on_worker(void *arg)
{
    struct stranger *x = arg;
    struct step_port *p = x->port;

    if (exec_line_is_grant(x->line)) {
        accept_grant(x);
        return;
    }
    (void)step_caller_accept(p->s.credential_backend, p->cluster, p->node, p->s.own_uid, x->line,
                             &x->caller, &x->error);
}

static int
judge(struct stranger *x)
{
    struct step_port *p = x->port;

    if (x->error.code < 0)
        return x->error.code;
    if (!nonces_use(p->nonces, x->caller.nonce, clock_monotonic_us(&clock_system)))
        return error_set(&x->error, -EKEYREJECTED,
                         "the credential has been used before; each attempt needs a new one");
    return p->s.check(&x->caller, p->s.context, &x->error);
}

static void
on_read(void *arg)
{
    struct stranger *x = arg;
    struct step_port *p = x->port;

    p->n_reading--;
    if (!p->is_closed && judge(x) < 0) {
        refuse(x);
    } else if (!p->is_closed && send_line(x->fd, x->caller.answer)) {
        int fd = x->fd;

        x->fd = -1;
        set_options(fd);
        p->s.connected(fd, &x->caller, p->s.context);
    }
    stranger_free(x);
    if (!p->is_closed)
        read_next(p);
}

static void
read_next(struct step_port *p)
{
    struct stranger *x;

    while (p->n_reading < READ_AT_ONCE && (x = first_of(&p->ready)) != NULL) {
        list_remove(&x->place);
        p->n_strangers--;
        p->n_reading++;
        workers_submit(p->s.workers, p->s.loop, on_worker, on_read, x);
    }
}

/* Reads exactly one line: what follows it is for the one who takes the
 * connection. A caller sends nothing more before the answer, so a second line is
 * no caller's.
 */
static void
on_readable(int fd, UNUSED unsigned ready, void *arg)
{
    struct stranger *x = arg;
    struct step_port *p = x->port;
    ssize_t n;
    char *end;

    if (x->line == NULL)
        x->line = xmalloc(STEP_LINE_MOST);
    n = recv(fd, x->line + x->length, STEP_LINE_MOST - 1 - x->length, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        drop(x);
        return;
    }
    end = memchr(x->line + x->length, '\n', (size_t)n);
    x->length += (size_t)n;
    if (end == NULL && x->length < STEP_LINE_MOST - 1)
        return;
    if (end == NULL || end != x->line + x->length - 1 || memchr(x->line, '\0', x->length) != NULL) {
        error_set(&x->error, -EPROTO,
                  "this is the step port of an agent of Kiln, and no such call");
        refuse(x);
        drop(x);
        return;
    }
    *end = '\0';
    fdwatch_free(x->watch);
    x->watch = NULL;
    list_remove(&x->place);
    list_add_last(&p->ready, &x->place);
    read_next(p);
}

/* Of those whose line is not there the oldest gives way, so that connections that
 * say nothing do not keep others out.
 */
static void
make_room(struct step_port *p)
{
    while (p->n_strangers >= STEP_PORT_STRANGERS_MOST) {
        struct stranger *oldest = first_of(&p->strangers);

        if (oldest == NULL)
            oldest = first_of(&p->ready);
        if (oldest == NULL)
            return;
        drop(oldest);
    }
}

static void
add(struct step_port *p, int peer)
{
    struct stranger *x = xnew(struct stranger);

    make_room(p);
    x->port = p;
    x->fd = peer;
    x->since_ms = loop_now_ms();
    x->watch = fdwatch_new(p->s.loop, peer, FDWATCH_READ, on_readable, x);
    list_add_last(&p->strangers, &x->place);
    p->n_strangers++;
    if (!timer_is_running(p->sweep))
        timer_start(p->sweep, p->s.patience_ms);
}

static void
on_connection(int fd, UNUSED unsigned ready, void *arg)
{
    struct step_port *p = arg;

    for (unsigned i = 0; i < ACCEPT_AT_ONCE; i++) {
        int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (peer >= 0) {
            add(p, peer);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            log_warning("the step port cannot accept a connection: %m; pausing");
            fdwatch_want(p->watch, 0);
            timer_start(p->pause, PAUSE_MS);
            return;
        } else {
            return;
        }
    }
}

static void
on_pause_over(void *arg)
{
    struct step_port *p = arg;

    fdwatch_want(p->watch, FDWATCH_READ);
}

/* Closes those whose time is over; the first of the list is the oldest. */
static void
on_sweep(void *arg)
{
    struct step_port *p = arg;
    int64_t now_ms = loop_now_ms();
    struct stranger *x;

    while ((x = first_of(&p->strangers)) != NULL && now_ms - x->since_ms >= p->s.patience_ms)
        drop(x);
    if (x != NULL)
        timer_start(p->sweep, x->since_ms + p->s.patience_ms - now_ms);
}

int
step_port_open(const struct step_port_settings *settings, struct step_port **ret_port,
               struct error *err)
{
    struct step_port *p;
    int fd;
    int r = http_listener_bind(settings->listen, &fd, err);

    if (r < 0)
        return r;
    p = xnew(struct step_port);
    p->s = *settings;
    p->s.listen = NULL;
    p->fd = fd;
    p->cluster = xstrdup(settings->cluster);
    p->node = xstrdup(settings->node);
    p->nonces = nonces_new();
    p->since_ms = clock_real_us(&clock_system) / 1000;
    list_init(&p->strangers);
    list_init(&p->ready);
    (void)fd_set_nonblocking(fd, true);
    p->watch = fdwatch_new(p->s.loop, fd, FDWATCH_READ, on_connection, p);
    p->sweep = timer_new(p->s.loop, on_sweep, p);
    p->pause = timer_new(p->s.loop, on_pause_over, p);
    *ret_port = p;
    return 0;
}

void
step_port_close(struct step_port *p)
{
    struct stranger *x;

    if (p == NULL || p->is_closed)
        return;
    p->is_closed = true;
    timer_free(p->sweep);
    timer_free(p->pause);
    fdwatch_free(p->watch);
    close(p->fd);
    while ((x = first_of(&p->strangers)) != NULL || (x = first_of(&p->ready)) != NULL)
        drop(x);
}

void
step_port_free(struct step_port *p)
{
    if (p == NULL)
        return;
    step_port_close(p);
    nonces_free(p->nonces);
    free(p->cluster);
    free(p->node);
    free(p);
}

unsigned
step_port_number(const struct step_port *p)
{
    struct sockaddr_storage at = {0};
    socklen_t length = sizeof(at);

    if (getsockname(p->fd, (struct sockaddr *)&at, &length) < 0)
        return 0;
    return ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)(void *)&at)->sin6_port
                                          : ((struct sockaddr_in *)(void *)&at)->sin_port);
}

size_t
step_port_count_strangers(const struct step_port *p)
{
    return p->n_strangers;
}
