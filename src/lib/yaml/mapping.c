/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/yaml/mapping.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/map.h"
#include "lib/json/json.h"

/* With more members than this, names are looked up in a map. */
#define MANY_MEMBERS 16

void
mapping_fini(struct mapping *m)
{
    map_free(m->names);
    free(m->members);
    free(m->merged);
}

struct json_member *
mapping_find(struct mapping *m, const char *name)
{
    uintptr_t place;

    if (m->names == NULL) {
        for (size_t i = 0; i < m->count; i++)
            if (strcmp(m->members[i].name, name) == 0)
                return &m->members[i];
        return NULL;
    }
    place = (uintptr_t)map_find(m->names, name);
    return place > 0 ? &m->members[place - 1] : NULL;
}

void
mapping_add(struct mapping *m, const char *name, struct json *value)
{
    xgrow(m->members, m->count, m->capacity);
    m->members[m->count++] = (struct json_member){name, value};
    if (m->names != NULL) {
        map_put(m->names, name, (void *)(uintptr_t)m->count);
    } else if (m->count > MANY_MEMBERS) {
        m->names = map_new();
        for (size_t i = 0; i < m->count; i++)
            map_put(m->names, m->members[i].name, (void *)(uintptr_t)(i + 1));
    }
}

void
mapping_merge(struct mapping *m, const struct json *object)
{
    xgrow(m->merged, m->n_merged, m->merged_capacity);
    m->merged[m->n_merged++] = object;
}

struct json *
mapping_finish(struct mapping *m, struct arena *arena)
{
    for (size_t i = 0; i < m->n_merged; i++)
        for (uint32_t j = 0; j < m->merged[i]->count; j++) {
            const struct json_member *from = &m->merged[i]->members[j];

            if (mapping_find(m, from->name) == NULL)
                mapping_add(m, from->name, from->value);
        }
    return json_object_of(arena, m->members, (uint32_t)m->count);
}
