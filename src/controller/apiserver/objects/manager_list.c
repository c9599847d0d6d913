/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/objects/manager_list.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/json/field_set.h"
#include "lib/json/json.h"

struct manager_entry *
manager_list_add(struct arena *arena, struct manager_list *entries, const struct manager_entry *e)
{
    if (entries->count == entries->capacity) {
        unsigned capacity = entries->capacity ? entries->capacity * 2 : 8;
        struct manager_entry *longer = arena_new_array(arena, struct manager_entry, capacity);

        if (entries->count > 0)
            memcpy(longer, entries->items, entries->count * sizeof(*longer));
        entries->items = longer;
        entries->capacity = capacity;
    }
    entries->items[entries->count] = *e;
    return &entries->items[entries->count++];
}

static const char *
text_or_empty(const struct json *object, const char *name)
{
    const char *text = json_get_text(object, name);

    return text != NULL ? text : "";
}

bool
manager_list_decode(struct arena *arena, const struct json *list, struct manager_list *entries)
{
    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *item = json_at(list, i);
        const char *operation = text_or_empty(item, "operation");
        struct manager_entry e = {
            .name = text_or_empty(item, "manager"),
            .api_version = text_or_empty(item, "apiVersion"),
            .subresource = text_or_empty(item, "subresource"),
            .time = json_get_text(item, "time"),
            .applies = strcmp(operation, "Apply") == 0,
        };

        if ((!e.applies && strcmp(operation, "Update") != 0)
            || field_set_decode(arena, json_get(item, "fieldsV1"), &e.set, NULL) < 0)
            return false;
        manager_list_add(arena, entries, &e);
    }
    return true;
}

int
manager_compare_times(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

/* Managers that apply come first; within each group the order is by time. */
static int
compare_entries(const void *a, const void *b)
{
    const struct manager_entry *x = a, *y = b;
    int order = (int)y->applies - (int)x->applies;

    if (order == 0)
        order = manager_compare_times(x->time, y->time);
    if (order == 0)
        order = strcmp(x->name, y->name);
    if (order == 0)
        order = strcmp(x->api_version, y->api_version);
    if (order == 0)
        order = strcmp(x->subresource, y->subresource);
    return order;
}

struct json *
manager_list_encode(struct arena *arena, struct manager_list *entries)
{
    struct json *list = json_array(arena);

    if (entries->count > 1)
        qsort(entries->items, entries->count, sizeof(*entries->items), compare_entries);
    for (unsigned i = 0; i < entries->count; i++) {
        const struct manager_entry *e = &entries->items[i];
        struct json *item = json_object(arena);

        json_set_string(arena, item, "manager", e->name);
        json_set_string(arena, item, "operation", e->applies ? "Apply" : "Update");
        json_set_string(arena, item, "apiVersion", e->api_version);
        if (e->time != NULL)
            json_set_string(arena, item, "time", e->time);
        json_set_string(arena, item, "fieldsType", "FieldsV1");
        json_set(arena, item, "fieldsV1", field_set_encode(arena, e->set));
        if (e->subresource[0] != '\0')
            json_set_string(arena, item, "subresource", e->subresource);
        json_append(arena, list, item);
    }
    return list;
}

void
manager_list_drop_empty(struct manager_list *entries)
{
    unsigned n = 0;

    for (unsigned i = 0; i < entries->count; i++)
        if (!field_set_is_empty(entries->items[i].set))
            entries->items[n++] = entries->items[i];
    entries->count = n;
}
