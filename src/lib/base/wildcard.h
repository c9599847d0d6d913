/* SPDX-License-Identifier: Apache-2.0 */
/* wildcard.h - patterns of names: '*' is any text, '?' one character
 *
 * The time is bounded by the product of both lengths, whatever the pattern, so
 * that a server may compare a user's pattern with the names of others. All is
 * as it is written: there are no sets and no escapes.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>

bool wildcard_matches(const char *pattern, const char *text);
