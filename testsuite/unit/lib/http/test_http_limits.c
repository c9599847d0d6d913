/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that send too much, are too many or too slow; and an honest client
 * that must not notice the others.
 */
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/http/http_request.h"
#include "lib/http/http_server.h"
#include "lib/http/http_stream.h"
#include "lib/loop/loop.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/lib/http/server_fixture.h"

enum { MANY = 32 << 20 };

struct host {
    struct server_fixture fixture;
    struct http_stream *stream;
    atomic_uint handled, closes;
    atomic_int reason;
    char *many;
};

static void
closed(struct http_stream *s, enum http_stream_end_reason reason, void *arg)
{
    struct host *h = arg;

    (void)s;
    h->stream = NULL;
    h->reason = (int)reason;
    h->closes++;
}

static void
kept(const void *bytes, size_t length, void *arg)
{
    (void)bytes;
    (void)length;
    (void)arg;
}

static void
give_up(struct http_request *r, void *arg)
{
    (void)arg;
    http_request_reply(r, 503, NULL, NULL, 0);
}

static void
handle(struct http_request *r, void *arg)
{
    struct host *h = arg;
    const char *path = http_request_path(r);
    struct http_piece many = {h->many, MANY, kept, h};
    struct http_stream_callbacks callbacks = {.closed = closed, .arg = h};

    h->handled++; /* before the answer, which the test may read at once */
    if (strcmp(path, "/keep") == 0) {
        http_request_on_close(r, give_up, NULL);
    } else if (strcmp(path, "/account") == 0) {
        http_request_reply(r, http_request_charge(r, "one", 3) ? 200 : 429, NULL, NULL, 0);
    } else if (strcmp(path, "/many") == 0) {
        http_request_reply_pieces(r, 200, "text/plain", &many, 1);
    } else if (strcmp(path, "/stream") == 0) {
        h->stream = http_request_stream(r, 200, "text/plain");
        http_stream_set_callbacks(h->stream, &callbacks);
    } else {
        http_request_reply(r, 200, "text/plain", "fine", 4);
    }
}

static struct host *
host_start(const struct http_limits *limits)
{
    struct host *h = xnew(struct host);

    h->many = xcalloc(1, MANY);
    server_fixture_start(&h->fixture, limits, handle, h);
    return h;
}

static void
host_stop(struct host *h)
{
    server_fixture_stop(&h->fixture);
    free(h->many);
    free(h);
}

static void
await(const atomic_uint *count, unsigned wanted)
{
    for (unsigned i = 0; i < 1000 && *count < wanted; i++)
        usleep(10000);
    ck_assert_uint_ge(*count, wanted);
}

static void
an_honest_client_is_served(struct host *h)
{
    struct strbuf answer = STRBUF_INIT;
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert(server_fixture_read_answer(fd, &answer));
    ck_assert_ptr_nonnull(strstr(answer.text, "\r\n\r\nfine"));
    close(fd);
    strbuf_fini(&answer);
}

/* Sends until the peer stops reading; returns the number of bytes sent. */
static size_t
send_many(int fd, size_t length)
{
    static const char bytes[1 << 16];
    size_t sent = 0;

    while (sent < length) {
        size_t part = length - sent < sizeof(bytes) ? length - sent : sizeof(bytes);
        ssize_t n = send(fd, bytes, part, MSG_NOSIGNAL);

        if (n <= 0)
            break;
        sent += (size_t)n;
    }
    return sent;
}

static bool
is_cut(int fd, int within_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char byte;

    return poll(&p, 1, within_ms) > 0 && recv(fd, &byte, 1, 0) <= 0;
}

START_TEST(a_body_of_100_mib_is_refused_with_413)
{
    struct host *h = host_start(NULL);
    struct strbuf answer = STRBUF_INIT;
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, "POST /x HTTP/1.1\r\nHost: h\r\n"
                            "Content-Length: 104857600\r\n\r\n");
    send_many(fd, 50 << 20);
    ck_assert_uint_le(server_fixture_counts(&h->fixture).inflight_bytes, 17 << 20);
    an_honest_client_is_served(h);
    send_many(fd, 50 << 20);
    server_fixture_read_all(fd, &answer);

    ck_assert_ptr_nonnull(strstr(answer.text, " 413 "));
    ck_assert_uint_eq(h->handled, 1);
    an_honest_client_is_served(h);
    close(fd);
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

START_TEST(a_chunked_body_that_never_ends_is_refused)
{
    struct http_limits limits = {.body_bytes = 1 << 20};
    struct host *h = host_start(&limits);
    struct strbuf answer = STRBUF_INIT;
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, "POST /x HTTP/1.1\r\nHost: h\r\n"
                            "Transfer-Encoding: chunked\r\n\r\n200000\r\n");
    server_fixture_read_all(fd, &answer);

    ck_assert_ptr_nonnull(strstr(answer.text, " 413 "));
    close(fd);
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

START_TEST(expecting_to_send_too_much_is_refused_before_it_is_sent)
{
    struct host *h = host_start(NULL);
    struct strbuf answer = STRBUF_INIT;
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, "POST /x HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                            "Content-Length: 104857600\r\n\r\n");
    ck_assert(server_fixture_read_until(fd, &answer, "\r\n\r\n"));

    ck_assert_ptr_nonnull(strstr(answer.text, " 413 "));
    ck_assert_uint_eq(h->handled, 0);
    close(fd);
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

START_TEST(ten_thousand_headers_are_refused)
{
    struct host *h = host_start(NULL);
    struct strbuf request = STRBUF_INIT, answer = STRBUF_INIT;
    int fd = server_fixture_connect(&h->fixture);

    strbuf_add_text(&request, "GET /x HTTP/1.1\r\n");
    for (int i = 0; i < 10000; i++)
        strbuf_printf(&request, "X-Header-%d: %d\r\n", i, i);
    strbuf_add_text(&request, "\r\n");
    (void)send(fd, request.text, request.length, MSG_NOSIGNAL);
    server_fixture_read_all(fd, &answer);

    ck_assert_uint_eq(h->handled, 0);
    an_honest_client_is_served(h);
    close(fd);
    strbuf_fini(&request);
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

START_TEST(a_header_without_end_is_cut_off)
{
    struct host *h = host_start(NULL);
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, "GET /");
    ck_assert_uint_lt(send_many(fd, 100 << 20), 100 << 20);

    ck_assert_uint_eq(h->handled, 0);
    ck_assert_uint_lt(server_fixture_counts(&h->fixture).inflight_bytes, 1 << 20);
    close(fd);
    host_stop(h);
}
END_TEST

START_TEST(a_client_that_trickles_its_request_is_cut_off)
{
    struct http_limits limits = {.receive_ms = 300};
    struct host *h = host_start(&limits);
    int fd = server_fixture_connect(&h->fixture);
    unsigned sent = 0;

    while (sent < 200 && send(fd, "G", 1, MSG_NOSIGNAL) == 1) {
        sent++;
        usleep(20000);
    }

    ck_assert_uint_lt(sent, 200);
    ck_assert_uint_ge(sent, 10);
    ck_assert_uint_eq(server_fixture_counts(&h->fixture).cut_connections, 1);
    close(fd);
    host_stop(h);
}
END_TEST

START_TEST(an_idle_connection_is_closed_and_an_idle_stream_is_not)
{
    struct http_limits limits = {.idle_ms = 200, .send_ms = 200};
    struct host *h = host_start(&limits);
    struct strbuf head = STRBUF_INIT;
    int idle = server_fixture_connect(&h->fixture);
    int stream = server_fixture_connect(&h->fixture);
    int waiting = server_fixture_connect(&h->fixture);

    server_fixture_send(stream, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert(server_fixture_read_until(stream, &head, "\r\n\r\n"));
    server_fixture_send(waiting, "GET /keep HTTP/1.1\r\nHost: h\r\n\r\n");
    await(&h->handled, 2);

    ck_assert(is_cut(idle, 5000));
    ck_assert(!is_cut(stream, 800));
    ck_assert(!is_cut(waiting, 1));
    close(idle);
    close(stream);
    close(waiting);
    strbuf_fini(&head);
    host_stop(h);
}
END_TEST

START_TEST(a_client_that_does_not_read_its_answer_is_cut_off)
{
    struct http_limits limits = {.send_ms = 300};
    struct host *h = host_start(&limits);
    struct strbuf answer = STRBUF_INIT;
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, "GET /many HTTP/1.1\r\nHost: h\r\n\r\n");
    usleep(1200 * 1000);
    server_fixture_read_all(fd, &answer);

    ck_assert_uint_lt(answer.length, MANY);
    ck_assert_uint_eq(server_fixture_counts(&h->fixture).cut_connections, 1);
    an_honest_client_is_served(h);
    close(fd);
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

START_TEST(a_client_that_reads_slowly_but_reads_gets_it_all)
{
    struct http_limits limits = {.send_ms = 300};
    struct host *h = host_start(&limits);
    size_t got = 0;
    char *bytes = xmalloc(2 << 20);
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, "GET /many HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    for (;;) {
        ssize_t n = recv(fd, bytes, 2 << 20, 0);

        if (n <= 0)
            break;
        got += (size_t)n;
        usleep(20 * 1000);
    }

    ck_assert_uint_gt(got, MANY);
    close(fd);
    free(bytes);
    host_stop(h);
}
END_TEST

START_TEST(bodies_in_flight_are_bounded_and_small_requests_still_pass)
{
    struct http_limits limits = {.inflight_bytes = 1 << 20};
    struct host *h = host_start(&limits);
    struct strbuf answer = STRBUF_INIT;
    int first = server_fixture_connect(&h->fixture);
    int second = server_fixture_connect(&h->fixture);

    server_fixture_send(first, "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 900001\r\n\r\n");
    ck_assert_uint_eq(send_many(first, 900000), 900000);
    for (int i = 0; i < 500; i++) {
        if (server_fixture_counts(&h->fixture).inflight_bytes > 900000)
            break;
        usleep(10000);
    }
    server_fixture_send(second, "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 900000\r\n\r\n");
    send_many(second, 600000);
    server_fixture_read_all(second, &answer);
    an_honest_client_is_served(h);
    ck_assert_uint_eq(server_fixture_counts(&h->fixture).cut_connections, 1);

    server_fixture_send(first, "x");
    strbuf_truncate(&answer, 0);
    ck_assert(server_fixture_read_answer(first, &answer));
    ck_assert_ptr_nonnull(strstr(answer.text, "fine"));
    ck_assert_uint_eq(server_fixture_counts(&h->fixture).inflight_bytes, 0);
    close(first);
    close(second);
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

START_TEST(bytes_sent_ahead_of_an_answer_are_not_hoarded)
{
    struct host *h = host_start(NULL);
    int fd = server_fixture_connect(&h->fixture);
    struct timeval patience = {.tv_usec = 300 * 1000};

    server_fixture_send(fd, "GET /keep HTTP/1.1\r\nHost: h\r\n\r\n");
    await(&h->handled, 1);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    ck_assert_uint_lt(send_many(fd, 100 << 20), 100 << 20);

    ck_assert_uint_lt(server_fixture_counts(&h->fixture).inflight_bytes, 256 << 10);
    close(fd);
    host_stop(h);
}
END_TEST

START_TEST(a_flood_of_small_requests_is_not_hoarded_either)
{
    static const char request[] = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n";
    struct host *h = host_start(NULL);
    struct strbuf many = STRBUF_INIT;
    int fd = server_fixture_connect(&h->fixture);
    struct timeval patience = {.tv_usec = 300 * 1000};

    for (int i = 0; i < 50000; i++)
        strbuf_add(&many, request, sizeof(request) - 1);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    for (size_t at = 0; at < many.length;) {
        ssize_t n = send(fd, many.text + at, many.length - at, MSG_NOSIGNAL);

        ck_assert_uint_lt(server_fixture_counts(&h->fixture).inflight_bytes, 256 << 10);
        if (n <= 0)
            break;
        at += (size_t)n;
    }
    close(fd);
    strbuf_fini(&many);
    host_stop(h);
}
END_TEST

START_TEST(whoever_keeps_silent_makes_way_for_the_next)
{
    struct http_limits limits = {.peer_connections = 5};
    struct host *h = host_start(&limits);
    int fds[6];
    int local;

    for (int i = 0; i < 6; i++)
        fds[i] = server_fixture_connect(&h->fixture);
    ck_assert(is_cut(fds[0], 5000));
    ck_assert(!is_cut(fds[1], 50));
    ck_assert_uint_eq(server_fixture_counts(&h->fixture).refused_connections, 1);
    local = server_fixture_connect_unix(&h->fixture); /* another peer */
    ck_assert(!is_cut(local, 50));
    ck_assert(!is_cut(fds[1], 50));

    an_honest_client_is_served(h);
    for (int i = 0; i < 6; i++)
        close(fds[i]);
    close(local);
    host_stop(h);
}
END_TEST

START_TEST(a_client_that_waits_for_an_answer_is_not_cut_for_a_newcomer)
{
    struct http_limits limits = {.peer_connections = 2};
    struct host *h = host_start(&limits);
    int fds[3];

    for (int i = 0; i < 2; i++) {
        fds[i] = server_fixture_connect(&h->fixture);
        server_fixture_send(fds[i], "GET /keep HTTP/1.1\r\nHost: h\r\n\r\n");
    }
    await(&h->handled, 2);
    fds[2] = server_fixture_connect(&h->fixture);

    ck_assert(is_cut(fds[2], 5000));
    ck_assert(!is_cut(fds[0], 50));
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    host_stop(h);
}
END_TEST

START_TEST(an_account_has_so_many_and_its_address_is_free_again)
{
    struct http_limits limits = {.peer_connections = 2, .unproven_ms = 300};
    struct host *h = host_start(&limits);
    struct strbuf answer = STRBUF_INIT;
    int fds[5];

    for (int i = 0; i < 4; i++) {
        fds[i] = server_fixture_connect(&h->fixture);
        server_fixture_send(fds[i], "GET /account HTTP/1.1\r\nHost: h\r\n\r\n");
        strbuf_truncate(&answer, 0);
        ck_assert(server_fixture_read_answer(fds[i], &answer));
        ck_assert_ptr_nonnull(strstr(answer.text, i < 3 ? " 200 " : " 429 "));
    }
    /* These three live longer than the limit for unproven peers. */
    ck_assert(is_cut(fds[3], 5000));
    ck_assert(!is_cut(fds[0], 0));
    close(fds[0]);
    for (int i = 0; i < 500 && server_fixture_counts(&h->fixture).connections > 2; i++)
        usleep(10000);
    fds[4] = server_fixture_connect(&h->fixture);
    server_fixture_send(fds[4], "GET /account HTTP/1.1\r\nHost: h\r\n\r\n");
    strbuf_truncate(&answer, 0);
    ck_assert(server_fixture_read_answer(fds[4], &answer));

    ck_assert_ptr_nonnull(strstr(answer.text, " 200 "));
    for (int i = 1; i < 5; i++)
        close(fds[i]);
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

START_TEST(all_together_have_so_many_connections)
{
    struct http_limits limits = {.connections = 3};
    struct host *h = host_start(&limits);
    int fds[4];

    for (int i = 0; i < 4; i++)
        fds[i] = server_fixture_connect(&h->fixture);

    ck_assert(is_cut(fds[0], 5000));
    ck_assert(!is_cut(fds[3], 50));
    for (int i = 0; i < 4; i++)
        close(fds[i]);
    host_stop(h);
}
END_TEST

static void
flood_stream(void *arg)
{
    struct host *h = arg;
    struct http_piece piece = {h->many, 1 << 20, kept, h};

    for (int i = 0; i < 64; i++)
        if (http_stream_send(h->stream, &piece, 1) < 0)
            return;
}

START_TEST(a_stream_that_is_not_read_is_dropped)
{
    struct host *h = host_start(NULL);
    struct strbuf head = STRBUF_INIT;
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    await(&h->handled, 1);
    server_fixture_call(&h->fixture, flood_stream, h);
    await(&h->closes, 1);

    ck_assert_int_eq(h->reason, HTTP_STREAM_TOO_SLOW);
    ck_assert_uint_eq(server_fixture_counts(&h->fixture).dropped_streams, 1);
    an_honest_client_is_served(h);
    close(fd);
    strbuf_fini(&head);
    host_stop(h);
}
END_TEST

START_TEST(a_stream_that_stands_still_with_little_queued_is_dropped_in_time)
{
    struct http_limits limits = {.queued_bytes = 1u << 30, .send_ms = 300};
    struct host *h = host_start(&limits);
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    await(&h->handled, 1);
    server_fixture_call(&h->fixture, flood_stream, h);
    await(&h->closes, 1);

    ck_assert_int_eq(h->reason, HTTP_STREAM_TOO_SLOW);
    close(fd);
    host_stop(h);
}
END_TEST

START_TEST(hundreds_of_clients_at_once_are_all_served)
{
    struct host *h = host_start(NULL);
    int fds[800];

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        fds[i] = server_fixture_connect(&h->fixture);
        server_fixture_send(fds[i], "GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
    }
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        struct strbuf answer = STRBUF_INIT;

        ck_assert(server_fixture_read_answer(fds[i], &answer));
        strbuf_fini(&answer);
        close(fds[i]);
    }

    ck_assert_uint_eq(h->handled, ARRAY_SIZE(fds));
    host_stop(h);
}
END_TEST

SUITE("http_limits", a_body_of_100_mib_is_refused_with_413,
      a_chunked_body_that_never_ends_is_refused,
      expecting_to_send_too_much_is_refused_before_it_is_sent, ten_thousand_headers_are_refused,
      a_header_without_end_is_cut_off, a_client_that_trickles_its_request_is_cut_off,
      an_idle_connection_is_closed_and_an_idle_stream_is_not,
      a_client_that_does_not_read_its_answer_is_cut_off,
      a_client_that_reads_slowly_but_reads_gets_it_all,
      bodies_in_flight_are_bounded_and_small_requests_still_pass,
      bytes_sent_ahead_of_an_answer_are_not_hoarded,
      a_flood_of_small_requests_is_not_hoarded_either, whoever_keeps_silent_makes_way_for_the_next,
      a_client_that_waits_for_an_answer_is_not_cut_for_a_newcomer,
      an_account_has_so_many_and_its_address_is_free_again, all_together_have_so_many_connections,
      a_stream_that_is_not_read_is_dropped,
      a_stream_that_stands_still_with_little_queued_is_dropped_in_time,
      hundreds_of_clients_at_once_are_all_served)
