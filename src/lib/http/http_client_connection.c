/* SPDX-License-Identifier: Apache-2.0 */
/* One link is one small state machine, and callbacks may do anything in the middle of it:
 * cancel their call, start another, free the client. Therefore a link is first brought into
 * its next state, and the caller is told last; after each callback it is checked whether the
 * call is still the same.
 *
 * A call that is cancelled costs its connection, as the bytes of its answer could not be told
 * from those of the next.
 */
#include "lib/http/http_client_connection.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "lib/auth/auth_client.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/http/http_dial.h"
#include "lib/loop/base.h"

static void begin_call(struct http_client_connection *c);

/* Timeouts */

static void
allow(struct http_client_connection *c, int64_t ms)
{
    struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

    event_add(&c->timer, &tv);
}

static struct http_response
answer_of(const struct http_client_connection *c, const struct strbuf *body)
{
    const char *type = http_reader_header(&c->reader, "Content-Type");

    return (struct http_response){
        .status = c->reader.status,
        .content_type = type != NULL ? type : "",
        .body = body->text,
        .length = body->length,
        .headers = c->reader.headers,
        .n_headers = c->reader.n_headers,
    };
}

/* The end of a link, and of the call on it */

static void
dispose(struct http_client_connection *c)
{
    if (c->is_reading)
        c->closes_later = true;
    else
        http_client_connection_free(c);
}

static void
fail_call(struct http_client_connection *c, const struct error *err)
{
    struct http_call *call = c->call;

    c->call = NULL;
    c->closes_later = true; /* the link must not be used again, even by
                             * `done` */
    if (call != NULL)
        http_call_done(call, NULL, err);
    http_client_schedule(c->client);
    dispose(c);
}

/* Connecting failed, so all waiting calls fail. */
static void
fail_connect(struct http_client_connection *c, int r, const char *why)
{
    struct http_client *client = c->client;
    struct error err = {0};

    client->first_host = http_dial_host(c->dial) + 1;
    /* `why` may belong to the dial, which is freed with the link. */
    (void)http_client_unreachable(client, r, why, &err);
    http_client_connection_free(c);
    http_client_fail_waiting(client, &err);
}

static bool
may_repeat(const struct http_client_connection *c)
{
    const struct http_call *call = c->call;

    return call != NULL && c->state == HTTP_CLIENT_CONNECTION_BUSY && c->n_answers > 0
           && c->reader.state == HTTP_READER_HEAD && !call->was_repeated
           && evbuffer_get_length(bufferevent_get_input(c->bev)) == 0
           && (call->question.is_repeatable || call->question.method == HTTP_GET
               || call->question.method == HTTP_HEAD || call->question.method == HTTP_OPTIONS);
}

static void
lose(struct http_client_connection *c, int r)
{
    struct error err = {0};

    if (may_repeat(c)) {
        struct http_call *call = c->call;

        c->call = NULL;
        http_call_retry(call);
        dispose(c);
        return;
    }
    if (c->call != NULL && c->call->is_streaming)
        error_set(&err, r, "the connection to the %s at '%s' was lost (%s)",
                  c->client->settings.server, c->client->address.url, strerror(-r));
    else
        error_set(&err, r,
                  "the connection to the %s at '%s' was lost before the "
                  "answer came (%s)",
                  c->client->settings.server, c->client->address.url, strerror(-r));
    fail_call(c, &err);
}

/* The answer */

static void
frame_came(const void *bytes, size_t length, void *arg)
{
    struct http_client_connection *c = arg;

    if (c->call != NULL)
        c->call->question.data(bytes, length, c->call->question.arg);
}

static int
start_stream(struct http_client_connection *c, struct error *err)
{
    struct strbuf nothing = STRBUF_INIT;
    struct http_response head = answer_of(c, &nothing);
    struct http_call *call = c->call;
    int r;

    if (c->login != NULL) {
        r = connection_login_check(c->login, &call->ticket, &head, err);
        if (r < 0)
            return r;
        call->frames = connection_login_frames(c->login, &call->ticket, frame_came, c);
    }
    call->is_streaming = true;
    event_del(&c->timer);
    if (call->question.started != NULL)
        call->question.started(&head, call->question.arg);
    return 0;
}

/* A chunked 2xx is a stream; an answer with a length is checked as a whole
 * before it is passed on.
 */
static int
on_head(void *arg)
{
    struct http_client_connection *c = arg;
    struct error err = {0};
    int r = 0;

    if (c->call == NULL || c->state != HTTP_CLIENT_CONNECTION_BUSY)
        return 0;
    if (c->call->question.data != NULL && c->reader.status / 100 == 2
        && (c->login == NULL || c->reader.is_chunked))
        r = start_stream(c, &err);
    if (r < 0)
        fail_call(c, &err);
    return c->closes_later ? -ECANCELED : 0;
}

static int
feed_stream(struct http_client_connection *c, const void *bytes, size_t length)
{
    struct http_call *call = c->call;
    struct error err = {0};

    if (call->frames == NULL)
        call->question.data(bytes, length, call->question.arg);
    else if (auth_frames_feed(call->frames, bytes, length, &err) < 0 && c->call == call)
        fail_call(c, &err);
    return c->closes_later ? -ECANCELED : 0;
}

static int
on_body(const void *bytes, size_t length, void *arg)
{
    struct http_client_connection *c = arg;
    struct strbuf *body = &c->login_body;
    struct error err = {0};

    if (c->state == HTTP_CLIENT_CONNECTION_BUSY) {
        if (c->call->is_streaming)
            return feed_stream(c, bytes, length);
        body = &c->call->body;
    }
    if (body->length + length > c->client->settings.body_bytes) {
        error_set(&err, -EFBIG,
                  "the answer is longer than %zu bytes; ask for less at a "
                  "time",
                  c->client->settings.body_bytes);
        fail_call(c, &err);
        return -ECANCELED;
    }
    strbuf_add(body, bytes, length);
    return 0;
}

/* Delivers the whole answer. The link stays BUSY until `done` has returned,
 * because the headers are in the link's reader.
 */
static void
conclude(struct http_client_connection *c, struct http_call *call)
{
    struct http_response answer = answer_of(c, &call->body);
    struct http_client_request *q = &call->question;
    struct error err = {0};
    int r = 0;

    if (call->frames != NULL)
        r = auth_frames_finish(call->frames, &err);
    else if (c->login != NULL && !call->is_streaming)
        r = connection_login_check(c->login, &call->ticket, &answer, &err);
    if (r == 0 && q->data != NULL && !call->is_streaming && answer.status / 100 == 2) {
        if (q->started != NULL)
            q->started(&answer, q->arg);
        if (c->call == call)
            q->data(answer.body, answer.length, q->arg);
        answer.length = 0;
        answer.body = "";
    }
    if (c->call != call) /* one of these callbacks cancelled it */
        return;
    c->call = NULL;
    http_call_done(call, r < 0 ? NULL : &answer, r < 0 ? &err : NULL);
}

static void
finish_answer(struct http_client_connection *c)
{
    /* Another host may be able to do what this one cannot for now. */
    bool is_elsewhere = c->reader.status == 503 && c->client->address.n_hosts > 1;
    bool closes = c->reader.closes || c->closes_later || is_elsewhere;

    if (is_elsewhere)
        c->client->first_host = c->host + 1;
    c->n_answers++;
    http_client_schedule(c->client);
    if (closes) {
        dispose(c);
        return;
    }
    event_del(&c->timer);
    c->state = HTTP_CLIENT_CONNECTION_READY;
    bufferevent_enable(c->bev, EV_READ); /* to notice a close */
}

/* Handles the controller's answer to the hello. A refusal becomes the answer to
 * the call that needed the session, because it contains the reason.
 */
static void
conclude_hello(struct http_client_connection *c)
{
    struct http_response answer = answer_of(c, &c->login_body);

    if (answer.status / 100 == 2 && !c->reader.closes) {
        connection_login_welcome(c->login,
                                 http_response_header(&answer, PROTOCOL_CREDENTIAL_HEADER));
        return;
    }
    if (answer.status / 100 == 2) {
        lose(c, -EPIPE);
        return;
    }
    if (c->call != NULL) {
        struct http_call *call = c->call;

        c->call = NULL;
        http_call_done(call, &answer, NULL);
    }
    c->closes_later = true;
    dispose(c);
}

static void
answer_complete(struct http_client_connection *c)
{
    c->is_awaiting = false;
    if (c->state == HTTP_CLIENT_CONNECTION_LOGIN) {
        conclude_hello(c);
        return;
    }
    if (c->call != NULL)
        conclude(c, c->call);
    finish_answer(c);
}

static void
on_readable(struct bufferevent *bev, void *arg)
{
    struct http_client_connection *c = arg;
    struct error err = {0};
    int r;

    if (!c->is_awaiting) { /* no request is under way */
        lose(c, -EPROTO);
        return;
    }
    if (c->call == NULL || !c->call->is_streaming)
        allow(c, c->client->settings.answer_ms);
    c->is_reading = true;
    r = http_reader_read(&c->reader, bufferevent_get_input(bev), &err);
    if (r < 0 && !c->closes_later)
        fail_call(c, &err);
    else if (r == 0 && c->reader.state == HTTP_READER_DONE)
        answer_complete(c);
    c->is_reading = false;
    if (c->closes_later)
        http_client_connection_free(c);
}

/* The request */

static void
on_error(struct bufferevent *bev, short what, void *arg)
{
    struct http_client_connection *c = arg;
    int r = (what & BEV_EVENT_EOF) != 0 ? -ECONNRESET : -errno;

    (void)bev;
    if ((what & BEV_EVENT_EOF) != 0 && c->is_awaiting && http_reader_close(&c->reader) == 0) {
        c->is_reading = true;
        answer_complete(c);
        c->is_reading = false;
        http_client_connection_free(c);
        return;
    }
    lose(c, r != 0 ? r : -ECONNRESET);
}

/* The other connections to a host that does not answer wait in vain, too, and
 * watches would do so for ever. The loop notices that they have ended.
 */
static void
leave_host(struct http_client_connection *c)
{
    struct http_client *client = c->client;

    client->first_host = c->host + 1; /* it may no longer be the one that leads */
    if (client->address.n_hosts < 2)
        return;
    for (struct list *at = client->links.next; at != &client->links; at = at->next) {
        const struct http_client_connection *other =
            container_of(at, struct http_client_connection, place);

        if (other != c && other->bev != NULL && other->host == c->host)
            (void)shutdown(bufferevent_getfd(other->bev), SHUT_RDWR);
    }
}

static void
on_time(evutil_socket_t fd, short events, void *arg)
{
    struct http_client_connection *c = arg;
    struct error err = {0};

    (void)fd;
    (void)events;
    if (c->state == HTTP_CLIENT_CONNECTION_CONNECTING) {
        fail_connect(c, -ETIMEDOUT, "it does not answer");
        return;
    }
    leave_host(c);
    error_set(&err, -ETIMEDOUT, "the %s at '%s' has not answered within %" PRId64 " seconds",
              c->client->settings.server, c->client->address.url,
              c->client->settings.answer_ms / 1000);
    fail_call(c, &err);
}

static void
write_request(struct http_client_connection *c, const struct http_client_request *q,
              const char *authorization)
{
    struct evbuffer *out = bufferevent_get_output(c->bev);

    evbuffer_add_printf(out, "%s %s HTTP/1.1\r\nHost: %s\r\n", http_method_name(q->method),
                        q->target, c->client->address.host_header);
    for (size_t i = 0; i < q->n_headers; i++)
        evbuffer_add_printf(out, "%s: %s\r\n", q->headers[i].name, q->headers[i].value);
    if (authorization != NULL)
        evbuffer_add_printf(out, "Authorization: %s\r\n", authorization);
    if (q->content_type != NULL)
        evbuffer_add_printf(out, "Content-Type: %s\r\n", q->content_type);
    if (q->length > 0 || q->method == HTTP_POST || q->method == HTTP_PUT || q->method == HTTP_PATCH)
        evbuffer_add_printf(out, "Content-Length: %zu\r\n", q->length);
    evbuffer_add(out, "\r\n", 2);
    evbuffer_add(out, q->body, q->length);
    http_reader_begin(&c->reader, q->method == HTTP_HEAD);
    c->is_awaiting = true;
    allow(c, c->client->settings.answer_ms);
}

/* The head of a request consists of lines; a newline in one of its fields would
 * let a caller inject headers.
 */
static bool
is_clean(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == '\x7f')
            return false;
    return true;
}

static bool
is_well_formed(const struct http_client_request *q)
{
    if (!is_clean(q->target) || strchr(q->target, ' ') != NULL
        || (q->content_type != NULL && !is_clean(q->content_type)))
        return false;
    for (size_t i = 0; i < q->n_headers; i++)
        if (!is_clean(q->headers[i].name) || !is_clean(q->headers[i].value))
            return false;
    return true;
}

static void
send_call(struct http_client_connection *c)
{
    struct http_call *call = c->call;
    struct strbuf authorization = STRBUF_INIT;
    struct error err = {0};
    int r = 0;

    c->state = HTTP_CLIENT_CONNECTION_BUSY;
    if (!is_well_formed(&call->question))
        r = error_set(&err, -EINVAL, "the request contains a space or a control character");
    else if (c->login != NULL)
        r = connection_login_sign(c->login, &call->question, &call->ticket, &authorization, &err);
    if (r == 0)
        write_request(c, &call->question, c->login != NULL ? authorization.text : NULL);
    strbuf_fini(&authorization);
    if (r < 0)
        fail_call(c, &err);
}

static void
login_ready(const struct error *err, void *arg)
{
    struct http_client_connection *c = arg;
    struct http_client_request hello = {
        .method = HTTP_POST,
        .target = PROTOCOL_SESSION_TARGET,
        .body = "",
    };

    if (err != NULL) {
        fail_call(c, err);
        return;
    }
    if (!connection_login_has_session(c->login)) {
        strbuf_truncate(&c->login_body, 0);
        write_request(c, &hello, connection_login_authorization(c->login));
        return;
    }
    c->n_answers++;
    if (c->call != NULL)
        send_call(c);
    else
        finish_answer(c);
}

static void
begin_call(struct http_client_connection *c)
{
    bool is_stream = c->call->question.data != NULL;

    if (c->login != NULL && connection_login_needs_session(c->login, is_stream)
        && !connection_login_has_session(c->login)) {
        c->state = HTTP_CLIENT_CONNECTION_LOGIN;
        connection_login_hello(c->login);
        return;
    }
    send_call(c);
}

void
http_client_connection_take(struct http_client_connection *c, struct http_call *call)
{
    c->call = call;
    call->link = c;
    begin_call(c);
}

/* The bytes still to come for the cancelled call cannot be told from the next
 * answer, so the link is closed.
 */
void
http_client_connection_drop(struct http_client_connection *c)
{
    c->unfreed_frames = c->call->frames;
    c->call->frames = NULL;
    c->call = NULL;
    c->closes_later = true;
    http_client_schedule(c->client);
    dispose(c);
}

bool
http_client_connection_is_usable(const struct http_client_connection *c)
{
    return c->state == HTTP_CLIENT_CONNECTION_READY
           && (c->login == NULL || !connection_login_is_stale(c->login));
}

/* Life */

static void
dialled(struct bufferevent *bev, int r, const char *why, void *arg)
{
    struct http_client_connection *c = arg;

    if (bev == NULL) {
        fail_connect(c, r, why);
        return;
    }
    c->host = http_dial_host(c->dial);
    c->client->first_host = c->host;
    http_dial_free(c->dial);
    c->dial = NULL;
    c->bev = bev;
    c->state = HTTP_CLIENT_CONNECTION_READY;
    event_del(&c->timer);
    bufferevent_setcb(bev, on_readable, NULL, on_error, c);
    bufferevent_enable(bev, EV_READ | EV_WRITE);
    http_client_schedule(c->client);
}

void
http_client_connection_open(struct http_client *client)
{
    struct http_client_connection *c = xnew(struct http_client_connection);

    c->client = client;
    list_add_last(&client->links, &c->place);
    strbuf_init(&c->login_body);
    c->reader.on_head = on_head;
    c->reader.on_body = on_body;
    c->reader.arg = c;
    if (client->settings.login != NULL)
        c->login = connection_login_new(client->settings.login, login_ready, c);
    event_assign(&c->timer, loop_base(client->loop), -1, 0, on_time, c);
    allow(c, client->settings.connect_ms);
    c->dial = http_dial_new(client->loop, &client->settings, &client->address, client->first_host,
                            dialled, c);
}

void
http_client_connection_free(struct http_client_connection *c)
{
    if (c == NULL)
        return;
    list_remove(&c->place);
    event_del(&c->timer);
    http_dial_free(c->dial);
    if (c->bev != NULL)
        bufferevent_free(c->bev);
    connection_login_free(c->login);
    http_reader_fini(&c->reader);
    strbuf_fini(&c->login_body);
    auth_frames_free(c->unfreed_frames);
    free(c);
}
