/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/auth/digest.h"

#include <errno.h>
#include <string.h>

#include <nettle/base16.h>
#include <nettle/base64.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <nettle/sha2.h>

#include "lib/base/strbuf.h"

void
digest_of(const void *bytes, size_t length, struct digest *ret_digest)
{
    struct digest_part part = {bytes, length};

    digest_parts(&part, 1, ret_digest);
}

void
digest_parts(const struct digest_part *parts,
             size_t count,
             struct digest *ret_digest)
{
    struct sha256_ctx context;

    sha256_init(&context);
    for (size_t i = 0; i < count; i++)
        if (parts[i].length > 0)
            sha256_update(&context, parts[i].length, parts[i].bytes);
    sha256_digest(&context, DIGEST_SIZE, ret_digest->bytes);
}

void
digest_hmac(const void *key,
            size_t key_length,
            const struct digest_part *parts,
            size_t count,
            struct digest *ret_digest)
{
    struct hmac_sha256_ctx context;

    hmac_sha256_set_key(&context, key_length, key);
    for (size_t i = 0; i < count; i++)
        if (parts[i].length > 0)
            hmac_sha256_update(&context, parts[i].length, parts[i].bytes);
    hmac_sha256_digest(&context, DIGEST_SIZE, ret_digest->bytes);
}

bool
digest_equals(const struct digest *a, const struct digest *b)
{
    return memeql_sec(a->bytes, b->bytes, DIGEST_SIZE) != 0;
}

void
digest_format(const struct digest *d, char out[DIGEST_HEX_SIZE])
{
    base16_encode_update(out, DIGEST_SIZE, d->bytes);
    out[DIGEST_HEX_SIZE - 1] = '\0';
}

int
digest_parse(const char *hex, struct digest *ret_digest)
{
    static const char digits[] = "0123456789abcdef";
    struct digest d;

    for (size_t i = 0; i < (size_t)DIGEST_SIZE * 2; i++) {
        const char *digit = hex[i] != '\0' ? strchr(digits, hex[i]) : NULL;

        if (digit == NULL)
            return -EINVAL;
        d.bytes[i / 2] =
            (unsigned char)(d.bytes[i / 2] << 4 | (digit - digits));
    }
    if (hex[DIGEST_SIZE * 2] != '\0')
        return -EINVAL;
    *ret_digest = d;
    return 0;
}

void
base64_encode(struct strbuf *out, const void *bytes, size_t length)
{
    struct base64_encode_ctx context;
    const unsigned char *from = bytes;

    base64_encode_init(&context);
    while (length > 0) {
        char text[BASE64_ENCODE_LENGTH(3 * 256) + BASE64_ENCODE_FINAL_LENGTH];
        size_t part = length < 768 ? length : 768;
        size_t n = base64_encode_update(&context, text, part, from);

        strbuf_add(out, text, n);
        from += part;
        length -= part;
    }
    {
        char text[BASE64_ENCODE_FINAL_LENGTH];

        strbuf_add(out, text, base64_encode_final(&context, text));
    }
}

int
base64_decode(struct strbuf *out, const char *text, size_t length)
{
    struct base64_decode_ctx context;
    size_t before = out->length;

    base64_decode_init(&context);
    while (length > 0) {
        uint8_t bytes[BASE64_DECODE_LENGTH(1024)];
        size_t part = length < 1024 ? length : 1024;
        size_t n = sizeof(bytes);

        if (memchr(text, '\n', part) != NULL
            || base64_decode_update(&context, &n, bytes, part, text) == 0)
            goto bad;
        strbuf_add(out, bytes, n);
        text += part;
        length -= part;
    }
    if (base64_decode_final(&context) != 0)
        return 0;
bad:
    strbuf_truncate(out, before);
    return -EINVAL;
}
