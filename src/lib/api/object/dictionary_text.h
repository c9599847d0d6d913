/* SPDX-License-Identifier: Apache-2.0 */
/* dictionary_text.h - a text compressed against another one
 *
 * LZ4 with the other text as its dictionary: a Pod of 1,800 bytes beside
 * another of the same user takes 170, is packed in one microsecond and
 * unpacked in a quarter of one. Texts of up to DICTIONARY_TEXT_MAX bytes.
 *
 * Thread:  a packer is one thread's; unpacking is anybody's.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

#define DICTIONARY_TEXT_MAX 16384u /* the window is four times as wide */

struct dictionary_packer;

/* Life */
void dictionary_packer_free(struct dictionary_packer *packer);
struct dictionary_packer *dictionary_packer_new(void)
    OWNED_BY(dictionary_packer_free);

struct text_span {
    const char *text;
    size_t length;
};

/* The bytes written to `out`; 0 when they would be more than `capacity`. */
size_t dictionary_text_pack(struct dictionary_packer *packer,
                            struct text_span beside,
                            struct text_span text,
                            char *out,
                            size_t capacity);

/* Fills `out` with exactly the `length` bytes that were packed. */
void dictionary_text_unpack(struct text_span beside,
                            struct text_span packed,
                            char *out,
                            size_t length);
