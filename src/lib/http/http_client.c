/* SPDX-License-Identifier: Apache-2.0 */
/* A request is sent a second time only where that cannot do harm: on a connection that had
 * been kept, before a byte of the answer came, and if its method is safe or its caller said so
 * (decision 492). A server closes idle connections whenever it likes, so without this each
 * pause would cost an error.
 */
#include "lib/http/http_client.h"

#include <strings.h>

#include <event2/event.h>

#include "lib/auth/auth_client.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/http/http_client_connection.h"
#include "lib/loop/base.h"

static struct http_client_settings
settings_from(const struct http_client_settings *given)
{
    struct http_client_settings s = {0};

    if (given != NULL)
        s = *given;
    if (s.connections == 0)
        s.connections = 8;
    if (s.connect_ms == 0)
        s.connect_ms = 10 * 1000;
    if (s.answer_ms == 0)
        s.answer_ms = 60 * 1000;
    if (s.body_bytes == 0)
        s.body_bytes = (size_t)256 << 20;
    if (s.server == NULL)
        s.server = "controller";
    if (s.server_program == NULL)
        s.server_program = "kiln-controller";
    return s;
}

static struct http_call *
call_at(struct list *at)
{
    return container_of(at, struct http_call, place);
}

/* Finds a link that can take a call, and counts the links that no stream
 * occupies.
 */
static struct http_client_connection *
find_ready(struct http_client *client, unsigned *ret_links, unsigned *ret_connecting)
{
    struct http_client_connection *ready = NULL;

    *ret_links = *ret_connecting = 0;
    list_foreach(at, &client->links)
    {
        struct http_client_connection *c = container_of(at, struct http_client_connection, place);

        if (c->call != NULL && c->call->question.data != NULL)
            continue;
        (*ret_links)++;
        *ret_connecting += c->state == HTTP_CLIENT_CONNECTION_CONNECTING;
        if (ready == NULL && http_client_connection_is_usable(c))
            ready = c;
    }
    return ready;
}

static void
close_stale(struct http_client *client)
{
    list_foreach_safe(at, &client->links)
    {
        struct http_client_connection *c = container_of(at, struct http_client_connection, place);

        if (c->state == HTTP_CLIENT_CONNECTION_READY && !http_client_connection_is_usable(c))
            http_client_connection_free(c);
    }
}

static size_t
count_waiting(const struct http_client *client, size_t enough)
{
    size_t count = 0;

    list_foreach(at, &client->waiting) if (++count >= enough) break;
    return count;
}

/* Opens a link for each waiting call, up to the size of the pool. */
static void
serve_waiting(evutil_socket_t fd, short events, void *arg)
{
    struct http_client *client = arg;
    unsigned n_links, n_connecting;

    (void)fd;
    (void)events;
    close_stale(client);
    while (!list_is_empty(&client->waiting)) {
        struct http_client_connection *ready = find_ready(client, &n_links, &n_connecting);

        if (ready != NULL) {
            struct http_call *call = call_at(client->waiting.next);

            list_remove(&call->place);
            http_client_connection_take(ready, call);
            continue;
        }
        if (n_links >= client->settings.connections
            || n_connecting >= count_waiting(client, n_connecting + 1))
            return;
        http_client_connection_open(client);
    }
}

void
http_client_schedule(struct http_client *client)
{
    event_active(&client->deferred, EV_TIMEOUT, 0);
}

int
http_client_new(struct loop *loop, const char *url, const struct http_client_settings *settings,
                struct http_client **ret_client, struct error *err)
{
    struct http_address address;
    struct http_client *client;
    bool knows_tls = settings != NULL && settings->layer != NULL;
    int r = http_address_parse(url, knows_tls, &address, err);

    if (r < 0)
        return r;
    client = xnew(struct http_client);
    client->loop = loop;
    client->address = address;
    client->settings = settings_from(settings);
    client->server_program = xstrdup(client->settings.server_program);
    client->settings.server_program = client->server_program;
    list_init(&client->links);
    list_init(&client->waiting);
    event_assign(&client->deferred, loop_base(loop), -1, 0, serve_waiting, client);
    *ret_client = client;
    return 0;
}

static void
call_free(struct http_call *call)
{
    struct arena *arena = call->arena;

    list_remove(&call->place);
    auth_frames_free(call->frames);
    strbuf_fini(&call->body);
    arena_free(arena);
}

void
http_client_free(struct http_client *client)
{
    if (client == NULL)
        return;
    while (!list_is_empty(&client->waiting))
        call_free(call_at(client->waiting.next));
    while (!list_is_empty(&client->links)) {
        struct http_client_connection *c =
            container_of(client->links.next, struct http_client_connection, place);
        struct http_call *call = c->call;

        c->call = NULL;
        http_client_connection_free(c);
        if (call != NULL)
            call_free(call);
    }
    event_del(&client->deferred);
    http_address_fini(&client->address);
    free(client->server_program);
    free(client);
}

static const char *
keep(struct arena *arena, const char *text)
{
    return text != NULL ? arena_strdup(arena, text) : NULL;
}

static void
keep_headers(struct arena *arena, struct http_client_request *mine,
             const struct http_client_request *given, const char *as_user)
{
    struct http_header *headers = arena_new_array(arena, struct http_header, given->n_headers + 1);

    for (size_t i = 0; i < given->n_headers; i++) {
        headers[i].name = keep(arena, given->headers[i].name);
        headers[i].value = keep(arena, given->headers[i].value);
    }
    if (as_user != NULL)
        headers[mine->n_headers++] = (struct http_header){"Impersonate-User", keep(arena, as_user)};
    mine->headers = headers;
}

struct http_call *
http_client_call(struct http_client *client, const struct http_client_request *question)
{
    struct arena *arena = arena_new(1024 + question->length);
    struct http_call *call = arena_alloc(arena, sizeof(*call));
    struct http_client_request *q = &call->question;

    call->client = client;
    call->arena = arena;
    strbuf_init(&call->body);
    *q = *question;
    q->target = keep(arena, q->target);
    q->content_type = keep(arena, q->content_type);
    keep_headers(arena, q, question, client->settings.as_user);
    q->body = arena_memdup(arena, question->length > 0 ? question->body : "", question->length);
    list_add_last(&client->waiting, &call->place);
    http_client_schedule(client);
    return call;
}

void
http_call_cancel(struct http_call *call)
{
    struct http_client_connection *c = call->link;

    if (c != NULL)
        http_client_connection_drop(c);
    call_free(call);
}

void
http_call_done(struct http_call *call, const struct http_response *answer, const struct error *err)
{
    call->link = NULL;
    list_remove(&call->place);
    call->question.done(answer, err, call->question.arg);
    call_free(call);
}

void
http_call_retry(struct http_call *call)
{
    call->link = NULL;
    call->was_repeated = true;
    list_add_first(&call->client->waiting, &call->place);
    http_client_schedule(call->client);
}

/* Fails only the calls that wait now: `done` may add new ones. */
void
http_client_fail_waiting(struct http_client *client, const struct error *err)
{
    struct list failed;

    list_init(&failed);
    while (!list_is_empty(&client->waiting)) {
        struct list *at = client->waiting.next;

        list_remove(at);
        list_add_last(&failed, at);
    }
    while (!list_is_empty(&failed))
        http_call_done(call_at(failed.next), NULL, err);
}

int
http_client_unreachable(struct http_client *client, int r, const char *why, struct error *err)
{
    return error_set(err, r, "cannot reach the %s at '%s': %s; is %s running?",
                     client->settings.server, client->address.url, why, client->server_program);
}

const char *
http_response_header(const struct http_response *answer, const char *name)
{
    for (size_t i = 0; i < answer->n_headers; i++)
        if (strcasecmp(answer->headers[i].name, name) == 0)
            return answer->headers[i].value;
    return NULL;
}
