/* SPDX-License-Identifier: Apache-2.0 */
/* The client side with our own server side, both on one loop. */
#include "lib/tls/tls_client.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/auth/digest.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/http/http_client.h"
#include "lib/http/http_connection.h"
#include "lib/http/http_request.h"
#include "lib/http/http_server.h"
#include "lib/loop/loop.h"
#include "lib/tls/certificate.h"
#include "lib/tls/tls.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

#define LARGE ((size_t)3 << 20)

static const char *const names[] = {"head", "::1"};

struct town {
    char *dir;
    char *certificate, *key;
    struct loop *loop;
    struct tls *tls;
    struct http_server *server;
    int64_t connect_ms; /* 0: the default */
    int status;         /* of the last response; 0: none */
    size_t length;
    struct error error;
};

/* Answers with the received body. */
static void
handle(struct http_request *r, void *arg)
{
    size_t length;
    const char *body = http_request_body(r, &length);
    CLEANUP_FREE char *copy = xmemdup(body, length);

    (void)arg;
    http_request_reply(r, 200, "text/plain", copy, length);
}

static struct town *
town_new(void)
{
    struct town *t = xnew(struct town);
    struct http_layer layer = {.make = tls_make_connection};
    struct error err = {0};

    t->dir = scratch_new();
    t->certificate = xasprintf("%s/crt", t->dir);
    t->key = xasprintf("%s/key", t->dir);
    ck_assert_int_eq(certificate_make(t->certificate, t->key, names, ARRAY_SIZE(names), &err), 0);
    ck_assert_int_eq(tls_open(t->certificate, t->key, &t->tls, &err), 0);
    layer.arg = t->tls;
    t->loop = loop_new();
    t->server = http_server_new(t->loop, NULL, handle, t);
    ck_assert_int_eq(http_server_listen(t->server, "127.0.0.1:0", &err), 0);
    ck_assert_int_eq(http_server_listen_layered(t->server, "127.0.0.1:0", &layer, &err), 0);
    return t;
}

static void
town_free(struct town *t)
{
    http_server_free(t->server);
    tls_free(t->tls);
    loop_drain(t->loop);
    loop_free(t->loop);
    scratch_freep(&t->dir);
    free(t->certificate);
    free(t->key);
    free(t);
}

static void
done(const struct http_response *answer, const struct error *err, void *arg)
{
    struct town *t = arg;

    t->status = answer != NULL ? answer->status : 0;
    t->length = answer != NULL ? answer->length : 0;
    t->error = err != NULL ? *err : (struct error){0};
    loop_stop(t->loop);
}

/* Requests twice, on one connection if it stays open. */
static void
ask(struct town *t, const char *url, const struct tls_client_settings *settings, size_t length)
{
    CLEANUP(tls_client_freep) struct tls_client *tls = NULL;
    CLEANUP(http_client_freep) struct http_client *client = NULL;
    CLEANUP_FREE char *body = xnew_array(char, length + 1);
    struct http_client_layer layer = {tls_client_make, tls_client_why, NULL};
    struct error err = {0};

    memset(body, 'x', length);
    ck_assert_msg(tls_client_open(settings, &tls, &err) == 0, "%s", err.text);
    layer.arg = tls;
    ck_assert_int_eq(http_client_new(t->loop, url,
                                     &(struct http_client_settings){.layer = &layer,
                                                                    .connect_ms = t->connect_ms,
                                                                    .server = "extender",
                                                                    .server_program = "it"},
                                     &client, &err),
                     0);
    for (int i = 0; i < 2; i++) {
        http_client_call(client, &(struct http_client_request){.method = HTTP_POST,
                                                               .target = "/",
                                                               .content_type = "text/plain",
                                                               .body = body,
                                                               .length = length,
                                                               .done = done,
                                                               .arg = t});
        loop_run(t->loop);
    }
}

static void
ask_server(struct town *t, const struct tls_client_settings *settings, size_t length)
{
    CLEANUP_FREE char *url = xasprintf("https://127.0.0.1:%d", http_server_layered_port(t->server));

    ask(t, url, settings, length);
}

START_TEST(a_client_that_trusts_the_certificate_is_answered_on_one_connection)
{
    struct town *t = town_new();

    ask_server(t,
               &(struct tls_client_settings){
                   .authority_file = t->certificate,
                   .server_name = "head",
               },
               LARGE);

    ck_assert_msg(t->status == 200, "%s", t->error.text);
    ck_assert_uint_eq(t->length, LARGE);
    ck_assert_uint_eq(t->server->counts.requests, 2);
    ck_assert_uint_eq(t->server->counts.connections, 1);
    town_free(t);
}
END_TEST

START_TEST(an_authority_may_be_given_as_base64)
{
    struct town *t = town_new();
    CLEANUP_STRBUF struct strbuf pem = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf base64 = STRBUF_INIT;

    ck_assert_int_eq(file_read(t->certificate, LARGE, &pem, NULL), 0);
    base64_encode(&base64, pem.text, pem.length);
    ask_server(t,
               &(struct tls_client_settings){
                   .authority_data = base64.text,
                   .authority_file = "/nonexistent",
                   .server_name = "head",
               },
               1);

    ck_assert_msg(t->status == 200, "%s", t->error.text);
    town_free(t);
}
END_TEST

START_TEST(a_stranger_is_not_believed)
{
    struct town *t = town_new(), *other = town_new();

    ask_server(t,
               &(struct tls_client_settings){
                   .authority_file = other->certificate,
                   .server_name = "head",
               },
               1);
    ck_assert_int_eq(t->status, 0);
    ck_assert_msg(strstr(t->error.text, "certificate") != NULL, "%s", t->error.text);
    ask_server(t, &(struct tls_client_settings){.is_insecure = true}, 1);
    ck_assert_msg(t->status == 200, "%s", t->error.text);
    town_free(t);
    town_free(other);
}
END_TEST

START_TEST(a_certificate_of_another_name_is_not_believed)
{
    struct town *t = town_new();

    ask_server(t,
               &(struct tls_client_settings){
                   .authority_file = t->certificate,
               },
               1);
    ck_assert_int_eq(t->status, 0);
    ck_assert_msg(strstr(t->error.text, "IP address mismatch") != NULL, "%s", t->error.text);
    ask_server(t,
               &(struct tls_client_settings){
                   .authority_file = t->certificate,
                   .server_name = "tail",
               },
               1);
    ck_assert_msg(strstr(t->error.text, "hostname mismatch") != NULL, "%s", t->error.text);
    town_free(t);
}
END_TEST

START_TEST(a_server_without_tls_is_reported)
{
    struct town *t = town_new();
    CLEANUP_FREE char *url = xasprintf("https://127.0.0.1:%d", http_server_port(t->server));

    ask(t, url, &(struct tls_client_settings){.is_insecure = true}, 1);

    ck_assert_int_eq(t->status, 0);
    ck_assert_msg(strstr(t->error.text, "wrong version number") != NULL, "%s", t->error.text);
    town_free(t);
}
END_TEST

START_TEST(a_server_that_is_silent_in_the_handshake_is_not_waited_for)
{
    struct town *t = town_new();
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CLEANUP_FREE char *url = NULL;

    ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    ck_assert_int_eq(listen(fd, 8), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &length), 0);
    url = xasprintf("https://127.0.0.1:%d", ntohs(at.sin_port));
    t->connect_ms = 300;
    ask(t, url, &(struct tls_client_settings){.is_insecure = true}, 1);

    ck_assert_int_eq(t->status, 0);
    ck_assert_int_eq(t->error.code, -ETIMEDOUT);
    close(fd);
    town_free(t);
}
END_TEST

START_TEST(files_that_do_not_go_together_are_refused_with_their_name)
{
    struct town *t = town_new(), *other = town_new();
    const struct {
        struct tls_client_settings settings;
        const char *says;
    } bad[] = {
        {{.certificate_file = t->certificate}, "one of them is missing"},
        {{.key_file = t->key}, "one of them is missing"},
        {{.authority_file = t->certificate, .is_insecure = true}, "insecure flag"},
        {{.authority_file = "/nonexistent"}, "caFile: "},
        {{.authority_file = t->key}, "no certificate in PEM"},
        {{.authority_data = "*"}, "caData: not base64"},
        {{.authority_data = "eA=="}, "caData: contains no certificate"},
        {{.certificate_file = t->certificate, .key_file = t->certificate}, "no PEM key"},
        {{.certificate_file = t->certificate, .key_file = other->key}, "keyFile '"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct tls_client *tls = NULL;
        struct error err = {0};

        ck_assert_int_lt(tls_client_open(&bad[i].settings, &tls, &err), 0);
        ck_assert_msg(strstr(err.text, bad[i].says) != NULL, "%zu: %s", i, err.text);
    }
    town_free(t);
    town_free(other);
}
END_TEST

SUITE("tls_client", a_client_that_trusts_the_certificate_is_answered_on_one_connection,
      an_authority_may_be_given_as_base64, a_stranger_is_not_believed,
      a_certificate_of_another_name_is_not_believed, a_server_without_tls_is_reported,
      a_server_that_is_silent_in_the_handshake_is_not_waited_for,
      files_that_do_not_go_together_are_refused_with_their_name)
