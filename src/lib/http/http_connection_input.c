/* SPDX-License-Identifier: Apache-2.0 */
/* http_connection_input.c - counts and checks the bytes from a client before
 * evhttp reads them
 */
#include "lib/http/http_connection.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/http/http_refusal.h"
#include "lib/loop/loop.h"

/* While the last request of a client is still being answered, the server reads
 * at most this many more bytes: enough to see the client close, too few to fill
 * memory. Only a request that turns out to be longer gets more.
 */
#define READ_AHEAD_BYTES (64u << 10)

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

void
http_connection_read_on(struct http_connection *c)
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

void
http_connection_on_input(struct evbuffer *buffer, const struct evbuffer_cb_info *info, void *arg)
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
    http_connection_read_on(c);
}

void
http_connection_on_output(struct evbuffer *buffer, const struct evbuffer_cb_info *info, void *arg)
{
    struct http_connection *c = arg;

    (void)buffer;
    if (c->server == NULL)
        return;
    if (c->phase == HTTP_RECEIVING && info->n_added > 0)
        http_refusal_note(c);
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
