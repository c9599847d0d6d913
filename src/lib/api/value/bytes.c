/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/bytes.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

static bool
is_digit(char c)
{
    return isalnum((unsigned char)c) || c == '+' || c == '/';
}

static bool
is_break(char c)
{
    return c == '\r' || c == '\n';
}

/* Padding stands at the end, and makes it whole. */
static bool
is_padding(const char *text, size_t at, size_t digits)
{
    size_t missing = (4 - digits % 4) % 4;
    size_t found = 0;

    for (; text[at] != '\0'; at++)
        if (text[at] == '=')
            found++;
        else if (!is_break(text[at]))
            return false;
    return found == missing && missing < 3;
}

int
bytes_canonicalize(struct arena *arena, struct json *value, struct error *err)
{
    const char *text = value->text;
    size_t digits = 0, at = 0, n = 0;
    char *plain;

    while (is_digit(text[at]) || is_break(text[at]))
        digits += is_digit(text[at++]);
    if (!is_padding(text, at, digits))
        return error_set(err,
                         -EINVAL,
                         "illegal base64 data at input byte %zu",
                         at);
    if (strpbrk(text, "\r\n") == NULL)
        return 0;
    plain = arena_strdup(arena, text);
    for (size_t i = 0; text[i] != '\0'; i++)
        if (!is_break(text[i]))
            plain[n++] = text[i];
    *value = *json_string_n(arena, plain, n);
    return 0;
}
