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

static void begin_call(struct http_client_connection *l);

/* Timeouts */

static void
allow(struct http_client_connection *l, int64_t ms)
{
    struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

    event_add(&l->timer, &tv);
}

static struct http_response
answer_of(const struct http_client_connection *l, const struct strbuf *body)
{
    const char *type = http_reader_header(&l->reader, "Content-Type");

    return (struct http_response){
        .status = l->reader.status,
        .content_type = type != NULL ? type : "",
        .body = body->text,
        .length = body->length,
        .headers = l->reader.headers,
        .n_headers = l->reader.n_headers,
    };
}

/* The end of a link, and of the call on it */

static void
dispose(struct http_client_connection *l)
{
    if (l->is_reading)
        l->closes_later = true;
    else
        http_client_connection_free(l);
}

static void
fail_call(struct http_client_connection *l, const struct error *err)
{
    struct http_call *call = l->call;

    l->call = NULL;
    l->closes_later = true; /* the link must not be used again, even by
                             * `done` */
    if (call != NULL)
        http_call_done(call, NULL, err);
    http_client_schedule(l->client);
    dispose(l);
}

/* Connecting failed, so all waiting calls fail. */
static void
fail_connect(struct http_client_connection *l, int r, const char *why)
{
    struct http_client *client = l->client;
    struct error err = {0};

    client->first_host = http_dial_host(l->dial) + 1;
    /* `why` may belong to the dial, which is freed with the link. */
    (void)http_client_unreachable(client, r, why, &err);
    http_client_connection_free(l);
    http_client_fail_waiting(client, &err);
}

static bool
may_repeat(const struct http_client_connection *l)
{
    const struct http_call *call = l->call;

    return call != NULL && l->state == HTTP_CLIENT_CONNECTION_BUSY && l->n_answers > 0
           && l->reader.state == HTTP_READER_HEAD && !call->was_repeated
           && evbuffer_get_length(bufferevent_get_input(l->bev)) == 0
           && (call->question.is_repeatable || call->question.method == HTTP_GET
               || call->question.method == HTTP_HEAD || call->question.method == HTTP_OPTIONS);
}

static void
lose(struct http_client_connection *l, int r)
{
    struct error err = {0};

    if (may_repeat(l)) {
        struct http_call *call = l->call;

        l->call = NULL;
        http_call_retry(call);
        dispose(l);
        return;
    }
    if (l->call != NULL && l->call->is_streaming)
        error_set(&err, r, "the connection to the %s at '%s' was lost (%s)",
                  l->client->settings.server, l->client->address.url, strerror(-r));
    else
        error_set(&err, r,
                  "the connection to the %s at '%s' was lost before the "
                  "answer came (%s)",
                  l->client->settings.server, l->client->address.url, strerror(-r));
    fail_call(l, &err);
}

/* The answer */

static void
frame_came(const void *bytes, size_t length, void *arg)
{
    struct http_client_connection *l = arg;

    if (l->call != NULL)
        l->call->question.data(bytes, length, l->call->question.arg);
}

static int
start_stream(struct http_client_connection *l, struct error *err)
{
    struct strbuf nothing = STRBUF_INIT;
    struct http_response head = answer_of(l, &nothing);
    struct http_call *call = l->call;
    int r;

    if (l->login != NULL) {
        r = connection_login_check(l->login, &call->ticket, &head, err);
        if (r < 0)
            return r;
        call->frames = connection_login_frames(l->login, &call->ticket, frame_came, l);
    }
    call->is_streaming = true;
    event_del(&l->timer);
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
    struct http_client_connection *l = arg;
    struct error err = {0};
    int r = 0;

    if (l->call == NULL || l->state != HTTP_CLIENT_CONNECTION_BUSY)
        return 0;
    if (l->call->question.data != NULL && l->reader.status / 100 == 2
        && (l->login == NULL || l->reader.is_chunked))
        r = start_stream(l, &err);
    if (r < 0)
        fail_call(l, &err);
    return l->closes_later ? -ECANCELED : 0;
}

static int
feed_stream(struct http_client_connection *l, const void *bytes, size_t length)
{
    struct http_call *call = l->call;
    struct error err = {0};

    if (call->frames == NULL)
        call->question.data(bytes, length, call->question.arg);
    else if (auth_frames_feed(call->frames, bytes, length, &err) < 0 && l->call == call)
        fail_call(l, &err);
    return l->closes_later ? -ECANCELED : 0;
}

static int
on_body(const void *bytes, size_t length, void *arg)
{
    struct http_client_connection *l = arg;
    struct strbuf *body = &l->login_body;
    struct error err = {0};

    if (l->state == HTTP_CLIENT_CONNECTION_BUSY) {
        if (l->call->is_streaming)
            return feed_stream(l, bytes, length);
        body = &l->call->body;
    }
    if (body->length + length > l->client->settings.body_bytes) {
        error_set(&err, -EFBIG,
                  "the answer is longer than %zu bytes; ask for less at a "
                  "time",
                  l->client->settings.body_bytes);
        fail_call(l, &err);
        return -ECANCELED;
    }
    strbuf_add(body, bytes, length);
    return 0;
}

/* Delivers the whole answer. The link stays BUSY until `done` has returned,
 * because the headers are in the link's reader.
 */
static void
conclude(struct http_client_connection *l, struct http_call *call)
{
    struct http_response answer = answer_of(l, &call->body);
    struct http_client_request *q = &call->question;
    struct error err = {0};
    int r = 0;

    if (call->frames != NULL)
        r = auth_frames_finish(call->frames, &err);
    else if (l->login != NULL && !call->is_streaming)
        r = connection_login_check(l->login, &call->ticket, &answer, &err);
    if (r == 0 && q->data != NULL && !call->is_streaming && answer.status / 100 == 2) {
        if (q->started != NULL)
            q->started(&answer, q->arg);
        if (l->call == call)
            q->data(answer.body, answer.length, q->arg);
        answer.length = 0;
        answer.body = "";
    }
    if (l->call != call) /* one of these callbacks cancelled it */
        return;
    l->call = NULL;
    http_call_done(call, r < 0 ? NULL : &answer, r < 0 ? &err : NULL);
}

static void
finish_answer(struct http_client_connection *l)
{
    /* Another host may be able to do what this one cannot for now. */
    bool is_elsewhere = l->reader.status == 503 && l->client->address.n_hosts > 1;
    bool closes = l->reader.closes || l->closes_later || is_elsewhere;

    if (is_elsewhere)
        l->client->first_host = l->host + 1;
    l->n_answers++;
    http_client_schedule(l->client);
    if (closes) {
        dispose(l);
        return;
    }
    event_del(&l->timer);
    l->state = HTTP_CLIENT_CONNECTION_READY;
    bufferevent_enable(l->bev, EV_READ); /* to notice a close */
}

/* Handles the controller's answer to the hello. A refusal becomes the answer to
 * the call that needed the session, because it contains the reason.
 */
static void
conclude_hello(struct http_client_connection *l)
{
    struct http_response answer = answer_of(l, &l->login_body);

    if (answer.status / 100 == 2 && !l->reader.closes) {
        connection_login_welcome(l->login,
                                 http_response_header(&answer, PROTOCOL_CREDENTIAL_HEADER));
        return;
    }
    if (answer.status / 100 == 2) {
        lose(l, -EPIPE);
        return;
    }
    if (l->call != NULL) {
        struct http_call *call = l->call;

        l->call = NULL;
        http_call_done(call, &answer, NULL);
    }
    l->closes_later = true;
    dispose(l);
}

static void
answer_complete(struct http_client_connection *l)
{
    l->is_awaiting = false;
    if (l->state == HTTP_CLIENT_CONNECTION_LOGIN) {
        conclude_hello(l);
        return;
    }
    if (l->call != NULL)
        conclude(l, l->call);
    finish_answer(l);
}

static void
on_readable(struct bufferevent *bev, void *arg)
{
    struct http_client_connection *l = arg;
    struct error err = {0};
    int r;

    if (!l->is_awaiting) { /* no request is under way */
        lose(l, -EPROTO);
        return;
    }
    if (l->call == NULL || !l->call->is_streaming)
        allow(l, l->client->settings.answer_ms);
    l->is_reading = true;
    r = http_reader_read(&l->reader, bufferevent_get_input(bev), &err);
    if (r < 0 && !l->closes_later)
        fail_call(l, &err);
    else if (r == 0 && l->reader.state == HTTP_READER_DONE)
        answer_complete(l);
    l->is_reading = false;
    if (l->closes_later)
        http_client_connection_free(l);
}

/* The request */

static void
on_error(struct bufferevent *bev, short what, void *arg)
{
    struct http_client_connection *l = arg;
    int r = (what & BEV_EVENT_EOF) != 0 ? -ECONNRESET : -errno;

    (void)bev;
    if ((what & BEV_EVENT_EOF) != 0 && l->is_awaiting && http_reader_close(&l->reader) == 0) {
        l->is_reading = true;
        answer_complete(l);
        l->is_reading = false;
        http_client_connection_free(l);
        return;
    }
    lose(l, r != 0 ? r : -ECONNRESET);
}

/* The other connections to a host that does not answer wait in vain, too, and
 * watches would do so for ever. The loop notices that they have ended.
 */
static void
leave_host(struct http_client_connection *l)
{
    struct http_client *client = l->client;

    client->first_host = l->host + 1; /* it may no longer be the one that leads */
    if (client->address.n_hosts < 2)
        return;
    for (struct list *at = client->links.next; at != &client->links; at = at->next) {
        const struct http_client_connection *other =
            container_of(at, struct http_client_connection, place);

        if (other != l && other->bev != NULL && other->host == l->host)
            (void)shutdown(bufferevent_getfd(other->bev), SHUT_RDWR);
    }
}

static void
on_time(evutil_socket_t fd, short events, void *arg)
{
    struct http_client_connection *l = arg;
    struct error err = {0};

    (void)fd;
    (void)events;
    if (l->state == HTTP_CLIENT_CONNECTION_CONNECTING) {
        fail_connect(l, -ETIMEDOUT, "it does not answer");
        return;
    }
    leave_host(l);
    error_set(&err, -ETIMEDOUT, "the %s at '%s' has not answered within %" PRId64 " seconds",
              l->client->settings.server, l->client->address.url,
              l->client->settings.answer_ms / 1000);
    fail_call(l, &err);
}

static void
write_request(struct http_client_connection *l, const struct http_client_request *q,
              const char *authorization)
{
    struct evbuffer *out = bufferevent_get_output(l->bev);

    evbuffer_add_printf(out, "%s %s HTTP/1.1\r\nHost: %s\r\n", http_method_name(q->method),
                        q->target, l->client->address.host_header);
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
    http_reader_begin(&l->reader, q->method == HTTP_HEAD);
    l->is_awaiting = true;
    allow(l, l->client->settings.answer_ms);
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
send_call(struct http_client_connection *l)
{
    struct http_call *call = l->call;
    struct strbuf authorization = STRBUF_INIT;
    struct error err = {0};
    int r = 0;

    l->state = HTTP_CLIENT_CONNECTION_BUSY;
    if (!is_well_formed(&call->question))
        r = error_set(&err, -EINVAL, "the request contains a space or a control character");
    else if (l->login != NULL)
        r = connection_login_sign(l->login, &call->question, &call->ticket, &authorization, &err);
    if (r == 0)
        write_request(l, &call->question, l->login != NULL ? authorization.text : NULL);
    strbuf_fini(&authorization);
    if (r < 0)
        fail_call(l, &err);
}

static void
login_ready(const struct error *err, void *arg)
{
    struct http_client_connection *l = arg;
    struct http_client_request hello = {
        .method = HTTP_POST,
        .target = PROTOCOL_SESSION_TARGET,
        .body = "",
    };

    if (err != NULL) {
        fail_call(l, err);
        return;
    }
    if (!connection_login_has_session(l->login)) {
        strbuf_truncate(&l->login_body, 0);
        write_request(l, &hello, connection_login_authorization(l->login));
        return;
    }
    l->n_answers++;
    if (l->call != NULL)
        send_call(l);
    else
        finish_answer(l);
}

static void
begin_call(struct http_client_connection *l)
{
    bool is_stream = l->call->question.data != NULL;

    if (l->login != NULL && connection_login_needs_session(l->login, is_stream)
        && !connection_login_has_session(l->login)) {
        l->state = HTTP_CLIENT_CONNECTION_LOGIN;
        connection_login_hello(l->login);
        return;
    }
    send_call(l);
}

void
http_client_connection_take(struct http_client_connection *l, struct http_call *call)
{
    l->call = call;
    call->link = l;
    begin_call(l);
}

/* The bytes still to come for the cancelled call cannot be told from the next
 * answer, so the link is closed.
 */
void
http_client_connection_drop(struct http_client_connection *l)
{
    l->unfreed_frames = l->call->frames;
    l->call->frames = NULL;
    l->call = NULL;
    l->closes_later = true;
    http_client_schedule(l->client);
    dispose(l);
}

bool
http_client_connection_is_usable(const struct http_client_connection *l)
{
    return l->state == HTTP_CLIENT_CONNECTION_READY
           && (l->login == NULL || !connection_login_is_stale(l->login));
}

/* Life */

static void
dialled(struct bufferevent *bev, int r, const char *why, void *arg)
{
    struct http_client_connection *l = arg;

    if (bev == NULL) {
        fail_connect(l, r, why);
        return;
    }
    l->host = http_dial_host(l->dial);
    l->client->first_host = l->host;
    http_dial_free(l->dial);
    l->dial = NULL;
    l->bev = bev;
    l->state = HTTP_CLIENT_CONNECTION_READY;
    event_del(&l->timer);
    bufferevent_setcb(bev, on_readable, NULL, on_error, l);
    bufferevent_enable(bev, EV_READ | EV_WRITE);
    http_client_schedule(l->client);
}

void
http_client_connection_open(struct http_client *client)
{
    struct http_client_connection *l = xnew(struct http_client_connection);

    l->client = client;
    list_add_last(&client->links, &l->place);
    strbuf_init(&l->login_body);
    l->reader.on_head = on_head;
    l->reader.on_body = on_body;
    l->reader.arg = l;
    if (client->settings.login != NULL)
        l->login = connection_login_new(client->settings.login, login_ready, l);
    event_assign(&l->timer, loop_base(client->loop), -1, 0, on_time, l);
    allow(l, client->settings.connect_ms);
    l->dial = http_dial_new(client->loop, &client->settings, &client->address, client->first_host,
                            dialled, l);
}

void
http_client_connection_free(struct http_client_connection *l)
{
    if (l == NULL)
        return;
    list_remove(&l->place);
    event_del(&l->timer);
    http_dial_free(l->dial);
    if (l->bev != NULL)
        bufferevent_free(l->bev);
    connection_login_free(l->login);
    http_reader_fini(&l->reader);
    strbuf_fini(&l->login_body);
    auth_frames_free(l->unfreed_frames);
    free(l);
}
