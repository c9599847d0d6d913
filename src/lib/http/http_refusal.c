/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_refusal.h"

#include "lib/base/strbuf.h"
#include "lib/http/http.h"
#include "lib/http/http_server.h"

/* Explains the statuses of evhttp and of this server. */
static void
explain(const struct http_limits *l, int status, struct strbuf *out)
{
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
http_refusal_body(const struct http_refusals *refusals, int status, const char *why,
                  struct strbuf *out)
{
    if (refusals->body != NULL)
        return refusals->body(status, why, out, refusals->arg);
    strbuf_printf(out, "%s\n", why);
    return "text/plain";
}

void
http_refusal_write(const struct http_refusals *refusals, int status, struct strbuf *out)
{
    CLEANUP_STRBUF struct strbuf why = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;
    const char *type;

    explain(refusals->limits, status, &why);
    type = http_refusal_body(refusals, status, why.text, &body);
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
