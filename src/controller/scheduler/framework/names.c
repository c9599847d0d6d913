/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/framework/names.h"

#include "lib/base/alloc.h"
#include "lib/base/map.h"

struct names {
    struct map *numbers; /* to the number plus 1, as a pointer */
    char **texts;
    size_t count, capacity;
};

struct names *
names_new(void)
{
    struct names *names = xnew(struct names);

    names->numbers = map_new();
    return names;
}

void
names_free(struct names *names)
{
    if (names == NULL)
        return;
    for (size_t i = 0; i < names->count; i++)
        free(names->texts[i]);
    free(names->texts);
    map_free(names->numbers);
    free(names);
}

uint32_t
names_find(const struct names *names, const char *text)
{
    uintptr_t found = (uintptr_t)map_find(names->numbers, text);

    return found != 0 ? (uint32_t)(found - 1) : NAME_NONE;
}

uint32_t
names_number(struct names *names, const char *text)
{
    uint32_t number = names_find(names, text);

    if (number != NAME_NONE)
        return number;
    xgrow(names->texts, names->count, names->capacity);
    names->texts[names->count++] = xstrdup(text);
    map_put(names->numbers, text, (void *)(uintptr_t)names->count);
    return (uint32_t)(names->count - 1);
}

const char *
names_text(const struct names *names, uint32_t number)
{
    return names->texts[number];
}

size_t
names_count(const struct names *names)
{
    return names->count;
}
