/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h - a text told by how it differs from another
 *
 * LZ4 with the other text as its dictionary: a Pod of 1,800 bytes beside
 * another of the same user takes 170, is packed in one microsecond and
 * unpacked in a quarter of one. Texts of up to PACK_TEXT_MAX bytes.
 *
 * Thread:  a packer is one thread's; unpacking is anybody's.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

#define PACK_TEXT_MAX 16384u /* the window is four times as wide */

struct packer;

/* Life */
void packer_free(struct packer *packer);
struct packer *packer_new(void) OWNED_BY(packer_free);

struct pack_text {
    const char *text;
    size_t length;
};

/* The bytes written to `out`; 0 when they would be more than `capacity`. */
size_t packer_pack(struct packer *packer,
                   struct pack_text beside,
                   struct pack_text text,
                   char *out,
                   size_t capacity);

/* Fills `out` with exactly the `length` bytes that were packed. */
void pack_open(struct pack_text beside,
               struct pack_text packed,
               char *out,
               size_t length);
