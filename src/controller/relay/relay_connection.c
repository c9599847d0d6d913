/* SPDX-License-Identifier: Apache-2.0 */
/* One connection, from the client's first bytes to its end. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/relay/relay_state.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"
#include "lib/base/metric.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/loop.h"

/* The shortest request of HTTP, and more than tell a header of a relay, or the
 * paths that are answered here. No record of TLS that begins a connection is shorter.
 */
#define GREETING_BYTES 18

/* Most of the connections of one address that are not open yet. */
#define MOST_OF_PEER 4096

/* Turns of one connection before others have theirs. */
#define TURNS 4

static void
set_options(int fd)
{
    static const int on = 1, idle_s = 60, every_s = 20, tries = 3;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof(tries));
}

static void
set_least(int fd, int bytes)
{
    setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes));
}

/* --- counts ------------------------------------------------------------------------ */

static void
count(struct relay_connection *c)
{
    char address[INET6_ADDRSTRLEN] = "";
    struct relay_peer *peer;

    if (c->from.ss_family == AF_INET)
        inet_ntop(AF_INET, &((struct sockaddr_in *)&c->from)->sin_addr, address, sizeof(address));
    else
        inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&c->from)->sin6_addr, address,
                  sizeof(address));
    peer = map_find(c->relay->peers, address);
    if (peer == NULL) {
        peer = xnew(struct relay_peer);
        list_init(&peer->greeting);
        memcpy(peer->address, address, sizeof(address));
        (void)map_put(c->relay->peers, address, peer);
    }
    c->peer = peer;
    peer->count++;
    c->relay->count++;
    list_add_last(&peer->greeting, &c->peer_place);
}

static void
leave_peer(struct relay_connection *c)
{
    struct relay_peer *peer = c->peer;

    list_remove(&c->peer_place);
    c->peer = NULL;
    if (peer == NULL || --peer->count > 0)
        return;
    (void)map_remove(c->relay->peers, peer->address);
    free(peer);
}

/* Makes room by closing the oldest connection that says nothing, or closes this
 * one: nobody locks others out with connections that are idle.
 */
static bool
has_room(struct relay_connection *c)
{
    struct relay *relay = c->relay;
    struct relay_connection *victim;

    if (c->peer->count > MOST_OF_PEER)
        victim = container_of(c->peer->greeting.next, struct relay_connection, peer_place);
    else if (relay->count > relay->most)
        victim = container_of(relay->phases[RELAY_GREETING].next, struct relay_connection, place);
    else
        return true;
    metric_count(relay->refused, 1);
    if (victim == c) {
        relay_connection_close(c, true);
        return false;
    }
    relay_connection_close(victim, true);
    return true;
}

/* --- life -------------------------------------------------------------------------- */

void
relay_connection_enter(struct relay_connection *c, enum relay_phase phase)
{
    list_remove(&c->place);
    list_add_last(&c->relay->phases[phase], &c->place);
    if (phase >= RELAY_OPEN)
        leave_peer(c);
    else
        list_remove(&c->peer_place);
    c->phase = phase;
    c->since_ms = loop_now_ms();
}

static void
close_socket(int fd, bool is_reset)
{
    static const struct linger at_once = {.l_onoff = 1};

    if (fd < 0)
        return;
    if (is_reset)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(fd);
}

void
relay_connection_close(struct relay_connection *c, bool is_reset)
{
    leave_peer(c);
    c->relay->count--;
    list_remove(&c->place);
    fdwatch_free(c->client_watch);
    fdwatch_free(c->leader_watch);
    close_socket(c->client, is_reset);
    close_socket(c->leader, is_reset);
    free(c->up.rest);
    free(c->down.rest);
    free(c);
}

/* --- the bytes --------------------------------------------------------------------- */

/* Writes what waits: false if the socket is broken. */
static bool
flush(struct relay_stream *s, int to)
{
    while (s->at < s->length) {
        ssize_t n = send(to, s->rest + s->at, s->length - s->at, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        s->at += (size_t)n;
    }
    free(s->rest);
    *s = (struct relay_stream){.is_at_end = s->is_at_end};
    return true;
}

static void
keep_rest(struct relay_stream *s, const void *bytes, size_t length)
{
    s->rest = xmalloc(length);
    memcpy(s->rest, bytes, length);
    s->at = 0;
    s->length = length;
}

/* 1: there may be more; 0: not now; -1: the connection is broken. */
static int
move_once(struct relay *relay, struct relay_stream *s, int from, int to)
{
    ssize_t n, sent;

    if (s->rest != NULL && !flush(s, to))
        return -1;
    if (s->rest != NULL || s->is_at_end)
        return 0;
    n = recv(from, relay->chunk, RELAY_CHUNK, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    if (n == 0) {
        s->is_at_end = true;
        return shutdown(to, SHUT_WR) < 0 ? -1 : 0;
    }
    sent = send(to, relay->chunk, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR)
        return -1;
    if (sent < n)
        keep_rest(s, relay->chunk + (sent > 0 ? sent : 0), (size_t)(n - (sent > 0 ? sent : 0)));
    return sent == n ? 1 : 0;
}

static int
move(struct relay *relay, struct relay_stream *s, int from, int to)
{
    int r = 1;

    for (unsigned i = 0; r > 0 && i < TURNS; i++)
        r = move_once(relay, s, from, to);
    return r;
}

static unsigned
wanted(const struct relay_stream *in, const struct relay_stream *out)
{
    return (in->is_at_end || in->rest != NULL ? 0 : FDWATCH_READ)
           | (out->rest != NULL ? FDWATCH_WRITE : 0);
}

static void
hang_up(struct relay_connection *c)
{
    fdwatch_free(c->leader_watch);
    c->leader_watch = NULL;
    close_socket(c->leader, false);
    c->leader = -1;
}

static size_t
left(const struct relay_connection *c)
{
    return c->up.length - c->up.at + (c->down.length - c->down.at);
}

static void
note_progress(struct relay_connection *c, size_t before)
{
    size_t after = left(c);

    if (after == 0 && c->phase == RELAY_STUCK)
        relay_connection_enter(c, RELAY_OPEN);
    else if (after > 0 && (c->phase != RELAY_STUCK || after != before))
        relay_connection_enter(c, RELAY_STUCK);
}

/* The leader has closed, and its client has all of it. A client that does not close
 * would hold its place for as long as it likes.
 */
static void
end(struct relay_connection *c)
{
    hang_up(c);
    relay_connection_enter(c, RELAY_ENDING);
    fdwatch_want(c->client_watch, FDWATCH_READ);
}

/* The leader's first words say whether it shows its metrics: true while they are not there,
 * or if this head has answered. A refusal is relayed as it is.
 */
static bool
check_metrics(struct relay_connection *c)
{
    static const char allowed[] = "HTTP/1.1 200";
    char start[sizeof(allowed) - 1];
    ssize_t n = recv(c->leader, start, sizeof(start), MSG_PEEK | MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        fdwatch_want(c->client_watch, wanted(&c->up, &c->down) & FDWATCH_READ);
        fdwatch_want(c->leader_watch, FDWATCH_READ | (c->up.rest != NULL ? FDWATCH_WRITE : 0));
        return true;
    }
    c->asks_metrics = false;
    set_least(c->leader, 1);
    if (n < (ssize_t)sizeof(start) || memcmp(start, allowed, sizeof(start)) != 0)
        return false;
    hang_up(c);
    relay_answer_metrics(c);
    return true;
}

static void
relay_bytes(struct relay_connection *c)
{
    size_t before = left(c);

    if (c->asks_metrics) {
        if (move(c->relay, &c->up, c->client, c->leader) < 0) {
            relay_connection_close(c, true);
            return;
        }
        if (check_metrics(c))
            return;
    }
    if (move(c->relay, &c->up, c->client, c->leader) < 0
        || move(c->relay, &c->down, c->leader, c->client) < 0) {
        relay_connection_close(c, true);
        return;
    }
    if (c->down.is_at_end) {
        if (c->up.is_at_end)
            relay_connection_close(c, false);
        else
            end(c);
        return;
    }
    note_progress(c, before);
    fdwatch_want(c->client_watch, wanted(&c->up, &c->down));
    fdwatch_want(c->leader_watch, wanted(&c->down, &c->up));
}

/* --- the leader -------------------------------------------------------------------- */

static bool
greet_leader(struct relay_connection *c)
{
    unsigned char header[PROXY_HEADER_SIZE];

    c->relay->sender.key = c->relay->target.key;
    if (!proxy_header_write(&c->relay->sender, (const struct sockaddr *)&c->from, header))
        return false;
    return send(c->leader, header, sizeof(header), MSG_DONTWAIT | MSG_NOSIGNAL)
           == (ssize_t)sizeof(header);
}

static void
on_leader(int fd, unsigned ready, void *arg)
{
    struct relay_connection *c = arg;
    int error = 0;
    socklen_t length = sizeof(error);

    (void)ready;
    if (c->phase >= RELAY_OPEN) {
        relay_bytes(c);
        return;
    }
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0 || !greet_leader(c)) {
        relay_connection_dial_next(c);
        return;
    }
    c->relay->is_leader_away = false;
    if (c->asks_metrics)
        set_least(c->leader, (int)strlen("HTTP/1.1 200"));
    metric_count(c->relay->relayed, 1);
    relay_connection_enter(c, RELAY_OPEN);
    relay_bytes(c);
}

static bool
dial(struct relay_connection *c, const struct http_endpoint *to)
{
    c->leader = socket(to->at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->leader < 0)
        return false;
    set_options(c->leader);
    if (connect(c->leader, &to->at.any, to->length) == 0 || errno == EINPROGRESS) {
        c->leader_watch = fdwatch_new(c->relay->loop, c->leader, FDWATCH_WRITE, on_leader, c);
        return true;
    }
    return false;
}

void
relay_connection_dial_next(struct relay_connection *c)
{
    const struct relay_target *target = &c->relay->target;
    const struct http_endpoints *to = c->is_tls ? &target->tls : &target->plain;

    do {
        hang_up(c);
        if (c->n_endpoint == to->count) {
            c->relay->is_leader_away = true;
            relay_answer_unreachable(c);
            return;
        }
        relay_connection_enter(c, RELAY_DIALING);
    } while (!dial(c, &to->items[c->n_endpoint++]));
}

/* --- the client -------------------------------------------------------------------- */

static void
on_greeting(struct relay_connection *c)
{
    char start[GREETING_BYTES + 1] = "";
    ssize_t n = recv(c->client, start, GREETING_BYTES, MSG_PEEK | MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    /* Two heads that each take the other for the leader would relay for ever. */
    if (n < GREETING_BYTES || memcmp(start, proxy_signature, PROXY_SIGNATURE_LENGTH) == 0) {
        relay_connection_close(c, false);
        return;
    }
    set_least(c->client, 1);
    fdwatch_want(c->client_watch, 0);
    if (c->is_tls || !relay_answer_try(c, start))
        relay_connection_dial_next(c);
}

static void
on_client(int fd, unsigned ready, void *arg)
{
    struct relay_connection *c = arg;

    (void)fd;
    (void)ready;
    if (c->phase == RELAY_GREETING)
        on_greeting(c);
    else if (c->phase == RELAY_ENDING)
        relay_answer_drain(c);
    else if (c->phase >= RELAY_OPEN)
        relay_bytes(c);
}

void
relay_connection_begin(struct relay *relay, int fd, bool is_tls,
                       const struct sockaddr_storage *from)
{
    struct relay_connection *c = xnew(struct relay_connection);

    c->relay = relay;
    c->is_tls = is_tls;
    c->from = *from;
    c->client = fd;
    c->leader = -1;
    list_init(&c->place);
    list_init(&c->peer_place);
    relay_connection_enter(c, RELAY_GREETING);
    count(c);
    set_options(fd);
    set_least(fd, GREETING_BYTES);
    if (has_room(c))
        c->client_watch = fdwatch_new(relay->loop, fd, FDWATCH_READ, on_client, c);
}
