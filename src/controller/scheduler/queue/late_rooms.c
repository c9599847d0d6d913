/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/queue/late_rooms.h"

#include "lib/base/alloc.h"
#include "lib/base/text.h"

#define LATE_MOST 64u

struct late_rooms {
    uint64_t next;
    char *nodes[LATE_MOST]; /* of the last events, by their numbers */
};

struct late_rooms *
late_rooms_new(void)
{
    struct late_rooms *l = xnew(struct late_rooms);

    l->next = 1;
    return l;
}

void
late_rooms_free(struct late_rooms *l)
{
    if (l == NULL)
        return;
    for (unsigned i = 0; i < LATE_MOST; i++)
        free(l->nodes[i]);
    free(l);
}

void
late_rooms_add(struct late_rooms *l, const char *node)
{
    char **place = &l->nodes[l->next++ % LATE_MOST];

    if (text_equals(*place, node))
        return;
    free(*place);
    *place = node != NULL ? xstrdup(node) : NULL;
}

uint64_t
late_rooms_next(const struct late_rooms *l)
{
    return l->next;
}

static bool
was_looked_at(const struct late_rooms *l, uint64_t from, uint64_t at)
{
    while (from < at && !text_equals(l->nodes[from % LATE_MOST], l->nodes[at % LATE_MOST]))
        from++;
    return from < at;
}

uint64_t
late_rooms_find(const struct late_rooms *l, uint64_t from,
                bool (*has_room)(const char *node, void *context), void *context)
{
    if (l->next - from > LATE_MOST)
        return from;
    for (uint64_t at = from; at < l->next; at++) {
        const char *node = l->nodes[at % LATE_MOST];

        if (node != NULL && !was_looked_at(l, from, at) && has_room(node, context))
            return at;
    }
    return 0;
}

bool
late_rooms_may_help(const struct late_rooms *l, uint64_t from,
                    bool (*has_room)(const char *node, void *context), void *context)
{
    if (l->next - from > LATE_MOST)
        return true;
    for (uint64_t at = from; at < l->next; at++) {
        const char *node = l->nodes[at % LATE_MOST];

        if (node == NULL)
            return true;
        if (!was_looked_at(l, from, at) && has_room(node, context))
            return true;
    }
    return false;
}
