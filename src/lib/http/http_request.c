/* SPDX-License-Identifier: Apache-2.0 */
/* Handler and client end a request independently: the client may go away while the handler
 * works, and evhttp then frees what it has. So a request of ours lives until it is answered,
 * whatever happens to its connection. Where evhttp finds the end of a body in one of several
 * ways, RFC 9112 is checked first: two readers that disagree about it are an attack.
 *
 * An answer is written to the socket when it is made, if the socket takes it; waiting for the
 * loop to say so would cost an event and a system call for each.
 */
#include "lib/http/http_request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "lib/http/http_connection.h"
#include "lib/http/http_refusal.h"

/* Shorter pieces are copied: that costs less than tracking them. */
#define COPIED_BYTES 512

/* The framing headers by the rules of RFC 9112; evhttp checks less. */
struct framing {
    unsigned lengths;
    bool has_length; /* a length above 0 */
    bool is_chunked;
    bool is_encoded; /* chunked, or any other coding */
};

static enum http_method
method_of(struct evhttp_request *ev)
{
    switch (evhttp_request_get_command(ev)) {
    case EVHTTP_REQ_HEAD:
        return HTTP_HEAD;
    case EVHTTP_REQ_POST:
        return HTTP_POST;
    case EVHTTP_REQ_PUT:
        return HTTP_PUT;
    case EVHTTP_REQ_PATCH:
        return HTTP_PATCH;
    case EVHTTP_REQ_DELETE:
        return HTTP_DELETE;
    case EVHTTP_REQ_OPTIONS:
        return HTTP_OPTIONS;
    default: /* http_server_new allows no other methods */
        return HTTP_GET;
    }
}

static struct framing
framing_of(struct evhttp_request *ev)
{
    struct framing f = {0};
    struct evkeyval *header;

    for (header = evhttp_request_get_input_headers(ev)->tqh_first; header != NULL;
         header = header->next.tqe_next) {
        if (strcasecmp(header->key, "Content-Length") == 0) {
            f.lengths++;
            f.has_length = strcmp(header->value, "0") != 0;
        } else if (strcasecmp(header->key, "Transfer-Encoding") == 0) {
            f.is_encoded = true;
            f.is_chunked = strcasecmp(header->value, "chunked") == 0;
        }
    }
    return f;
}

/* The end of a request must be unambiguous (RFC 9112, 6.3); evhttp takes the
 * first framing header that it finds.
 */
static bool
is_well_framed(const struct framing *f)
{
    return f->lengths <= 1 && !(f->is_encoded && f->lengths > 0) && f->is_encoded == f->is_chunked;
}

static struct http_request *
request_new(struct http_connection *c, struct evhttp_request *ev)
{
    struct http_request *r = xnew(struct http_request);

    c->references++;
    c->request = r;
    r->connection = c;
    r->ev = ev;
    r->method = method_of(ev);
    return r;
}

static void
request_free(struct http_request *r)
{
    if (r->connection->request == r)
        r->connection->request = NULL;
    http_connection_unref(r->connection);
    target_fini(&r->target);
    free(r);
}

static void
refuse(struct http_request *r, const char *why)
{
    CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;
    const char *type = http_refusal_body(&r->connection->server->refusals, 400, why, &body);

    r->closes_after = true;
    http_request_reply(r, 400, type, body.text, body.length);
}

static void
refuse_syntax(struct http_request *r)
{
    CLEANUP_STRBUF struct strbuf why = STRBUF_INIT;

    strbuf_printf(&why, "the request cannot be read: %s", r->connection->syntax.fault);
    refuse(r, why.text);
}

/* Makes the body contiguous, with a NUL behind it. */
static void
take_body(struct http_request *r)
{
    struct evbuffer *input = evhttp_request_get_input_buffer(r->ev);

    r->body = "";
    r->body_length = evbuffer_get_length(input);
    if (r->body_length == 0)
        return;
    if (evbuffer_add(input, "", 1) < 0)
        abort();
    r->body = (const char *)evbuffer_pullup(input, -1);
}

static void
dispatch(struct http_request *r, struct http_server *server)
{
    struct framing framing = framing_of(r->ev);

    if (r->connection->syntax.fault != NULL) {
        refuse_syntax(r);
        return;
    }
    if (!is_well_framed(&framing)) {
        refuse(r, "contradicting Content-Length and Transfer-Encoding");
        return;
    }
    /* evhttp may read the body of a GET as the next request. */
    if (r->method == HTTP_GET || r->method == HTTP_HEAD || r->method == HTTP_OPTIONS)
        r->closes_after = framing.has_length || framing.is_encoded;
    if (target_parse(evhttp_request_get_uri(r->ev), &r->target) < 0) {
        refuse(r, "malformed request target");
        return;
    }
    take_body(r);
    server->handler(r, server->arg);
}

static void
sent(struct evhttp_request *ev, void *arg)
{
    struct http_connection *c = arg;
    struct evbuffer *input = bufferevent_get_input(c->bev);

    (void)ev;
    http_connection_enter(c, evbuffer_get_length(input) > 0 ? HTTP_RECEIVING : HTTP_IDLE);
}

void
http_request_handle(struct evhttp_request *ev, void *arg)
{
    struct http_server *server = arg;
    struct http_connection *c = http_connection_of(server, ev);
    struct http_request *r;

    if (c == NULL || c->close_cause != HTTP_NOT_CLOSING)
        return; /* the deferred work closes the connection */
    server->counts.requests++;
    http_connection_enter(c, HTTP_HANDLING);
    http_connection_limit_input(c);
    r = request_new(c, ev);
    evhttp_request_set_on_complete_cb(ev, sent, c);
    dispatch(r, server);
    if (c->request == r)
        http_connection_watch_for_close(c);
}

void
http_request_closed(struct http_request *r)
{
    r->is_closed = true;
    if (r->on_close != NULL)
        r->on_close(r, r->on_close_arg);
}

/* While evhttp frees a connection it reads the connection's request even after
 * its close callback, so the request must be freed later.
 */
void
http_request_free_orphan(struct http_connection *c, struct evhttp_request *ev)
{
    if (c->is_being_cut)
        c->orphan = ev;
    else
        evhttp_request_free(ev);
}

enum http_method
http_request_method(const struct http_request *r)
{
    return r->method;
}

const char *
http_request_target(const struct http_request *r)
{
    return evhttp_request_get_uri(r->ev);
}

const char *
http_request_path(const struct http_request *r)
{
    return r->target.path;
}

const char *
http_request_query(const struct http_request *r, const char *name)
{
    return target_find(&r->target, name);
}

bool
http_request_query_next(const struct http_request *r, size_t *at, const char **ret_name,
                        const char **ret_value)
{
    const struct target_parameter *parameter;

    if (*at >= r->target.n_parameters)
        return false;
    parameter = &r->target.parameters[(*at)++];
    *ret_name = parameter->name;
    *ret_value = parameter->value;
    return true;
}

const char *
http_request_header(const struct http_request *r, const char *name)
{
    return evhttp_find_header(evhttp_request_get_input_headers(r->ev), name);
}

const char *
http_request_body(const struct http_request *r, size_t *ret_length)
{
    *ret_length = r->body_length;
    return r->body;
}

const struct http_peer *
http_request_peer(const struct http_request *r)
{
    return &r->connection->peer;
}

void *
http_request_connection_data(const struct http_request *r)
{
    return r->connection->data;
}

void
http_request_set_connection_data(struct http_request *r, void *data, void (*free_data)(void *data))
{
    struct http_connection *c = r->connection;

    if (r->is_closed) {
        if (data != NULL && free_data != NULL)
            free_data(data);
        return;
    }
    http_connection_set_data(c, data, free_data);
}

void
http_request_on_close(struct http_request *r, void (*fn)(struct http_request *r, void *arg),
                      void *arg)
{
    r->on_close = fn;
    r->on_close_arg = arg;
}

bool
http_request_header_next(const struct http_request *r, const void **at, const char **ret_name,
                         const char **ret_value)
{
    const struct evkeyval *before = *at;
    const struct evkeyval *header =
        before != NULL ? before->next.tqe_next : evhttp_request_get_input_headers(r->ev)->tqh_first;

    if (header == NULL)
        return false;
    *at = header;
    *ret_name = header->key;
    *ret_value = header->value;
    return true;
}

bool
http_request_charge(struct http_request *r, const char *account, unsigned most)
{
    return http_connection_charge(r->connection, account, most);
}

bool
http_request_is_closed(const struct http_request *r)
{
    return r->is_closed;
}

/* Reply */

void
http_request_add_header(struct http_request *r, const char *name, const char *value)
{
    /* evhttp would accept a folded line. */
    if (strpbrk(value, "\r\n") != NULL)
        return;
    evhttp_add_header(evhttp_request_get_output_headers(r->ev), name, value);
}

void
http_request_close_after(struct http_request *r)
{
    r->closes_after = true;
}

void
http_request_add_pieces(struct evbuffer *out, const struct http_piece *pieces, size_t n_pieces)
{
    bool is_behind_lent = false;

    for (size_t i = 0; i < n_pieces; i++) {
        const struct http_piece *p = &pieces[i];

        if (p->release != NULL && p->length > COPIED_BYTES
            && evbuffer_add_reference(out, p->bytes, p->length, p->release, p->arg) == 0) {
            is_behind_lent = true;
            continue;
        }
        /* Otherwise evbuffer_add would allocate as much as the lent piece
         * before it.
         */
        if (is_behind_lent)
            evbuffer_expand(out, p->length);
        is_behind_lent = false;
        if (evbuffer_add(out, p->bytes, p->length) < 0)
            abort();
        if (p->release != NULL)
            p->release(p->bytes, p->length, p->arg);
    }
}

static void
discard_pieces(const struct http_piece *pieces, size_t n_pieces)
{
    for (size_t i = 0; i < n_pieces; i++)
        if (pieces[i].release != NULL)
            pieces[i].release(pieces[i].bytes, pieces[i].length, pieces[i].arg);
}

/* The server formats the date once a second; evhttp would do so for each
 * answer.
 */
static const char *
date_of(struct http_server *server)
{
    time_t now = time(NULL);
    struct tm tm;

    if (now != server->date_s) {
        server->date_s = now;
        gmtime_r(&now, &tm);
        strftime(server->date, sizeof(server->date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
    }
    return server->date;
}

/* Writes all of the head except the length, and frees the request's body. */
static void
begin_answer(struct http_request *r, const char *content_type)
{
    struct http_connection *c = r->connection;
    struct evkeyvalq *headers = evhttp_request_get_output_headers(r->ev);
    struct evbuffer *input = evhttp_request_get_input_buffer(r->ev);

    evhttp_add_header(headers, "Date", date_of(c->server));
    if (content_type != NULL)
        evhttp_add_header(headers, "Content-Type", content_type);
    if (r->closes_after)
        evhttp_add_header(headers, "Connection", "close");
    evbuffer_drain(input, evbuffer_get_length(input));
    http_connection_release_input(c);
}

static size_t
length_of(const struct http_piece *pieces, size_t n_pieces)
{
    size_t length = 0;

    for (size_t i = 0; i < n_pieces; i++)
        length += pieces[i].length;
    return length;
}

static void
add_length(struct http_request *r, size_t length)
{
    char text[24];

    snprintf(text, sizeof(text), "%zu", length);
    evhttp_add_header(evhttp_request_get_output_headers(r->ev), "Content-Length", text);
}

static bool
has_no_body(const struct http_request *r, int status)
{
    return r->method == HTTP_HEAD || status == 204 || status == 304;
}

/* Writes to the socket at once if it takes the whole answer: evhttp notices
 * that in this turn of the loop, and removes its write event before that
 * reaches the kernel. An error of the socket is left to the bufferevent. A server
 * that stops does not: the trigger keeps the bufferevent until the loop turns
 * again, and there may be no other turn.
 */
static void
write_through(struct http_connection *c)
{
    struct evbuffer *output = bufferevent_get_output(c->bev);

    if (c->peer.is_secure || c->server->is_paused)
        return;
    evbuffer_unfreeze(output, 1);
    evbuffer_write(output, c->fd);
    evbuffer_freeze(output, 1);
    if (evbuffer_get_length(output) == 0)
        bufferevent_trigger(c->bev, EV_WRITE, BEV_TRIG_DEFER_CALLBACKS);
}

void
http_request_reply_pieces(struct http_request *r, int status, const char *content_type,
                          const struct http_piece *pieces, size_t n_pieces)
{
    struct http_connection *c = r->connection;
    bool is_first; /* nothing, such as 100 Continue, is queued before it */

    if (r->is_closed) {
        discard_pieces(pieces, n_pieces);
        http_request_free_orphan(c, r->ev);
        request_free(r);
        return;
    }
    begin_answer(r, content_type);
    if (has_no_body(r, status)) {
        if (r->method == HTTP_HEAD)
            add_length(r, length_of(pieces, n_pieces));
        discard_pieces(pieces, n_pieces);
    } else {
        http_request_add_pieces(c->server->scratch, pieces, n_pieces);
    }
    http_connection_enter(c, HTTP_SENDING);
    is_first = evbuffer_get_length(bufferevent_get_output(c->bev)) == 0;
    evhttp_send_reply(r->ev, status, http_status_phrase(status), c->server->scratch);
    if (is_first)
        write_through(c);
    request_free(r);
}

void
http_request_reply(struct http_request *r, int status, const char *content_type, const void *body,
                   size_t length)
{
    struct http_piece piece = {.bytes = body, .length = length};

    http_request_reply_pieces(r, status, content_type, &piece, length > 0);
}

struct http_stream *
http_request_stream(struct http_request *r, int status, const char *content_type)
{
    struct http_connection *c = r->connection;
    struct http_stream *s = xnew(struct http_stream);

    s->loop = c->loop;
    if (r->is_closed) {
        http_request_free_orphan(c, r->ev);
    } else {
        s->ev = r->ev;
        begin_answer(r, content_type);
        s->connection = c;
        c->stream = s;
        c->server->counts.streams++;
        http_connection_enter(c, HTTP_STREAMING);
        evhttp_send_reply_start(r->ev, status, http_status_phrase(status));
    }
    request_free(r);
    return s;
}
