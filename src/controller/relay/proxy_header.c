/* SPDX-License-Identifier: Apache-2.0 */
/* The leader would see every relayed client at the address of the standby, and limits for each
 * address would hit all of them together. So the standby says for whom it connects, and proves
 * that it may: a MAC with a key that only heads can read. A recorded header must not work
 * again, and clocks of heads may differ, so each header has a rising number; the leader
 * accepts each once within a window for each relay, since connections overtake each other.
 */
#include "controller/relay/proxy_header.h"

#include <arpa/inet.h>
#include <endian.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/auth/digest.h"
#include "lib/base/alloc.h"

/* Offsets of the parts. */
enum {
    AT_VERSION = PROXY_SIGNATURE_LENGTH,
    AT_FAMILY,
    AT_LENGTH,
    AT_CLIENT = 16,
    AT_TO = AT_CLIENT + 16,
    AT_CLIENT_PORT = AT_TO + 16,
    AT_TO_PORT = AT_CLIENT_PORT + 2,
    AT_NUMBER_TYPE = AT_TO_PORT + 2,
    AT_NUMBER = AT_NUMBER_TYPE + 3,
    AT_MAC_TYPE = AT_NUMBER + 16,
    AT_MAC = AT_MAC_TYPE + 3,
};
_Static_assert(AT_MAC + DIGEST_SIZE == PROXY_HEADER_SIZE, "one length");

/* Types that the protocol leaves to applications. */
#define TYPE_NUMBER 0xE0
#define TYPE_MAC    0xE1

/* Relays that are remembered: a site has two or three heads, each of which waits
 * anew now and then. Connections of one may arrive out of order within a window.
 */
#define RELAYS 32
#define WINDOW 1024

const unsigned char proxy_signature[PROXY_SIGNATURE_LENGTH] = "\r\n\r\n\0\r\nQUIT\n";

struct window {
    uint64_t relay;
    uint64_t highest; /* 0: unused */
    uint64_t used_at; /* headers that were accepted before */
    uint64_t seen[WINDOW / 64];
};

struct proxy_receiver {
    char *key;
    uint64_t accepted;
    struct window windows[RELAYS];
};

static void
put_start(unsigned char *h, unsigned char type, size_t at, size_t length)
{
    h[at] = type;
    h[at + 1] = (unsigned char)(length >> 8);
    h[at + 2] = (unsigned char)length;
}

static void
make_mac(const char *key, const unsigned char *header, struct digest *ret)
{
    static const char purpose[] = "kiln relay 1";
    const struct digest_part parts[] = {{purpose, sizeof(purpose)}, {header, AT_MAC}};

    digest_hmac(key, strlen(key), parts, ARRAY_SIZE(parts), ret);
}

static bool
put_client(unsigned char *h, const struct sockaddr *client)
{
    if (client->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)client;

        memset(h + AT_CLIENT + 10, 0xFF, 2);
        memcpy(h + AT_CLIENT + 12, &v4->sin_addr, 4);
        memcpy(h + AT_CLIENT_PORT, &v4->sin_port, 2);
        return true;
    }
    if (client->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const void *)client;

        memcpy(h + AT_CLIENT, &v6->sin6_addr, 16);
        memcpy(h + AT_CLIENT_PORT, &v6->sin6_port, 2);
        return true;
    }
    return false;
}

bool
proxy_header_write(struct proxy_sender *sender, const struct sockaddr *client,
                   unsigned char ret_header[PROXY_HEADER_SIZE])
{
    unsigned char *h = ret_header;
    uint64_t numbers[2] = {htobe64(sender->relay), htobe64(sender->number + 1)};
    struct digest mac;

    memset(h, 0, PROXY_HEADER_SIZE);
    memcpy(h, proxy_signature, PROXY_SIGNATURE_LENGTH);
    h[AT_VERSION] = 0x21; /* version 2, PROXY */
    h[AT_FAMILY] = 0x21;  /* TCP over IPv6 */
    h[AT_LENGTH + 1] = PROXY_HEADER_SIZE - AT_CLIENT;
    if (!put_client(h, client))
        return false;
    put_start(h, TYPE_NUMBER, AT_NUMBER_TYPE, sizeof(numbers));
    memcpy(h + AT_NUMBER, numbers, sizeof(numbers));
    put_start(h, TYPE_MAC, AT_MAC_TYPE, DIGEST_SIZE);
    make_mac(sender->key, h, &mac);
    memcpy(h + AT_MAC, mac.bytes, DIGEST_SIZE);
    sender->number++;
    return true;
}

/* --- the leader's side ------------------------------------------------------------- */

void
proxy_receiver_free(struct proxy_receiver *r)
{
    if (r == NULL)
        return;
    free(r->key);
    free(r);
}

struct proxy_receiver *
proxy_receiver_new(const char *key)
{
    struct proxy_receiver *r = xnew(struct proxy_receiver);

    r->key = xstrdup(key);
    return r;
}

/* That of the relay, or a new one in the place of the one that was not used for
 * the longest.
 */
static struct window *
find_window(struct proxy_receiver *r, uint64_t relay)
{
    struct window *oldest = &r->windows[0];

    for (size_t i = 0; i < RELAYS; i++) {
        if (r->windows[i].highest != 0 && r->windows[i].relay == relay)
            return &r->windows[i];
        if (r->windows[i].used_at < oldest->used_at)
            oldest = &r->windows[i];
    }
    memset(oldest, 0, sizeof(*oldest));
    oldest->relay = relay;
    return oldest;
}

static void
advance(struct window *w, uint64_t number)
{
    if (number - w->highest >= WINDOW)
        memset(w->seen, 0, sizeof(w->seen));
    else
        for (uint64_t n = w->highest + 1; n < number; n++)
            w->seen[n % WINDOW / 64] &= ~(UINT64_C(1) << n % 64);
    w->highest = number;
}

static bool
use_number(struct window *w, uint64_t number)
{
    uint64_t bit = UINT64_C(1) << number % 64;
    uint64_t *word = &w->seen[number % WINDOW / 64];

    if (number == 0 || (number <= w->highest && w->highest - number >= WINDOW))
        return false;
    if (number > w->highest)
        advance(w, number);
    else if ((*word & bit) != 0)
        return false;
    *word |= bit;
    return true;
}

static void
format_address(const unsigned char *h, char ret_address[64])
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr v6;
    uint16_t port;

    memcpy(&v6, h + AT_CLIENT, sizeof(v6));
    memcpy(&port, h + AT_CLIENT_PORT, sizeof(port));
    if (IN6_IS_ADDR_V4MAPPED(&v6)) {
        inet_ntop(AF_INET, h + AT_CLIENT + 12, text, sizeof(text));
        snprintf(ret_address, 64, "%s:%u", text, ntohs(port));
        return;
    }
    inet_ntop(AF_INET6, &v6, text, sizeof(text));
    snprintf(ret_address, 64, "[%s]:%u", text, ntohs(port));
}

/* The AT_MAC covers all that is before it. */
bool
proxy_receiver_accept(struct proxy_receiver *r, const unsigned char *h, char ret_address[64])
{
    struct digest expected, found;
    uint64_t numbers[2];
    struct window *w;

    make_mac(r->key, h, &expected);
    memcpy(found.bytes, h + AT_MAC, DIGEST_SIZE);
    if (!digest_equals(&expected, &found) || h[AT_VERSION] != 0x21 || h[AT_FAMILY] != 0x21
        || h[AT_NUMBER_TYPE] != TYPE_NUMBER)
        return false;
    memcpy(numbers, h + AT_NUMBER, sizeof(numbers));
    w = find_window(r, be64toh(numbers[0]));
    if (!use_number(w, be64toh(numbers[1])))
        return false;
    w->used_at = ++r->accepted;
    format_address(h, ret_address);
    return true;
}
