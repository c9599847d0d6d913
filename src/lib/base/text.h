/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - compares texts that may be absent (NULL), and names with patterns
 *
 * Thread: any; no state.
 */
#pragma once

#include <stdbool.h>
#include <string.h>

/* Neither absent nor empty. */
static inline bool
text_is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* An absent text is no word. */
static inline bool
text_is(const char *text, const char *word)
{
    return text != NULL && strcmp(text, word) == 0;
}

/* An absent text equals an absent one only. */
static inline bool
text_equals(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* An absent text equals the empty one, as in objects of the API. */
static inline bool
text_equals_loosely(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

static inline const char *
text_or_empty(const char *text)
{
    return text != NULL ? text : "";
}

/* Patterns of names: '*' matches any text, '?' one character. The time is bounded by
 * the product of both lengths for every pattern, so that a server may match a user's
 * pattern against the names of others. All other characters match themselves: there
 * are no sets and no escapes. Both texts are present.
 */
bool text_matches(const char *pattern, const char *text);
