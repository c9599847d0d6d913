/* SPDX-License-Identifier: Apache-2.0 */
/* seen_texts.h - the texts found so far while one struct is decoded
 *
 * With this set a text that occurs twice (a uid in three places) is stored
 * once. The set has a fixed size: when it is full, further texts are not
 * remembered.
 *
 * Called by:  measure.c, decode.c and copy.c, which must use it in the same
 *             way.
 * Thread:     one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct field;

#define SEEN_TEXTS     256u
#define SEEN_TEXTS_MAX 192u
#define SEEN_TEXT_MAX  64u /* longer texts rarely occur twice */

struct seen_texts {
    const char *texts[SEEN_TEXTS];
    uint8_t lengths[SEEN_TEXTS];
    unsigned count;
};

/* Whether a text of that length may be looked up and remembered. */
bool seen_texts_may_hold(const struct seen_texts *w, size_t length);

/* The slot of that text, or the free slot where it would be. */
unsigned seen_texts_find(const struct seen_texts *w, const char *text, size_t length);
void seen_texts_remember(struct seen_texts *w, unsigned at, const char *text, size_t length);

/* The same text as a constant of the program (the field's `values` and
 * `common`), or NULL.
 */
const char *seen_texts_known(const struct field *f, const char *text, size_t length);
