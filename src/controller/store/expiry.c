/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/expiry.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/store/memory/object_index.h"
#include "controller/store/store_state.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/list.h"
#include "lib/json/json.h"
#include "lib/loop/timer.h"

/* Removed at a time, so that many old events do not block the loop. */
#define AT_ONCE       100
#define LOOK_EVERY_MS 10000
#define MORE_AFTER_MS 10

struct aging {
    struct list link;
    struct entry *entry;
    int64_t written_at_us;
};

struct expiry {
    struct store *store;
    struct timer *timer;
    struct list oldest_first;
    size_t count;
};

static bool
has_expired(const struct expiry *x, const struct aging *a)
{
    const struct store_settings *settings = &x->store->settings;
    int64_t now = clock_monotonic_us(settings->clock);

    return x->count > settings->event_limit
           || a->written_at_us < now - settings->event_age_s * 1000000;
}

/* The object's last state, at the revision of the removal. */
static const struct object *
last_state(struct store *s, const struct object *object, int64_t revision)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(8 * object->length);
    struct json *tree = object_tree(object, arena);

    json_set(arena, json_make_object(arena, tree, "metadata"), "resourceVersion",
             json_stringf(arena, "%" PRId64, revision));
    return object_new_packed(object->kind, tree, s->dictionaries);
}

static void
remove_one(struct store *s, struct entry *entry)
{
    const struct object *object = entry->heads[STORE_PENDING];
    struct store_txn *txn;

    if (object == NULL) /* another transaction removes it already */
        return;
    txn = store_begin(s);
    store_txn_remove(txn, last_state(s, object, store_txn_revision(txn)));
    store_commit(txn, NULL, NULL);
}

/* The entry is taken out of the list at once, since the removal is published
 * only later.
 */
static void
take_out(struct expiry *x, struct aging *a)
{
    list_remove(&a->link);
    x->count--;
    a->entry->aging = NULL;
    free(a);
}

void
expiry_remove_expired(struct expiry *x)
{
    unsigned n = 0;

    while (!list_is_empty(&x->oldest_first)) {
        struct aging *a = container_of(x->oldest_first.next, struct aging, link);
        struct entry *entry = a->entry;

        if (x->store->has_failed || !has_expired(x, a))
            break;
        if (n++ == AT_ONCE) {
            timer_start(x->timer, MORE_AFTER_MS);
            return;
        }
        take_out(x, a);
        remove_one(x->store, entry);
    }
    timer_start(x->timer, LOOK_EVERY_MS);
}

static void
on_time(void *arg)
{
    expiry_remove_expired(arg);
}

struct expiry *
expiry_new(struct store *store)
{
    struct expiry *x = xnew(struct expiry);

    x->store = store;
    list_init(&x->oldest_first);
    x->timer = timer_new(store->settings.loop, on_time, x);
    timer_start(x->timer, LOOK_EVERY_MS);
    return x;
}

void
expiry_free(struct expiry *x)
{
    if (x == NULL)
        return;
    while (!list_is_empty(&x->oldest_first))
        take_out(x, container_of(x->oldest_first.next, struct aging, link));
    timer_free(x->timer);
    free(x);
}

void
expiry_touch(struct expiry *x, struct entry *entry)
{
    struct aging *a = entry->aging;

    if (a == NULL) {
        a = entry->aging = xnew(struct aging);
        a->entry = entry;
        list_init(&a->link);
        x->count++;
    }
    a->written_at_us = clock_monotonic_us(x->store->settings.clock);
    list_remove(&a->link);
    list_add_last(&x->oldest_first, &a->link);
}

void
expiry_forget(struct expiry *x, struct entry *entry)
{
    if (entry->aging != NULL)
        take_out(x, entry->aging);
}
