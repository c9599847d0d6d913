/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/text.h"

#include <stddef.h>

/* Skips one UTF-8 character: its first byte and the continuation bytes after
 * it.
 */
static const char *
skip_character(const char *text)
{
    do
        text++;
    while (((unsigned char)*text & 0xc0) == 0x80);
    return text;
}

bool
text_matches(const char *pattern, const char *text)
{
    const char *star = NULL;
    const char *retry = NULL; /* where the text of the last star may end next */

    while (*text != '\0') {
        if (*pattern == '*') {
            star = ++pattern;
            retry = text;
        } else if (*pattern == '?') {
            pattern++;
            text = skip_character(text);
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star;
            retry = skip_character(retry);
            text = retry;
        } else
            return false;
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}
