/* SPDX-License-Identifier: Apache-2.0 */
/* wildcard.h - patterns of names: '*' matches any text, '?' one character
 *
 * The time is bounded by the product of both lengths for every pattern, so that
 * a server may match a user's pattern against the names of others. All other
 * characters match themselves: there are no sets and no escapes.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>

bool wildcard_matches(const char *pattern, const char *text);
