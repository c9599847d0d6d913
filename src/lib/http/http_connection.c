/* SPDX-License-Identifier: Apache-2.0 */
/* Everybody may open connections, so who has to go when there are too many decides who can be
 * shut out. It is the oldest of those that have proved nothing and are doing nothing, never
 * the new one (decision 94): otherwise a few thousand silent connections would close the door.
 *
 * Connections are in a list for each phase, the longest in it first, so that each limit of
 * time costs a look at the front. Evhttp may not be told to free a connection inside one of
 * its callbacks, hence the marks and the deferred work.
 */
#include "lib/http/http_connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>

#include "lib/base/alloc.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/http/http_refusal.h"
#include "lib/loop/base.h"
#include "lib/loop/loop.h"

/* So many bytes are passed to the kernel in one call. The default of libevent, 16 KiB, is a
 * quarter of what a round of watches or a page of a list may need, and each call wakes the
 * reader.
 */
#define WRITTEN_AT_ONCE (256u << 10)

#define SAID_EVERY_MS 60000

/* While the last request of a client is still being answered, the server reads
 * at most this many more bytes: enough to see the client close, too few to fill
 * memory. Only a request that turns out to be longer gets more.
 */
#define READ_AHEAD_BYTES (64u << 10)

static void close_done(struct evhttp_connection *ev, void *arg);

/* ---- Error pages of evhttp ---- */

/* Evhttp answers what it cannot read with a page of HTML, which no client of the API can
 * parse. It cannot be told another text, so the page is replaced in the buffer before the loop
 * writes it. Note: evhttp has written to the output of a connection whose request was not
 * passed on.
 */
static void
note_refusal(struct http_connection *c)
{
    if (c->is_refused || !list_is_empty(&c->refused_place))
        return;
    list_add_last(&c->server->refused, &c->refused_place);
    event_active(&c->server->deferred, EV_TIMEOUT, 0);
}

/* 0: the output is no error page but 100 Continue. */
static int
status_of(struct evbuffer *output)
{
    char head[16] = "";
    int status = 0;

    if (evbuffer_copyout(output, head, sizeof(head) - 1) <= 0
        || sscanf(head, "HTTP/1.%*1d %3d", &status) != 1 || status < 400)
        return 0;
    return status;
}

/* The page has not been sent yet: the loop writes to sockets in a later turn
 * than the one that runs an activated event.
 */
static void
replace_page(struct http_connection *c)
{
    struct evbuffer *output = bufferevent_get_output(c->bev);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    int status = status_of(output);

    if (status == 0)
        return;
    c->is_refused = true;
    http_refusal_write(&c->server->refusals, status, &text);
    evbuffer_drain(output, evbuffer_get_length(output));
    evbuffer_add(output, text.text, text.length);
}

void
http_connection_replace_refusals(struct http_server *server)
{
    while (!list_is_empty(&server->refused)) {
        struct http_connection *c =
            container_of(server->refused.next, struct http_connection, refused_place);

        list_remove(&c->refused_place);
        replace_page(c);
    }
}

/* ---- Bytes from the client ---- */

/* A request's bytes count in the total of all connections from its first byte
 * until its answer.
 */
static void
count_input(struct http_connection *c, size_t bytes)
{
    struct http_server *server = c->server;
    size_t most = server->limits.header_bytes + server->limits.body_bytes;

    /* evhttp discards bytes above that, and answers 413. */
    if (c->received + bytes > most)
        bytes = most > c->received ? most - c->received : 0;
    c->received += bytes;
    server->counts.inflight_bytes += bytes;
    /* Small requests are accepted even then. */
    if (server->counts.inflight_bytes > server->limits.inflight_bytes
        && c->received > READ_AHEAD_BYTES)
        http_connection_close_later(c, HTTP_TOO_MUCH_IN_FLIGHT);
}

static void
read_on(struct http_connection *c)
{
    struct evbuffer *input = bufferevent_get_input(c->bev);

    if (c->phase == HTTP_RECEIVING && evbuffer_get_length(input) >= READ_AHEAD_BYTES)
        bufferevent_setwatermark(c->bev, EV_READ, 0, 0);
}

/* With lingering close on, evhttp never answers a client that announces too
 * long a body and waits for 100 Continue. This looks at the first bytes of a
 * request, which contain the head of any such client.
 */
static bool
announces_too_much(const struct http_connection *c, struct evbuffer *buffer)
{
    static const char expect[] = "\r\nExpect: 100-continue";
    static const char length[] = "\r\nContent-Length:";
    struct evbuffer_iovec head;
    char text[4096];
    const char *field;
    size_t n;

    if (evbuffer_peek(buffer, 1, NULL, &head, 1) < 1
        || *(const char *)head.iov_base != 'P' /* POST, PUT, PATCH */
        || memmem(head.iov_base, head.iov_len, expect, sizeof(expect) - 1) == NULL)
        return false;
    n = head.iov_len < sizeof(text) - 1 ? head.iov_len : sizeof(text) - 1;
    memcpy(text, head.iov_base, n);
    text[n] = '\0';
    field = strcasestr(text, length);
    return field != NULL
           && strtoull(field + sizeof(length) - 1, NULL, 10) > c->server->limits.body_bytes;
}

/* Checks the newest bytes before evhttp reads them. A request with a fault is
 * refused when it is handled, and its connection ends with the refusal.
 */
static void
check_syntax(struct http_connection *c, struct evbuffer *buffer, size_t added)
{
    struct evbuffer_iovec pieces[8];
    struct evbuffer_ptr at;
    size_t length = evbuffer_get_length(buffer);

    while (added > 0) {
        size_t before = added;
        uint64_t passes = http_syntax_passes(&c->syntax);
        int n;

        if (passes >= added) {
            http_syntax_pass(&c->syntax, added);
            return;
        }
        evbuffer_ptr_set(buffer, &at, length - added, EVBUFFER_PTR_SET);
        n = evbuffer_peek(buffer, (ev_ssize_t)added, &at, pieces, (int)ARRAY_SIZE(pieces));
        for (int i = 0; i < n && i < (int)ARRAY_SIZE(pieces) && added > 0; i++) {
            size_t take = pieces[i].iov_len < added ? pieces[i].iov_len : added;

            http_syntax_feed(&c->syntax, pieces[i].iov_base, take);
            added -= take;
        }
        if (added == before)
            return;
    }
}

static void
on_input(struct evbuffer *buffer, const struct evbuffer_cb_info *info, void *arg)
{
    struct http_connection *c = arg;

    if (info->n_added == 0 || c->server == NULL)
        return;
    if (c->phase == HTTP_IDLE) {
        http_connection_enter(c, HTTP_RECEIVING);
        if (announces_too_much(c, buffer))
            http_connection_close_later(c, HTTP_TOO_LARGE);
    }
    check_syntax(c, buffer, info->n_added);
    count_input(c, info->n_added);
    read_on(c);
}

static void
on_output(struct evbuffer *buffer, const struct evbuffer_cb_info *info, void *arg)
{
    struct http_connection *c = arg;

    (void)buffer;
    if (c->server == NULL)
        return;
    if (c->phase == HTTP_RECEIVING && info->n_added > 0)
        note_refusal(c);
    if (c->phase == HTTP_SENDING && info->n_deleted > 0)
        http_connection_enter(c, HTTP_SENDING);
    else if (c->phase == HTTP_STREAMING && (info->n_deleted > 0 || info->orig_size == 0))
        c->since_ms = loop_now_ms();
}

void
http_connection_release_input(struct http_connection *c)
{
    c->server->counts.inflight_bytes -= c->received;
    c->received = 0;
}

void
http_connection_limit_input(struct http_connection *c)
{
    bufferevent_setwatermark(c->bev, EV_READ, 0, READ_AHEAD_BYTES);
}

/* evhttp stops reading while a request is handled, and would not notice that
 * the client disconnects. With reading on but no read callback, its event
 * callback sees the end and nothing is parsed early. evhttp does the same while
 * it writes, and restores its callbacks with every answer.
 */
void
http_connection_watch_for_close(struct http_connection *c)
{
    bufferevent_event_cb event = NULL;
    void *arg = NULL;

    bufferevent_getcb(c->bev, NULL, NULL, &event, &arg);
    bufferevent_setcb(c->bev, NULL, NULL, event, arg);
    bufferevent_enable(c->bev, EV_READ);
}

/* ---- Counts of peers ---- */

static struct http_peer_count *
peer_count_of(struct http_server *server, const char *key)
{
    struct http_peer_count *count = map_find(server->peers, key);

    if (count != NULL)
        return count;
    count = xcalloc(1, sizeof(*count) + strlen(key) + 1);
    memcpy(count->key, key, strlen(key) + 1);
    list_init(&count->unproven);
    (void)map_put(server->peers, key, count);
    return count;
}

/* Until an account is charged, a connection counts for its address, or for its
 * uid if it is local.
 */
static void
count_peer(struct http_connection *c)
{
    char key[80];

    if (c->peer.is_local) {
        snprintf(key, sizeof(key), "uid %u", c->peer.uid);
    } else {
        const char *colon = strrchr(c->peer.address, ':');
        size_t length = colon != NULL ? (size_t)(colon - c->peer.address) : strlen(c->peer.address);

        snprintf(key, sizeof(key), "%.*s", (int)length, c->peer.address);
    }
    c->peer_count = peer_count_of(c->server, key);
    c->peer_count->connections++;
    list_add_last(&c->server->unproven, &c->unproven_place);
    list_add_last(&c->peer_count->unproven, &c->of_peer_place);
}

static void
uncount_peer(struct http_connection *c)
{
    list_remove(&c->unproven_place);
    list_remove(&c->of_peer_place);
    if (--c->peer_count->connections > 0)
        return;
    (void)map_remove(c->server->peers, c->peer_count->key);
    free(c->peer_count);
}

bool
http_connection_charge(struct http_connection *c, const char *account, unsigned most)
{
    struct http_peer_count *count;
    char key[330];

    if (c->is_charged || c->server == NULL)
        return true;
    /* No address starts with this word. */
    snprintf(key, sizeof(key), "account %s", account);
    count = map_find(c->server->peers, key);
    if (count != NULL && most > 0 && count->connections >= most)
        return false;
    uncount_peer(c);
    c->is_charged = true;
    c->peer_count = peer_count_of(c->server, key);
    c->peer_count->connections++;
    return true;
}

/* ---- Who it is ---- */

static void
set_socket_options(int fd)
{
    static const int on = 1, idle_s = 60, every_s = 20, tries = 3;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    /* A stream to a host that lost power ends within two minutes. */
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof(tries));
}

static void
identify_local(struct http_connection *c)
{
    struct ucred who;
    socklen_t length = sizeof(who);

    if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &who, &length) < 0)
        return;
    c->peer.is_local = true;
    c->peer.uid = who.uid;
    c->peer.gid = who.gid;
    c->peer.pid = who.pid;
    strcpy(c->peer.address, "unix");
}

static void
identify(struct http_connection *c)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_storage storage;
    } from = {0};
    socklen_t length = sizeof(from);
    char text[INET6_ADDRSTRLEN];

    if (getpeername(c->fd, &from.any, &length) < 0)
        return;
    if (from.any.sa_family == AF_UNIX) {
        identify_local(c);
        return;
    }
    set_socket_options(c->fd);
    if (from.any.sa_family == AF_INET) {
        inet_ntop(AF_INET, &from.v4.sin_addr, text, sizeof(text));
        snprintf(c->peer.address, sizeof(c->peer.address), "%s:%u", text, ntohs(from.v4.sin_port));
    } else {
        inet_ntop(AF_INET6, &from.v6.sin6_addr, text, sizeof(text));
        snprintf(c->peer.address, sizeof(c->peer.address), "[%s]:%u", text,
                 ntohs(from.v6.sin6_port));
    }
}

/* evhttp accepts connections without a callback, but it calls this function for
 * the bufferevent first. The rest (the descriptor, and evhttp's own object,
 * which is the argument of the callbacks that it sets) exists when the deferred
 * work runs, in the same turn of the loop.
 */
static struct bufferevent *
await(struct http_server *server, struct bufferevent *bev, bool is_secure)
{
    struct http_connection *c;

    if (bev == NULL)
        return NULL;
    c = xnew(struct http_connection);
    c->bev = bev;
    c->peer.is_secure = is_secure;
    c->server = server;
    c->loop = server->loop;
    c->references = 1;
    list_init(&c->closing_place);
    list_init(&c->refused_place);
    list_init(&c->unproven_place);
    list_init(&c->of_peer_place);
    list_add_last(&server->fresh, &c->place);
    event_active(&server->deferred, EV_TIMEOUT, 0);
    return c->bev;
}

struct bufferevent *
http_connection_make(struct event_base *base, void *arg)
{
    return await(arg, bufferevent_socket_new(base, -1, 0), false);
}

struct bufferevent *
http_connection_make_layered(struct event_base *base, void *arg)
{
    struct http_server *server = arg;

    return await(server, server->layer.make(base, server->layer.arg), true);
}

static void
remember_fd(struct http_connection *c)
{
    struct http_server *server = c->server;
    size_t wanted = (size_t)c->fd + 1;

    if (wanted > server->n_by_fd) {
        size_t count = server->n_by_fd * 2 > wanted ? server->n_by_fd * 2 : wanted + 64;

        server->by_fd = xrealloc_array(server->by_fd, count, sizeof(server->by_fd[0]));
        memset(server->by_fd + server->n_by_fd, 0,
               (count - server->n_by_fd) * sizeof(server->by_fd[0]));
        server->n_by_fd = count;
    }
    server->by_fd[c->fd] = c;
}

/* The oldest connection that no account is charged for and that has not sent a
 * complete request. Such connections are closed in favour of new ones, so that
 * nobody can lock out an address, or all clients, with idle connections.
 */
static struct http_connection *
find_idle(const struct list *unproven, bool is_of_peer)
{
    list_foreach(at, unproven)
    {
        struct http_connection *c = is_of_peer
                                        ? container_of(at, struct http_connection, of_peer_place)
                                        : container_of(at, struct http_connection, unproven_place);

        if (c->phase == HTTP_IDLE || c->phase == HTTP_RECEIVING)
            return c;
    }
    return NULL;
}

/* Logs at most once a minute. */
static void
log_too_many(int64_t *said_at_ms, const char *who, unsigned most)
{
    int64_t now = loop_now_ms();

    if (*said_at_ms != 0 && now - *said_at_ms < SAID_EVERY_MS)
        return;
    *said_at_ms = now;
    log_warning("%s has more than %u unauthenticated connections: the oldest "
                "idle ones are closed, and if none is idle, new ones are "
                "refused",
                who, most);
}

/* Makes room for the connection that was just accepted, or closes it. */
static void
keep_limits(struct http_connection *c)
{
    struct http_server *server = c->server;
    const struct http_limits *limits = &server->limits;
    struct http_peer_count *count = c->peer_count;
    struct http_connection *victim;

    if (count->connections > limits->peer_connections) {
        log_too_many(&count->said_at_ms, count->key, limits->peer_connections);
        victim = find_idle(&count->unproven, true);
    } else if (server->counts.connections > limits->connections) {
        log_too_many(&server->said_at_ms, "the server", limits->connections);
        victim = find_idle(&server->unproven, false);
    } else
        return;
    server->counts.refused_connections++;
    http_connection_close(victim != NULL ? victim : c);
}

/* ---- What a relay says before the first byte ---- */

/* A relay's header stands below TLS, so it must be taken before anything else sees the
 * connection; and a client without a relay must not lose a byte by that. So bytes are looked
 * at without being read until they cannot be a header any more.
 */
#define LONGEST_PREFACE 256

struct http_preface_wait {
    struct http_connection *connection;
    struct event readable;
};

static void
stop_preface(struct http_connection *c)
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

/* It comes from that address, by a relay. */
static void
set_peer(struct http_connection *c, const char *address)
{
    uncount_peer(c);
    snprintf(c->peer.address, sizeof(c->peer.address), "%s", address);
    count_peer(c);
    keep_limits(c);
}

static void
take_preface(struct http_connection *c, const unsigned char *bytes)
{
    struct http_server *server = c->server;
    const struct http_preface *p = &server->preface;
    unsigned char taken[LONGEST_PREFACE];
    char address[sizeof(c->peer.address)];

    if (recv(c->fd, taken, p->length, MSG_DONTWAIT) != (ssize_t)p->length
        || !p->check(bytes, address, p->arg)) {
        server->counts.refused_connections++;
        http_connection_close(c);
        return;
    }
    stop_preface(c);
    set_peer(c, address);
}

static void
on_readable(evutil_socket_t fd, short events, void *arg)
{
    struct http_preface_wait *w = arg;
    struct http_connection *c = w->connection;
    const struct http_preface *p = &c->server->preface;
    unsigned char bytes[LONGEST_PREFACE];
    ssize_t n = recv(fd, bytes, p->length, MSG_PEEK | MSG_DONTWAIT);
    size_t compared;

    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    compared = n < 0 ? 0 : (size_t)n < p->signature_length ? (size_t)n : p->signature_length;
    if (n <= 0 || memcmp(bytes, p->signature, compared) != 0) {
        stop_preface(c); /* no preface */
    } else if ((size_t)n == p->length) {
        take_preface(c, bytes);
    } else if ((size_t)n <= c->preface_seen) {
        http_connection_close(c); /* it has closed amid the preface */
    } else {
        c->preface_seen = (size_t)n;
        check_again(c, (size_t)n);
    }
}

static void
await_preface(struct http_connection *c)
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

/* ---- New connections ---- */

static void
adopt(struct http_connection *c)
{
    struct http_server *server = c->server;
    void *ev = NULL;

    bufferevent_getcb(c->bev, NULL, NULL, NULL, &ev);
    c->ev = ev;
    c->fd = bufferevent_getfd(c->bev);
    identify(c);
    count_peer(c);
    remember_fd(c);
    server->counts.connections++;
    c->phase = HTTP_IDLE;
    c->since_ms = loop_now_ms();
    list_remove(&c->place);
    list_add_last(&server->phases[HTTP_IDLE], &c->place);
    evhttp_connection_set_closecb(c->ev, close_done, c);
    evbuffer_add_cb(bufferevent_get_input(c->bev), on_input, c);
    evbuffer_add_cb(bufferevent_get_output(c->bev), on_output, c);
    http_connection_limit_input(c);
    bufferevent_set_max_single_write(c->bev, WRITTEN_AT_ONCE);
    await_preface(c);
    keep_limits(c);
}

void
http_connection_adopt_all(struct http_server *server)
{
    list_foreach_safe(at, &server->fresh) adopt(container_of(at, struct http_connection, place));
}

/* ---- The end ---- */

void
http_connection_unref(struct http_connection *c)
{
    if (--c->references == 0)
        free(c);
}

static enum http_stream_end_reason
reason_of(const struct http_connection *c)
{
    if (c->close_cause == HTTP_TOO_SLOW)
        return HTTP_STREAM_TOO_SLOW;
    return c->server->is_ending ? HTTP_STREAM_SERVER_ENDS : HTTP_STREAM_PEER_GONE;
}

/* evhttp's last callback for a connection, whoever closed it. The request or
 * stream is notified after everything else, because its callback may do
 * anything.
 */
static void
close_done(struct evhttp_connection *ev, void *arg)
{
    struct http_connection *c = arg;
    struct http_server *server = c->server;
    struct http_request *request = c->request;
    struct http_stream *stream = c->stream;
    enum http_stream_end_reason reason = reason_of(c);

    (void)ev;
    evbuffer_remove_cb(bufferevent_get_input(c->bev), on_input, c);
    evbuffer_remove_cb(bufferevent_get_output(c->bev), on_output, c);
    http_connection_release_input(c);
    uncount_peer(c);
    list_remove(&c->place);
    list_remove(&c->closing_place);
    list_remove(&c->refused_place);
    server->by_fd[c->fd] = NULL;
    server->counts.connections--;
    http_connection_set_data(c, NULL, NULL);
    c->request = NULL;
    c->stream = NULL;
    c->ev = NULL;
    if (request != NULL)
        http_request_closed(request);
    if (stream != NULL)
        http_stream_closed(stream, reason);
    c->server = NULL;
    http_connection_unref(c);
}

struct http_connection *
http_connection_of(struct http_server *server, struct evhttp_request *ev)
{
    struct evhttp_connection *connection = evhttp_request_get_connection(ev);
    int fd = bufferevent_getfd(evhttp_connection_get_bufferevent(connection));

    return server->by_fd[fd];
}

void
http_connection_set_data(struct http_connection *c, void *data, void (*free_data)(void *data))
{
    if (c->data != NULL && c->free_data != NULL)
        c->free_data(c->data);
    c->data = data;
    c->free_data = free_data;
}

void
http_connection_enter(struct http_connection *c, enum http_phase phase)
{
    c->phase = phase;
    c->since_ms = loop_now_ms();
    list_remove(&c->place);
    list_add_last(&c->server->phases[phase], &c->place);
}

void
http_connection_close_later(struct http_connection *c, enum http_close_cause close_cause)
{
    if (c->close_cause != HTTP_NOT_CLOSING)
        return;
    c->close_cause = close_cause;
    list_add_last(&c->server->closing, &c->closing_place);
    event_active(&c->server->deferred, EV_TIMEOUT, 0);
}

/* evhttp frees the requests of a connection that it is told to free, but ours
 * may have to live until they are answered, so take ownership of them first.
 */
void
http_connection_close(struct http_connection *c)
{
    if (c->request != NULL)
        evhttp_request_own(c->request->ev);
    if (c->stream != NULL)
        evhttp_request_own(c->stream->ev);
    stop_preface(c);
    c->references++;
    c->is_being_cut = true;
    evhttp_connection_free(c->ev);
    c->is_being_cut = false;
    if (c->orphan != NULL)
        evhttp_request_free(c->orphan);
    c->orphan = NULL;
    http_connection_unref(c);
}

/* Writes to the socket directly, because evhttp is in the middle of reading;
 * only as much as the socket takes.
 */
static void
send_refusal(const struct http_connection *c)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    ssize_t ignored;

    if (c->peer.is_secure) /* cannot bypass the layer */
        return;
    http_refusal_write(&c->server->refusals, c->close_cause == HTTP_TOO_LARGE ? 413 : 503, &text);
    ignored = send(c->fd, text.text, text.length, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)ignored;
}

/* Writes to the socket directly, because the bufferevent does not let other
 * code write its buffer.
 */
static void
send_rest(const struct http_connection *c)
{
    struct evbuffer *output = bufferevent_get_output(c->bev);
    struct evbuffer_iovec pieces[16];
    int n = evbuffer_peek(output, -1, NULL, pieces, ARRAY_SIZE(pieces));

    for (int i = 0; i < n && i < (int)ARRAY_SIZE(pieces); i++) {
        ssize_t sent =
            send(c->fd, pieces[i].iov_base, pieces[i].iov_len, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (sent != (ssize_t)pieces[i].iov_len)
            break;
    }
    (void)shutdown(c->fd, SHUT_WR);
}

void
http_connection_close_marked(struct http_server *server)
{
    while (!list_is_empty(&server->closing)) {
        struct http_connection *c =
            container_of(server->closing.next, struct http_connection, closing_place);

        if (c->close_cause == HTTP_TOO_SLOW)
            server->counts.dropped_streams++;
        else
            server->counts.cut_connections++;
        if (c->close_cause == HTTP_CUT_SHORT)
            send_rest(c);
        else if (c->close_cause != HTTP_TOO_SLOW && c->phase == HTTP_RECEIVING)
            send_refusal(c);
        http_connection_close(c);
    }
}

static void
cut_older(struct http_server *server, enum http_phase phase, int64_t before_ms)
{
    struct list *head = &server->phases[phase];

    while (!list_is_empty(head)) {
        struct http_connection *c = container_of(head->next, struct http_connection, place);

        if (c->since_ms > before_ms)
            return;
        if (phase != HTTP_IDLE)
            server->counts.cut_connections++;
        http_connection_close(c);
    }
}

/* `unproven` is not in the order of this phase: some of its connections had
 * requests since they were accepted.
 */
static void
cut_idle_unproven(struct http_server *server, int64_t before_ms)
{
    list_foreach_safe(at, &server->unproven)
    {
        struct http_connection *c = container_of(at, struct http_connection, unproven_place);

        if (c->phase == HTTP_IDLE && c->since_ms <= before_ms)
            http_connection_close(c);
    }
}

/* Checks all streams, because they are not sorted by their last progress: 20 ns
 * each, once a second.
 */
static void
drop_stalled_streams(struct http_server *server, int64_t before_ms)
{
    list_foreach(at, &server->phases[HTTP_STREAMING])
    {
        struct http_connection *c = container_of(at, struct http_connection, place);

        if (c->since_ms <= before_ms && evbuffer_get_length(bufferevent_get_output(c->bev)) > 0)
            http_connection_close_later(c, HTTP_TOO_SLOW);
    }
}

void
http_connection_sweep(struct http_server *server)
{
    const struct http_limits *limits = &server->limits;
    int64_t now = loop_now_ms();

    cut_older(server, HTTP_IDLE, now - limits->idle_ms);
    cut_idle_unproven(server, now - limits->unproven_ms);
    cut_older(server, HTTP_RECEIVING, now - limits->receive_ms);
    cut_older(server, HTTP_SENDING, now - limits->send_ms);
    /* A long request behind another one: its reading was stopped, so resume it.
     */
    list_foreach(at, &server->phases[HTTP_RECEIVING])
        read_on(container_of(at, struct http_connection, place));
    drop_stalled_streams(server, now - limits->send_ms);
}
