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
struct dictionary_text;

struct text_span {
    const char *text;
    size_t length;
};

/* Life. A dictionary is a text as LZ4 has indexed it, in 16 KiB: that takes
 * longer than to pack a text of the same size. The text is borrowed until it is
 * freed.
 */
void dictionary_packer_free(struct dictionary_packer *packer);
struct dictionary_packer *dictionary_packer_new(void)
    OWNED_BY(dictionary_packer_free);
void dictionary_text_free(struct dictionary_text *d);
struct dictionary_text *dictionary_text_new(struct text_span beside)
    OWNED_BY(dictionary_text_free);

/* The bytes written to `out`; 0 when they would be more than `capacity`. */
size_t dictionary_text_pack(struct dictionary_packer *packer,
                            const struct dictionary_text *beside,
                            struct text_span text,
                            char *out,
                            size_t capacity);

/* Fills `out` with exactly the `length` bytes that were packed. */
void dictionary_text_unpack(struct text_span beside,
                            struct text_span packed,
                            char *out,
                            size_t length);
