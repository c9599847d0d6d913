/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_syntax.h"

#include <check.h>
#include <string.h>

#include "testsuite/lib/suite.h"

#define TEXT(text) (text), sizeof(text) - 1
#define FIRST      "POST /a HTTP/1.1\r\nHost: h\r\n"
#define NEXT       "GET / HTTP/1.1\r\n\r\n"

static const struct {
    const char *bytes;
    size_t length;
    const char *fault; /* NULL: none */
} cases[] = {
    {TEXT(NEXT), NULL},
    {TEXT("\r\n" NEXT NEXT), NULL},
    {TEXT(FIRST "X:\r\nY: \ta\tb \r\n\r\n"), NULL},
    {TEXT(FIRST "Content-Length: 5\r\n\r\na\0\n\r:" NEXT), NULL},
    {TEXT(FIRST "Content-Length:05 \r\n\r\na\0\n\r:" NEXT), NULL},
    {TEXT(FIRST "Transfer-Encoding: chunked\r\n\r\n5;x=y\r\na\n\0\rb\r\n"
                "A\r\n0123456789\r\n0\r\nT: x\r\n\r\n" NEXT),
     NULL},
    {TEXT(FIRST "Content-Length: +5\r\n\r\n"), "Content-Length"},
    {TEXT(FIRST "content-length: 0x5\r\n\r\n"), "Content-Length"},
    {TEXT(FIRST "Content-Length: 5, 5\r\n\r\n"), "Content-Length"},
    {TEXT(FIRST "Content-Length: \r\n\r\n"), "Content-Length"},
    {TEXT(FIRST "Content-Length: 99999999999999999999999999\r\n\r\n"), "Content-Length"},
    {TEXT(FIRST "Host: other\r\n\r\n"), "two Host"},
    {TEXT(FIRST "hOST:h\r\n\r\n"), "two Host"},
    {TEXT(FIRST "\r\n" FIRST "\r\n"), NULL},
    {TEXT(FIRST "Content-Length: 0\r\nContent-Length: 0\r\n\r\n"), "two Content-Length"},
    {TEXT(FIRST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"),
     "two Transfer-Encoding"},
    {TEXT(FIRST "Content-Length : 5\r\n\r\n"), "blank before the colon"},
    {TEXT(FIRST "X\t: 5\r\n\r\n"), "blank before the colon"},
    {TEXT(FIRST " folded: 5\r\n\r\n"), "folded"},
    {TEXT(FIRST "\tfolded\r\n\r\n"), "folded"},
    {TEXT(FIRST ": 5\r\n\r\n"), "name"},
    {TEXT(FIRST "a(b): 5\r\n\r\n"), "name"},
    {TEXT(FIRST "nothing\r\n\r\n"), "without a colon"},
    {TEXT(FIRST "X: a\0b\r\n\r\n"), "NUL"},
    {TEXT(FIRST "X\0: a\r\n\r\n"), "NUL"},
    {TEXT("GET /\0 HTTP/1.1\r\n\r\n"), "NUL"},
    {TEXT(FIRST "X: a\x01\r\n\r\n"), "control"},
    {TEXT("GET / HTTP/1.1\n\n"), "bare LF"},
    {TEXT(FIRST "X: a\n\r\n"), "bare LF"},
    {TEXT(FIRST "\n"), "bare LF"},
    {TEXT(FIRST "X: a\rY: b\r\n\r\n"), "bare CR"},
    {TEXT(FIRST "Transfer-Encoding: chunked\r\n\r\n+5\r\n"), "chunk"},
    {TEXT(FIRST "Transfer-Encoding: chunked\r\n\r\n0x5\r\n"), "chunk"},
    {TEXT(FIRST "Transfer-Encoding: chunked\r\n\r\n\r\n"), "chunk"},
    {TEXT(FIRST "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n"), "chunk"},
    {TEXT(FIRST "Transfer-Encoding: chunked\r\n\r\n1\na\r\n"), "bare LF"},
    {TEXT(FIRST "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n"), "chunk"},
};

START_TEST(requests_are_strict_however_they_come_in_pieces)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (size_t piece = 1; piece < 40; piece += 6) {
            struct http_syntax s = {0};

            for (size_t at = 0; at < cases[i].length; at += piece)
                http_syntax_feed(&s, cases[i].bytes + at,
                                 cases[i].length - at < piece ? cases[i].length - at : piece);

            if (cases[i].fault == NULL)
                ck_assert_msg(s.fault == NULL && s.state == HTTP_SYNTAX_BEFORE,
                              "case %zu: %s, state %d", i, s.fault, (int)s.state);
            else
                ck_assert_msg(s.fault != NULL && strstr(s.fault, cases[i].fault) != NULL,
                              "case %zu: %s", i, s.fault);
        }
}
END_TEST

SUITE("http_syntax", requests_are_strict_however_they_come_in_pieces)
