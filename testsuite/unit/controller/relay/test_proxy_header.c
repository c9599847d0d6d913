/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/relay/proxy_header.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "testsuite/lib/suite.h"

static const struct sockaddr_in v4 = {
    .sin_family = AF_INET, .sin_port = 0x3412, .sin_addr = {.s_addr = 0x070200C0}};

static void
header(struct proxy_sender *sender, unsigned char out[PROXY_HEADER_SIZE])
{
    ck_assert(proxy_header_write(sender, (const struct sockaddr *)&v4, out));
}

START_TEST(the_leader_learns_the_address_of_the_client)
{
    struct proxy_sender sender = {.key = "k", .relay = 7};
    struct proxy_receiver *r = proxy_receiver_new("k");
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(443)};
    unsigned char h[PROXY_HEADER_SIZE];
    char address[64];

    header(&sender, h);
    ck_assert(proxy_receiver_accept(r, h, address));
    ck_assert_str_eq(address, "192.0.2.7:4660");

    inet_pton(AF_INET6, "2001:db8::1", &v6.sin6_addr);
    ck_assert(proxy_header_write(&sender, (const struct sockaddr *)&v6, h));
    ck_assert(proxy_receiver_accept(r, h, address));
    ck_assert_str_eq(address, "[2001:db8::1]:443");
    proxy_receiver_free(r);
}
END_TEST

/* The form is that of the protocol, so that its tools can show it. */
START_TEST(the_header_is_that_of_the_PROXY_protocol)
{
    struct proxy_sender sender = {.key = "k", .relay = 7};
    unsigned char h[PROXY_HEADER_SIZE];

    header(&sender, h);

    ck_assert_mem_eq(h, "\r\n\r\n\0\r\nQUIT\n\x21\x21\0\x5A", 16);
    ck_assert_mem_eq(h + 26, "\xFF\xFF\xC0\x00\x02\x07", 6);
    ck_assert_mem_eq(h + 48, "\x12\x34", 2);
    ck_assert_mem_eq(h + 52, "\xE0\0\x10", 3);
    ck_assert_mem_eq(h + 71, "\xE1\0\x20", 3);
}
END_TEST

START_TEST(a_header_with_any_other_byte_is_refused)
{
    struct proxy_sender sender = {.key = "k", .relay = 7};
    struct proxy_receiver *r = proxy_receiver_new("k");
    unsigned char h[PROXY_HEADER_SIZE];
    char address[64];

    header(&sender, h);
    for (size_t i = 0; i < PROXY_HEADER_SIZE; i++) {
        h[i] ^= 1;
        ck_assert(!proxy_receiver_accept(r, h, address));
        h[i] ^= 1;
    }
    ck_assert(proxy_receiver_accept(r, h, address));
    proxy_receiver_free(r);
}
END_TEST

START_TEST(a_header_of_another_lead_is_refused)
{
    struct proxy_sender sender = {.key = "of the lead before", .relay = 7};
    struct proxy_receiver *r = proxy_receiver_new("k");
    unsigned char h[PROXY_HEADER_SIZE];
    char address[64];

    header(&sender, h);
    ck_assert(!proxy_receiver_accept(r, h, address));
    proxy_receiver_free(r);
}
END_TEST

START_TEST(a_header_is_good_once_in_any_order)
{
    enum { COUNT = 3000, LATE = 900 };
    static unsigned char all[COUNT][PROXY_HEADER_SIZE];
    struct proxy_sender sender = {.key = "k", .relay = 7};
    struct proxy_receiver *r = proxy_receiver_new("k");
    char address[64];

    for (int i = 0; i < COUNT; i++)
        header(&sender, all[i]);
    for (int i = LATE; i < COUNT; i += 2) { /* every other one, and some late ones */
        ck_assert(proxy_receiver_accept(r, all[i], address));
        ck_assert(!proxy_receiver_accept(r, all[i], address));
        ck_assert(proxy_receiver_accept(r, all[i - LATE + 1], address));
        ck_assert(!proxy_receiver_accept(r, all[i - LATE + 1], address));
    }
    ck_assert(!proxy_receiver_accept(r, all[0], address)); /* too late */
    proxy_receiver_free(r);
}
END_TEST

START_TEST(relays_do_not_disturb_each_other)
{
    struct proxy_receiver *r = proxy_receiver_new("k");
    struct proxy_sender old = {.key = "k", .relay = 1};
    unsigned char h[PROXY_HEADER_SIZE];
    char address[64];

    for (int i = 0; i < 5; i++) {
        header(&old, h);
        ck_assert(proxy_receiver_accept(r, h, address));
    }
    for (uint64_t relay = 2; relay < 30; relay++) {
        struct proxy_sender sender = {.key = "k", .relay = relay};
        unsigned char other[PROXY_HEADER_SIZE];

        header(&sender, other);
        ck_assert(proxy_receiver_accept(r, other, address));
        ck_assert(!proxy_receiver_accept(r, other, address));
    }
    ck_assert(!proxy_receiver_accept(r, h, address));
    header(&old, h);
    ck_assert(proxy_receiver_accept(r, h, address));
    proxy_receiver_free(r);
}
END_TEST

SUITE("proxy_header", the_leader_learns_the_address_of_the_client,
      the_header_is_that_of_the_PROXY_protocol, a_header_with_any_other_byte_is_refused,
      a_header_of_another_lead_is_refused, a_header_is_good_once_in_any_order,
      relays_do_not_disturb_each_other)
