/* SPDX-License-Identifier: Apache-2.0 */
/* A relay's header stands below TLS, so it must be taken before anything else sees the
 * connection; and a client without a relay must not lose a byte by that. So bytes are looked
 * at without being read until they cannot be a header any more.
 */
#include "lib/http/http_preface.h"

#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/alloc.h"
#include "lib/http/http_connection.h"
#include "lib/loop/base.h"

#define LONGEST 256

struct http_preface_wait {
    struct http_connection *connection;
    struct event readable;
};

void
http_preface_stop(struct http_connection *c)
{
    struct http_preface_wait *w = c->preface_wait;
    int least = 1;

    if (w == NULL)
        return;
    c->preface_wait = NULL;
    event_del(&w->readable);
    free(w);
    setsockopt(c->fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least));
    bufferevent_setfd(c->bev, c->fd);
}

/* The socket counts as readable only when that much is there, or the client has
 * closed.
 */
static void
wait_for(struct http_connection *c, size_t bytes)
{
    int least = (int)bytes;

    setsockopt(c->fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least));
}

/* A client that may become none: what it has sent is the beginning of a signature. */
static void
check_again(struct http_connection *c, size_t there)
{
    const struct http_preface *p = &c->server->preface;

    if (there < p->signature_length)
        wait_for(c, p->signature_length);
    else
        wait_for(c, p->length);
}

static void
take_preface(struct http_connection *c, const unsigned char *bytes)
{
    struct http_server *server = c->server;
    const struct http_preface *p = &server->preface;
    unsigned char taken[LONGEST];
    char address[sizeof(c->peer.address)];

    if (recv(c->fd, taken, p->length, MSG_DONTWAIT) != (ssize_t)p->length
        || !p->check(bytes, address, p->arg)) {
        server->counts.refused_connections++;
        http_connection_close(c);
        return;
    }
    http_preface_stop(c);
    http_connection_set_peer(c, address);
}

static void
on_readable(evutil_socket_t fd, short events, void *arg)
{
    struct http_preface_wait *w = arg;
    struct http_connection *c = w->connection;
    const struct http_preface *p = &c->server->preface;
    unsigned char bytes[LONGEST];
    ssize_t n = recv(fd, bytes, p->length, MSG_PEEK | MSG_DONTWAIT);
    size_t compared;

    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    compared = n < 0 ? 0 : (size_t)n < p->signature_length ? (size_t)n : p->signature_length;
    if (n <= 0 || memcmp(bytes, p->signature, compared) != 0) {
        http_preface_stop(c); /* no preface */
    } else if ((size_t)n == p->length) {
        take_preface(c, bytes);
    } else if ((size_t)n <= c->preface_seen) {
        http_connection_close(c); /* it has closed amid the preface */
    } else {
        c->preface_seen = (size_t)n;
        check_again(c, (size_t)n);
    }
}

void
http_preface_await(struct http_connection *c)
{
    struct http_preface_wait *w;

    if (c->server->preface.length == 0 || c->peer.is_local)
        return;
    w = xnew(struct http_preface_wait);
    w->connection = c;
    c->preface_wait = w;
    bufferevent_setfd(c->bev, -1);
    event_assign(&w->readable, loop_base(c->loop), c->fd, EV_READ | EV_PERSIST, on_readable, w);
    event_add(&w->readable, NULL);
}
