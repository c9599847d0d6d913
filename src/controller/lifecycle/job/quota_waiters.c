/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job/quota_waiters.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/heap.h"
#include "lib/base/list.h"
#include "lib/base/map.h"
#include "lib/json/json.h"

#define WORDS     "exceeded quota"
#define AT_A_TIME 64u /* most Jobs that are woken when a quota has room */
#define ALL       UINT32_MAX

/* The waiting Jobs of one namespace; freed with the last one. */
struct line {
    char *namespace;
    struct heap *waiting;
    struct list tried; /* woken since the quota last had room */
};

struct quota_waiter {
    struct list link; /* in tried, if it is not in waiting */
    size_t place;     /* in waiting */
    struct line *line;
    char *key;
    int64_t submitted_us;
};

struct quota_waiters {
    quota_waiters_wake_fn *wake;
    void *context;
    struct map *lines;   /* by namespace */
    struct map *waiters; /* by key */
};

/* ---- Life ---- */

static bool
is_before(const void *a, const void *b, void *context)
{
    const struct quota_waiter *x = a, *y = b;

    (void)context;
    if (x->submitted_us != y->submitted_us)
        return x->submitted_us < y->submitted_us;
    return strcmp(x->key, y->key) < 0;
}

static void
free_waiter(struct quota_waiter *waiter)
{
    free(waiter->key);
    free(waiter);
}

static void
free_line(struct line *line)
{
    heap_free(line->waiting);
    free(line->namespace);
    free(line);
}

struct quota_waiters *
quota_waiters_new(quota_waiters_wake_fn *wake, void *context)
{
    struct quota_waiters *w = xnew(struct quota_waiters);

    w->wake = wake;
    w->context = context;
    w->lines = map_new();
    w->waiters = map_new();
    return w;
}

void
quota_waiters_free(struct quota_waiters *w)
{
    size_t at = 0;
    void *item;

    if (w == NULL)
        return;
    while (map_next(w->waiters, &at, NULL, &item))
        free_waiter(item);
    at = 0;
    while (map_next(w->lines, &at, NULL, &item))
        free_line(item);
    map_free(w->waiters);
    map_free(w->lines);
    free(w);
}

/* ---- The waiters of one namespace ---- */

static struct line *
line_of(struct quota_waiters *w, const char *namespace)
{
    struct line *line = map_find(w->lines, namespace);

    if (line != NULL)
        return line;
    line = xnew(struct line);
    line->namespace = xstrdup(namespace);
    line->waiting = heap_new(is_before, NULL, offsetof(struct quota_waiter, place));
    list_init(&line->tried);
    map_put(w->lines, namespace, line);
    return line;
}

static void
forget_if_empty(struct quota_waiters *w, struct line *line)
{
    if (heap_count(line->waiting) > 0 || !list_is_empty(&line->tried))
        return;
    map_remove(w->lines, line->namespace);
    free_line(line);
}

static void
try_first(struct quota_waiters *w, struct line *line, uint32_t most)
{
    struct quota_waiter *waiter;

    for (uint32_t i = 0; i < most && heap_count(line->waiting) > 0; i++) {
        waiter = heap_pop(line->waiting);
        list_add_last(&line->tried, &waiter->link);
        w->wake(waiter->key, w->context);
    }
}

/* Puts Jobs that were woken before back into their places. */
static void
begin_anew(struct line *line)
{
    while (!list_is_empty(&line->tried)) {
        struct quota_waiter *waiter = container_of(line->tried.next, struct quota_waiter, link);

        list_remove(&waiter->link);
        heap_push(line->waiting, waiter);
    }
}

void
quota_waiters_refuse(struct quota_waiters *w, const struct object *job, const char *words)
{
    char key[OBJECT_KEY_SIZE];
    struct quota_waiter *waiter;

    object_key(job, key);
    if (words == NULL || strstr(words, WORDS) == NULL || map_find(w->waiters, key) != NULL)
        return;
    waiter = xnew(struct quota_waiter);
    waiter->key = xstrdup(key);
    waiter->submitted_us = job->meta->created_at_us;
    waiter->place = HEAP_NOWHERE;
    waiter->line = line_of(w, job->meta->namespace);
    heap_push(waiter->line->waiting, waiter);
    map_put(w->waiters, key, waiter);
}

void
quota_waiters_remove(struct quota_waiters *w, const char *key)
{
    struct quota_waiter *waiter = map_remove(w->waiters, key);
    struct line *line = waiter != NULL ? waiter->line : NULL;

    if (waiter == NULL)
        return;
    if (waiter->place != HEAP_NOWHERE)
        heap_remove(line->waiting, waiter);
    else {
        list_remove(&waiter->link);
        try_first(w, line, 1);
    }
    free_waiter(waiter);
    forget_if_empty(w, line);
}

/* ---- Quotas ---- */

static const struct json *
status_of(const struct object *quota, const char *member, struct arena *arena)
{
    return quota != NULL ? json_get(json_get(object_tree(quota, arena), "status"), member) : NULL;
}

static bool
has_changed(const struct object *old_quota, const struct object *new_quota, struct arena *arena)
{
    return new_quota == NULL
           || !json_equals(status_of(old_quota, "hard", arena),
                           status_of(new_quota, "hard", arena));
}

/* Whether any resource has less use than before. */
static bool
has_fallen(const struct object *old_quota, const struct object *new_quota, struct arena *arena)
{
    const struct json *was = status_of(old_quota, "used", arena);
    const struct json *is = status_of(new_quota, "used", arena);

    for (uint32_t i = 0; i < json_count(was); i++) {
        const char *before = json_text(was->members[i].value);
        const char *now = json_get_text(is, was->members[i].name);
        struct quantity a, b;

        if (before != NULL && now != NULL && quantity_parse(before, &a) == 0
            && quantity_parse(now, &b) == 0 && quantity_compare(&b, &a) < 0)
            return true;
    }
    return false;
}

void
quota_waiters_see_quota(struct quota_waiters *w, const struct object *old_quota,
                        const struct object *new_quota)
{
    const struct object *quota = new_quota != NULL ? new_quota : old_quota;
    struct line *line = map_find(w->lines, quota->meta->namespace);
    CLEANUP(arena_freep) struct arena *arena = NULL;
    bool is_all;

    if (line == NULL || old_quota == NULL)
        return;
    arena = arena_new(0);
    is_all = has_changed(old_quota, new_quota, arena);
    if (!is_all && !has_fallen(old_quota, new_quota, arena))
        return;
    begin_anew(line);
    try_first(w, line, is_all ? ALL : AT_A_TIME);
}
