/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_server.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/http/http_request.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/lib/http/server_fixture.h"

struct host {
    struct server_fixture fixture;
    struct http_request *kept;
    atomic_uint is_kept, releases, closes, frees;
    char shared[100000];
};

static void
released(const void *bytes, size_t length, void *arg)
{
    struct host *h = arg;

    (void)bytes;
    (void)length;
    h->releases++;
}

static void
freed(void *data)
{
    struct host *h = data;

    h->frees++;
}

static void
went_away(struct http_request *r, void *arg)
{
    struct host *h = arg;

    ck_assert(http_request_is_closed(r));
    h->closes++;
}

static void
describe(struct http_request *r)
{
    const struct http_peer *peer = http_request_peer(r);
    struct strbuf out = STRBUF_INIT;
    const char *name, *value;
    size_t at = 0, length;
    const char *body = http_request_body(r, &length);
    const char *colour = http_request_header(r, "x-COLOUR");

    strbuf_printf(&out, "%s|%s|%s|%s|", http_method_name(http_request_method(r)),
                  http_request_target(r), http_request_path(r), colour != NULL ? colour : "-");
    while (http_request_query_next(r, &at, &name, &value))
        strbuf_printf(&out, "%s=%s;", name, value);
    strbuf_printf(&out, "|%zu:%s|", length, body);
    if (peer->is_local)
        strbuf_printf(&out, "uid %u", peer->uid);
    else
        strbuf_printf(&out, "%.9s", peer->address);
    http_request_reply(r, 200, "text/plain", out.text, out.length);
    strbuf_fini(&out);
}

static void
reply_pieces(struct http_request *r, struct host *h)
{
    struct http_piece pieces[] = {
        {.bytes = "small", .length = 5, .release = released, .arg = h},
        {h->shared, sizeof(h->shared), released, h},
        {.bytes = "copied", .length = 6},
    };

    http_request_reply_pieces(r, 200, "text/plain", pieces, 3);
}

static void
handle(struct http_request *r, void *arg)
{
    struct host *h = arg;
    const char *path = http_request_path(r);

    if (strcmp(path, "/keep") == 0) {
        h->kept = r;
        http_request_on_close(r, went_away, h);
        http_request_set_connection_data(r, h, freed);
        h->is_kept++;
    } else if (strcmp(path, "/mark") == 0) {
        http_request_set_connection_data(r, h, NULL);
        describe(r);
    } else if (strcmp(path, "/pieces") == 0) {
        reply_pieces(r, h);
    } else if (strcmp(path, "/nothing") == 0) {
        http_request_add_header(r, "X-Answer", "yes");
        http_request_add_header(r, "X-Evil", "a\r\nX-Injected: 1");
        http_request_reply(r, 204, NULL, NULL, 0);
    } else if (strcmp(path, "/last") == 0) {
        http_request_close_after(r);
        http_request_reply(r, 200, "text/plain", "bye", 3);
    } else {
        describe(r);
    }
}

static struct host *
host_start(const struct http_limits *limits)
{
    struct host *h = xnew(struct host);

    memset(h->shared, 'x', sizeof(h->shared));
    server_fixture_start(&h->fixture, limits, handle, h);
    return h;
}

static void
host_stop(struct host *h)
{
    server_fixture_stop(&h->fixture);
    free(h);
}

static void
await(const atomic_uint *count, unsigned wanted)
{
    for (unsigned i = 0; i < 1000 && *count < wanted; i++)
        usleep(10000);
    ck_assert_uint_eq(*count, wanted);
}

static void
ask(struct host *h, const char *request, struct strbuf *answer)
{
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, request);
    ck_assert(server_fixture_read_answer(fd, answer));
    close(fd);
}

static const struct {
    const char *request;
    const char *answer; /* the compared part */
} exchanges[] = {
    {"GET /a%20b/c?watch=1&x=a%26b+c&flag HTTP/1.1\r\nHost: h\r\n"
     "X-Colour: red\r\n\r\n",
     "GET|/a%20b/c?watch=1&x=a%26b+c&flag|/a b/c|red|watch=1;x=a&b c;flag=;|"
     "0:|127.0.0.1"},
    {"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello", "POST|/p|/p|-||5:hello|"},
    {"PATCH /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
     "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
     "PATCH|/p|/p|-||5:abcde|"},
    {"DELETE /p HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}", "DELETE|/p|/p|-||2:{}|"},
    {"PUT /p HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", "PUT|/p|/p|-||0:|"},
    {"OPTIONS /p HTTP/1.1\r\nHost: h\r\n\r\n", "OPTIONS|/p|/p|-||0:|"},
    {"GET http://other:1/p?q=1 HTTP/1.1\r\nHost: h\r\n\r\n", "|/p|-|q=1;|0:|"},
    {"GET //x/../%2e HTTP/1.1\r\nHost: h\r\n\r\n", "GET|//x/../%2e|//x/../."},
    {"GET /a[1]{\"x\"}|^`<> HTTP/1.1\r\nHost: h\r\n\r\n", "GET|/a[1]{\"x\"}|"},
    {"GET /p HTTP/1.0\r\n\r\n", "GET|/p|/p|-||0:|"},
};

START_TEST(a_request_arrives_as_it_was_sent)
{
    struct host *h = host_start(NULL);
    struct strbuf answer = STRBUF_INIT;

    ask(h, exchanges[_i].request, &answer);

    ck_assert_msg(strstr(answer.text, " 200 OK\r\n") != NULL
                      && strstr(answer.text, exchanges[_i].answer) != NULL,
                  "%s", answer.text);
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

static const struct {
    const char *request;
    const char *status;
} refusals[] = {
    {"GET /%00 HTTP/1.1\r\nHost: h\r\n\r\n", " 400 "},
    {"GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", " 400 "},
    {"GET /a?b=%2 HTTP/1.1\r\nHost: h\r\n\r\n", " 400 "},
    {"GET nowhere HTTP/1.1\r\nHost: h\r\n\r\n", " 400 "},
    {"GET /a b HTTP/1.1\r\nHost: h\r\n\r\n", " 400 "},
    {"GET\r\n\r\n", " 400 "},
    {"\x16\x03\x01\r\n\r\n", " 400 "},
    {"BREW /pot HTTP/1.1\r\nHost: h\r\n\r\n", " 501 "},
    {"TRACE / HTTP/1.1\r\nHost: h\r\n\r\n", " 501 "},
    {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n", " 400 "},
    {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999\r\n\r\n", NULL},
    {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n"
     "Content-Length: 3\r\n\r\nabc",
     " 400 "},
    {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n"
     "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     " 400 "},
    {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", " 400 "},
    {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +3\r\n\r\nabc", " 400 "},
    {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length : 3\r\n\r\nabc", " 400 "},
    {"GET / HTTP/1.1\nHost: h\n\n", " 400 "},
    {"GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n", " 400 "},
    {"GET / HTTP/1.1\r\nHost: h\r\nA b: c\r\n\r\n", " 400 "},
    {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
     "+3\r\nabc\r\n0\r\n\r\n",
     " 400 "},
};

START_TEST(a_malformed_request_is_refused_and_the_connection_ends)
{
    struct http_limits limits = {.receive_ms = 200};
    struct host *h = host_start(&limits);
    struct strbuf answer = STRBUF_INIT;
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, refusals[_i].request);
    server_fixture_read_all(fd, &answer);

    if (refusals[_i].status != NULL)
        ck_assert_msg(strstr(answer.text, refusals[_i].status) != NULL, "%s", answer.text);
    close(fd);
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

START_TEST(borrowed_data_stays_when_it_is_replaced_and_at_the_close)
{
    struct host *h = host_start(NULL);
    struct strbuf answer = STRBUF_INIT;
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, "GET /mark HTTP/1.1\r\nHost: h\r\n\r\n"
                            "GET /mark HTTP/1.1\r\nHost: h\r\n\r\n"
                            "GET /last HTTP/1.1\r\nHost: h\r\n\r\n");
    server_fixture_read_all(fd, &answer);

    ck_assert_str_eq(answer.text + answer.length - 3, "bye");
    ck_assert_uint_eq(server_fixture_counts(&h->fixture).requests, 3);
    ck_assert_uint_eq(h->frees, 0);
    close(fd);
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

START_TEST(a_connection_serves_many_requests_also_sent_ahead)
{
    struct host *h = host_start(NULL);
    struct strbuf answer = STRBUF_INIT;
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n"
                            "POST /2 HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx"
                            "GET /pieces HTTP/1.1\r\nHost: h\r\n\r\n"
                            "GET /last HTTP/1.1\r\nHost: h\r\n\r\n");
    server_fixture_read_all(fd, &answer);

    ck_assert_ptr_nonnull(strstr(answer.text, "GET|/1|"));
    ck_assert_ptr_nonnull(strstr(answer.text, "POST|/2|"));
    ck_assert_ptr_nonnull(strstr(answer.text, "xcopied"));
    ck_assert_str_eq(answer.text + answer.length - 3, "bye");
    ck_assert_uint_eq(server_fixture_counts(&h->fixture).requests, 4);
    close(fd);
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

START_TEST(a_long_request_behind_a_kept_one_is_read_in_time)
{
    struct http_limits limits = {.receive_ms = 2000};
    struct host *h = host_start(&limits);
    struct strbuf answer = STRBUF_INIT;
    int fd = server_fixture_connect(&h->fixture);
    char *body = xmalloc(300001);

    memset(body, 'b', 300000);
    body[300000] = '\0';
    server_fixture_send(fd, "GET /pieces HTTP/1.1\r\nHost: h\r\n\r\n"
                            "POST /2 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
                            "Content-Length: 300000\r\n\r\n");
    server_fixture_send(fd, body);
    server_fixture_read_all(fd, &answer);

    ck_assert_ptr_nonnull(strstr(answer.text, "POST|/2|/2|-||300000:bbb"));
    close(fd);
    free(body);
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

START_TEST(pieces_are_sent_without_a_copy_and_released_once)
{
    struct host *h = host_start(NULL);
    struct strbuf answer = STRBUF_INIT;

    ask(h, "GET /pieces HTTP/1.1\r\nHost: h\r\n\r\n", &answer);

    ck_assert_ptr_nonnull(strstr(answer.text, "Content-Length: 100011\r\n"));
    ck_assert_ptr_nonnull(strstr(answer.text, "\r\n\r\nsmallxxx"));
    await(&h->releases, 2);
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

START_TEST(a_head_gets_the_length_and_no_body)
{
    struct host *h = host_start(NULL);
    struct strbuf answer = STRBUF_INIT;
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, "HEAD /pieces HTTP/1.1\r\nHost: h\r\n\r\n"
                            "HEAD /last HTTP/1.1\r\nHost: h\r\n\r\n");
    server_fixture_read_all(fd, &answer);

    ck_assert_ptr_nonnull(strstr(answer.text, "Content-Length: 100011\r\n"));
    ck_assert_ptr_nonnull(strstr(answer.text, "Content-Length: 3\r\n"));
    ck_assert_ptr_null(strstr(answer.text, "bye"));
    ck_assert_uint_lt(answer.length, 1000);
    await(&h->releases, 2);
    close(fd);
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

START_TEST(headers_are_added_and_cannot_be_injected)
{
    struct host *h = host_start(NULL);
    struct strbuf answer = STRBUF_INIT;

    ask(h, "GET /nothing HTTP/1.1\r\nHost: h\r\n\r\n", &answer);

    ck_assert_ptr_nonnull(strstr(answer.text, " 204 No Content\r\n"));
    ck_assert_ptr_nonnull(strstr(answer.text, "\r\nX-Answer: yes\r\n"));
    ck_assert_ptr_nonnull(strstr(answer.text, "\r\nDate: "));
    ck_assert_ptr_null(strstr(answer.text, "Injected"));
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

START_TEST(a_client_that_expects_100_is_told_to_go_on)
{
    struct host *h = host_start(NULL);
    struct strbuf answer = STRBUF_INIT;
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n"
                            "Expect: 100-continue\r\nConnection: close\r\n\r\n");
    ck_assert(server_fixture_read_until(fd, &answer, "100 Continue\r\n\r\n"));
    server_fixture_send(fd, "ok");
    server_fixture_read_all(fd, &answer);

    ck_assert_ptr_nonnull(strstr(answer.text, "|2:ok|"));
    close(fd);
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

START_TEST(http_1_0_keeps_the_connection_only_when_asked)
{
    struct host *h = host_start(NULL);
    struct strbuf answer = STRBUF_INIT;
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, "GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    ck_assert(server_fixture_read_answer(fd, &answer));
    ck_assert_ptr_nonnull(strstr(answer.text, "Connection: keep-alive"));
    server_fixture_send(fd, "GET /2 HTTP/1.0\r\n\r\n");
    server_fixture_read_all(fd, &answer);

    ck_assert_ptr_nonnull(strstr(answer.text, "GET|/2|"));
    close(fd);
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

START_TEST(the_kernel_names_a_local_peer)
{
    struct host *h = host_start(NULL);
    struct strbuf answer = STRBUF_INIT;
    char wanted[32];
    int fd = server_fixture_connect_unix(&h->fixture);

    server_fixture_send(fd, "GET /p HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert(server_fixture_read_answer(fd, &answer));

    snprintf(wanted, sizeof(wanted), "|uid %u", (unsigned)getuid());
    ck_assert_ptr_nonnull(strstr(answer.text, wanted));
    close(fd);
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

static void
answer_kept(void *arg)
{
    struct host *h = arg;

    http_request_reply(h->kept, 200, "text/plain", "late", 4);
}

START_TEST(a_request_can_be_answered_later)
{
    struct host *h = host_start(NULL);
    struct strbuf answer = STRBUF_INIT;
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, "POST /keep HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx"
                            "GET /ahead HTTP/1.1\r\nHost: h\r\n\r\n");
    await(&h->is_kept, 1);
    server_fixture_call(&h->fixture, answer_kept, h);
    ck_assert(server_fixture_read_until(fd, &answer, "GET|/ahead|"));

    ck_assert_ptr_nonnull(strstr(answer.text, "late"));
    ck_assert_uint_eq(h->closes, 0);
    close(fd);
    await(&h->frees, 1);
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

START_TEST(a_client_that_goes_before_the_answer_is_noticed)
{
    struct host *h = host_start(NULL);
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, "GET /keep HTTP/1.1\r\nHost: h\r\n\r\n");
    await(&h->is_kept, 1);
    close(fd);
    await(&h->closes, 1);
    await(&h->frees, 1);
    ck_assert_uint_eq(server_fixture_counts(&h->fixture).connections, 0);

    server_fixture_call(&h->fixture, answer_kept, h);

    host_stop(h);
}
END_TEST

START_TEST(a_request_that_outlives_its_server_can_still_be_answered)
{
    struct host *h = host_start(NULL);
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, "GET /keep HTTP/1.1\r\nHost: h\r\n\r\n");
    await(&h->is_kept, 1);
    server_fixture_stop(&h->fixture);
    ck_assert_uint_eq(h->closes, 1);

    answer_kept(h);

    close(fd);
    free(h);
}
END_TEST

START_TEST(a_taken_address_is_named)
{
    struct host *h = host_start(NULL);
    struct loop *loop = loop_new();
    struct http_server *second = http_server_new(loop, NULL, handle, h);
    struct error err = {0};
    char address[32];

    snprintf(address, sizeof(address), "127.0.0.1:%d", h->fixture.port);
    ck_assert_int_eq(http_server_listen(second, address, &err), -EADDRINUSE);
    ck_assert_ptr_nonnull(strstr(err.text, address));
    ck_assert_int_eq(http_server_listen_unix(second, h->fixture.path, 0600, &err), -EADDRINUSE);
    ck_assert_int_eq(http_server_listen(second, "6820", &err), -EINVAL);
    ck_assert_int_eq(http_server_listen(second, "127.0.0.1:65536", &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "'65536'"));
    ck_assert_int_eq(http_server_check_address("[::]:6820", &err), 0);
    ck_assert_int_eq(http_server_check_address("[::]:x", &err), -EINVAL);
    ck_assert(http_server_is_loopback("127.8.0.1:6820"));
    ck_assert(http_server_is_loopback("[::1]:6820"));
    ck_assert(http_server_is_loopback("localhost:6820"));
    ck_assert(!http_server_is_loopback("*:6820"));
    ck_assert(!http_server_is_loopback("[::]:6820"));
    ck_assert(!http_server_is_loopback("10.0.0.1:6820"));
    ck_assert(!http_server_is_loopback("localhost.example:6820"));
    ck_assert(!http_server_is_loopback("127.0.0.1.example:6820"));
    ck_assert_int_eq(http_server_listen(second, "*:0", &err), 0);

    http_server_free(second);
    loop_free(loop);
    host_stop(h);
}
END_TEST

/* Connecting to such a file is refused, too, like to an abandoned socket. */
START_TEST(a_file_that_is_no_socket_is_not_replaced)
{
    CLEANUP(scratch_freep) char *directory = scratch_new();
    CLEANUP_FREE char *path = xasprintf("%s/precious", directory);
    struct loop *loop = loop_new();
    struct http_server *server = http_server_new(loop, NULL, handle, NULL);
    struct error err = {0};

    ck_assert_int_eq(file_write_atomic(path, 0600, "x", 1, NULL), 0);
    ck_assert_int_eq(http_server_listen_unix(server, path, 0600, &err), -EEXIST);

    ck_assert_int_eq(access(path, F_OK), 0);
    http_server_free(server);
    loop_free(loop);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("http_server");
    TCase *tcase = tcase_create("http_server");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_request_arrives_as_it_was_sent, 0, (int)ARRAY_SIZE(exchanges));
    tcase_add_loop_test(tcase, a_malformed_request_is_refused_and_the_connection_ends, 0,
                        (int)ARRAY_SIZE(refusals));
    tcase_add_test(tcase, borrowed_data_stays_when_it_is_replaced_and_at_the_close);
    tcase_add_test(tcase, a_connection_serves_many_requests_also_sent_ahead);
    tcase_add_test(tcase, a_long_request_behind_a_kept_one_is_read_in_time);
    tcase_add_test(tcase, pieces_are_sent_without_a_copy_and_released_once);
    tcase_add_test(tcase, a_head_gets_the_length_and_no_body);
    tcase_add_test(tcase, headers_are_added_and_cannot_be_injected);
    tcase_add_test(tcase, a_client_that_expects_100_is_told_to_go_on);
    tcase_add_test(tcase, http_1_0_keeps_the_connection_only_when_asked);
    tcase_add_test(tcase, the_kernel_names_a_local_peer);
    tcase_add_test(tcase, a_request_can_be_answered_later);
    tcase_add_test(tcase, a_client_that_goes_before_the_answer_is_noticed);
    tcase_add_test(tcase, a_request_that_outlives_its_server_can_still_be_answered);
    tcase_add_test(tcase, a_taken_address_is_named);
    tcase_add_test(tcase, a_file_that_is_no_socket_is_not_replaced);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
