/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_stream.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/http/http_request.h"
#include "lib/http/http_server.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/lib/http/server_fixture.h"

enum { MANY = 16 << 20 };

struct host {
    struct server_fixture fixture;
    struct http_request *kept;
    struct http_stream *stream;
    atomic_uint is_kept, releases, closes, drains;
    atomic_int close_reason;
    char *many;
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
went_away(struct http_request *r, void *arg)
{
    struct host *h = arg;

    (void)r;
    h->closes++;
}

static void
stream_closed(struct http_stream *s, enum http_stream_end_reason reason, void *arg)
{
    struct host *h = arg;

    ck_assert_ptr_eq(s, h->stream);
    h->stream = NULL;
    h->close_reason = (int)reason;
    h->closes++;
}

static void
stream_drained(struct http_stream *s, void *arg)
{
    struct host *h = arg;

    (void)s;
    h->drains++;
}

static void
begin_stream(struct http_request *r, struct host *h)
{
    struct http_stream_callbacks callbacks = {
        .closed = stream_closed,
        .drained = stream_drained,
        .arg = h,
    };

    h->stream = http_request_stream(r, 200, "text/plain");
    http_stream_set_callbacks(h->stream, &callbacks);
    h->is_kept++;
}

static void
handle(struct http_request *r, void *arg)
{
    struct host *h = arg;

    if (strcmp(http_request_path(r), "/keep") == 0) {
        h->kept = r;
        http_request_on_close(r, went_away, h);
        h->is_kept++;
    } else if (strcmp(http_request_path(r), "/stream") == 0)
        begin_stream(r, h);
    else
        http_request_reply(r, 200, "text/plain", "next", 4);
}

static struct host *
host_start(void)
{
    struct http_limits limits = {.queued_bytes = 2 * MANY};
    struct host *h = xnew(struct host);

    h->many = xmalloc(MANY);
    memset(h->many, 'x', MANY);
    server_fixture_start(&h->fixture, &limits, handle, h);
    return h;
}

static void
host_free(struct host *h)
{
    free(h->many);
    free(h);
}

static void
host_stop(struct host *h)
{
    server_fixture_stop(&h->fixture);
    host_free(h);
}

static void
await(const atomic_uint *count, unsigned wanted)
{
    for (unsigned i = 0; i < 1000 && *count < wanted; i++)
        usleep(10000);
    ck_assert_uint_eq(*count, wanted);
}

static void
send_hello(void *arg)
{
    struct host *h = arg;
    struct http_piece pieces[] = {
        {.bytes = "hello ", .length = 6},
        {.bytes = "world\n", .length = 6, .release = released, .arg = h},
    };

    ck_assert_int_eq(http_stream_send(h->stream, pieces, 2), 0);
}

static void
end_stream(void *arg)
{
    struct host *h = arg;

    http_stream_end(h->stream);
    h->stream = NULL;
}

START_TEST(a_stream_comes_in_chunks_and_the_connection_goes_on)
{
    struct host *h = host_start();
    struct strbuf answer = STRBUF_INIT;
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert(server_fixture_read_until(fd, &answer, "\r\n\r\n"));
    await(&h->is_kept, 1);
    server_fixture_call(&h->fixture, send_hello, h);
    ck_assert(server_fixture_read_until(fd, &answer, "c\r\nhello world\n\r\n"));
    await(&h->drains, 1);
    ck_assert_uint_eq(server_fixture_counts(&h->fixture).streams, 1);
    server_fixture_call(&h->fixture, end_stream, h);
    ck_assert(server_fixture_read_until(fd, &answer, "0\r\n\r\n"));
    server_fixture_send(fd, "GET /next HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert(server_fixture_read_until(fd, &answer, "next"));

    ck_assert_uint_eq(h->releases, 1);
    ck_assert_uint_eq(h->closes, 0);
    close(fd);
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

START_TEST(bytes_that_the_socket_takes_at_once_leave_nothing_to_wait_for)
{
    struct host *h = host_start();
    struct strbuf answer = STRBUF_INIT;
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    await(&h->is_kept, 1);
    server_fixture_call(&h->fixture, send_hello, h);
    await(&h->drains, 1);
    server_fixture_call(&h->fixture, send_hello, h);
    server_fixture_call(&h->fixture, send_hello, h);

    ck_assert(server_fixture_read_until(fd, &answer,
                                        "\r\nc\r\nhello world\n\r\n"
                                        "c\r\nhello world\n\r\n"
                                        "c\r\nhello world\n\r\n"));
    ck_assert_uint_eq(h->releases, 3);
    ck_assert_uint_eq(h->drains, 1);
    close(fd);
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

static void
send_many(void *arg)
{
    struct host *h = arg;
    struct http_piece pieces[] = {
        {.bytes = "first ", .length = 6},
        {h->many, MANY, released, h},
        {.bytes = " last\n", .length = 6},
    };

    ck_assert_int_eq(http_stream_send(h->stream, pieces, 3), 0);
    ck_assert_uint_gt(http_stream_queued(h->stream), 0);
    send_hello(h);
}

START_TEST(bytes_that_the_socket_does_not_take_follow_in_order)
{
    struct host *h = host_start();
    struct strbuf answer = STRBUF_INIT;
    int fd = server_fixture_connect(&h->fixture);
    char *from;

    server_fixture_send(fd, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    await(&h->is_kept, 1);
    server_fixture_call(&h->fixture, send_hello, h);
    await(&h->drains, 1);
    server_fixture_call(&h->fixture, send_many, h);
    ck_assert_uint_eq(h->releases, 2);
    ck_assert(server_fixture_read_until(fd, &answer, " last\n\r\nc\r\nhello world\n\r\n"));
    await(&h->drains, 2);

    from = strstr(answer.text, "100000c\r\nfirst x");
    ck_assert_ptr_nonnull(from);
    ck_assert_uint_eq(strspn(strchr(from, 'x'), "x"), MANY);
    ck_assert_uint_eq(h->releases, 3);
    close(fd);
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

START_TEST(a_client_of_http_1_0_gets_no_chunks)
{
    struct host *h = host_start();
    struct strbuf answer = STRBUF_INIT;
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, "GET /stream HTTP/1.0\r\n\r\n");
    await(&h->is_kept, 1);
    server_fixture_call(&h->fixture, send_hello, h);
    server_fixture_call(&h->fixture, send_hello, h);
    ck_assert(server_fixture_read_until(fd, &answer, "\nhello world\nhello world\n"));
    server_fixture_call(&h->fixture, end_stream, h);
    server_fixture_read_all(fd, &answer);

    ck_assert_str_eq(strstr(answer.text, "\r\n\r\n"), "\r\n\r\nhello world\nhello world\n");
    close(fd);
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

static void
cut_stream(void *arg)
{
    struct host *h = arg;

    http_stream_send_text(h->stream, "last", 4);
    http_stream_cut(h->stream);
    h->stream = NULL;
}

START_TEST(a_stream_that_is_cut_delivers_what_it_had_and_no_end)
{
    struct host *h = host_start();
    struct strbuf answer = STRBUF_INIT;
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    await(&h->is_kept, 1);
    server_fixture_call(&h->fixture, cut_stream, h);
    ck_assert(!server_fixture_read_until(fd, &answer, "0\r\n\r\n"));

    ck_assert_ptr_nonnull(strstr(answer.text, "4\r\nlast\r\n"));
    ck_assert_uint_eq(h->closes, 0);
    ck_assert_uint_eq(server_fixture_counts(&h->fixture).streams, 0);
    close(fd);
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

START_TEST(a_stream_is_told_when_its_peer_goes)
{
    struct host *h = host_start();
    struct strbuf answer = STRBUF_INIT;
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert(server_fixture_read_until(fd, &answer, "\r\n\r\n"));
    close(fd);
    await(&h->closes, 1);

    ck_assert_int_eq(h->close_reason, HTTP_STREAM_PEER_GONE);
    ck_assert_uint_eq(server_fixture_counts(&h->fixture).streams, 0);
    strbuf_fini(&answer);
    host_stop(h);
}
END_TEST

static void
stream_kept(void *arg)
{
    struct host *h = arg;

    begin_stream(h->kept, h);
    ck_assert_int_lt(http_stream_send_text(h->stream, "x", 1), 0);
}

START_TEST(a_stream_to_a_client_that_has_gone_is_told_so)
{
    struct host *h = host_start();
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, "GET /keep HTTP/1.1\r\nHost: h\r\n\r\n");
    await(&h->is_kept, 1);
    close(fd);
    await(&h->closes, 1);
    server_fixture_call(&h->fixture, stream_kept, h);
    await(&h->closes, 2);

    host_stop(h);
}
END_TEST

START_TEST(a_server_that_ends_tells_its_streams)
{
    struct host *h = host_start();
    struct strbuf answer = STRBUF_INIT;
    int fd = server_fixture_connect(&h->fixture);

    server_fixture_send(fd, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert(server_fixture_read_until(fd, &answer, "\r\n\r\n"));
    server_fixture_stop(&h->fixture);

    ck_assert_uint_eq(h->closes, 1);
    ck_assert_int_eq(h->close_reason, HTTP_STREAM_SERVER_ENDS);
    close(fd);
    strbuf_fini(&answer);
    host_free(h);
}
END_TEST

SUITE("http_stream", a_stream_comes_in_chunks_and_the_connection_goes_on,
      bytes_that_the_socket_takes_at_once_leave_nothing_to_wait_for,
      bytes_that_the_socket_does_not_take_follow_in_order, a_client_of_http_1_0_gets_no_chunks,
      a_stream_that_is_cut_delivers_what_it_had_and_no_end, a_stream_is_told_when_its_peer_goes,
      a_stream_to_a_client_that_has_gone_is_told_so, a_server_that_ends_tells_its_streams)
