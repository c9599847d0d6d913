/* SPDX-License-Identifier: Apache-2.0 */
/* The client's login with a server that authenticates callers like the
 * controller: the whole protocol over real connections, on a fake realm.
 */
#include "lib/http/http_login.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/auth/auth_client.h"
#include "lib/auth/auth_server.h"
#include "lib/auth/credential_backend.h"
#include "lib/auth/user.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/http/http_client.h"
#include "lib/http/http_request.h"
#include "lib/http/http_stream.h"
#include "lib/loop/loop.h"
#include "lib/loop/workers.h"
#include "testsuite/lib/fake_credential_backend.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/lib/http/server_fixture.h"

#define USER_UID 4711

enum tampering { HONEST, CHANGES_BODY, CHANGES_STATUS, FORGETS_SEAL };

struct host {
    struct server_fixture fixture;
    struct fake_realm realm;
    struct credential_backend *service;
    struct workers *workers;
    struct auth_server *auth;
    struct credential_backend *caller;
    atomic_int tampering;
    atomic_uint opened;
};

/* A request during its authentication. */
struct visit {
    struct host *host;
    struct http_request *request;
    struct auth_grant *grant;
    char body[256];
};

static void
refuse(struct visit *v, const struct error *err)
{
    int status = err->code == -EHOSTDOWN ? 503 : 401;

    http_request_reply(v->request, status, "text/plain", err->text, strlen(err->text));
    free(v);
}

static void
opened(struct auth_session *session, const char *credential, const struct error *err, void *arg)
{
    struct visit *v = arg;

    if (err != NULL) {
        refuse(v, err);
        return;
    }
    v->host->opened++;
    http_request_set_connection_data(v->request, session, auth_session_free);
    http_request_add_header(v->request, PROTOCOL_CREDENTIAL_HEADER, credential);
    http_request_reply(v->request, 200, NULL, NULL, 0);
    free(v);
}

static void
sealed(const char *name, const char *value, const struct error *err, void *arg)
{
    struct visit *v = arg;
    int tampering = v->host->tampering;
    int status = tampering == CHANGES_STATUS ? 201 : 200;

    ck_assert_ptr_null(err);
    if (tampering == CHANGES_BODY)
        v->body[0] ^= 1;
    if (name != NULL && tampering != FORGETS_SEAL)
        http_request_add_header(v->request, name, value);
    http_request_reply(v->request, status, "text/plain", v->body, strlen(v->body));
    auth_grant_free(v->grant);
    free(v);
}

static void
send_frame(struct visit *v, struct http_stream *s, const char *text)
{
    char mac[AUTH_FRAME_SIZE];
    struct digest d;
    struct http_piece pieces[2] = {{.bytes = mac}, {.bytes = text}};

    digest_of(text, strlen(text), &d);
    pieces[0].length = auth_grant_frame(v->grant, &d, strlen(text), mac);
    pieces[1].length = strlen(text);
    http_stream_send(s, pieces, 2);
}

static void
stream(const char *name, const char *value, const struct error *err, void *arg)
{
    struct visit *v = arg;
    struct http_stream *s;
    char end[AUTH_FRAME_SIZE];

    ck_assert_ptr_null(err);
    if (name != NULL)
        http_request_add_header(v->request, name, value);
    s = http_request_stream(v->request, 200, "text/x");
    send_frame(v, s, "one\n");
    send_frame(v, s, v->host->tampering == CHANGES_BODY ? "" : "two\n");
    if (v->host->tampering == CHANGES_BODY)
        http_stream_send_text(s, "evil\n", 5);
    if (v->host->tampering != FORGETS_SEAL)
        http_stream_send_text(s, end, auth_grant_end(v->grant, end));
    http_stream_end(s);
    auth_grant_free(v->grant);
    free(v);
}

static void
checked(struct auth_grant *grant, const struct error *err, void *arg)
{
    struct visit *v = arg;
    struct digest body;
    const struct identity *who;

    if (err != NULL) {
        refuse(v, err);
        return;
    }
    v->grant = grant;
    if (strcmp(http_request_path(v->request), "/stream") == 0) {
        digest_of("", 0, &body);
        auth_grant_seal(grant, 200, "text/x", &body, stream, v);
        return;
    }
    who = auth_grant_identity(grant);
    snprintf(v->body, sizeof(v->body), "%s by %s", http_request_target(v->request),
             who->proof == IDENTITY_LOCAL ? "local" : who->user->name);
    digest_of(v->body, strlen(v->body), &body);
    auth_grant_seal(grant, 200, "text/plain", &body, sealed, v);
}

static void
handle(struct http_request *r, void *arg)
{
    struct host *h = arg;
    struct visit *v = xnew(struct visit);
    struct auth_request q = {
        .authorization = http_request_header(r, "Authorization"),
        .method = http_method_name(http_request_method(r)),
        .target = http_request_target(r),
        .content_type = http_request_header(r, "Content-Type"),
        .session = http_request_connection_data(r),
        .is_local = http_request_peer(r)->is_local,
        .uid = http_request_peer(r)->uid,
        .gid = http_request_peer(r)->gid,
    };

    q.body = http_request_body(r, &q.length);
    v->host = h;
    v->request = r;
    if (strcmp(q.target, PROTOCOL_SESSION_TARGET) == 0)
        auth_server_open(h->auth, &q, opened, v);
    else
        auth_server_check(h->auth, &q, checked, v);
}

static void
make_auth(struct host *h, struct loop *loop)
{
    struct auth_server_settings settings = {
        .loop = loop,
        .workers = h->workers,
        .credential_backend = h->service,
        .cluster = "north",
    };

    h->auth = auth_server_new(&settings);
}

static struct host *
host_start(void)
{
    struct host *h = xnew(struct host);

    fake_realm_init(&h->realm);
    h->service = fake_credential_backend_new(&h->realm, geteuid(), getegid());
    h->caller = fake_credential_backend_new(&h->realm, USER_UID, 4712);
    h->workers = workers_new(2);
    server_fixture_start(&h->fixture, NULL, handle, h);
    make_auth(h, h->fixture.loop);
    return h;
}

static void
host_stop(struct host *h)
{
    workers_free(h->workers);
    server_fixture_stop(&h->fixture);
    auth_server_free(h->auth);
    credential_backend_free(h->service);
    credential_backend_free(h->caller);
    fake_realm_fini(&h->realm);
    free(h);
}

struct caller {
    struct loop *loop;
    struct workers *workers;
    struct http_login *login;
    struct http_client *client;
    unsigned wanted;
    unsigned dones;
    int status;
    struct strbuf body;
    struct strbuf data;
    struct error error;
};

static void
done(const struct http_response *answer, const struct error *err, void *arg)
{
    struct caller *c = arg;

    strbuf_truncate(&c->body, 0);
    if (err != NULL) {
        c->error = *err;
    } else {
        c->status = answer->status;
        strbuf_add(&c->body, answer->body, answer->length);
    }
    if (++c->dones >= c->wanted)
        loop_stop(c->loop);
}

static void
data(const void *bytes, size_t length, void *arg)
{
    struct caller *c = arg;

    strbuf_add(&c->data, bytes, length);
    strbuf_add_char(&c->data, '|');
}

enum { BLOCKING = 1 };

static void
caller_init(struct caller *c, struct host *h, enum http_login_mode mode, unsigned blocking)
{
    struct http_client_settings settings = {.connections = 2};
    struct auth_client_settings auth = {
        .credential_backend = h->caller,
        .cluster = "north",
        .service_uid = geteuid(),
    };
    char url[64];

    *c = (struct caller){.loop = loop_new()};
    strbuf_init(&c->body);
    strbuf_init(&c->data);
    if (blocking == 0)
        c->workers = workers_new(1);
    c->login = http_login_new(c->loop, c->workers, &auth, mode);
    settings.login = c->login;
    snprintf(url, sizeof(url), "http://127.0.0.1:%d", h->fixture.port);
    ck_assert_int_eq(http_client_new(c->loop, url, &settings, &c->client, NULL), 0);
}

static void
caller_fini(struct caller *c)
{
    http_client_free(c->client);
    workers_free(c->workers);
    loop_drain(c->loop);
    http_login_free(c->login);
    loop_free(c->loop);
    strbuf_fini(&c->body);
    strbuf_fini(&c->data);
}

static void
ask(struct caller *c, const char *target, unsigned times, unsigned is_stream)
{
    struct http_client_request q = {
        .method = HTTP_POST,
        .target = target,
        .content_type = "text/plain",
        .body = "hello",
        .length = 5,
        .data = is_stream ? data : NULL,
        .done = done,
        .arg = c,
    };

    c->error.code = 0;
    c->dones = 0;
    c->wanted = times;
    for (unsigned i = 0; i < times; i++)
        http_client_call(c->client, &q);
    loop_run(c->loop);
}

START_TEST(sessions_are_opened_once_for_each_connection)
{
    struct host *h = host_start();
    struct caller c;

    for (unsigned blocking = 0; blocking <= BLOCKING; blocking++) {
        h->opened = 0;
        caller_init(&c, h, HTTP_LOGIN_SESSION, blocking);
        ask(&c, "/a?b=c", 20, 0);

        ck_assert_msg(c.error.code == 0, "%s", c.error.text);
        ck_assert_int_eq(c.status, 200);
        ck_assert_str_eq(c.body.text, "/a?b=c by 4711");
        ck_assert_uint_eq(h->opened, 2);
        caller_fini(&c);
    }
    host_stop(h);
}
END_TEST

START_TEST(a_request_alone_brings_its_credential)
{
    struct host *h = host_start();
    struct caller c;

    caller_init(&c, h, HTTP_LOGIN_REQUEST, BLOCKING);
    ask(&c, "/a", 3, 0);

    ck_assert_msg(c.error.code == 0, "%s", c.error.text);
    ck_assert_str_eq(c.body.text, "/a by 4711");
    ck_assert_uint_eq(h->opened, 0);
    caller_fini(&c);
    host_stop(h);
}
END_TEST

START_TEST(a_stream_opens_a_session_and_hands_on_what_is_proven)
{
    struct host *h = host_start();
    struct caller c;

    caller_init(&c, h, HTTP_LOGIN_REQUEST, 0);
    ask(&c, "/stream", 1, 1);

    ck_assert_msg(c.error.code == 0, "%s", c.error.text);
    ck_assert_str_eq(c.data.text, "one\n|two\n|");
    ck_assert_uint_eq(h->opened, 1);
    ask(&c, "/plain", 1, 1);
    ck_assert_str_eq(c.data.text, "one\n|two\n|/plain by 4711|");
    caller_fini(&c);
    host_stop(h);
}
END_TEST

START_TEST(an_answer_that_was_changed_on_the_way_is_not_believed)
{
    static const enum http_login_mode modes[] = {
        HTTP_LOGIN_SESSION,
        HTTP_LOGIN_REQUEST,
    };
    struct host *h = host_start();

    for (size_t mode = 0; mode < ARRAY_SIZE(modes); mode++)
        for (int how = CHANGES_BODY; how <= FORGETS_SEAL; how++) {
            struct caller c;

            caller_init(&c, h, modes[mode], BLOCKING);
            h->tampering = how;
            ask(&c, "/a", 1, 0);
            ck_assert_int_eq(c.error.code, -EKEYREJECTED);
            h->tampering = HONEST;
            ask(&c, "/a", 1, 0);
            ck_assert_int_eq(c.error.code, 0);
            caller_fini(&c);
        }
    host_stop(h);
}
END_TEST

START_TEST(a_stream_that_was_changed_or_cut_is_not_believed)
{
    struct host *h = host_start();
    struct caller c;

    caller_init(&c, h, HTTP_LOGIN_SESSION, BLOCKING);
    h->tampering = CHANGES_BODY;
    ask(&c, "/stream", 1, 1);
    ck_assert_int_eq(c.error.code, -EKEYREJECTED);
    ck_assert_str_eq(c.data.text, "one\n||");
    h->tampering = FORGETS_SEAL;
    ask(&c, "/stream", 1, 1);

    ck_assert_int_eq(c.error.code, -EPIPE);
    caller_fini(&c);
    host_stop(h);
}
END_TEST

START_TEST(a_refused_login_answers_the_call)
{
    struct host *h = host_start();
    struct caller c;

    caller_init(&c, h, HTTP_LOGIN_SESSION, 0);
    h->realm.now_s += 0;
    auth_server_free(h->auth);
    {
        struct auth_server_settings settings = {
            .loop = h->fixture.loop,
            .workers = h->workers,
            .credential_backend = h->service,
            .cluster = "south",
        };

        h->auth = auth_server_new(&settings);
    }
    ask(&c, "/a", 1, 0);

    ck_assert_int_eq(c.error.code, 0);
    ck_assert_int_eq(c.status, 401);
    ck_assert_ptr_nonnull(strstr(c.body.text, "this is cluster 'south'"));
    caller_fini(&c);
    host_stop(h);
}
END_TEST

START_TEST(the_service_being_down_at_the_client_is_said)
{
    struct host *h = host_start();
    struct caller c;

    for (int mode = HTTP_LOGIN_SESSION; mode <= HTTP_LOGIN_REQUEST; mode++) {
        caller_init(&c, h, (enum http_login_mode)mode, BLOCKING);
        h->realm.is_down = true;
        ask(&c, "/a", 2, 0);
        ck_assert_int_eq(c.error.code, -EHOSTDOWN);
        h->realm.is_down = false;
        ask(&c, "/a", 2, 0);
        ck_assert_int_eq(c.error.code, 0);
        caller_fini(&c);
    }
    host_stop(h);
}
END_TEST

SUITE("http_login", sessions_are_opened_once_for_each_connection,
      a_request_alone_brings_its_credential, a_stream_opens_a_session_and_hands_on_what_is_proven,
      an_answer_that_was_changed_on_the_way_is_not_believed,
      a_stream_that_was_changed_or_cut_is_not_believed, a_refused_login_answers_the_call,
      the_service_being_down_at_the_client_is_said)
