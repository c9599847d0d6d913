/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/yaml/line_table.h"

#include <stdlib.h>

#include "lib/base/alloc.h"

struct line_entry {
    const struct json *value;
    unsigned line;
};

void
line_table_fini(struct line_table *t)
{
    free(t->entries);
}

void
line_table_add(struct line_table *t, const struct json *value, unsigned line)
{
    xgrow(t->entries, t->count, t->capacity);
    t->entries[t->count++] = (struct line_entry){value, line};
    t->is_sorted = false;
}

void
line_table_clear(struct line_table *t)
{
    t->count = 0;
}

static int
compare(const void *a, const void *b)
{
    const struct line_entry *x = a;
    const struct line_entry *y = b;

    return (x->value > y->value) - (x->value < y->value);
}

unsigned
line_table_find(struct line_table *t, const struct json *value)
{
    struct line_entry wanted = {value, 0};
    const struct line_entry *found;

    if (t->count == 0)
        return 0;
    if (!t->is_sorted)
        qsort(t->entries, t->count, sizeof(*t->entries), compare);
    t->is_sorted = true;
    found = bsearch(&wanted, t->entries, t->count, sizeof(*t->entries), compare);
    return found != NULL ? found->line : 0;
}
