/* SPDX-License-Identifier: Apache-2.0 */
/* kctl proxy - the API for any Kubernetes client, as the user who runs it
 *
 * The proxy listens on a Unix socket that only the user can open (0600), or on
 * a loopback port. On the port each connection is looked up in the kernel's
 * table, and is refused unless its process has the same user. A web page in a
 * browser cannot use it either: requests with an Origin, or for another host,
 * are refused.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/connect/connection.h"
#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/verbs/cluster/peer_user.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/http/http_client.h"
#include "lib/http/http_request.h"
#include "lib/http/http_server.h"
#include "lib/http/http_stream.h"
#include "lib/json/json.h"
#include "lib/loop/loop.h"
#include "lib/loop/sigwatch.h"

struct proxy_options {
    struct common_options common;
    const char *socket;
    int64_t port;
    bool has_port;
};

static int
set_port(const struct option_spec *option, const char *value, void *target, struct error *err)
{
    struct proxy_options *o = target;
    char *end;
    long port = strtol(value, &end, 10);

    (void)option;
    if (end == value || *end != '\0' || port < 0 || port > 65535)
        return error_set(err, -EINVAL, "'%s' is not a port", value);
    o->port = port;
    o->has_port = true;
    return 0;
}

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "port",
     .letter = 'p',
     .argument = "N",
     .help = "listen on this port of 127.0.0.1, for processes of the same "
             "user only; 0 picks a free port",
     .type = OPTION_CALL,
     .set = set_port},
    {.name = "unix-socket",
     .letter = 'u',
     .argument = "PATH",
     .help = "listen on this socket ($XDG_RUNTIME_DIR/kiln-proxy.sock)",
     .type = OPTION_TEXT,
     .offset = offsetof(struct proxy_options, socket)},
};

static const struct option_table table = {
    .name = "kctl proxy",
    .usage = "[OPTION]...",
    .summary = "Serve the API to Kubernetes clients, with the identity of the "
               "user who runs this command.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl proxy --port 8001 &\n"
            "  kubectl --server http://127.0.0.1:8001 get pods",
};

struct proxy {
    struct loop *loop;
    struct http_client *http;
    struct http_server *server;
    unsigned port; /* 0: only the Unix socket */
};

/* One request that is being relayed from the client to the server. */
struct proxy_exchange {
    struct http_request *request; /* NULL once it is answered */
    struct http_stream *stream;   /* of an answer that is a stream */
    struct http_call *call;
};

static void
reply_status(struct http_request *request, int code, const char *reason, const char *message)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    strbuf_add_text(&text, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":"
                           "{},\"status\":\"Failure\",\"message\":");
    json_print_string(message, strlen(message), &text);
    strbuf_printf(&text, ",\"reason\":\"%s\",\"code\":%d}\n", reason, code);
    http_request_reply(request, code, "application/json", text.text, text.length);
}

/* ---- Authentication of the peer ---- */

static bool
names_this_host(const char *host)
{
    static const char *const ours[] = {"127.0.0.1", "localhost"};

    for (size_t i = 0; host != NULL && i < ARRAY_SIZE(ours); i++) {
        size_t n = strlen(ours[i]);

        if (strncasecmp(host, ours[i], n) == 0 && (host[n] == '\0' || host[n] == ':'))
            return true;
    }
    return false;
}

/* The user is looked up once for each connection. */
static bool
is_same_user(const struct proxy *p, struct http_request *request)
{
    static char allowed[] = "same user";
    const struct http_peer *peer = http_request_peer(request);
    uid_t uid = 0;

    if (peer->is_local)
        return peer->uid == getuid();
    if (http_request_connection_data(request) == allowed)
        return true;
    if (peer_user_find(PEER_USER_TABLE, peer->address, p->port, &uid) < 0 || uid != getuid())
        return false;
    http_request_set_connection_data(request, allowed, NULL);
    return true;
}

static bool
admit(const struct proxy *p, struct http_request *request)
{
    if (!is_same_user(p, request)) {
        reply_status(request, 403, "Forbidden", "this proxy serves only the user who started it");
        return false;
    }
    if (!http_request_peer(request)->is_local
        && (http_request_header(request, "Origin") != NULL
            || !names_this_host(http_request_header(request, "Host")))) {
        reply_status(request, 403, "Forbidden", "this proxy does not serve web pages");
        return false;
    }
    return true;
}

/* ---- Relaying ---- */

static void
relay_free(struct proxy_exchange *relay)
{
    free(relay);
}

static void
client_gone(struct http_request *request, void *arg)
{
    struct proxy_exchange *relay = arg;

    (void)request;
    http_call_cancel(relay->call);
    reply_status(relay->request, 499, "ClientGone", "the client has disconnected");
    relay_free(relay);
}

static void
stream_closed(struct http_stream *stream, enum http_stream_end_reason reason, void *arg)
{
    struct proxy_exchange *relay = arg;

    (void)stream;
    (void)reason;
    http_call_cancel(relay->call);
    relay_free(relay);
}

static void
copy_headers(struct http_request *request, const struct http_response *answer)
{
    static const char *const names[] = {"Warning", "Retry-After", "Location"};

    for (size_t i = 0; i < answer->n_headers; i++)
        for (size_t n = 0; n < ARRAY_SIZE(names); n++)
            if (strcasecmp(answer->headers[i].name, names[n]) == 0)
                http_request_add_header(request, names[n], answer->headers[i].value);
}

static void
relay_started(const struct http_response *answer, void *arg)
{
    struct proxy_exchange *relay = arg;

    http_request_on_close(relay->request, NULL, NULL);
    copy_headers(relay->request, answer);
    relay->stream = http_request_stream(relay->request, answer->status, answer->content_type);
    relay->request = NULL;
    http_stream_set_callbacks(
        relay->stream, &(struct http_stream_callbacks){.closed = stream_closed, .arg = relay});
}

static void
relay_data(const void *bytes, size_t length, void *arg)
{
    struct proxy_exchange *relay = arg;

    if (relay->stream != NULL)
        http_stream_send_text(relay->stream, bytes, length);
}

static void
relay_done(const struct http_response *answer, const struct error *err, void *arg)
{
    struct proxy_exchange *relay = arg;

    if (relay->stream != NULL) {
        http_stream_end(relay->stream);
    } else {
        http_request_on_close(relay->request, NULL, NULL);
        if (answer != NULL) {
            copy_headers(relay->request, answer);
            http_request_reply(relay->request, answer->status, answer->content_type, answer->body,
                               answer->length);
        } else {
            reply_status(relay->request, 502, "BadGateway", err->text);
        }
    }
    relay_free(relay);
}

/* Whether the answer is a stream, which is passed on as it arrives. */
static bool
is_stream(const struct http_request *request)
{
    const char *watch = http_request_query(request, "watch");
    const char *follow = http_request_query(request, "follow");

    return (watch != NULL && strcmp(watch, "false") != 0 && strcmp(watch, "0") != 0)
           || (follow != NULL && strcmp(follow, "true") == 0);
}

/* A client that impersonates another user must not get its own answers, so the
 * headers for impersonation are passed to the controller, which may refuse
 * them.
 */
static bool
is_passed(const char *name)
{
    static const char *const passed[] = {"Accept", "Idempotency-Key",
                                         "Upgrade", /* refused with a text */
                                         "User-Agent"};

    for (size_t i = 0; i < ARRAY_SIZE(passed); i++)
        if (strcasecmp(name, passed[i]) == 0)
            return true;
    return strncasecmp(name, "Impersonate-", 12) == 0;
}

static size_t
count_headers(const struct http_request *request)
{
    const char *name, *value;
    const void *at = NULL;
    size_t n = 0;

    while (http_request_header_next(request, &at, &name, &value))
        n++;
    return n;
}

static void
serve(struct http_request *request, void *arg)
{
    struct proxy *p = arg;
    CLEANUP_FREE struct http_header *headers =
        xcalloc(count_headers(request) + 1, sizeof(*headers));
    const char *name, *value;
    const void *at = NULL;
    struct http_client_request question = {
        .method = http_request_method(request),
        .target = http_request_target(request),
        .headers = headers,
        .content_type = http_request_header(request, "Content-Type"),
        .done = relay_done,
    };
    struct proxy_exchange *relay;

    if (!admit(p, request))
        return;
    while (http_request_header_next(request, &at, &name, &value))
        if (is_passed(name))
            headers[question.n_headers++] = (struct http_header){name, value};
    question.body = http_request_body(request, &question.length);
    relay = xnew(struct proxy_exchange);
    relay->request = request;
    question.arg = relay;
    if (is_stream(request)) {
        question.started = relay_started;
        question.data = relay_data;
    }
    relay->call = http_client_call(p->http, &question);
    http_request_on_close(request, client_gone, relay);
}

/* ---- Listening ---- */

static const char *
default_socket(char out[PATH_MAX])
{
    const char *directory = getenv("XDG_RUNTIME_DIR");

    if (directory != NULL && directory[0] == '/')
        snprintf(out, PATH_MAX, "%s/kiln-proxy.sock", directory);
    else
        snprintf(out, PATH_MAX, "/tmp/kiln-proxy-%u.sock", getuid());
    return out;
}

static int
listen_at(struct proxy *p, const struct proxy_options *o, struct error *err)
{
    char path[PATH_MAX];
    char address[64];
    const char *socket = o->socket;
    int r;

    if (o->has_port) {
        snprintf(address, sizeof(address), "127.0.0.1:%lld", (long long)o->port);
        r = http_server_listen(p->server, address, err);
        if (r < 0)
            return r;
        p->port = (unsigned)http_server_port(p->server);
        printf("Serving on http://127.0.0.1:%u\n", p->port);
    }
    if (o->has_port && socket == NULL)
        return 0;
    if (socket == NULL)
        socket = default_socket(path);
    r = http_server_listen_unix(p->server, socket, 0600, err);
    if (r == 0)
        printf("Serving on http+unix://%s\n", socket);
    return r;
}

static void
stop(int signal_number, void *arg)
{
    (void)signal_number;
    loop_stop(arg);
}

static int
proxy_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
          struct error *err)
{
    const struct proxy_options *o = options;
    struct proxy p = {0};
    struct sigwatch *interrupt;
    struct sigwatch *terminate;
    int r;

    if (n_operands > 0)
        return error_set(err, -EINVAL, "'%s' is not expected", operands[0]);
    r = kctl_open(kctl, err);
    if (r < 0)
        return r;
    p.loop = kctl_client(kctl)->loop;
    p.http = connection_http(kctl->connection);
    p.server = http_server_new(p.loop, NULL, serve, &p);
    interrupt = sigwatch_new(p.loop, SIGINT, stop, p.loop);
    terminate = sigwatch_new(p.loop, SIGTERM, stop, p.loop);
    r = listen_at(&p, o, err);
    fflush(stdout);
    if (r == 0)
        loop_run(p.loop);
    sigwatch_free(interrupt);
    sigwatch_free(terminate);
    http_server_free(p.server);
    return r;
}

const struct command proxy_command = {
    .name = "proxy",
    .options = &table,
    .options_size = sizeof(struct proxy_options),
    .run = proxy_run,
};
