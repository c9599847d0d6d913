/* SPDX-License-Identifier: Apache-2.0 */
/* octet.h - eight bytes of a text compared at once
 *
 * Each call sets the top bit of the bytes that it is about, of eight loaded
 * into a word; it may also do so for a byte above one that is.
 *
 * Thread: any.
 * Source: H. S. Warren, "Hacker's Delight", 6-1.
 */
#pragma once

#include <stdint.h>

#define OCTET_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* `below` is at most 0x80; bytes beyond ASCII are not below it. */
static inline uint64_t
octet_below(uint64_t bytes, unsigned below)
{
    return (bytes - OCTET_EACH(below)) & ~bytes & OCTET_EACH(0x80);
}

static inline uint64_t
octet_equal(uint64_t bytes, char wanted)
{
    return octet_below(bytes ^ OCTET_EACH((unsigned char)wanted), 1);
}

static inline uint64_t
octet_beyond_ascii(uint64_t bytes)
{
    return bytes & OCTET_EACH(0x80);
}
