/* SPDX-License-Identifier: Apache-2.0 */
/* Evhttp answers what it cannot read with a page of HTML, which no client of the API can
 * parse. It cannot be told another text, so the page is replaced in the buffer before the loop
 * writes it.
 */
#include "lib/http/http_refusal.h"

#include <stdio.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "lib/base/strbuf.h"
#include "lib/http/http_connection.h"

/* Explains the statuses of evhttp and of this server. */
static void
explain(const struct http_server *server, int status, struct strbuf *out)
{
    const struct http_limits *l = &server->limits;

    switch (status) {
    case 413:
        strbuf_printf(out, "the request body is larger than %zu MiB", l->body_bytes >> 20);
        return;
    case 501:
        strbuf_add_text(out, "the request method is not one of GET, HEAD, POST, "
                             "PUT, PATCH, DELETE and OPTIONS");
        return;
    case 503:
        strbuf_printf(out,
                      "the requests being received are more than %zu MiB in "
                      "all; try again in a second",
                      l->inflight_bytes >> 20);
        return;
    default:
        strbuf_printf(out,
                      "the request cannot be read: its first line, a header or "
                      "a chunk is malformed, or its headers are longer than "
                      "%zu KiB",
                      l->header_bytes >> 10);
    }
}

const char *
http_refusal_body(struct http_server *server, int status, const char *why, struct strbuf *out)
{
    if (server->refusal != NULL)
        return server->refusal(status, why, out, server->arg);
    strbuf_printf(out, "%s\n", why);
    return "text/plain";
}

void
http_refusal_write(struct http_server *server, int status, struct strbuf *out)
{
    CLEANUP_STRBUF struct strbuf why = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;
    const char *type;

    explain(server, status, &why);
    type = http_refusal_body(server, status, why.text, &body);
    strbuf_printf(out,
                  "HTTP/1.1 %d %s\r\n"
                  "%s"
                  "Content-Type: %s\r\n"
                  "Content-Length: %zu\r\n"
                  "Connection: close\r\n\r\n",
                  status, http_status_phrase(status), status == 503 ? "Retry-After: 1\r\n" : "",
                  type, body.length);
    strbuf_add(out, body.text, body.length);
}

void
http_refusal_note(struct http_connection *c)
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
replace(struct http_connection *c)
{
    struct evbuffer *output = bufferevent_get_output(c->bev);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    int status = status_of(output);

    if (status == 0)
        return;
    c->is_refused = true;
    http_refusal_write(c->server, status, &text);
    evbuffer_drain(output, evbuffer_get_length(output));
    evbuffer_add(output, text.text, text.length);
}

void
http_refusal_replace_all(struct http_server *server)
{
    while (!list_is_empty(&server->refused)) {
        struct http_connection *c =
            container_of(server->refused.next, struct http_connection, refused_place);

        list_remove(&c->refused_place);
        replace(c);
    }
}
