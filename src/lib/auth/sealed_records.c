/* SPDX-License-Identifier: Apache-2.0 */
/* A record that is changed, left out, repeated or moved must not open, and streams must not
 * have a record number on the wire that somebody could change: the number is counted on both
 * sides and is the nonce. After many records the key is replaced by one derived from it, from
 * which the old one cannot be computed.
 */
#include "lib/auth/sealed_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <nettle/gcm.h>
#include <nettle/memops.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

#define LENGTH_SIZE 4
#define TAG_SIZE    16

struct sealed_direction {
    struct gcm_aes256_ctx context;
    struct sealed_state state;
};

struct sealed_direction *
sealed_direction_new(const struct sealed_state *state)
{
    struct sealed_direction *d = xnew(struct sealed_direction);

    d->state = *state;
    gcm_aes256_set_key(&d->context, d->state.key.bytes);
    return d;
}

void
sealed_direction_free(struct sealed_direction *d)
{
    if (d == NULL)
        return;
    explicit_bzero(d, sizeof(*d));
    free(d);
}

void
sealed_direction_state(const struct sealed_direction *d, struct sealed_state *ret_state)
{
    *ret_state = d->state;
}

static void
write_number(unsigned char *out, size_t size, uint64_t number)
{
    for (size_t i = size; i-- > 0; number >>= 8)
        out[i] = (unsigned char)number;
}

/* Sets up the record with the next count. The key of the records before cannot
 * be computed from the next key.
 */
static void
begin_record(struct sealed_direction *d, const unsigned char *length)
{
    static const char next[] = "kiln-sealed next key";
    const struct digest_part part = {next, sizeof(next) - 1};
    unsigned char nonce[GCM_IV_SIZE] = {0};
    struct digest key;

    if (d->state.count > 0 && d->state.count % SEALED_RECORDS_PER_KEY == 0) {
        digest_hmac(d->state.key.bytes, DIGEST_SIZE, &part, 1, &key);
        d->state.key = key;
        gcm_aes256_set_key(&d->context, key.bytes);
    }
    write_number(nonce + sizeof(nonce) - 8, 8, d->state.count);
    gcm_aes256_set_iv(&d->context, sizeof(nonce), nonce);
    gcm_aes256_update(&d->context, LENGTH_SIZE, length);
    d->state.count++;
}

void
sealed_seal(struct sealed_direction *d, const void *text, size_t length, struct strbuf *out)
{
    const unsigned char *from = text;

    while (length > 0) {
        size_t part = length < SEALED_TEXT_MOST ? length : SEALED_TEXT_MOST;
        unsigned char *to = (unsigned char *)strbuf_extend(out, part + SEALED_OVERHEAD);

        write_number(to, LENGTH_SIZE, part);
        begin_record(d, to);
        gcm_aes256_encrypt(&d->context, part, to + LENGTH_SIZE, from);
        gcm_aes256_digest(&d->context, TAG_SIZE, to + LENGTH_SIZE + part);
        from += part;
        length -= part;
    }
}

static size_t
read_length(const unsigned char *bytes)
{
    return (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3];
}

bool
sealed_is_complete(const unsigned char *bytes, size_t length)
{
    size_t part;

    if (length < LENGTH_SIZE)
        return false;
    part = read_length(bytes);
    return part > SEALED_TEXT_MOST || length >= part + SEALED_OVERHEAD;
}

ssize_t
sealed_open(struct sealed_direction *d, unsigned char *bytes, size_t length,
            unsigned char **ret_text, size_t *ret_length, struct error *err)
{
    unsigned char tag[TAG_SIZE];
    size_t part;

    if (length < LENGTH_SIZE)
        return 0;
    part = read_length(bytes);
    if (part == 0 || part > SEALED_TEXT_MOST)
        return error_set(err, -EPROTO, "the other side does not speak Kiln's step protocol");
    if (length < part + SEALED_OVERHEAD)
        return 0;
    begin_record(d, bytes);
    gcm_aes256_decrypt(&d->context, part, bytes + LENGTH_SIZE, bytes + LENGTH_SIZE);
    gcm_aes256_digest(&d->context, TAG_SIZE, tag);
    if (memeql_sec(tag, bytes + LENGTH_SIZE + part, TAG_SIZE) == 0)
        return error_set(err, -EKEYREJECTED,
                         "what arrived is not what the other side has sent; something between "
                         "the two machines changed it");
    *ret_text = bytes + LENGTH_SIZE;
    *ret_length = part;
    return (ssize_t)(part + SEALED_OVERHEAD);
}
