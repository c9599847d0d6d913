/* SPDX-License-Identifier: Apache-2.0 */
/* json_integer.c - the value of a number that is an integer */
#include "lib/json/json.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/decimal.h"

/* The common case: a few digits and nothing else. */
static bool
is_short_int(const struct json *value, int64_t *ret_value)
{
    int64_t n = 0;

    if (value->count == 0 || value->count > 18)
        return false;
    for (uint32_t i = 0; i < value->count; i++) {
        if (value->text[i] < '0' || value->text[i] > '9')
            return false;
        n = n * 10 + (value->text[i] - '0');
    }
    *ret_value = n;
    return true;
}

int
json_to_int(const struct json *value, int64_t *ret_value)
{
    char *end;
    long long n;

    if (!json_is(value, JSON_NUMBER))
        return -EINVAL;
    if (is_short_int(value, ret_value))
        return 0;
    errno = 0;
    n = strtoll(value->text, &end, 10);
    if (*end != '\0')
        return -EINVAL;
    if (errno == ERANGE)
        return -ERANGE;
    *ret_value = n;
    return 0;
}

int64_t
json_get_int(const struct json *object, const char *name, int64_t fallback)
{
    int64_t n;

    return json_to_int(json_get(object, name), &n) == 0 ? n : fallback;
}
