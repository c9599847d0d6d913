/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_refusal.h"

#include <check.h>
#include <unistd.h>

#include "lib/http/http_request.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/lib/http/server_fixture.h"

static const struct http_limits limits = {
    .header_bytes = 4 << 10,
    .body_bytes = 1 << 20,
    .receive_ms = 5000,
};

static void
handle(struct http_request *r, void *arg)
{
    (void)arg;
    http_request_close_after(r);
    http_request_reply(r, 200, "text/plain", "ok", 2);
}

static const char *
word(int status, const char *why, struct strbuf *out, void *arg)
{
    (void)arg;
    strbuf_printf(out, "<%d: %s>", status, why);
    return "text/words";
}

static void
set_words(void *arg)
{
    struct server_fixture *s = arg;

    http_server_set_refusal_text(s->server, word);
}

/* The answer to `request` of a server with its own messages, or without. */
static void
ask(const char *request, bool has_words, struct strbuf *answer)
{
    struct server_fixture s;
    int fd;

    server_fixture_start(&s, &limits, handle, NULL);
    if (has_words)
        server_fixture_call(&s, set_words, &s);
    fd = server_fixture_connect(&s);
    server_fixture_send(fd, request);
    server_fixture_read_all(fd, answer);
    close(fd);
    server_fixture_stop(&s);
}

#define HOST "Host: h\r\n"
static const char *const unreadable[] = {
    "GET\r\n\r\n",
    "GET /a b HTTP/1.1\r\n" HOST "\r\n",
    "GET /%zz HTTP/1.1\r\n" HOST "\r\n",
    "POST / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n",
    "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\nContent-Length: 3\r\n"
    "\r\nabc",
};

static void
assert_answer(const char *request, int status)
{
    struct strbuf answer = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf line = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;

    strbuf_printf(&line, "HTTP/1.1 %d ", status);
    strbuf_printf(&body, "\r\n\r\n<%d: the ", status);
    ask(request, true, &answer);
    ck_assert_msg(strstr(answer.text, line.text) == answer.text, "%s", answer.text);
    ck_assert_ptr_nonnull(strstr(answer.text, "Content-Type: text/words\r\n"));
    ck_assert_ptr_nonnull(strstr(answer.text, "Connection: close\r\n"));
    ck_assert_ptr_nonnull(strstr(answer.text, body.text));
    ck_assert_int_eq(answer.text[answer.length - 1], '>');
    ck_assert_ptr_null(strstr(answer.text, "HTML"));
    strbuf_fini(&answer);
}

START_TEST(an_unreadable_request_is_refused_in_the_words_of_the_servers_user)
{
    struct strbuf answer = STRBUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(unreadable); i++) {
        strbuf_truncate(&answer, 0);
        ask(unreadable[i], true, &answer);
        ck_assert_msg(strstr(answer.text, "HTTP/1.1 400 ") == answer.text, "%s", answer.text);
        ck_assert_ptr_nonnull(strstr(answer.text, "\r\n\r\n<400: "));
        ck_assert_int_eq(answer.text[answer.length - 1], '>');
    }
    strbuf_fini(&answer);
}
END_TEST

START_TEST(a_body_that_is_too_large_is_refused_in_them)
{
    assert_answer("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n200000\r\n", 413);
}
END_TEST

START_TEST(a_body_that_is_only_announced_as_too_large_is_refused_in_them)
{
    assert_answer("POST / HTTP/1.1\r\n" HOST "Expect: 100-continue\r\n"
                  "Content-Length: 104857600\r\n\r\n",
                  413);
}
END_TEST

START_TEST(a_method_that_nobody_has_heard_of_is_refused_in_them)
{
    assert_answer("BREW / HTTP/1.1\r\n" HOST "\r\n", 501);
}
END_TEST

START_TEST(headers_that_are_too_long_are_refused_with_the_limit)
{
    CLEANUP_STRBUF struct strbuf request = STRBUF_INIT;
    struct strbuf answer = STRBUF_INIT;

    strbuf_add_text(&request, "GET / HTTP/1.1\r\n" HOST "X: ");
    for (unsigned i = 0; i < 5000; i++)
        strbuf_add_char(&request, 'x');
    strbuf_add_text(&request, "\r\n\r\n");
    ask(request.text, true, &answer);

    ck_assert_ptr_nonnull(strstr(answer.text, "longer than 4 KiB>"));
    strbuf_fini(&answer);
}
END_TEST

START_TEST(without_such_words_the_reason_is_plain_text)
{
    struct strbuf answer = STRBUF_INIT;

    ask("GET\r\n\r\n", false, &answer);

    ck_assert_ptr_nonnull(strstr(answer.text, "Content-Type: text/plain\r\n"));
    ck_assert_ptr_nonnull(strstr(answer.text, "\r\n\r\nthe request "));
    strbuf_fini(&answer);
}
END_TEST

START_TEST(leave_to_send_a_body_is_not_taken_for_a_refusal)
{
    struct strbuf answer = STRBUF_INIT;
    struct server_fixture s;
    int fd;

    server_fixture_start(&s, &limits, handle, NULL);
    server_fixture_call(&s, set_words, &s);
    fd = server_fixture_connect(&s);
    server_fixture_send(fd, "POST / HTTP/1.1\r\n" HOST "Expect: 100-continue\r\n"
                            "Content-Length: 1\r\n\r\n");
    ck_assert(server_fixture_read_until(fd, &answer, "HTTP/1.1 100 Continue\r\n\r\n"));
    server_fixture_send(fd, "x");
    server_fixture_read_all(fd, &answer);

    ck_assert_ptr_nonnull(strstr(answer.text, "HTTP/1.1 200 "));
    close(fd);
    server_fixture_stop(&s);
    strbuf_fini(&answer);
}
END_TEST

SUITE("http_refusal", an_unreadable_request_is_refused_in_the_words_of_the_servers_user,
      a_body_that_is_too_large_is_refused_in_them,
      a_body_that_is_only_announced_as_too_large_is_refused_in_them,
      a_method_that_nobody_has_heard_of_is_refused_in_them,
      headers_that_are_too_long_are_refused_with_the_limit,
      without_such_words_the_reason_is_plain_text, leave_to_send_a_body_is_not_taken_for_a_refusal)
