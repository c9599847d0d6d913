/* SPDX-License-Identifier: Apache-2.0 */
/* The requests that a standby answers itself, over plain HTTP. Health tells nothing that
 * the open port does not. Metrics are for whom a leader gives them, but this head knows
 * neither tokens nor administrators as they are now: so the leader is asked for its own
 * metrics with the very request, and who would get those gets the ones of this head.
 */
#include <errno.h>
#include <string.h>

#include "controller/relay/relay_state.h"
#include "lib/base/metric.h"
#include "lib/base/strbuf.h"
#include "lib/loop/fdwatch.h"

static void
send_answer(struct relay_connection *c, const char *status, const char *type, const char *body)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    strbuf_printf(&out,
                  "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                  "Cache-Control: no-cache, private\r\n%sConnection: close\r\n\r\n%s",
                  status, type, strlen(body), status[0] == '5' ? "Retry-After: 1\r\n" : "", body);
    /* A client that does not take so little is not waited for. */
    (void)!send(c->client, out.text, out.length, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)shutdown(c->client, SHUT_WR);
    relay_connection_enter(c, RELAY_ENDING);
    fdwatch_want(c->client_watch, FDWATCH_READ);
    relay_answer_drain(c);
}

/* A socket that is closed while a request is unread resets the connection, and
 * the client might not see the answer. The time is limited.
 */
void
relay_answer_drain(struct relay_connection *c)
{
    ssize_t n = recv(c->client, c->relay->chunk, RELAY_CHUNK, MSG_DONTWAIT);

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        relay_connection_close(c, false);
}

void
relay_answer_unreachable(struct relay_connection *c)
{
    metric_count(c->relay->refused, 1);
    if (c->is_tls) {
        relay_connection_close(c, false);
        return;
    }
    send_answer(c, "503 Service Unavailable", "application/json",
                "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
                "\"message\":\"this controller waits to lead, and cannot reach the one that leads: "
                "try again\",\"reason\":\"NotLeading\",\"code\":503}\n");
}

void
relay_answer_metrics(struct relay_connection *c)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    metric_set(c->relay->open, c->relay->count);
    metric_format(c->relay->metrics, &text);
    send_answer(c, "200 OK", METRIC_CONTENT_TYPE, text.text);
}

static bool
asks_for(const char *start, const char *request)
{
    size_t length = strlen(request);

    return strncmp(start, request, length) == 0 && strchr(" ?/", start[length]) != NULL
           && start[length] != '\0';
}

bool
relay_answer_try(struct relay_connection *c, const char *start)
{
    const struct relay *relay = c->relay;

    if (asks_for(start, "GET /metrics")) {
        c->asks_metrics = true;
        return false;
    }
    if (asks_for(start, "GET /healthz") || asks_for(start, "GET /livez")) {
        send_answer(c, "200 OK", "text/plain; charset=utf-8", "ok");
    } else if (asks_for(start, "GET /readyz")) {
        if (relay->target.key[0] != '\0' && !relay->is_leader_away)
            send_answer(c, "200 OK", "text/plain; charset=utf-8", "ok");
        else
            send_answer(c, "503 Service Unavailable", "text/plain; charset=utf-8",
                        "this controller waits to lead, and cannot reach the one that leads\n");
    } else {
        return false;
    }
    return true;
}
