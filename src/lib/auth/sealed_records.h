/* SPDX-License-Identifier: Apache-2.0 */
/* sealed_records.h - bytes in encrypted, authenticated and numbered records
 *
 * A record has four bytes of length, most significant first, the text encrypted
 * with AES-256-GCM, and a tag. Each direction of a connection has a key of its
 * own and counts its records; the count is the nonce, so a record that was
 * changed, left out, repeated or moved does not open. A key makes at most
 * SEALED_RECORDS_PER_KEY records; the next one is derived from it.
 *
 * Thread: one at a time for each direction.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/auth/digest.h"
#include "lib/base/macro.h"

#define SEALED_TEXT_MOST       ((size_t)65536) /* bytes of text in a record */
#define SEALED_OVERHEAD        ((size_t)20)    /* length and tag */
#define SEALED_RECORDS_PER_KEY (UINT64_C(1) << 20)

struct error;
struct sealed_direction;
struct strbuf;

/* Enough for another process to go on with the direction of a connection. */
struct sealed_state {
    struct digest key; /* of the record with this count */
    uint64_t count;    /* of records so far */
};

/* Life */
void sealed_direction_free(struct sealed_direction *d);
struct sealed_direction *sealed_direction_new(const struct sealed_state *state)
    OWNED_BY(sealed_direction_free);
DEFINE_CLEANUP(struct sealed_direction, sealed_direction_free)

void sealed_direction_state(const struct sealed_direction *d, struct sealed_state *ret_state);

/* Seal adds the records of this text to `out`; there are none for no text. Open
 * decrypts the record at the beginning of `bytes`, in place, and returns how
 * many bytes it took: 0 when the record is not complete, -EPROTO for a length
 * that no record has, -EKEYREJECTED when the tag is wrong. After an error the
 * direction must not be used again.
 */
void sealed_seal(struct sealed_direction *d, const void *text, size_t length, struct strbuf *out);
ssize_t sealed_open(struct sealed_direction *d, unsigned char *bytes, size_t length,
                    unsigned char **ret_text, size_t *ret_length, struct error *err);

/* Whether the bytes begin with a whole record, or with what is none. */
bool sealed_is_complete(const unsigned char *bytes, size_t length);
