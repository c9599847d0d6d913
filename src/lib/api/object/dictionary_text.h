/* SPDX-License-Identifier: Apache-2.0 */
/* dictionary_text.h - a text compressed against another one
 *
 * LZ4 with the other text as its dictionary: a Pod of 1,800 bytes takes 170
 * bytes against another Pod of the same user. Packing takes one microsecond,
 * unpacking a quarter of one. Texts have at most DICTIONARY_TEXT_MAX bytes.
 *
 * Thread:  a packer belongs to one thread; any thread may unpack.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

#define DICTIONARY_TEXT_MAX 16384u /* LZ4's window is four times as large */

struct dictionary_packer;
struct dictionary_text;

struct text_span {
    const char *text;
    size_t length;
};

/* Life. A dictionary is a text with LZ4's index of 16 KiB; indexing takes
 * longer than packing a text of the same size. The text is borrowed until the
 * dictionary is freed.
 */
void dictionary_packer_free(struct dictionary_packer *packer);
struct dictionary_packer *dictionary_packer_new(void) OWNED_BY(dictionary_packer_free);
void dictionary_text_free(struct dictionary_text *d);
struct dictionary_text *dictionary_text_new(struct text_span beside) OWNED_BY(dictionary_text_free);

/* The bytes written to `out`; 0 if they would exceed `capacity`. */
size_t dictionary_text_pack(struct dictionary_packer *packer, const struct dictionary_text *beside,
                            struct text_span text, char *out, size_t capacity);

/* Fills `out` with exactly the `length` bytes that were packed. */
void dictionary_text_unpack(struct text_span beside, struct text_span packed, char *out,
                            size_t length);
