/* SPDX-License-Identifier: Apache-2.0 */
/* spelling.h - suggests the word that a mistyped one was meant to be
 *
 * For "unknown key 'listn' (did you mean 'listen'?)".
 *
 * Thread:  any.
 */
#pragma once

#include <stddef.h>

/* The number of characters to insert, remove, replace or swap with their
 * neighbour (optimal string alignment). A word longer than 64 bytes has
 * distance SPELLING_FAR to all others.
 */
#define SPELLING_FAR 1000u
unsigned spelling_distance(const char *a, const char *b);

/* The nearest of the words, borrowed; NULL when none is near enough. A
 * candidate may differ in a third of its characters, and in at least one.
 */
const char *
spelling_nearest(const char *word, const char *const *words, size_t count);
