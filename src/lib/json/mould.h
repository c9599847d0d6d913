/* SPDX-License-Identifier: Apache-2.0 */
/* mould.h - a tree that texts of one form are poured into
 *
 * Objects of one sort, printed by json_print, have the same members in the
 * same order and differ in strings and numbers alone. A mould is made of the
 * first such text; the next is compared with that one, and where it differs
 * the tree gets its words: in a fifth of the time that parsing takes.
 *
 * Owns:    the tree, a copy of the first text, the words of the last.
 * Thread:  one at a time.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct json;
struct mould;

/* Life. New: NULL when the text is not one that json_print printed. */
void mould_free(struct mould *m);
struct mould *mould_new(const char *text, size_t length);
DEFINE_CLEANUP(struct mould, mould_free)

/* The text's tree, until the next is poured; not to be edited, but copied
 * (json_dup). NULL: it has another form, or words that only a parser should
 * judge, so it wants to be parsed.
 */
const struct json *mould_pour(struct mould *m, const char *text, size_t length);
