/* SPDX-License-Identifier: Apache-2.0 */
/* octet.h - compares eight bytes of a text at once
 *
 * Eight bytes are loaded into a word. Each call sets the top bit of each byte
 * that matches; it may also set the top bit of a byte above a matching one.
 *
 * Thread: any.
 * Source: H. S. Warren, "Hacker's Delight", 6-1.
 */
#pragma once

#include <stdint.h>

#define OCTET_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* `below` is at most 0x80; bytes beyond ASCII do not match. */
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
