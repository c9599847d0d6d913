/* SPDX-License-Identifier: Apache-2.0 */
/* digest.h - SHA-256, HMAC, and their text forms
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

#define DIGEST_SIZE     32
#define DIGEST_HEX_SIZE 65 /* 64 digits and a NUL */

struct digest {
    unsigned char bytes[DIGEST_SIZE];
};

struct strbuf;

/* Make a digest of one text, or of several parts in a row. Hmac is HMAC-SHA256
 * (RFC 2104).
 */
struct digest_part {
    const void *bytes;
    size_t length;
};
void digest_of(const void *bytes, size_t length, struct digest *ret_digest);
void digest_parts(const struct digest_part *parts, size_t count, struct digest *ret_digest);
void digest_hmac(const void *key, size_t key_length, const struct digest_part *parts, size_t count,
                 struct digest *ret_digest);

/* Digests a text that arrives in pieces. End frees the sum. */
struct digest_sum;
struct digest_sum *digest_sum_begin(void);
void digest_sum_add(struct digest_sum *sum, const void *bytes, size_t length);
void digest_sum_end(struct digest_sum *sum TAKES, struct digest *ret_digest);

/* Compares in constant time. */
bool digest_equals(const struct digest *a, const struct digest *b);

/* Text: lower-case hexadecimal. Parse takes exactly 64 digits and returns 0 or
 * -EINVAL.
 */
void digest_format(const struct digest *d, char out[DIGEST_HEX_SIZE]);
int digest_parse(const char *hex, struct digest *ret_digest);

/* Base64 (RFC 4648, padded). Decode accepts no other form and returns 0 or
 * -EINVAL.
 */
void base64_encode(struct strbuf *out, const void *bytes, size_t length);
int base64_decode(struct strbuf *out, const char *text, size_t length);
