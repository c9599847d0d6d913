/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/variables.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/map.h"

void
variables_init(struct variables *v, struct arena *arena)
{
    *v = (struct variables){.arena = arena, .places = map_new()};
}

void
variables_fini(struct variables *v)
{
    free(v->items);
    map_free(v->places);
}

void
variables_set(struct variables *v, const char *name, const char *value)
{
    const char *text = arena_printf(v->arena, "%s=%s", name, value);
    uintptr_t place = (uintptr_t)map_find(v->places, name);

    if (place > 0) {
        v->items[place - 1] = text;
        return;
    }
    xgrow(v->items, v->count, v->capacity);
    v->items[v->count++] = text;
    map_put(v->places, name, (void *)(uintptr_t)v->count);
}

void
variables_set_number(struct variables *v, const char *name, int64_t n)
{
    variables_set(v, name, arena_printf(v->arena, "%" PRId64, n));
}

const char *
variables_find(const struct variables *v, const char *name)
{
    uintptr_t place = (uintptr_t)map_find(v->places, name);

    return place > 0 ? v->items[place - 1] + strlen(name) + 1 : NULL;
}
