/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/framework/string_ids.h"

#include "lib/base/alloc.h"
#include "lib/base/map.h"

struct string_ids {
    struct map *numbers; /* to the number plus 1, as a pointer */
    char **texts;
    size_t count, capacity;
};

struct string_ids *
string_ids_new(void)
{
    struct string_ids *ids = xnew(struct string_ids);

    ids->numbers = map_new();
    return ids;
}

void
string_ids_free(struct string_ids *ids)
{
    if (ids == NULL)
        return;
    for (size_t i = 0; i < ids->count; i++)
        free(ids->texts[i]);
    free(ids->texts);
    map_free(ids->numbers);
    free(ids);
}

uint32_t
string_ids_find(const struct string_ids *ids, const char *text)
{
    uintptr_t found = (uintptr_t)map_find(ids->numbers, text);

    return found != 0 ? (uint32_t)(found - 1) : STRING_ID_NONE;
}

uint32_t
string_ids_add(struct string_ids *ids, const char *text)
{
    uint32_t number = string_ids_find(ids, text);

    if (number != STRING_ID_NONE)
        return number;
    xgrow(ids->texts, ids->count, ids->capacity);
    ids->texts[ids->count++] = xstrdup(text);
    map_put(ids->numbers, text, (void *)(uintptr_t)ids->count);
    return (uint32_t)(ids->count - 1);
}

const char *
string_ids_text(const struct string_ids *ids, uint32_t number)
{
    return ids->texts[number];
}

size_t
string_ids_count(const struct string_ids *ids)
{
    return ids->count;
}
