/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_endpoint.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/http/http_client.h"
#include "testsuite/lib/suite.h"

START_TEST(addresses_in_figures_are_places)
{
    static const char *const good[] = {
        "127.0.0.1", "::1", "fd00:0:0::1234", "::ffff:10.1.2.3", "fe80::1%lo",
    };

    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        struct http_endpoints places = {0};

        ck_assert_msg(http_endpoints_add(&places, good[i]), "%s", good[i]);
        ck_assert_uint_eq(places.count, 1);
        http_endpoints_fini(&places);
    }
}
END_TEST

START_TEST(anything_else_is_none)
{
    static const char *const bad[] = {
        "",
        "head",
        "127.0.0.1:80",
        "127.0.0.256",
        "[::1]",
        "fe80::1%no-such-interface",
        "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb",
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct http_endpoints places = {0};

        ck_assert_msg(!http_endpoints_add(&places, bad[i]), "%s", bad[i]);
        ck_assert_uint_eq(places.count, 0);
    }
}
END_TEST

START_TEST(an_address_is_what_its_figures_say)
{
    struct http_endpoints places = {0};
    char text[INET6_ADDRSTRLEN];

    ck_assert(http_endpoints_add(&places, "10.1.2.3"));
    ck_assert(http_endpoints_add(&places, "fe80::9%lo"));

    ck_assert_int_eq(places.items[0].at.any.sa_family, AF_INET);
    ck_assert_uint_eq(places.items[0].length, sizeof(struct sockaddr_in));
    inet_ntop(AF_INET, &places.items[0].at.v4.sin_addr, text, sizeof(text));
    ck_assert_str_eq(text, "10.1.2.3");
    ck_assert_int_eq(places.items[1].at.any.sa_family, AF_INET6);
    ck_assert_uint_eq(places.items[1].length, sizeof(struct sockaddr_in6));
    inet_ntop(AF_INET6, &places.items[1].at.v6.sin6_addr, text, sizeof(text));
    ck_assert_str_eq(text, "fe80::9");
    ck_assert_uint_ne(places.items[1].at.v6.sin6_scope_id, 0);
    http_endpoints_fini(&places);
}
END_TEST

START_TEST(the_c_library_knows_this_machine)
{
    struct http_endpoints places = {0};
    struct error err = {0};

    ck_assert_int_eq(http_resolve("localhost", &places, &err), 0);
    ck_assert_uint_gt(places.count, 0);
    http_endpoints_fini(&places);
    ck_assert_int_eq(http_resolve("nowhere.invalid", &places, &err), -EHOSTUNREACH);
    ck_assert_msg(strstr(err.text, "'nowhere.invalid'") != NULL, "%s", err.text);
}
END_TEST

SUITE("http_endpoint", addresses_in_figures_are_places, anything_else_is_none,
      an_address_is_what_its_figures_say, the_c_library_knows_this_machine)
