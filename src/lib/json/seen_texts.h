/* SPDX-License-Identifier: Apache-2.0 */
/* seen_texts.h - the texts that one struct's decoding has met so far
 *
 * So that a text that comes twice (a uid in three places) is held once. Of a
 * fixed size: what no longer fits is not remembered.
 *
 * Called by:  measure.c, decode.c and copy.c, which must ask and remember alike.
 * Thread:     one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct field;

#define SEEN_TEXTS     256u
#define SEEN_TEXTS_MAX 192u
#define SEEN_TEXT_MAX  64u /* longer ones hardly come twice */

struct seen_texts {
    const char *texts[SEEN_TEXTS];
    uint8_t lengths[SEEN_TEXTS];
    unsigned count;
};

/* Whether one of that length may be asked for and remembered. */
bool seen_texts_may_hold(const struct seen_texts *w, size_t length);

/* The place of that text, or the free one where it would stand. */
unsigned
seen_texts_find(const struct seen_texts *w, const char *text, size_t length);
void seen_texts_remember(struct seen_texts *w,
                         unsigned at,
                         const char *text,
                         size_t length);

/* A text that the program holds for good (the field's `values` and `common`),
 * or NULL.
 */
const char *
seen_texts_known(const struct field *f, const char *text, size_t length);
