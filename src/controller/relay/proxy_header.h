/* SPDX-License-Identifier: Apache-2.0 */
/* proxy_header.h - the first bytes of a connection that a standby relays: for
 * which client
 *
 * A header of the PROXY protocol, version 2, always of one length: the client's
 * address as IPv6, then two values of our own, a number that is used once and a
 * MAC. The key is of one lead, and only heads can read it. The number is of the
 * relay that waits (random) and of its connection (rising), so a header that was
 * listened to is refused the second time; no clocks are compared.
 *
 * Thread:  one at a time.
 * Source:  HAProxy, "The PROXY protocol", versions 1 and 2, section 2.2.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

#define PROXY_HEADER_SIZE      106
#define PROXY_SIGNATURE_LENGTH 12
extern const unsigned char proxy_signature[PROXY_SIGNATURE_LENGTH];

struct sockaddr;

/* The side that relays. False if the address is of no family of IP. */
struct proxy_sender {
    const char *key;
    uint64_t relay;  /* random */
    uint64_t number; /* of its last connection */
};
bool proxy_header_write(struct proxy_sender *sender, const struct sockaddr *client,
                        unsigned char ret_header[PROXY_HEADER_SIZE]);

/* The leader's. Accept writes the client's address ("192.0.2.7:40112"); false if
 * the header is wrong, of another lead, or was seen before.
 */
struct proxy_receiver;
void proxy_receiver_free(struct proxy_receiver *receiver);
struct proxy_receiver *proxy_receiver_new(const char *key) OWNED_BY(proxy_receiver_free);
bool proxy_receiver_accept(struct proxy_receiver *receiver, const unsigned char *header,
                           char ret_address[64]);
