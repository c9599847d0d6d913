/* SPDX-License-Identifier: Apache-2.0 */
/* spelling.h - what a mistyped word was meant to be
 *
 * For "unknown key 'listn' (did you mean 'listen'?)".
 *
 * Thread:  any.
 */
#pragma once

#include <stddef.h>

/* How many characters to insert, remove, replace or swap with their neighbour
 * (optimal string alignment); words longer than 64 bytes are far from all.
 */
#define SPELLING_FAR 1000u
unsigned spelling_distance(const char *a, const char *b);

/* The nearest of the words, borrowed; NULL when none is near enough to be what
 * was meant: a third of its length, and at least one, may differ.
 */
const char *
spelling_nearest(const char *word, const char *const *words, size_t count);
