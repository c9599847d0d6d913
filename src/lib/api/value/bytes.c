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

/* Whether the rest is padding that completes the last group of four digits. */
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

/* Counts the leading base64 digits. An environment has thousands of them, so
 * the loop looks up four at a time; a NUL is not a digit.
 */
static size_t
count_digits(const char *text, size_t length)
{
    static const bool is_one[256] = {
        ['A'] = 1, ['B'] = 1, ['C'] = 1, ['D'] = 1, ['E'] = 1, ['F'] = 1, ['G'] = 1, ['H'] = 1,
        ['I'] = 1, ['J'] = 1, ['K'] = 1, ['L'] = 1, ['M'] = 1, ['N'] = 1, ['O'] = 1, ['P'] = 1,
        ['Q'] = 1, ['R'] = 1, ['S'] = 1, ['T'] = 1, ['U'] = 1, ['V'] = 1, ['W'] = 1, ['X'] = 1,
        ['Y'] = 1, ['Z'] = 1, ['a'] = 1, ['b'] = 1, ['c'] = 1, ['d'] = 1, ['e'] = 1, ['f'] = 1,
        ['g'] = 1, ['h'] = 1, ['i'] = 1, ['j'] = 1, ['k'] = 1, ['l'] = 1, ['m'] = 1, ['n'] = 1,
        ['o'] = 1, ['p'] = 1, ['q'] = 1, ['r'] = 1, ['s'] = 1, ['t'] = 1, ['u'] = 1, ['v'] = 1,
        ['w'] = 1, ['x'] = 1, ['y'] = 1, ['z'] = 1, ['0'] = 1, ['1'] = 1, ['2'] = 1, ['3'] = 1,
        ['4'] = 1, ['5'] = 1, ['6'] = 1, ['7'] = 1, ['8'] = 1, ['9'] = 1, ['+'] = 1, ['/'] = 1,
    };
    const unsigned char *at = (const unsigned char *)text;
    size_t n = 0;

    while (n + 4 <= length
           && (is_one[at[n]] & is_one[at[n + 1]] & is_one[at[n + 2]] & is_one[at[n + 3]]))
        n += 4;
    while (n < length && is_one[at[n]])
        n++;
    return n;
}

int
bytes_canonicalize(struct arena *arena, struct json *value, struct error *err)
{
    const char *text = value->text;
    size_t digits = count_digits(text, value->count), at = digits, n = 0;
    char *plain;

    while (is_digit(text[at]) || is_break(text[at]))
        digits += is_digit(text[at++]);
    if (!is_padding(text, at, digits))
        return error_set(err, -EINVAL, "illegal base64 data at input byte %zu", at);
    if (strpbrk(text, "\r\n") == NULL)
        return 0;
    plain = arena_strdup(arena, text);
    for (size_t i = 0; text[i] != '\0'; i++)
        if (!is_break(text[i]))
            plain[n++] = text[i];
    *value = *json_string_n(arena, plain, n);
    return 0;
}
