/* SPDX-License-Identifier: Apache-2.0 */
/* manager_list.h - metadata.managedFields as a list of managers and their
 * fields
 *
 * Thread:  the API's loop.
 */
#pragma once

#include <stdbool.h>

struct arena;
struct field_set;
struct json;

/* Texts are the list's, or live as long as its arena. */
struct manager_entry {
    const char *name;
    const char *api_version;
    const char *subresource;
    const char *time; /* NULL: unknown */
    bool applies;
    struct field_set *set;
};

/* Starts as {0}; its memory is in an arena. */
struct manager_list {
    struct manager_entry *items;
    unsigned count, capacity;
};

/* Returns the copy in the list, which is valid until the next call. */
struct manager_entry *manager_list_add(struct arena *arena, struct manager_list *list,
                                       const struct manager_entry *e);

/* Removes managers without fields. */
void manager_list_drop_empty(struct manager_list *list);

/* Compares as strcmp does; an unknown time is the oldest. */
int manager_compare_times(const char *a, const char *b);

/* JSON. Decode adds to the list, and returns false when the JSON is not a valid
 * list. Encode sorts the list.
 */
bool manager_list_decode(struct arena *arena, const struct json *json, struct manager_list *list);
struct json *manager_list_encode(struct arena *arena, struct manager_list *list);
