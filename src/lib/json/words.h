/* SPDX-License-Identifier: Apache-2.0 */
/* words.h - the texts that one struct's decoding has met so far
 *
 * So that a text that comes twice (a uid in three places) is held once. Of a
 * fixed size: what no longer fits is not remembered.
 *
 * Called by:  measure.c and decode.c, which must ask and remember alike.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct field;

#define WORDS     256u
#define WORDS_MAX 192u
#define WORD_MAX  64u /* longer ones hardly come twice */

struct words {
    const char *texts[WORDS];
    uint8_t lengths[WORDS];
    unsigned count;
};

/* Whether one of that length may be asked for and remembered. */
bool words_may_hold(const struct words *w, size_t length);

/* The place of that text, or the free one where it would stand. */
unsigned words_find(const struct words *w, const char *text, size_t length);
void
words_remember(struct words *w, unsigned at, const char *text, size_t length);

/* A text that the program holds for good (the field's `values` and `common`),
 * or NULL.
 */
const char *words_known(const struct field *f, const char *text, size_t length);
