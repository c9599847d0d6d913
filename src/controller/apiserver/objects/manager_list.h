/* SPDX-License-Identifier: Apache-2.0 */
/* manager_list.h - metadata.managedFields: who manages which fields of an object
 *
 * Thread: the API's loop.
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
    const char *time; /* NULL: not known */
    bool applies;
    struct field_set *set;
};

/* Begins as {0}; in an arena. */
struct manager_list {
    struct manager_entry *items;
    unsigned count, capacity;
};

/* The copy in the list, until the next is added. */
struct manager_entry *manager_list_add(struct arena *arena,
                                       struct manager_list *list,
                                       const struct manager_entry *e);

/* Takes out those that manage nothing. */
void manager_list_drop_empty(struct manager_list *list);

/* As strcmp does; one that is not known is the oldest. */
int manager_compare_times(const char *a, const char *b);

/* JSON. Decode adds to the list; false: it is no such list. Encode sorts it. */
bool manager_list_decode(struct arena *arena,
                         const struct json *json,
                         struct manager_list *list);
struct json *manager_list_encode(struct arena *arena,
                                 struct manager_list *list);
