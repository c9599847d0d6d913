/* SPDX-License-Identifier: Apache-2.0 */
/* Each answer is read at once, and byte by byte. */
#include "lib/http/http_reader.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <event2/buffer.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

struct seen {
    unsigned heads;
    struct strbuf body;
    int refuse_with; /* the callbacks' return value */
};

static int
on_head(void *arg)
{
    struct seen *seen = arg;

    seen->heads++;
    return seen->refuse_with;
}

static int
on_body(const void *bytes, size_t length, void *arg)
{
    struct seen *seen = arg;

    strbuf_add(&seen->body, bytes, length);
    return seen->refuse_with;
}

static struct http_reader reader;
static struct evbuffer *input;
static struct seen seen;
static struct error err;

static void
begin(bool is_to_head)
{
    memset(&seen, 0, sizeof(seen));
    memset(&reader, 0, sizeof(reader));
    err = (struct error){0};
    strbuf_init(&seen.body);
    input = evbuffer_new();
    reader.on_head = on_head;
    reader.on_body = on_body;
    reader.arg = &seen;
    http_reader_begin(&reader, is_to_head);
}

static void
end(void)
{
    http_reader_fini(&reader);
    strbuf_fini(&seen.body);
    evbuffer_free(input);
}

/* Feeds the text in pieces of that size. */
static int
feed(const char *text, size_t length, size_t piece)
{
    int r = 0;

    for (size_t at = 0; at < length && r == 0; at += piece) {
        evbuffer_add(input, text + at, length - at < piece ? length - at : piece);
        r = http_reader_read(&reader, input, &err);
    }
    return r;
}

static const size_t pieces[] = {1, 3, 1 << 20};

#define OK "HTTP/1.1 200 OK\r\n"

START_TEST(an_answer_ends_where_it_says)
{
    static const struct {
        const char *text, *body;
        bool is_to_head;
        size_t left; /* bytes of the next answer */
    } cases[] = {
        {OK "Content-Length: 5\r\n\r\nhello", "hello", false, 0},
        {OK "content-length:5 \r\n\r\nhelloHTTP", "hello", false, 4},
        {OK "Content-Length: 0\r\n\r\nH", "", false, 1},
        {OK "Content-Length: 5\r\n\r\n", "", true, 0},
        {"HTTP/1.1 204 No Content\r\n\r\nH", "", false, 1},
        {"HTTP/1.1 304 \r\nContent-Length: 9\r\n\r\n", "", false, 0},
        {"HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx", "x", false, 0},
        {"HTTP/1.1 100 Continue\r\n\r\n" OK "Content-Length: 1\r\n\r\nx", "x", false, 0},
        {OK "Transfer-Encoding: Chunked\r\n\r\n"
            "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\nHT",
         "abc0123456789", false, 2},
        {OK "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nTrailer: 1\r\n\r\n", "x", false, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        for (size_t p = 0; p < ARRAY_SIZE(pieces); p++) {
            begin(cases[i].is_to_head);
            ck_assert_msg(feed(cases[i].text, strlen(cases[i].text), pieces[p]) == 0,
                          "case %zu: %s", i, err.text);
            ck_assert_msg(reader.state == HTTP_READER_DONE, "case %zu", i);
            ck_assert_uint_eq(seen.heads, 1);
            ck_assert_str_eq(seen.body.text, cases[i].body);
            ck_assert_uint_eq(evbuffer_get_length(input), cases[i].left);
            end();
        }
}
END_TEST

START_TEST(one_without_a_length_ends_with_its_connection)
{
    static const char text[] = OK "\r\nall there is";

    begin(false);
    ck_assert_int_eq(feed(text, strlen(text), 4), 0);
    ck_assert_int_eq(reader.state, HTTP_READER_UNTIL_CLOSE);
    ck_assert(reader.closes);
    ck_assert_int_eq(http_reader_close(&reader), 0);
    ck_assert_str_eq(seen.body.text, "all there is");
    end();
}
END_TEST

START_TEST(one_that_breaks_off_is_not_complete)
{
    static const char *const cases[] = {
        "HTTP/1.1 200",
        OK,
        OK "Content-Length: 5\r\n\r\nhell",
        OK "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        OK "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n",
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        begin(false);
        ck_assert_int_eq(feed(cases[i], strlen(cases[i]), 1), 0);
        ck_assert_msg(http_reader_close(&reader) == -EPIPE, "case %zu", i);
        end();
    }
}
END_TEST

START_TEST(an_ambiguous_answer_is_none)
{
    static const char *const cases[] = {
        "\r\n\r\n",
        "HTTP/1.\r\n\r\n",
        "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1  200 OK\r\n\r\n",
        OK "no colon\r\n\r\n",
        OK ": no name\r\n\r\n",
        OK "Content-Length : 5\r\n\r\n",
        OK "Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
        OK "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        OK "Content-Length: -1\r\n\r\n",
        OK "Content-Length: 5x\r\n\r\n",
        OK "Content-Length: \r\n\r\n",
        OK "Content-Length: 9999999999999999999\r\n\r\n",
        OK "Transfer-Encoding: gzip\r\n\r\n",
        OK "Transfer-Encoding: gzip, chunked\r\n\r\n",
        OK "Transfer-Encoding: chunked\r\n\r\nx\r\n",
        OK "Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        OK "Transfer-Encoding: chunked\r\n\r\n\r\n",
        OK "Transfer-Encoding: chunked\r\n\r\n1000000000000000\r\n",
        OK "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n",
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        for (size_t p = 0; p < ARRAY_SIZE(pieces); p++) {
            begin(false);
            ck_assert_msg(feed(cases[i], strlen(cases[i]), pieces[p]) == -EPROTO,
                          "case %zu in pieces of %zu", i, pieces[p]);
            ck_assert_ptr_nonnull(strstr(err.text, "not HTTP/1.1"));
            end();
        }
}
END_TEST

START_TEST(a_nul_does_not_end_a_head)
{
    static const char text[] = OK "A: b\0\r\nContent-Length: 0\r\n\r\n";

    begin(false);
    ck_assert_int_eq(feed(text, sizeof(text) - 1, 5), -EPROTO);
    end();
}
END_TEST

START_TEST(an_endless_answer_is_not_kept_for_ever)
{
    char x[4096];
    int r = 0;

    memset(x, 'x', sizeof(x));
    begin(false);
    feed(OK "A: ", strlen(OK "A: "), 100);
    for (int i = 0; i < 100 && r == 0; i++)
        r = feed(x, sizeof(x), sizeof(x));
    ck_assert_int_eq(r, -EPROTO);
    ck_assert_uint_lt(evbuffer_get_length(input), 100 << 10);
    end();

    begin(false);
    feed(OK "Transfer-Encoding: chunked\r\n\r\n1;",
         strlen(OK "Transfer-Encoding: chunked\r\n\r\n1;"), 100);
    ck_assert_int_eq(feed(x, 1000, 10), -EPROTO);
    end();
}
END_TEST

START_TEST(a_listener_can_end_the_reading)
{
    static const char text[] = OK "Content-Length: 5\r\n\r\nhello";

    begin(false);
    seen.refuse_with = -ECANCELED;
    ck_assert_int_eq(feed(text, strlen(text), 1000), -ECANCELED);
    ck_assert_uint_eq(seen.body.length, 0);
    end();
}
END_TEST

START_TEST(whether_the_connection_stays_is_told)
{
    static const struct {
        const char *text;
        bool closes;
    } cases[] = {
        {OK "Content-Length: 0\r\n\r\n", false},
        {OK "Content-Length: 0\r\nConnection: Close\r\n\r\n", true},
        {"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", true},
        {"HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n"
         "\r\n",
         false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        begin(false);
        ck_assert_int_eq(feed(cases[i].text, strlen(cases[i].text), 7), 0);
        ck_assert_msg(reader.closes == cases[i].closes, "case %zu", i);
        end();
    }
}
END_TEST

SUITE("http_reader", an_answer_ends_where_it_says, one_without_a_length_ends_with_its_connection,
      one_that_breaks_off_is_not_complete, an_ambiguous_answer_is_none, a_nul_does_not_end_a_head,
      an_endless_answer_is_not_kept_for_ever, a_listener_can_end_the_reading,
      whether_the_connection_stays_is_told)
