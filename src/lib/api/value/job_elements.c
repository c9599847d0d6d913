/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/job_elements.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

#define MAX_DIGITS 18

static int
refuse(const char *text, struct error *err)
{
    return error_set(err, -EINVAL,
                     "'%.60s' is neither a task of a job array nor a list of "
                     "tasks (1042_7, 1042_[3-9] or 1042_[1-100:2])",
                     text);
}

bool
job_elements_looks_like(const char *text)
{
    const size_t digits = strspn(text, "0123456789");

    return digits > 0 && text[digits] == '_';
}

int
job_elements_parse(struct arena *arena, const char *text, struct job_elements *ret_elements,
                   struct error *err)
{
    const size_t digits = strspn(text, "0123456789");
    const char *list = text + digits + 1;
    size_t length;
    struct job_elements elements = {0};
    int r;

    if (digits == 0 || digits > MAX_DIGITS || text[digits] != '_')
        return refuse(text, err);
    for (size_t i = 0; i < digits; i++)
        elements.job = elements.job * 10 + (text[i] - '0');
    length = strlen(list);
    if (list[0] == '[' && length > 2 && list[length - 1] == ']') {
        list++;
        length -= 2;
    } else if (length != strspn(list, "0123456789"))
        return refuse(text, err);
    if (length == 0 || elements.job == 0)
        return refuse(text, err);
    r = task_list_parse(arena, arena_strndup(arena, list, length), &elements.tasks, err);
    if (r < 0)
        return error_wrap(err, r, "'%.60s'", text);
    *ret_elements = elements;
    return 0;
}

void
job_elements_format(const struct job_elements *elements, struct strbuf *out)
{
    const bool is_one = elements->tasks.total == 1;

    strbuf_printf(out, "%" PRId64 "_%s", elements->job, is_one ? "" : "[");
    task_list_format(&elements->tasks, out);
    if (!is_one)
        strbuf_add_char(out, ']');
}
