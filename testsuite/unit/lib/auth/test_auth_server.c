/* SPDX-License-Identifier: Apache-2.0 */
/* Both sides of the protocol with each other, on a fake realm. */
#include "lib/auth/auth_server.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/auth/auth_client.h"
#include "lib/auth/auth_inquiry.h"
#include "lib/auth/credential_backend.h"
#include "lib/auth/node_secret.h"
#include "lib/auth/user.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/loop/loop.h"
#include "lib/loop/workers.h"
#include "testsuite/lib/fake_credential_backend.h"
#include "testsuite/lib/suite.h"

#define USER_UID 4711

struct hand_clock {
    struct clock clock;
    int64_t now_us;
};

static int64_t
hand_now(struct clock *c)
{
    return container_of(c, struct hand_clock, clock)->now_us;
}

/* A controller and one caller. The last members are the result of the last
 * call.
 */
struct world {
    struct fake_realm realm;
    struct hand_clock clock;
    struct credential_backend *service;
    struct credential_backend *caller;
    struct loop *loop;
    struct workers *workers;
    struct auth_server *server;
    struct auth_client *client;
    struct digest verifier; /* of node "n1" */
    struct auth_grant *grant;
    struct auth_session *session;
    char *credential;
    char *seal_name;
    char *seal_value;
    struct error error;
};

static bool
find_verifier(const char *node_name, struct digest *ret_verifier, void *arg)
{
    struct world *w = arg;

    *ret_verifier = w->verifier;
    return strcmp(node_name, "n1") == 0;
}

static struct auth_client *
client_new(struct world *w, const char *cluster, const struct node_secret *secret)
{
    struct auth_client_settings settings = {
        .credential_backend = w->caller,
        .cluster = cluster,
        .service_uid = geteuid(),
        .node_name = secret != NULL ? "n1" : NULL,
        .secret = secret,
    };

    return auth_client_new(&settings);
}

static struct world *
world_new(size_t sessions)
{
    struct world *w = xnew(struct world);
    struct auth_server_settings settings = {.sessions = sessions};

    fake_realm_init(&w->realm);
    w->clock.clock.monotonic_us = hand_now;
    w->service = fake_credential_backend_new(&w->realm, geteuid(), getegid());
    w->caller = fake_credential_backend_new(&w->realm, USER_UID, 4712);
    w->loop = loop_new();
    w->workers = workers_new(2);
    settings.loop = w->loop;
    settings.workers = w->workers;
    settings.credential_backend = w->service;
    settings.clock = &w->clock.clock;
    settings.cluster = "north";
    settings.session_ms = 60000;
    settings.verifier = find_verifier;
    settings.verifier_arg = w;
    w->server = auth_server_new(&settings);
    w->client = client_new(w, "north", NULL);
    return w;
}

static void
forget(struct world *w)
{
    auth_grant_free(w->grant);
    w->grant = NULL;
    free(w->credential);
    free(w->seal_name);
    free(w->seal_value);
    w->credential = w->seal_name = w->seal_value = NULL;
    w->error = (struct error){0};
}

static void
world_free(struct world *w)
{
    forget(w);
    auth_session_free(w->session);
    workers_free(w->workers);
    loop_drain(w->loop);
    ck_assert_uint_eq(w->server->n_sessions, 0);
    auth_server_free(w->server);
    auth_client_free(w->client);
    loop_free(w->loop);
    credential_backend_free(w->service);
    credential_backend_free(w->caller);
    fake_realm_fini(&w->realm);
    free(w);
}

static void
checked(struct auth_grant *grant, const struct error *err, void *arg)
{
    struct world *w = arg;

    w->grant = grant;
    if (err != NULL)
        w->error = *err;
    loop_stop(w->loop);
}

static void
opened(struct auth_session *session, const char *credential, const struct error *err, void *arg)
{
    struct world *w = arg;

    auth_session_free(w->session);
    w->session = session;
    w->credential = credential != NULL ? xstrdup(credential) : NULL;
    if (err != NULL)
        w->error = *err;
    loop_stop(w->loop);
}

static void
sealed(const char *name, const char *value, const struct error *err, void *arg)
{
    struct world *w = arg;

    w->seal_name = name != NULL ? xstrdup(name) : NULL;
    w->seal_value = value != NULL ? xstrdup(value) : NULL;
    if (err != NULL)
        w->error = *err;
    loop_stop(w->loop);
}

static int
check(struct world *w, const struct auth_request *q)
{
    forget(w);
    auth_server_check(w->server, q, checked, w);
    loop_run(w->loop);
    ck_assert((w->grant == NULL) == (w->error.code != 0));
    return w->error.code;
}

static int
open_with(struct world *w, struct auth_client *client, struct auth_line *line)
{
    struct strbuf authorization = STRBUF_INIT;
    struct auth_request q = {
        .method = "POST",
        .target = PROTOCOL_SESSION_TARGET,
    };
    int r = auth_client_hello(client, line, &authorization, &w->error);

    if (r == 0) {
        forget(w);
        q.authorization = authorization.text;
        auth_server_open(w->server, &q, opened, w);
        loop_run(w->loop);
        r = w->error.code;
    }
    if (r == 0)
        r = auth_client_welcome(client, line, w->credential, &w->error);
    strbuf_fini(&authorization);
    return r;
}

static int
ask(struct world *w, struct auth_line *line, const char *target)
{
    struct strbuf authorization = STRBUF_INIT;
    struct auth_request q = {
        .method = "PUT",
        .target = target,
        .content_type = "text/plain",
        .body = "x",
        .length = 1,
        .session = w->session,
    };
    int r;

    auth_line_sign(line, q.method, q.target, q.content_type, q.body, q.length, NULL,
                   &authorization);
    q.authorization = authorization.text;
    r = check(w, &q);
    strbuf_fini(&authorization);
    return r;
}

static void
seal(struct world *w, int status, const char *type, const char *body)
{
    struct digest digest;

    digest_of(body, strlen(body), &digest);
    auth_grant_seal(w->grant, status, type, &digest, sealed, w);
    loop_run(w->loop);
}

START_TEST(a_session_carries_requests_and_their_answers)
{
    struct world *w = world_new(0);
    struct auth_line line;
    const struct identity *who;

    ck_assert_int_eq(open_with(w, w->client, &line), 0);
    ck_assert_int_eq(line.lifetime_s, 60);
    for (uint64_t seq = 1; seq <= 3; seq++) {
        ck_assert_int_eq(ask(w, &line, "/a?b"), 0);
        who = auth_grant_identity(w->grant);
        ck_assert_uint_eq(who->uid, USER_UID);
        ck_assert_uint_eq(who->proof, IDENTITY_SESSION);
        ck_assert_str_eq(who->user->name, "4711");
        ck_assert_str_eq(who->node_name, "");
        seal(w, 200, "text/plain", "fine");
        ck_assert_str_eq(w->seal_name, PROTOCOL_MAC_HEADER);

        ck_assert_int_eq(
            auth_line_check(&line, seq, w->seal_value, 200, "text/plain", "fine", 4, NULL), 0);
    }
    world_free(w);
}
END_TEST

START_TEST(an_answer_that_was_changed_is_noticed)
{
    struct world *w = world_new(0);
    struct auth_line line;

    ck_assert_int_eq(open_with(w, w->client, &line), 0);
    ck_assert_int_eq(ask(w, &line, "/"), 0);
    seal(w, 200, "t", "fine");

#define CHECK(seq, mac, status, type, body) \
    auth_line_check(&line, seq, mac, status, type, body, 4, NULL)
    ck_assert_int_eq(CHECK(1, w->seal_value, 200, "t", "fine"), 0);
    ck_assert_int_eq(CHECK(2, w->seal_value, 200, "t", "fine"), -EKEYREJECTED);
    ck_assert_int_eq(CHECK(1, w->seal_value, 201, "t", "fine"), -EKEYREJECTED);
    ck_assert_int_eq(CHECK(1, w->seal_value, 200, "u", "fine"), -EKEYREJECTED);
    ck_assert_int_eq(CHECK(1, w->seal_value, 200, "t", "fint"), -EKEYREJECTED);
    ck_assert_int_eq(CHECK(1, NULL, 200, "t", "fine"), -EKEYREJECTED);
    ck_assert_int_eq(CHECK(1, "zz", 200, "t", "fine"), -EKEYREJECTED);
    world_free(w);
}
END_TEST

START_TEST(a_request_that_was_changed_is_refused)
{
    struct world *w = world_new(0);
    struct strbuf a = STRBUF_INIT;
    struct auth_line line;
    struct auth_request q;
    struct auth_request good = {
        .method = "PUT",
        .target = "/a?b",
        .content_type = "t",
        .body = "x",
        .length = 1,
    };

    ck_assert_int_eq(open_with(w, w->client, &line), 0);
    auth_line_sign(&line, "PUT", "/a?b", "t", "x", 1, NULL, &a);
    good.authorization = a.text;
    good.session = w->session;

    q = good, q.method = "POST";
    ck_assert_int_eq(check(w, &q), -EKEYREJECTED);
    q = good, q.target = "/a?c";
    ck_assert_int_eq(check(w, &q), -EKEYREJECTED);
    q = good, q.content_type = NULL;
    ck_assert_int_eq(check(w, &q), -EKEYREJECTED);
    q = good, q.body = "y";
    ck_assert_int_eq(check(w, &q), -EKEYREJECTED);
    q = good, q.session = NULL;
    ck_assert_int_eq(check(w, &q), -EKEYREJECTED);
    ck_assert_int_eq(check(w, &good), 0);
    ck_assert_int_eq(check(w, &good), -EKEYREJECTED);
    ck_assert_ptr_nonnull(strstr(w->error.text, "used before"));
    strbuf_fini(&a);
    world_free(w);
}
END_TEST

START_TEST(a_session_is_of_its_connection_alone)
{
    struct world *w = world_new(0);
    struct auth_line first, second;

    ck_assert_int_eq(open_with(w, w->client, &first), 0);
    ck_assert_int_eq(open_with(w, w->client, &second), 0);

    ck_assert_int_eq(ask(w, &first, "/"), -EKEYREJECTED);
    ck_assert_ptr_nonnull(strstr(w->error.text, "belongs to another connection"));
    ck_assert_int_eq(ask(w, &second, "/"), 0);
    world_free(w);
}
END_TEST

START_TEST(a_session_ends_with_its_lifetime)
{
    struct world *w = world_new(0);
    struct auth_line line;

    ck_assert_int_eq(open_with(w, w->client, &line), 0);
    w->clock.now_us += INT64_C(59) * 1000 * 1000;
    ck_assert_int_eq(ask(w, &line, "/"), 0);
    w->clock.now_us += INT64_C(2) * 1000 * 1000;

    ck_assert_int_eq(ask(w, &line, "/"), -EKEYREJECTED);
    ck_assert_ptr_nonnull(strstr(w->error.text, "expired"));
    world_free(w);
}
END_TEST

START_TEST(sessions_are_bounded)
{
    struct world *w = world_new(1);
    struct auth_session *first;
    struct auth_line line;

    ck_assert_int_eq(open_with(w, w->client, &line), 0);
    first = w->session;
    w->session = NULL;
    ck_assert_int_eq(open_with(w, w->client, &line), -EHOSTDOWN);
    auth_session_free(first);

    ck_assert_int_eq(open_with(w, w->client, &line), 0);
    world_free(w);
}
END_TEST

START_TEST(a_node_is_proven_by_its_secret)
{
    struct world *w = world_new(0);
    struct node_secret right, wrong;
    struct auth_client *node;
    struct auth_line line;

    node_secret_issue(&right);
    node_secret_issue(&wrong);
    node_secret_verifier(&right, &w->verifier);
    node = client_new(w, "north", &right);
    ck_assert_int_eq(open_with(w, node, &line), 0);
    ck_assert_int_eq(ask(w, &line, "/"), 0);
    ck_assert_str_eq(auth_grant_identity(w->grant)->node_name, "n1");
    auth_client_free(node);
    node = client_new(w, "north", &wrong);

    ck_assert_int_eq(open_with(w, node, &line), -EKEYREJECTED);
    ck_assert_ptr_nonnull(strstr(w->error.text, "kctl reset node n1"));
    auth_client_free(node);
    world_free(w);
}
END_TEST

START_TEST(a_caller_of_another_cluster_is_told_so)
{
    struct world *w = world_new(0);
    struct auth_client *stray = client_new(w, "south", NULL);
    struct auth_line line;

    ck_assert_int_eq(open_with(w, stray, &line), -EKEYREJECTED);

    ck_assert_ptr_nonnull(strstr(w->error.text, "'south'"));
    ck_assert_ptr_nonnull(strstr(w->error.text, "'north'"));
    auth_client_free(stray);
    world_free(w);
}
END_TEST

START_TEST(a_controller_that_is_somebody_else_is_not_believed)
{
    struct world *w = world_new(0);
    struct auth_client_settings settings = {
        .credential_backend = w->caller,
        .cluster = "north",
        .service_uid = geteuid() + 1,
    };
    struct auth_client *wary = auth_client_new(&settings);
    struct strbuf hello = STRBUF_INIT;
    struct auth_line line;
    char *forged = NULL;

    ck_assert_int_eq(auth_client_hello(wary, &line, &hello, NULL), 0);
    ck_assert_int_eq(credential_backend_encode(w->service, "x", 1, USER_UID, 60, &forged, NULL), 0);

    ck_assert_int_eq(auth_client_welcome(wary, &line, forged, &w->error), -EKEYREJECTED);
    ck_assert_ptr_nonnull(strstr(w->error.text, "service user"));
    ck_assert_int_eq(auth_client_welcome(wary, &line, NULL, NULL), -EKEYREJECTED);
    free(forged);
    strbuf_fini(&hello);
    auth_client_free(wary);
    world_free(w);
}
END_TEST

/* These headers change the meaning of a request: version 2 covers them. */
START_TEST(a_sealed_header_that_changes_on_the_way_is_noticed)
{
    struct world *w = world_new(0);
    struct auth_line line = {0};
    struct strbuf a = STRBUF_INIT;
    static const char *const changed[] = {
        NULL,
        "impersonate-user: bob\n",
        "accept: application/json\n",
        "accept: application/json\nimpersonate-user: alice\n"
        "impersonate-group: root\n",
        "impersonate-user: alice\naccept: application/json\n",
    };
    struct auth_request q = {.method = "GET", .target = "/a"};

    ck_assert_int_eq(open_with(w, w->client, &line), 0);
    auth_line_sign(&line, "GET", "/a", NULL, NULL, 0,
                   "accept: application/json\nimpersonate-user: alice\n", &a);
    q.authorization = a.text;
    q.session = w->session;
    for (unsigned i = 0; i < ARRAY_SIZE(changed); i++) {
        q.sealed = changed[i];
        ck_assert_int_eq(check(w, &q), -EKEYREJECTED);
    }
    q.sealed = "accept: application/json\nimpersonate-user: alice\n";
    ck_assert_int_eq(check(w, &q), 0);
    ck_assert(auth_grant_identity(w->grant)->seals_headers);
    strbuf_fini(&a);
    world_free(w);
}
END_TEST

START_TEST(version_1_is_taken_and_seals_no_headers)
{
    struct world *w = world_new(0);
    struct auth_line line = {0};
    struct strbuf a = STRBUF_INIT;
    struct auth_request q = {.method = "GET", .target = "/a"};

    ck_assert_int_eq(open_with(w, w->client, &line), 0);
    auth_line_sign(&line, "GET", "/a", NULL, NULL, 0, NULL, &a);
    q.authorization = a.text;
    q.session = w->session;
    q.sealed = "accept: application/json\n";
    ck_assert_int_eq(check(w, &q), 0);
    ck_assert(!auth_grant_identity(w->grant)->seals_headers);
    strbuf_fini(&a);
    world_free(w);
}
END_TEST

START_TEST(a_credential_of_version_2_covers_its_headers)
{
    struct world *w = world_new(0);
    struct strbuf a = STRBUF_INIT;
    char nonce[PROTOCOL_NONCE_SIZE];
    struct auth_request q = {.method = "GET", .target = "/a"};

    for (int is_changed = 0; is_changed < 2; is_changed++) {
        strbuf_truncate(&a, 0);
        ck_assert_int_eq(auth_client_sign_once(w->client, "GET", "/a", NULL, NULL, 0,
                                               "idempotency-key: k\n", nonce, &a, &w->error),
                         0);
        q.authorization = a.text;
        q.sealed = is_changed ? "idempotency-key: l\n" : "idempotency-key: k\n";
        ck_assert_int_eq(check(w, &q), is_changed ? -EKEYREJECTED : 0);
    }
    ck_assert_ptr_nonnull(strstr(w->error.text, "headers"));
    forget(w);
    strbuf_fini(&a);
    world_free(w);
}
END_TEST

/* One request with its own credential */

static int
ask_once(struct world *w, const char *target, char nonce[PROTOCOL_NONCE_SIZE])
{
    struct strbuf a = STRBUF_INIT;
    struct auth_request q = {.method = "GET", .target = "/a?b"};
    int r =
        auth_client_sign_once(w->client, "GET", target, NULL, NULL, 0, NULL, nonce, &a, &w->error);

    ck_assert_int_eq(r, 0);
    q.authorization = a.text;
    r = check(w, &q);
    if (r == 0) { /* the second use is refused */
        struct auth_grant *grant = w->grant;

        w->grant = NULL;
        ck_assert_int_eq(check(w, &q), -EKEYREJECTED);
        ck_assert_ptr_nonnull(strstr(w->error.text, "used before"));
        forget(w);
        w->grant = grant;
    }
    strbuf_fini(&a);
    return r;
}

START_TEST(a_request_may_bring_its_own_credential_once)
{
    struct world *w = world_new(0);
    char nonce[PROTOCOL_NONCE_SIZE];

    ck_assert_int_eq(ask_once(w, "/a?b", nonce), 0);
    ck_assert_uint_eq(auth_grant_identity(w->grant)->uid, USER_UID);
    ck_assert_int_eq(auth_grant_may_stream(w->grant, NULL), -EKEYREJECTED);
    seal(w, 200, "t", "fine");

    ck_assert_str_eq(w->seal_name, PROTOCOL_CREDENTIAL_HEADER);
    ck_assert_int_eq(
        auth_client_check_once(w->client, nonce, w->seal_value, 200, "t", "fine", 4, NULL), 0);
    world_free(w);
}
END_TEST

START_TEST(a_credential_for_another_request_is_refused)
{
    struct world *w = world_new(0);
    char nonce[PROTOCOL_NONCE_SIZE];

    ck_assert_int_eq(ask_once(w, "/other", nonce), -EKEYREJECTED);

    ck_assert_ptr_nonnull(strstr(w->error.text, "/other"));
    world_free(w);
}
END_TEST

START_TEST(an_answer_by_credential_covers_all_of_it)
{
    struct world *w = world_new(0);
    char nonce[PROTOCOL_NONCE_SIZE];
    int r;

    ck_assert_int_eq(ask_once(w, "/a?b", nonce), 0);
    seal(w, 200, "t", "fine");
    r = auth_client_check_once(w->client, nonce, w->seal_value, 200, "t", "fint", 4, NULL);

    ck_assert_int_eq(r, -EKEYREJECTED);
    world_free(w);
}
END_TEST

/* Times, and texts that are no credentials */

START_TEST(an_expired_and_a_rewound_credential_are_refused)
{
    struct world *w = world_new(0);
    struct strbuf a = STRBUF_INIT;
    struct auth_line line;
    struct auth_request q = {.method = "POST", .target = "/"};

    for (int i = 0; i < 2; i++) {
        strbuf_truncate(&a, 0);
        ck_assert_int_eq(auth_client_hello(w->client, &line, &a, NULL), 0);
        w->realm.now_s += i == 0 ? 61 : -100;
        forget(w);
        q.authorization = a.text;
        auth_server_open(w->server, &q, opened, w);
        loop_run(w->loop);
        ck_assert_int_eq(w->error.code, -EKEYREJECTED);
        ck_assert_ptr_null(w->session);
    }
    strbuf_fini(&a);
    world_free(w);
}
END_TEST

START_TEST(a_credential_that_lives_too_long_is_refused)
{
    struct world *w = world_new(0);
    struct strbuf a = STRBUF_INIT;
    struct auth_request q = {.method = "GET", .target = "/"};
    char *text = NULL;

    ck_assert_int_eq(credential_backend_encode(w->caller, "x", 1, geteuid(), 3600, &text, NULL), 0);
    w->realm.now_s += 61;
    strbuf_printf(&a, "Munge %s", text);
    q.authorization = a.text;

    ck_assert_int_eq(check(w, &q), -EKEYREJECTED);
    ck_assert_ptr_nonnull(strstr(w->error.text, "61 seconds old"));
    free(text);
    strbuf_fini(&a);
    world_free(w);
}
END_TEST

/* The munged of the controller that led before has seen it, this one has not. */
START_TEST(a_credential_from_before_the_lead_is_refused)
{
    struct world *w = world_new(0);
    struct strbuf a = STRBUF_INIT;
    struct auth_request q = {.method = "GET", .target = "/"};
    char *text = NULL;

    ck_assert_int_eq(credential_backend_encode(w->caller, "x", 1, geteuid(), 60, &text, NULL), 0);
    w->realm.now_s += 10;
    auth_server_begin_lead(w->server);
    strbuf_printf(&a, "Munge %s", text);
    q.authorization = a.text;

    ck_assert_int_eq(check(w, &q), -EKEYREJECTED);
    ck_assert_ptr_nonnull(strstr(w->error.text, "began to lead"));
    free(text);
    strbuf_fini(&a);
    world_free(w);
}
END_TEST

START_TEST(a_credential_that_all_may_read_is_refused)
{
    struct world *w = world_new(0);
    struct strbuf a = STRBUF_INIT;
    struct auth_request q = {.method = "GET", .target = "/"};
    char *text = NULL;

    ck_assert_int_eq(
        credential_backend_encode(w->caller, "x", 1, CREDENTIAL_ANY_UID, 60, &text, NULL), 0);
    strbuf_printf(&a, "Munge %s", text);
    q.authorization = a.text;

    ck_assert_int_eq(check(w, &q), -EKEYREJECTED);
    ck_assert_ptr_nonnull(strstr(w->error.text, "readable by users other than"));
    free(text);
    strbuf_fini(&a);
    world_free(w);
}
END_TEST

START_TEST(the_service_being_down_is_not_the_callers_fault)
{
    struct world *w = world_new(0);
    struct auth_request q = {
        .authorization = "Munge FAKE:1:1:1:1:1:1:",
        .method = "GET",
        .target = "/",
    };

    w->realm.is_down = true;

    ck_assert_int_eq(check(w, &q), -EHOSTDOWN);
    world_free(w);
}
END_TEST

START_TEST(a_request_without_proof_is_refused)
{
    static const char *const nothing[] = {
        NULL,         "",        "Munge", "Munge ",
        "Munge x",    "munge x", "Kiln ", "Kiln session=a,seq=1,mac=b",
        "Bearer abc",
    };
    struct world *w = world_new(0);

    for (size_t i = 0; i < ARRAY_SIZE(nothing); i++) {
        struct auth_request q = {
            .authorization = nothing[i],
            .method = "GET",
            .target = "/",
        };

        ck_assert_int_eq(check(w, &q), -EKEYREJECTED);
        ck_assert_str_ne(w->error.text, "");
        forget(w);
        auth_server_open(w->server, &q, opened, w);
        loop_run(w->loop);
        ck_assert_int_eq(w->error.code, -EKEYREJECTED);
    }
    world_free(w);
}
END_TEST

START_TEST(a_local_peer_is_whom_the_kernel_says)
{
    struct world *w = world_new(0);
    struct auth_request q = {
        .method = "GET",
        .target = "/",
        .is_local = true,
        .uid = 0,
        .gid = 0,
    };
    char text[AUTH_FRAME_SIZE];
    struct digest d = {{0}};

    for (int i = 0; i < 2; i++) { /* first looked up, then from the cache */
        ck_assert_int_eq(check(w, &q), 0);
        ck_assert_str_eq(auth_grant_identity(w->grant)->user->name, "root");
        ck_assert_uint_eq(auth_grant_identity(w->grant)->proof, IDENTITY_LOCAL);
    }
    seal(w, 200, "t", "x");

    ck_assert_ptr_null(w->seal_name);
    ck_assert_int_eq(auth_grant_may_stream(w->grant, NULL), 0);
    ck_assert(!auth_grant_seals_frames(w->grant));
    ck_assert_uint_eq(auth_grant_frame(w->grant, &d, 1, text), 0);
    world_free(w);
}
END_TEST

/* Streams */

static void
collect(const void *bytes, size_t length, void *arg)
{
    strbuf_add(arg, bytes, length);
    strbuf_add_char(arg, '|');
}

static void
add_frame(struct world *w, const char *frame, struct strbuf *out)
{
    char head[AUTH_FRAME_SIZE];
    struct digest d;
    size_t n;

    digest_of(frame, strlen(frame), &d);
    n = auth_grant_frame(w->grant, &d, strlen(frame), head);
    strbuf_add(out, head, n);
    strbuf_add_text(out, frame);
}

START_TEST(frames_are_proven_however_they_are_cut)
{
    struct world *w = world_new(0);
    struct strbuf stream = STRBUF_INIT;
    struct auth_line line;
    char end[AUTH_FRAME_SIZE];

    ck_assert_int_eq(open_with(w, w->client, &line), 0);
    ck_assert_int_eq(ask(w, &line, "/?watch=1"), 0);
    add_frame(w, "{\"a\":1}\n", &stream);
    add_frame(w, "", &stream);
    add_frame(w, "mac 5 not a mac\n", &stream);
    auth_grant_end(w->grant, end);
    strbuf_add_text(&stream, end);

    for (size_t step = 1; step <= stream.length; step += 7) {
        struct strbuf got = STRBUF_INIT;
        struct auth_frames *f = auth_frames_new(&line, 1, collect, &got);

        for (size_t at = 0; at < stream.length; at += step) {
            size_t n = stream.length - at < step ? stream.length - at : step;

            ck_assert_int_eq(auth_frames_finish(f, NULL), -EPIPE);
            ck_assert_int_eq(auth_frames_feed(f, stream.text + at, n, NULL), 0);
        }
        ck_assert_int_eq(auth_frames_finish(f, NULL), 0);
        ck_assert_str_eq(got.text, "{\"a\":1}\n||mac 5 not a mac\n|");
        auth_frames_free(f);
        strbuf_fini(&got);
    }
    strbuf_fini(&stream);
    world_free(w);
}
END_TEST

START_TEST(a_frame_that_was_changed_left_out_or_repeated_is_noticed)
{
    struct world *w = world_new(0);
    struct strbuf one = STRBUF_INIT, two = STRBUF_INIT, got = STRBUF_INIT;
    struct auth_frames *f;
    struct auth_line line;

    ck_assert_int_eq(open_with(w, w->client, &line), 0);
    ck_assert_int_eq(ask(w, &line, "/?watch=1"), 0);
    add_frame(w, "one\n", &one);
    add_frame(w, "two\n", &two);

    f = auth_frames_new(&line, 1, collect, &got);
    ck_assert_int_eq(auth_frames_feed(f, two.text, two.length, NULL), -EKEYREJECTED);
    auth_frames_free(f);
    f = auth_frames_new(&line, 1, collect, &got);
    ck_assert_int_eq(auth_frames_feed(f, one.text, one.length, NULL), 0);
    ck_assert_int_eq(auth_frames_feed(f, one.text, one.length, NULL), -EKEYREJECTED);
    auth_frames_free(f);
    f = auth_frames_new(&line, 1, collect, &got);
    one.text[one.length - 2] ^= 1;
    ck_assert_int_eq(auth_frames_feed(f, one.text, one.length, NULL), -EKEYREJECTED);
    auth_frames_free(f);
    f = auth_frames_new(&line, 1, collect, &got);
    ck_assert_int_eq(auth_frames_feed(f, "{}\n", 3, NULL), -EKEYREJECTED);
    auth_frames_free(f);

    ck_assert_str_eq(got.text, "one\n|");
    strbuf_fini(&one);
    strbuf_fini(&two);
    strbuf_fini(&got);
    world_free(w);
}
END_TEST

/* After a restart munged has forgotten which credentials it has decoded. */
START_TEST(a_credential_is_taken_once_also_when_munged_forgets)
{
    struct world *w = world_new(0);
    struct strbuf authorization = STRBUF_INIT;
    struct auth_line line;
    struct auth_request q = {
        .method = "POST",
        .target = PROTOCOL_SESSION_TARGET,
    };

    ck_assert_int_eq(auth_client_hello(w->client, &line, &authorization, &w->error), 0);
    q.authorization = authorization.text;
    auth_server_open(w->server, &q, opened, w);
    loop_run(w->loop);
    ck_assert_int_eq(w->error.code, 0);

    forget(w);
    map_clear(w->realm.read);
    auth_server_open(w->server, &q, opened, w);
    loop_run(w->loop);
    ck_assert_int_eq(w->error.code, -EKEYREJECTED);
    ck_assert_ptr_nonnull(strstr(w->error.text, "used before"));
    strbuf_fini(&authorization);
    world_free(w);
}
END_TEST

SUITE("auth_server", a_sealed_header_that_changes_on_the_way_is_noticed,
      version_1_is_taken_and_seals_no_headers, a_credential_of_version_2_covers_its_headers,
      a_credential_is_taken_once_also_when_munged_forgets,
      a_session_carries_requests_and_their_answers, an_answer_that_was_changed_is_noticed,
      a_request_that_was_changed_is_refused, a_session_is_of_its_connection_alone,
      a_session_ends_with_its_lifetime, sessions_are_bounded, a_node_is_proven_by_its_secret,
      a_caller_of_another_cluster_is_told_so, a_controller_that_is_somebody_else_is_not_believed,
      a_request_may_bring_its_own_credential_once, a_credential_for_another_request_is_refused,
      an_answer_by_credential_covers_all_of_it, an_expired_and_a_rewound_credential_are_refused,
      a_credential_that_lives_too_long_is_refused, a_credential_from_before_the_lead_is_refused,
      a_credential_that_all_may_read_is_refused, the_service_being_down_is_not_the_callers_fault,
      a_request_without_proof_is_refused, a_local_peer_is_whom_the_kernel_says,
      frames_are_proven_however_they_are_cut,
      a_frame_that_was_changed_left_out_or_repeated_is_noticed)
