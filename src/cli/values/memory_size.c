/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/values/memory_size.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "lib/base/error.h"
#include "lib/base/strbuf.h"

static const char units[] = "KMGTP";

/* Reads "", "M", "MB" or "MiB". False: it is another text. */
static bool
read_unit(const char *text, unsigned *ret_shift)
{
    const char *unit;

    if (*text == '\0') {
        *ret_shift = 20;
        return true;
    }
    unit = strchr(units, toupper((unsigned char)*text));
    if (unit == NULL)
        return false;
    *ret_shift = 10 * (unsigned)(unit - units + 1);
    text++;
    return *text == '\0' || strcasecmp(text, "b") == 0 || strcasecmp(text, "ib") == 0
           || strcasecmp(text, "i") == 0;
}

int
memory_size_parse(const char *text, int64_t *ret_bytes, struct error *err)
{
    const char *p = text;
    int64_t value = 0;
    unsigned shift = 0;

    while (isdigit((unsigned char)*p) && value < INT64_C(1) << 50)
        value = value * 10 + (*p++ - '0');
    if (p == text || !read_unit(p, &shift))
        return error_set(err, -EINVAL,
                         "'%s' is not an amount of memory (such as 512M or "
                         "4G; a number alone is MiB)",
                         text);
    if (value == 0)
        return error_set(err, -EINVAL,
                         "a size of 0 (in Slurm: all memory of the node) is "
                         "not supported; give a size, or --exclusive for the "
                         "whole node");
    if (value > (INT64_C(1) << 60) >> shift)
        return error_set(err, -ERANGE, "'%s' is more than any node can have", text);
    *ret_bytes = value << shift;
    return 0;
}

void
memory_size_format(int64_t bytes, struct strbuf *out)
{
    int unit = -1;

    while (bytes != 0 && bytes % 1024 == 0 && unit < 4) {
        bytes /= 1024;
        unit++;
    }
    strbuf_printf(out, "%" PRId64, bytes);
    if (unit >= 0)
        strbuf_printf(out, "%ci", units[unit]);
}
