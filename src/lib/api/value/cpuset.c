/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/cpuset.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "lib/base/error.h"
#include "lib/base/strbuf.h"

static int
parse_number(const char **at, unsigned *ret_number)
{
    unsigned number = 0;

    if (!isdigit((unsigned char)**at))
        return -EINVAL;
    for (; isdigit((unsigned char)**at); (*at)++) {
        number = number * 10 + (unsigned)(**at - '0');
        if (number >= BITSET_BITS)
            return -ERANGE;
    }
    *ret_number = number;
    return 0;
}

static int
parse_range(const char **at, struct bitset *set)
{
    unsigned first, last;
    int r = parse_number(at, &first);

    if (r < 0)
        return r;
    last = first;
    if (**at == '-') {
        (*at)++;
        r = parse_number(at, &last);
        if (r < 0)
            return r;
    }
    if (last < first)
        return -EINVAL;
    for (unsigned bit = first; bit <= last; bit++)
        bitset_add(set, bit);
    return 0;
}

static int
parse_list(const char *at, struct bitset *set)
{
    if (*at == '\0')
        return 0;
    for (;;) {
        int r = parse_range(&at, set);

        if (r < 0)
            return r;
        if (*at == '\0')
            return 0;
        if (*at++ != ',')
            return -EINVAL;
    }
}

int
cpuset_parse(const char *text, struct bitset *ret_set, struct error *err)
{
    struct bitset set = {0};
    int r = parse_list(text, &set);

    if (r == -ERANGE)
        return error_set(err, r, "'%.80s' names a number above %u", text, BITSET_BITS - 1);
    if (r < 0)
        return error_set(err, r, "'%.80s' is not a list of numbers such as 0-7,64", text);
    *ret_set = set;
    return 0;
}

void
cpuset_format(const struct bitset *set, struct strbuf *out)
{
    const char *comma = "";
    unsigned first = bitset_next(set, 0);

    while (first < BITSET_BITS) {
        unsigned last = first;

        while (bitset_has(set, last + 1))
            last++;
        strbuf_printf(out, "%s%u", comma, first);
        if (last > first)
            strbuf_printf(out, "-%u", last);
        comma = ",";
        first = bitset_next(set, last + 1);
    }
}
