/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/sort_by.h"

#include <stdlib.h>
#include <string.h>

#include "cli/kctl/output/jsonpath.h"
#include "lib/api/value/quantity.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

struct ordered {
    struct json *item;
    const struct json *value; /* NULL: it has no value */
    uint32_t place;           /* keeps the order of equal items */
};

static const char *
text_of(const struct json *value)
{
    return json_is(value, JSON_STRING) || json_is(value, JSON_NUMBER) ? value->text : "";
}

static int
compare_values(const struct json *a, const struct json *b)
{
    const char *x = text_of(a), *y = text_of(b);
    struct quantity m, n;
    int64_t left, right;

    if (json_is(a, JSON_BOOL) && json_is(b, JSON_BOOL))
        return (int)a->boolean - (int)b->boolean;
    if (time_parse(x, &left) == 0 && time_parse(y, &right) == 0)
        return (left > right) - (left < right);
    if (quantity_parse(x, &m) == 0 && quantity_parse(y, &n) == 0)
        return quantity_compare(&m, &n);
    return strverscmp(x, y);
}

static int
compare(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;
    int order = 0;

    if (x->value == NULL || y->value == NULL)
        order = (x->value != NULL) - (y->value != NULL);
    else
        order = compare_values(x->value, y->value);
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

int
sort_by_check(const char *path, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct jsonpath_values none = {0};
    int r = jsonpath_find(path, NULL, arena, &none, err);

    return r < 0 ? error_wrap(err, r, "--sort-by") : 0;
}

int
sort_by_sort(struct json *answer, const char *path, struct arena *arena, struct error *err)
{
    struct json *rows = json_get(answer, "rows");
    struct json *items = rows != NULL ? rows : json_get(answer, "items");
    const uint32_t n = json_count(items);
    struct ordered *all = arena_new_array(arena, struct ordered, n + 1);
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n; i++) {
        struct jsonpath_values values = {0};

        all[i].item = json_at(items, i);
        all[i].place = i;
        r = jsonpath_find(path, rows != NULL ? json_get(all[i].item, "object") : all[i].item, arena,
                          &values, err);
        all[i].value = values.count > 0 ? values.items[0] : NULL;
    }
    if (r < 0)
        return error_wrap(err, r, "--sort-by");
    if (n > 1)
        qsort(all, n, sizeof(*all), compare);
    for (uint32_t i = 0; i < n; i++)
        items->items[i] = all[i].item;
    return 0;
}
