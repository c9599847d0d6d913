/* SPDX-License-Identifier: Apache-2.0 */
/* spelling.h - suggests the word that a mistyped one was meant to be
 *
 * For "unknown key 'listn' (did you mean 'listen'?)".
 *
 * Thread:  any.
 */
#pragma once

#include <stddef.h>

/* The nearest of the words, borrowed, the first of equally near ones; NULL when
 * none is near enough. A candidate may differ in a third of its characters, and
 * in at least one. A difference is a character that was inserted, removed,
 * replaced or swapped with its neighbour (optimal string alignment). A word
 * longer than 64 bytes is near to none.
 */
const char *spelling_nearest(const char *word, const char *const *words, size_t count);
