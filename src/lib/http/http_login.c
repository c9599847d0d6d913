/* SPDX-License-Identifier: Apache-2.0 */
/* The answer matters as much as the request: a 404 or 409 makes an agent or a command act, so
 * it is believed only with a proof. The few statuses that may come without one (a proxy's, or
 * a server's that does not know the client yet) say nothing about any object.
 */
#include "lib/http/http_login.h"

#include <string.h>

#include "lib/auth/auth_client.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/http/connection_login.h"
#include "lib/http/http_client.h"
#include "lib/loop/loop.h"
#include "lib/loop/workers.h"

struct http_login {
    struct loop *loop;
    struct workers *workers; /* or NULL */
    struct auth_client *client;
    enum http_login_mode mode;
};

/* One job of a worker for a login. It has its own copy of the auth_line,
 * because the connection may be freed meanwhile.
 */
struct login_call {
    struct auth_client *client;
    struct connection_login *line; /* NULL once the connection is freed */
    struct auth_line session;
    struct strbuf authorization;
    char *credential; /* NULL: make a hello */
    bool is_welcome;
    struct error error;
    int r;
};

struct connection_login {
    struct http_login *login;
    login_ready_fn ready;
    void *arg;
    struct auth_line session;
    int64_t opened_ms;
    struct strbuf authorization;
    struct login_call *sync_call; /* the worker's job, or NULL */
};

void
http_login_free(struct http_login *login)
{
    if (login == NULL)
        return;
    auth_client_free(login->client);
    free(login);
}

struct http_login *
http_login_new(struct loop *loop, struct workers *workers,
               const struct auth_client_settings *settings, enum http_login_mode mode)
{
    struct http_login *login = xnew(struct http_login);

    login->loop = loop;
    login->workers = workers;
    login->client = auth_client_new(settings);
    login->mode = mode;
    return login;
}

void
connection_login_free(struct connection_login *l)
{
    if (l == NULL)
        return;
    if (l->sync_call != NULL)
        l->sync_call->line = NULL;
    strbuf_fini(&l->authorization);
    explicit_bzero(&l->session, sizeof(l->session));
    free(l);
}

struct connection_login *
connection_login_new(struct http_login *login, login_ready_fn ready, void *arg)
{
    struct connection_login *l = xnew(struct connection_login);

    l->login = login;
    l->ready = ready;
    l->arg = arg;
    strbuf_init(&l->authorization);
    return l;
}

static void
sync_call_do(void *arg)
{
    struct login_call *c = arg;

    if (c->is_welcome)
        c->r = auth_client_welcome(c->client, &c->session, c->credential, &c->error);
    else
        c->r = auth_client_hello(c->client, &c->session, &c->authorization, &c->error);
}

static void
sync_call_done(void *arg)
{
    struct login_call *c = arg;
    struct connection_login *l = c->line;
    struct error error = c->error;
    int r = c->r;

    if (l != NULL) {
        l->sync_call = NULL;
        l->session = c->session;
        l->opened_ms = loop_now_ms();
        strbuf_truncate(&l->authorization, 0);
        strbuf_add(&l->authorization, c->authorization.text, c->authorization.length);
    }
    explicit_bzero(&c->session, sizeof(c->session));
    strbuf_fini(&c->authorization);
    free(c->credential);
    free(c);
    if (l != NULL)
        l->ready(r < 0 ? &error : NULL, l->arg);
}

static void
send_login(struct connection_login *l, const char *credential, bool is_welcome)
{
    struct login_call *c = xnew(struct login_call);

    c->client = l->login->client;
    c->line = l;
    c->session = l->session;
    c->credential = credential != NULL ? xstrdup(credential) : NULL;
    c->is_welcome = is_welcome;
    strbuf_init(&c->authorization);
    l->sync_call = c;
    if (l->login->workers != NULL) {
        workers_submit(l->login->workers, l->login->loop, sync_call_do, sync_call_done, c);
        return;
    }
    sync_call_do(c);
    loop_defer(l->login->loop, sync_call_done, c);
}

void
connection_login_hello(struct connection_login *l)
{
    send_login(l, NULL, false);
}

void
connection_login_welcome(struct connection_login *l, const char *credential)
{
    send_login(l, credential, true);
}

const char *
connection_login_authorization(const struct connection_login *l)
{
    return l->authorization.text;
}

bool
connection_login_needs_session(const struct connection_login *l, bool is_stream)
{
    return l->login->mode == HTTP_LOGIN_SESSION || is_stream;
}

bool
connection_login_has_session(const struct connection_login *l)
{
    return l->session.is_open;
}

bool
connection_login_is_stale(const struct connection_login *l)
{
    return l->session.is_open && loop_now_ms() - l->opened_ms > l->session.lifetime_s * 800;
}

int
connection_login_sign(struct connection_login *l, const struct http_client_request *q,
                      struct login_ticket *ret_ticket, struct strbuf *ret_authorization,
                      struct error *err)
{
    CLEANUP_STRBUF struct strbuf sealed = STRBUF_INIT;
    const char *method = http_method_name(q->method);

    for (size_t i = 0; i < q->n_headers; i++)
        protocol_add_sealed(&sealed, q->headers[i].name, q->headers[i].value);
    ret_ticket->is_once = !l->session.is_open;
    if (ret_ticket->is_once)
        return auth_client_sign_once(l->login->client, method, q->target, q->content_type, q->body,
                                     q->length, sealed.text, ret_ticket->nonce, ret_authorization,
                                     err);
    auth_line_sign(&l->session, method, q->target, q->content_type, q->body, q->length, sealed.text,
                   ret_authorization);
    ret_ticket->seq = l->session.seq;
    return 0;
}

/* An answer cannot be authenticated when it comes before the controller knows
 * the client, or from a proxy. These statuses reveal nothing about any object.
 */
static bool
may_be_unproven(int status)
{
    switch (status) {
    case 400:
    case 401:
    case 408:
    case 413:
    case 429:
    case 431:
    case 500:
    case 501:
    case 503:
        return true;
    default:
        return false;
    }
}

int
connection_login_check(struct connection_login *l, const struct login_ticket *ticket,
                       const struct http_response *answer, struct error *err)
{
    const char *seal = http_response_header(answer, ticket->is_once ? PROTOCOL_CREDENTIAL_HEADER
                                                                    : PROTOCOL_MAC_HEADER);

    if (seal == NULL && may_be_unproven(answer->status))
        return 0;
    if (ticket->is_once)
        return auth_client_check_once(l->login->client, ticket->nonce, seal, answer->status,
                                      answer->content_type, answer->body, answer->length, err);
    return auth_line_check(&l->session, ticket->seq, seal, answer->status, answer->content_type,
                           answer->body, answer->length, err);
}

struct auth_frames *
connection_login_frames(struct connection_login *l, const struct login_ticket *ticket,
                        void (*fn)(const void *bytes, size_t length, void *arg), void *arg)
{
    return auth_frames_new(&l->session, ticket->seq, fn, arg);
}
