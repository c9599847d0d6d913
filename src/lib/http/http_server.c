/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_server.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>

#include "lib/base/alloc.h"
#include "lib/base/map.h"
#include "lib/http/http_connection.h"
#include "lib/http/http_listener.h"
#include "lib/http/http_refusal.h"
#include "lib/loop/base.h"

static const struct http_limits default_limits = {
    .header_bytes = 64u << 10,
    .body_bytes = 16u << 20,
    .inflight_bytes = 256u << 20,
    .queued_bytes = 8u << 20,
    .connections = 20000,
    .peer_connections = 4096,
    .receive_ms = 30 * 1000,
    .idle_ms = 120 * 1000,
    .unproven_ms = 10 * 1000,
    .send_ms = 30 * 1000,
};

#define OR_DEFAULT(limits, member)                    \
    do                                                \
        if ((limits)->member == 0)                    \
            (limits)->member = default_limits.member; \
    while (0)

static struct http_limits
limits_from(const struct http_limits *given)
{
    struct http_limits l = {0};

    if (given != NULL)
        l = *given;
    OR_DEFAULT(&l, header_bytes);
    OR_DEFAULT(&l, body_bytes);
    OR_DEFAULT(&l, inflight_bytes);
    OR_DEFAULT(&l, queued_bytes);
    OR_DEFAULT(&l, connections);
    OR_DEFAULT(&l, peer_connections);
    OR_DEFAULT(&l, receive_ms);
    OR_DEFAULT(&l, idle_ms);
    OR_DEFAULT(&l, unproven_ms);
    OR_DEFAULT(&l, send_ms);
    return l;
}

static void
run_deferred(evutil_socket_t fd, short events, void *arg)
{
    struct http_server *server = arg;

    (void)fd;
    (void)events;
    http_connection_adopt_all(server);
    http_connection_replace_refusals(server);
    http_connection_close_marked(server);
}

static void
do_sweep(evutil_socket_t fd, short events, void *arg)
{
    struct http_server *server = arg;

    (void)fd;
    (void)events;
    http_connection_sweep(server);
    http_listener_resume_all(&server->listeners);
    http_listener_resume_all(&server->layered_listeners);
}

static int64_t
least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A sweep is late by at most a quarter of the shortest limit; at most one a
 * second.
 */
static void
start_sweep(struct http_server *server)
{
    const struct http_limits *l = &server->limits;
    int64_t ms = least(least(l->receive_ms, l->unproven_ms), least(l->idle_ms, l->send_ms)) / 4;
    struct timeval tv;

    ms = least(ms < 10 ? 10 : ms, 1000);
    tv = (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    event_assign(&server->sweep, loop_base(server->loop), -1, EV_PERSIST, do_sweep, server);
    event_add(&server->sweep, &tv);
}

static struct evhttp *
new_evhttp(struct http_server *server,
           struct bufferevent *(*make)(struct event_base *base, void *server))
{
    struct evhttp *evhttp = evhttp_new(loop_base(server->loop));

    if (evhttp == NULL)
        abort();
    evhttp_set_max_headers_size(evhttp, (ev_ssize_t)server->limits.header_bytes);
    evhttp_set_max_body_size(evhttp, (ev_ssize_t)server->limits.body_bytes);
    /* After refusing a body that is too long, go on reading it and discard it:
     * a client that is still sending would see a reset instead of the 413.
     */
    evhttp_set_flags(evhttp, EVHTTP_SERVER_LINGERING_CLOSE);
    evhttp_set_default_content_type(evhttp, NULL);
    evhttp_set_allowed_methods(evhttp, EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD
                                           | EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS
                                           | EVHTTP_REQ_PATCH);
    evhttp_set_bevcb(evhttp, make, server);
    evhttp_set_gencb(evhttp, http_request_handle, server);
    return evhttp;
}

struct http_server *
http_server_new(struct loop *loop, const struct http_limits *limits, http_server_fn handler,
                void *arg)
{
    struct http_server *server = xnew(struct http_server);

    server->loop = loop;
    server->limits = limits_from(limits);
    server->handler = handler;
    server->arg = arg;
    server->refusals = (struct http_refusals){.limits = &server->limits, .arg = arg};
    server->peers = map_new();
    list_init(&server->unproven);
    list_init(&server->fresh);
    list_init(&server->closing);
    list_init(&server->refused);
    list_init(&server->listeners);
    list_init(&server->layered_listeners);
    for (size_t i = 0; i < HTTP_PHASES; i++)
        list_init(&server->phases[i]);
    event_assign(&server->deferred, loop_base(loop), -1, 0, run_deferred, server);
    server->scratch = evbuffer_new();
    if (server->scratch == NULL)
        abort();
    server->evhttp = new_evhttp(server, http_connection_make);
    start_sweep(server);
    return server;
}

void
http_server_set_refusal_text(struct http_server *server, http_refusal_fn fn)
{
    server->refusals.body = fn;
}

void
http_server_set_preface(struct http_server *server, const struct http_preface *preface)
{
    server->preface = *preface;
}

void
http_server_free(struct http_server *server)
{
    if (server == NULL)
        return;
    server->is_ending = true;
    http_listener_close_all(&server->listeners);
    http_listener_close_all(&server->layered_listeners);
    http_connection_adopt_all(server);
    for (size_t i = 0; i < HTTP_PHASES; i++)
        while (!list_is_empty(&server->phases[i]))
            http_connection_close(
                container_of(server->phases[i].next, struct http_connection, place));
    event_del(&server->deferred);
    event_del(&server->sweep);
    evhttp_free(server->evhttp);
    if (server->layered != NULL)
        evhttp_free(server->layered);
    evbuffer_free(server->scratch);
    map_free(server->peers);
    free(server->by_fd);
    free(server);
}

int
http_server_check_address(const char *address, struct error *err)
{
    return http_listener_check(address, err);
}

bool
http_server_is_loopback(const char *address)
{
    return http_listener_is_loopback(address);
}

int
http_server_listen(struct http_server *server, const char *address, struct error *err)
{
    return http_listener_open(server->loop, server->evhttp, &server->listeners, address, err);
}

int
http_server_listen_layered(struct http_server *server, const char *address,
                           const struct http_layer *layer, struct error *err)
{
    server->layer = *layer;
    if (server->layered == NULL)
        server->layered = new_evhttp(server, http_connection_make_layered);
    return http_listener_open(server->loop, server->layered, &server->layered_listeners, address,
                              err);
}

int
http_server_listen_unix(struct http_server *server, const char *path, mode_t mode,
                        struct error *err)
{
    return http_listener_open_unix(server->loop, server->evhttp, &server->listeners, path, mode,
                                   err);
}

void
http_server_pause(struct http_server *server)
{
    server->is_paused = true;
    http_listener_close_all(&server->listeners);
    http_listener_close_all(&server->layered_listeners);
}

int
http_server_port(const struct http_server *server)
{
    return http_listener_port(&server->listeners);
}

int
http_server_layered_port(const struct http_server *server)
{
    return http_listener_port(&server->layered_listeners);
}
