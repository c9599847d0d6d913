/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/request/continue_token.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"

#define TEXT_SIZE (24 + OBJECT_KEY_SIZE)

/* The form is "REVISION KEY" in hexadecimal: a query needs no escapes for that.
 */
const char *
continue_token_format(struct arena *arena, const struct continue_token *token)
{
    char text[TEXT_SIZE];
    int n = snprintf(text, sizeof(text), "%" PRId64 " %s", token->revision, token->after);
    char *out = arena_alloc(arena, 2 * (size_t)n + 1);

    for (int i = 0; i < n; i++)
        snprintf(out + 2 * i, 3, "%02x", (unsigned char)text[i]);
    return out;
}

static int
hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

int
continue_token_parse(const char *text, struct continue_token *ret_token)
{
    char plain[TEXT_SIZE];
    size_t n = strlen(text);
    char *space, *end;
    long long revision;

    if (n % 2 != 0 || n / 2 >= sizeof(plain))
        return -EINVAL;
    for (size_t i = 0; i < n / 2; i++) {
        int high = hex_digit(text[2 * i]);
        int low = hex_digit(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return -EINVAL;
        plain[i] = (char)(high << 4 | low);
    }
    plain[n / 2] = '\0';
    space = strchr(plain, ' ');
    if (space == NULL || strlen(plain) != n / 2 || strlen(space + 1) >= sizeof(ret_token->after))
        return -EINVAL;
    errno = 0;
    revision = strtoll(plain, &end, 10);
    if (end != space || errno != 0 || revision < 0)
        return -EINVAL;
    ret_token->revision = revision;
    strcpy(ret_token->after, space + 1);
    return 0;
}
