/* SPDX-License-Identifier: Apache-2.0 */
/* shared_text.c - the count stands before the text, so that a pod needs only the
 * pointer, and giving it up needs no search
 */
#include "controller/scheduler/report/shared_text.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/map.h"

struct shared_entry {
    size_t users;
    char text[];
};

struct shared_text {
    struct map *by_text;
};

struct shared_text *
shared_text_new(void)
{
    struct shared_text *t = xnew(struct shared_text);

    t->by_text = map_new();
    return t;
}

void
shared_text_free(struct shared_text *t)
{
    if (t == NULL)
        return;
    map_free(t->by_text);
    free(t);
}

const char *
shared_text_take(struct shared_text *t, const char *text)
{
    struct shared_entry *entry = map_find(t->by_text, text);
    size_t size = strlen(text) + 1;

    if (entry == NULL) {
        entry = xmalloc(sizeof(*entry) + size);
        entry->users = 0;
        memcpy(entry->text, text, size);
        map_put(t->by_text, text, entry);
    }
    entry->users++;
    return entry->text;
}

void
shared_text_drop(struct shared_text *t, const char *taken)
{
    struct shared_entry *entry;

    if (taken == NULL)
        return;
    entry = (struct shared_entry *)((uintptr_t)taken - offsetof(struct shared_entry, text));
    if (--entry->users > 0)
        return;
    map_remove(t->by_text, taken);
    free(entry);
}

size_t
shared_text_count(const struct shared_text *t)
{
    return map_count(t->by_text);
}
