/* SPDX-License-Identifier: Apache-2.0 */
/* A connection that begins with words of a relay, with others, or with none. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/http/http_request.h"
#include "lib/http/http_server.h"
#include "lib/loop/loop.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/lib/http/server_fixture.h"

#define REQUEST "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

static struct server_fixture fixture;

static void
tell_peer(struct http_request *r, void *arg)
{
    const struct http_peer *peer = http_request_peer(r);

    (void)arg;
    http_request_reply(r, 200, "text/plain", peer->address, strlen(peer->address));
}

/* Eight bytes: "\r\n\1", four digits of a port, and "!" if it is genuine. */
static bool
check(const unsigned char *bytes, char ret_address[64], void *arg)
{
    (void)arg;
    if (bytes[7] != '!')
        return false;
    snprintf(ret_address, 64, "192.0.2.1:%.4s", (const char *)bytes + 3);
    return true;
}

static void
set_preface(void *arg)
{
    (void)arg;
    http_server_set_preface(fixture.server, &(struct http_preface){"\r\n\1", 3, 8, check, NULL});
}

static void
begin(const struct http_limits *limits)
{
    server_fixture_start(&fixture, limits, tell_peer, NULL);
    server_fixture_call(&fixture, set_preface, NULL);
}

/* Sends the pieces with pauses, and returns what comes back until a whole answer or the end. */
static char *
ask(const char *const *pieces, bool until_end)
{
    CLEANUP_STRBUF struct strbuf answer = STRBUF_INIT;
    int fd = server_fixture_connect(&fixture);
    char *text;

    for (; *pieces != NULL; pieces++) {
        server_fixture_send(fd, *pieces);
        usleep(20000);
    }
    if (until_end)
        server_fixture_read_all(fd, &answer);
    else
        (void)server_fixture_read_answer(fd, &answer);
    text = xstrdup(answer.text);
    close(fd);
    return text;
}
#define ASK(until_end, ...) ask((const char *const[]){__VA_ARGS__, NULL}, until_end)

START_TEST(the_address_is_that_of_the_preface)
{
    CLEANUP_FREE char *whole = NULL;
    CLEANUP_FREE char *pieces = NULL;

    begin(NULL);
    whole = ASK(false, "\r\n\1"
                       "4711!" REQUEST);
    pieces = ASK(false, "\r",
                 "\n\1"
                 "47",
                 "12!GET / HT", "TP/1.1\r\nHost: x\r\n\r\n");
    ck_assert_ptr_nonnull(strstr(whole, "\r\n\r\n192.0.2.1:4711"));
    ck_assert_ptr_nonnull(strstr(pieces, "\r\n\r\n192.0.2.1:4712"));
    server_fixture_stop(&fixture);
}
END_TEST

START_TEST(a_client_without_one_is_served_with_its_own)
{
    CLEANUP_FREE char *plain = NULL;
    CLEANUP_FREE char *empty_line = NULL;

    begin(NULL);
    plain = ASK(false, "G", "ET / HTTP/1.1\r\nHost: x\r\n\r\n");
    empty_line = ASK(false, "\r\n", REQUEST);
    ck_assert_ptr_nonnull(strstr(plain, "\r\n\r\n127.0.0.1:"));
    ck_assert_ptr_nonnull(strstr(empty_line, "HTTP/1.1 "));
    ck_assert_ptr_null(strstr(empty_line, "192.0.2.1"));
    server_fixture_stop(&fixture);
}
END_TEST

START_TEST(one_that_is_not_genuine_ends_the_connection)
{
    CLEANUP_FREE char *answer = NULL;

    begin(NULL);
    answer = ASK(true, "\r\n\1"
                       "4711?" REQUEST);
    ck_assert_str_eq(answer, "");
    ck_assert_uint_eq(server_fixture_counts(&fixture).connections, 0);
    server_fixture_stop(&fixture);
}
END_TEST

START_TEST(one_that_never_ends_does_not_last)
{
    const struct http_limits limits = {.unproven_ms = 200, .idle_ms = 200, .receive_ms = 200};
    CLEANUP_FREE char *answer = NULL;
    CLEANUP_FREE char *silent = NULL;

    begin(&limits);
    answer = ASK(true, "\r\n\1"
                       "47");
    silent = ASK(true, "");
    ck_assert_str_eq(answer, "");
    ck_assert_str_eq(silent, "");
    ck_assert_uint_eq(server_fixture_counts(&fixture).connections, 0);
    server_fixture_stop(&fixture);
}
END_TEST

START_TEST(a_client_that_leaves_in_the_middle_is_forgotten)
{
    int silent, begun;

    begin(NULL);
    silent = server_fixture_connect(&fixture);
    begun = server_fixture_connect(&fixture);
    server_fixture_send(begun, "\r\n\1"
                               "4");
    usleep(50000);
    close(silent);
    close(begun);
    for (int i = 0; i < 500 && server_fixture_counts(&fixture).connections > 0; i++)
        usleep(10000);
    ck_assert_uint_eq(server_fixture_counts(&fixture).connections, 0);
    server_fixture_stop(&fixture);
}
END_TEST

START_TEST(the_server_can_end_while_it_waits_for_one)
{
    int fd;

    begin(NULL);
    fd = server_fixture_connect(&fixture);
    server_fixture_send(fd, "\r\n");
    usleep(50000);
    server_fixture_stop(&fixture);
    close(fd);
}
END_TEST

START_TEST(on_a_Unix_socket_there_is_none)
{
    CLEANUP_STRBUF struct strbuf answer = STRBUF_INIT;
    int fd;

    begin(NULL);
    fd = server_fixture_connect_unix(&fixture);
    server_fixture_send(fd, "\r\n\1"
                            "4711!" REQUEST);
    server_fixture_read_all(fd, &answer);
    ck_assert_ptr_null(strstr(answer.text, "192.0.2.1"));
    close(fd);
    server_fixture_stop(&fixture);
}
END_TEST

SUITE("http_preface", the_address_is_that_of_the_preface,
      a_client_without_one_is_served_with_its_own, one_that_is_not_genuine_ends_the_connection,
      one_that_never_ends_does_not_last, a_client_that_leaves_in_the_middle_is_forgotten,
      the_server_can_end_while_it_waits_for_one, on_a_Unix_socket_there_is_none)
