/* SPDX-License-Identifier: Apache-2.0 */
/* The client with our own server, and with a misbehaving socket. */
#include "lib/http/http_client.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/http/http_request.h"
#include "lib/http/http_stream.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "lib/loop/workers.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/lib/http/server_fixture.h"

/* One call and its result. */
struct caller {
    struct loop *loop;
    struct http_client *client;
    struct http_call *call;
    unsigned wanted; /* callbacks until the loop stops; 0: one */
    unsigned dones;
    unsigned starts;
    bool cancels_in_data;
    int status;
    struct strbuf body;
    struct strbuf data;
    char type[64];
    char header[64];
    struct error error;
};

static void
give_up(struct http_request *r, void *arg)
{
    (void)arg;
    http_request_reply(r, 503, NULL, NULL, 0);
}

/* The number of the request's connection: the server's first one is 1. */
static unsigned
connection_number(struct http_request *r)
{
    static unsigned last;
    unsigned *number = http_request_connection_data(r);

    if (number == NULL) {
        number = xnew(unsigned);
        *number = ++last;
        http_request_set_connection_data(r, number, free);
    }
    return *number;
}

static void
handle(struct http_request *r, void *arg)
{
    const char *path = http_request_path(r);
    struct strbuf out = STRBUF_INIT;
    size_t length;
    const char *body = http_request_body(r, &length);

    (void)arg;
    if (strcmp(path, "/never") == 0) {
        http_request_on_close(r, give_up, NULL);
        return;
    }
    if (strcmp(path, "/later") == 0) {
        http_request_reply(r, 503, "text/plain", "later", 5);
        return;
    }
    if (strcmp(path, "/stream") == 0) {
        struct http_stream *s = http_request_stream(r, 200, "text/x");

        http_stream_send_text(s, "one\n", 4);
        http_stream_send_text(s, "two\n", 4);
        http_stream_end(s);
        return;
    }
    if (strcmp(path, "/bye") == 0)
        http_request_close_after(r);
    http_request_add_header(r, "X-Connection", "yes");
    strbuf_printf(&out, "%s %s %zu:%s %u", http_method_name(http_request_method(r)),
                  http_request_target(r), length, body, connection_number(r));
    http_request_reply(r, 200, "text/plain", out.text, out.length);
    strbuf_fini(&out);
}

static void
done(const struct http_response *answer, const struct error *err, void *arg)
{
    struct caller *c = arg;
    const char *header;

    ck_assert((answer == NULL) == (err != NULL));
    if (err != NULL) {
        c->error = *err;
    } else {
        c->status = answer->status;
        strbuf_truncate(&c->body, 0);
        strbuf_add(&c->body, answer->body, answer->length);
        snprintf(c->type, sizeof(c->type), "%s", answer->content_type);
        header = http_response_header(answer, "x-connection");
        snprintf(c->header, sizeof(c->header), "%s", header ? header : "");
    }
    if (++c->dones >= c->wanted)
        loop_stop(c->loop);
}

static void
started(const struct http_response *answer, void *arg)
{
    struct caller *c = arg;

    c->status = answer->status;
    c->starts++;
}

static void
data(const void *bytes, size_t length, void *arg)
{
    struct caller *c = arg;

    strbuf_add(&c->data, bytes, length);
    if (c->cancels_in_data) {
        http_call_cancel(c->call);
        loop_stop(c->loop);
    }
}

static void
caller_init(struct caller *c, const char *url, const struct http_client_settings *settings)
{
    struct error err = {0};

    *c = (struct caller){.loop = loop_new()};
    strbuf_init(&c->body);
    strbuf_init(&c->data);
    if (http_client_new(c->loop, url, settings, &c->client, &err) < 0)
        ck_abort_msg("%s", err.text);
}

static void
caller_fini(struct caller *c)
{
    http_client_free(c->client);
    loop_drain(c->loop);
    loop_free(c->loop);
    strbuf_fini(&c->body);
    strbuf_fini(&c->data);
}

static void
start(struct caller *c, enum http_method method, const char *target)
{
    struct http_header header = {"X-A", "b"};
    struct http_client_request q = {
        .method = method,
        .target = target,
        .headers = &header,
        .n_headers = 1,
        .content_type = method == HTTP_POST ? "text/plain" : NULL,
        .body = "body",
        .length = method == HTTP_POST ? 4 : 0,
        .done = done,
        .arg = c,
    };

    c->call = http_client_call(c->client, &q);
}

static void
start_stream(struct caller *c, const char *target)
{
    struct http_client_request q = {
        .target = target,
        .started = started,
        .data = data,
        .done = done,
        .arg = c,
    };

    c->call = http_client_call(c->client, &q);
}

static void
ask(struct caller *c, enum http_method method, const char *target)
{
    start(c, method, target);
    loop_run(c->loop);
}

static const char *
url_of(const struct server_fixture *s)
{
    static char url[64];

    snprintf(url, sizeof(url), "http://127.0.0.1:%d", s->port);
    return url;
}

START_TEST(a_request_goes_out_and_its_answer_comes_back)
{
    struct server_fixture s;
    struct caller c;

    server_fixture_start(&s, NULL, handle, NULL);
    caller_init(&c, url_of(&s), NULL);
    ask(&c, HTTP_POST, "/p?q=%20");

    ck_assert_int_eq(c.error.code, 0);
    ck_assert_int_eq(c.status, 200);
    ck_assert_str_eq(c.type, "text/plain");
    ck_assert_str_eq(c.header, "yes");
    ck_assert_str_eq(c.body.text, "POST /p?q=%20 4:body 1");
    ask(&c, HTTP_HEAD, "/p");
    ck_assert_uint_eq(c.body.length, 0);
    ask(&c, HTTP_GET, "/kept");
    ck_assert_str_eq(c.body.text, "GET /kept 0: 1");
    caller_fini(&c);
    server_fixture_stop(&s);
}
END_TEST

START_TEST(a_unix_socket_serves_as_well)
{
    struct server_fixture s;
    struct caller c;
    char url[128];

    server_fixture_start(&s, NULL, handle, NULL);
    snprintf(url, sizeof(url), "http+unix://%s", s.path);
    caller_init(&c, url, NULL);
    ask(&c, HTTP_GET, "/x");

    ck_assert_str_eq(c.body.text, "GET /x 0: 1");
    caller_fini(&c);
    server_fixture_stop(&s);
}
END_TEST

START_TEST(a_name_is_looked_up_by_a_worker)
{
    struct workers *workers = workers_new(1);
    struct http_client_settings settings = {.workers = workers, .resolve = http_resolve};
    struct server_fixture s;
    struct caller c;
    char url[64];

    server_fixture_start(&s, NULL, handle, NULL);
    snprintf(url, sizeof(url), "http://localhost:%d/", s.port);
    caller_init(&c, url, &settings);
    ask(&c, HTTP_GET, "/x");

    ck_assert_str_eq(c.body.text, "GET /x 0: 1");
    workers_free(workers);
    caller_fini(&c);
    server_fixture_stop(&s);
}
END_TEST

/* Port 1 refuses, a name is not known, and one server never answers. */
START_TEST(of_several_hosts_the_one_that_answers_is_asked)
{
    static const struct {
        const char *before, *after;
    } forms[] = {
        {"127.0.0.1:1,", ""},
        {"", ",127.0.0.1:1"},
        {"nowhere.invalid:1,", ""},
        {"[::1]:1,127.0.0.1:1,", "/"},
    };
    const struct http_client_settings settings = {.resolve = http_resolve};
    struct server_fixture s;

    server_fixture_start(&s, NULL, handle, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        struct caller c;
        char url[128];

        snprintf(url, sizeof(url), "http://%s127.0.0.1:%d%s", forms[i].before, s.port,
                 forms[i].after);
        caller_init(&c, url, &settings);
        ask(&c, HTTP_GET, "/x");
        ck_assert_msg(c.error.code == 0, "%s: %s", url, c.error.text);
        ask(&c, HTTP_GET, "/bye");
        ask(&c, HTTP_GET, "/again");
        ck_assert_int_eq(c.error.code, 0);
        caller_fini(&c);
    }
    server_fixture_stop(&s);
}
END_TEST

/* A socket that the kernel connects, and nobody answers: a stopped process. */
static int
listen_mutely(int *ret_fd)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t length = sizeof(at);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *ret_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(*ret_fd, (struct sockaddr *)&at, sizeof(at)), 0);
    ck_assert_int_eq(listen(*ret_fd, 8), 0);
    ck_assert_int_eq(getsockname(*ret_fd, (struct sockaddr *)&at, &length), 0);
    return ntohs(at.sin_port);
}

START_TEST(a_host_that_does_not_answer_is_not_asked_again_first)
{
    const struct http_client_settings settings = {.answer_ms = 200};
    struct server_fixture s;
    struct caller c;
    char url[128];
    int mute;

    server_fixture_start(&s, NULL, handle, NULL);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d,127.0.0.1:%d", listen_mutely(&mute), s.port);
    caller_init(&c, url, &settings);
    ask(&c, HTTP_GET, "/x");
    ck_assert_int_eq(c.error.code, -ETIMEDOUT);
    c.error.code = 0;

    ask(&c, HTTP_GET, "/x");

    ck_assert_int_eq(c.error.code, 0);
    ck_assert_str_eq(c.body.text, "GET /x 0: 1");
    caller_fini(&c);
    server_fixture_stop(&s);
    close(mute);
}
END_TEST

/* A host may be cut off from its database, for example. */
START_TEST(after_a_503_another_host_is_asked)
{
    const struct http_client_settings settings = {0};
    struct server_fixture s;
    struct caller c;
    char url[128];

    server_fixture_start(&s, NULL, handle, NULL);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d,127.0.0.1:%d", s.port, s.port);
    caller_init(&c, url, &settings);
    ask(&c, HTTP_GET, "/x");
    ck_assert_str_eq(c.body.text, "GET /x 0: 1"); /* the first connection */
    ask(&c, HTTP_GET, "/later");
    ck_assert_int_eq(c.status, 503);

    ask(&c, HTTP_GET, "/x");

    ck_assert_str_eq(c.body.text, "GET /x 0: 2");
    caller_fini(&c);
    server_fixture_stop(&s);
}
END_TEST

START_TEST(the_pool_keeps_to_its_size)
{
    struct http_client_settings settings = {.connections = 3};
    struct server_fixture s;
    struct caller c;

    server_fixture_start(&s, NULL, handle, NULL);
    caller_init(&c, url_of(&s), &settings);
    c.wanted = 50;
    for (int i = 0; i < 50; i++)
        start(&c, HTTP_POST, "/x");
    loop_run(c.loop);

    ck_assert_int_eq(c.error.code, 0);
    ck_assert_uint_eq(c.dones, 50);
    ck_assert_uint_eq(server_fixture_counts(&s).connections, 3);
    ck_assert_uint_eq(server_fixture_counts(&s).requests, 50);
    caller_fini(&c);
    server_fixture_stop(&s);
}
END_TEST

START_TEST(a_connection_that_its_server_ends_is_replaced)
{
    struct server_fixture s;
    struct caller c;

    server_fixture_start(&s, NULL, handle, NULL);
    caller_init(&c, url_of(&s), NULL);
    ask(&c, HTTP_POST, "/bye");
    ck_assert_str_eq(c.body.text, "POST /bye 4:body 1");
    ask(&c, HTTP_POST, "/again");

    ck_assert_str_eq(c.body.text, "POST /again 4:body 2");
    caller_fini(&c);
    server_fixture_stop(&s);
}
END_TEST

START_TEST(a_stream_comes_as_it_is_sent)
{
    struct server_fixture s;
    struct caller c;

    server_fixture_start(&s, NULL, handle, NULL);
    caller_init(&c, url_of(&s), NULL);
    start_stream(&c, "/stream");
    loop_run(c.loop);

    ck_assert_int_eq(c.error.code, 0);
    ck_assert_uint_eq(c.starts, 1);
    ck_assert_str_eq(c.data.text, "one\ntwo\n");
    ck_assert_uint_eq(c.body.length, 0);
    ask(&c, HTTP_GET, "/x");
    ck_assert_str_eq(c.body.text, "GET /x 0: 1");
    caller_fini(&c);
    server_fixture_stop(&s);
}
END_TEST

START_TEST(a_stream_can_be_cancelled_by_its_own_callback)
{
    struct server_fixture s;
    struct caller c;

    server_fixture_start(&s, NULL, handle, NULL);
    caller_init(&c, url_of(&s), NULL);
    c.cancels_in_data = true;
    start_stream(&c, "/stream");
    loop_run(c.loop);

    ck_assert_uint_eq(c.dones, 0);
    ck_assert_str_eq(c.data.text, "one\n");
    caller_fini(&c);
    server_fixture_stop(&s);
}
END_TEST

static void
cancel_later(void *arg)
{
    struct caller *c = arg;

    http_call_cancel(c->call);
    loop_stop(c->loop);
}

START_TEST(a_cancelled_call_is_never_done)
{
    struct timer *timer;
    struct server_fixture s;
    struct caller c;

    server_fixture_start(&s, NULL, handle, NULL);
    caller_init(&c, url_of(&s), NULL);
    start(&c, HTTP_GET, "/x");
    http_call_cancel(c.call);
    start(&c, HTTP_GET, "/never");
    timer = timer_new(c.loop, cancel_later, &c);
    timer_start(timer, 50);
    loop_run(c.loop);

    ck_assert_uint_eq(c.dones, 0);
    ask(&c, HTTP_GET, "/x");
    ck_assert_uint_eq(c.dones, 1);
    timer_free(timer);
    caller_fini(&c);
    server_fixture_stop(&s);
}
END_TEST

START_TEST(an_answer_that_does_not_come_is_not_waited_for)
{
    struct http_client_settings settings = {.answer_ms = 100};
    struct server_fixture s;
    struct caller c;

    server_fixture_start(&s, NULL, handle, NULL);
    caller_init(&c, url_of(&s), &settings);
    ask(&c, HTTP_GET, "/never");

    ck_assert_int_eq(c.error.code, -ETIMEDOUT);
    ck_assert_ptr_nonnull(strstr(c.error.text, "has not answered within"));
    caller_fini(&c);
    server_fixture_stop(&s);
}
END_TEST

START_TEST(nobody_listening_is_said_with_the_remedy)
{
    const struct http_client_settings settings = {.resolve = http_resolve};
    static const struct {
        const char *url, *words;
    } cases[] = {
        {"http://127.0.0.1:1", "cannot reach the controller at 'http://127.0.0.1:1': Connection "
                               "refused; is kiln-controller running?"},
        {"http+unix:///nowhere/socket",
         "cannot reach the controller at 'http+unix:///nowhere/socket': No "
         "such file or directory; is kiln-controller running?"},
        {"http://nowhere.invalid:1", "host 'nowhere.invalid'"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct caller c;

        caller_init(&c, cases[i].url, &settings);
        c.wanted = 3;
        for (int n = 0; n < 3; n++)
            start(&c, HTTP_GET, "/x");
        loop_run(c.loop);

        ck_assert_uint_eq(c.dones, 3);
        ck_assert_msg(strstr(c.error.text, cases[i].words) != NULL, "%s", c.error.text);
        caller_fini(&c);
    }
}
END_TEST

START_TEST(a_url_that_is_none_is_refused)
{
    static const char *const bad[] = {
        "",
        "controller:6820",
        "https://controller:6820",
        "http://",
        "http://controller",
        "http://controller:",
        "http://controller:x",
        "http://controller:65536",
        "http://:6820",
        "http://[::1]",
        "http://[::1",
        "http://user@controller:6820",
        "http://controller:6820/path",
        "http+unix://socket",
        "http://controller:6820,",
        "http://,controller:6820",
        "http://controller:6820,,other:6820",
        "http://controller:6820,other",
    };
    struct loop *loop = loop_new();

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct http_client *client = NULL;
        struct error err = {0};

        ck_assert_msg(http_client_new(loop, bad[i], NULL, &client, &err) == -EINVAL, "%s", bad[i]);
        ck_assert_ptr_null(client);
        ck_assert_ptr_nonnull(strstr(err.text, "http://HOST:PORT"));
    }
    loop_free(loop);
}
END_TEST

START_TEST(a_newline_in_a_request_is_not_sent)
{
    struct server_fixture s;
    struct caller c;

    server_fixture_start(&s, NULL, handle, NULL);
    caller_init(&c, url_of(&s), NULL);
    ask(&c, HTTP_GET, "/x HTTP/1.1\r\nX-Evil: 1\r\n\r\n");

    ck_assert_int_eq(c.error.code, -EINVAL);
    ck_assert_uint_eq(server_fixture_counts(&s).requests, 0);
    caller_fini(&c);
    server_fixture_stop(&s);
}
END_TEST

/* A server with prepared answers, one connection after the other. */
struct parrot {
    int fd;
    char url[64];
    pthread_t thread;
    const char *const *answers; /* "" closes without an answer */
};

static void *
answer_all(void *arg)
{
    struct parrot *p = arg;

    for (const char *const *at = p->answers; *at != NULL; at++) {
        int fd = accept(p->fd, NULL, NULL);
        const char *end, *text = *at;
        struct strbuf request = STRBUF_INIT;

        /* '|' waits for the next request. */
        while (server_fixture_read_until(fd, &request, "\r\n\r\n")) {
            strbuf_truncate(&request, 0);
            end = strchrnul(text, '|');
            if (send(fd, text, (size_t)(end - text), MSG_NOSIGNAL) < 0 || *end == '\0')
                break;
            text = end + 1;
        }
        close(fd);
        strbuf_fini(&request);
    }
    return NULL;
}

static void
parrot_start(struct parrot *p, const char *const *answers)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    socklen_t length = sizeof(at);

    p->answers = answers;
    p->fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(p->fd, (struct sockaddr *)&at, length), 0);
    ck_assert_int_eq(listen(p->fd, 8), 0);
    getsockname(p->fd, (struct sockaddr *)&at, &length);
    snprintf(p->url, sizeof(p->url), "http://127.0.0.1:%d", ntohs(at.sin_port));
    pthread_create(&p->thread, NULL, answer_all, p);
}

static void
parrot_stop(struct parrot *p)
{
    pthread_join(p->thread, NULL);
    close(p->fd);
}

static const struct {
    const char *answer;
    int code;
    const char *body;
} answers[] = {
    {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 0, "ok"},
    {"HTTP/1.1 200 OK\r\n\r\nuntil close", 0, "until close"},
    {"HTTP/1.0 200 OK\r\nContent-Length:2\r\n\r\nok", 0, "ok"},
    {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"
     "content-length: 2\r\n\r\nok",
     0, "ok"},
    {"HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n"
     "2;x=y\r\nok\r\n1\r\n!\r\n0\r\nTrailer: x\r\n\r\n",
     0, "ok!"},
    {"", -ECONNRESET, NULL},
    {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok", -ECONNRESET, NULL},
    {"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nok", -EPROTO, NULL},
    {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nok", -EPROTO, NULL},
    {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", -EPROTO, NULL},
    {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
     "Transfer-Encoding: chunked\r\n\r\nok",
     -EPROTO, NULL},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nok", -EPROTO, NULL},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", -EPROTO, NULL},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nok\r\n", -EPROTO, NULL},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
     "ffffffffffffffff\r\n",
     -EPROTO, NULL},
    {"HTTP/2 200\r\n\r\n", -EPROTO, NULL},
    {"220 smtp ready\r\n\r\n", -EPROTO, NULL},
    {"HTTP/1.1 200 OK\r\nno header\r\n\r\n", -EPROTO, NULL},
    {"HTTP/1.1 20x OK\r\n\r\n", -EPROTO, NULL},
    {"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\nx", -ECONNRESET, NULL},
};

START_TEST(an_answer_is_read_strictly)
{
    const char *const script[] = {answers[_i].answer, NULL};
    struct parrot p;
    struct caller c;

    parrot_start(&p, script);
    caller_init(&c, p.url, NULL);
    ask(&c, HTTP_POST, "/x");

    ck_assert_msg(c.error.code == answers[_i].code, "%s", c.error.text);
    if (answers[_i].body != NULL)
        ck_assert_str_eq(c.body.text, answers[_i].body);
    parrot_stop(&p);
    caller_fini(&c);
}
END_TEST

#define OK(text) "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" text

START_TEST(a_safe_request_on_a_dead_kept_connection_is_sent_again)
{
    const char *const script[] = {OK("ok") "|", OK("ko"), NULL};
    struct parrot p;
    struct caller c;

    parrot_start(&p, script);
    caller_init(&c, p.url, NULL);
    ask(&c, HTTP_POST, "/x");
    ask(&c, HTTP_GET, "/x");

    ck_assert_int_eq(c.error.code, 0);
    ck_assert_str_eq(c.body.text, "ko");
    parrot_stop(&p);
    caller_fini(&c);
}
END_TEST

START_TEST(an_unsafe_one_is_not)
{
    const char *const script[] = {OK("ok") "|", NULL};
    struct parrot p;
    struct caller c;

    parrot_start(&p, script);
    caller_init(&c, p.url, NULL);
    ask(&c, HTTP_POST, "/x");
    ask(&c, HTTP_POST, "/x");

    ck_assert_int_eq(c.error.code, -ECONNRESET);
    parrot_stop(&p);
    caller_fini(&c);
}
END_TEST

START_TEST(an_answer_that_is_too_long_is_refused)
{
    const char *const script[] = {OK("ok"), NULL};
    struct http_client_settings settings = {.body_bytes = 1};
    struct parrot p;
    struct caller c;

    parrot_start(&p, script);
    caller_init(&c, p.url, &settings);
    ask(&c, HTTP_GET, "/x");

    ck_assert_int_eq(c.error.code, -EFBIG);
    parrot_stop(&p);
    caller_fini(&c);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("http_client");
    TCase *tcase = tcase_create("http_client");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_request_goes_out_and_its_answer_comes_back);
    tcase_add_test(tcase, a_unix_socket_serves_as_well);
    tcase_add_test(tcase, a_name_is_looked_up_by_a_worker);
    tcase_add_test(tcase, of_several_hosts_the_one_that_answers_is_asked);
    tcase_add_test(tcase, after_a_503_another_host_is_asked);
    tcase_add_test(tcase, a_host_that_does_not_answer_is_not_asked_again_first);
    tcase_add_test(tcase, the_pool_keeps_to_its_size);
    tcase_add_test(tcase, a_connection_that_its_server_ends_is_replaced);
    tcase_add_test(tcase, a_stream_comes_as_it_is_sent);
    tcase_add_test(tcase, a_stream_can_be_cancelled_by_its_own_callback);
    tcase_add_test(tcase, a_cancelled_call_is_never_done);
    tcase_add_test(tcase, an_answer_that_does_not_come_is_not_waited_for);
    tcase_add_test(tcase, nobody_listening_is_said_with_the_remedy);
    tcase_add_test(tcase, a_url_that_is_none_is_refused);
    tcase_add_test(tcase, a_newline_in_a_request_is_not_sent);
    tcase_add_loop_test(tcase, an_answer_is_read_strictly, 0, (int)ARRAY_SIZE(answers));
    tcase_add_test(tcase, a_safe_request_on_a_dead_kept_connection_is_sent_again);
    tcase_add_test(tcase, an_unsafe_one_is_not);
    tcase_add_test(tcase, an_answer_that_is_too_long_is_refused);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
