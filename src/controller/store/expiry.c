/* SPDX-License-Identifier: Apache-2.0 */
/* Events are bounded by age and by number. If the oldest one went when there are too
 * many, one user who makes tens of thousands would take from all others what happened
 * to their jobs. So the owner who has the most loses the oldest one, and whoever has
 * few keeps all of them, as with shares of anything else. The events of the system
 * (about nodes, for instance) and those of the users are two halves of the room: what one
 * half does not use the other may, but neither can push the other out of its half.
 *
 * The owner with the most is on top of a heap, so each event costs O(log owners).
 */
#include "controller/store/expiry.h"

#include <stdlib.h>

#include "controller/store/memory/object_index.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/heap.h"
#include "lib/base/list.h"
#include "lib/base/map.h"
#include "lib/loop/timer.h"

/* Removed at a time, so that many old events do not block the loop. */
#define AT_ONCE       100
#define LOOK_EVERY_MS 10000
#define MORE_AFTER_MS 10

/* Oldest first, in both; what is in `old` is older than what was touched. */
struct ages {
    struct list old, touched;
};

struct half {
    struct heap *owners; /* the one with the most on top */
    size_t count;        /* of their objects */
};

struct owner {
    struct half *half;
    char *name;
    size_t count;
    size_t place; /* in the heap */
    struct ages ages;
};

struct aging {
    struct list link;
    struct list owner_link;
    struct owner *owner;
    struct entry *entry;
    int64_t written_at_us;
};

struct expiry {
    struct expiry_settings settings;
    struct timer *timer;
    struct ages ages;
    struct map *owners; /* by name */
    struct half users, system;
    bool is_soon; /* the timer runs because there are too many */
};

static void
ages_init(struct ages *ages)
{
    list_init(&ages->old);
    list_init(&ages->touched);
}

static struct list *
oldest(const struct ages *ages)
{
    return list_is_empty(&ages->old) ? ages->touched.next : ages->old.next;
}

/* --- owners -------------------------------------------------------------------------- */

static bool
has_more(const void *a, const void *b, void *context)
{
    const struct owner *one = a, *other = b;

    (void)context;
    return one->count > other->count;
}

static struct owner *
owner_of(struct expiry *x, const struct object *object)
{
    struct expiry_owner is = {0};
    struct owner *owner;

    x->settings.find_owner(object, &is, x->settings.context);
    owner = map_find(x->owners, is.name);
    if (owner != NULL)
        return owner;
    owner = xnew(struct owner);
    owner->half = is.is_user ? &x->users : &x->system;
    owner->name = xstrdup(is.name);
    ages_init(&owner->ages);
    map_put(x->owners, owner->name, owner);
    heap_push(owner->half->owners, owner);
    return owner;
}

static void
count(struct expiry *x, struct owner *owner, bool is_more)
{
    owner->count = is_more ? owner->count + 1 : owner->count - 1;
    owner->half->count = is_more ? owner->half->count + 1 : owner->half->count - 1;
    heap_moved(owner->half->owners, owner);
    if (owner->count > 0)
        return;
    heap_remove(owner->half->owners, owner);
    map_remove(x->owners, owner->name);
    free(owner->name);
    free(owner);
}

static bool
has_too_many(const struct expiry *x)
{
    return x->users.count + x->system.count > x->settings.limit;
}

/* If there are too many, the larger half has more than its share. */
static struct aging *
one_too_many(const struct expiry *x)
{
    const struct half *half = x->system.count > x->users.count ? &x->system : &x->users;
    const struct owner *most;

    if (!has_too_many(x))
        return NULL;
    most = heap_top(half->owners);
    return container_of(oldest(&most->ages), struct aging, owner_link);
}

static struct aging *
one_too_old(const struct expiry *x)
{
    int64_t now = clock_monotonic_us(x->settings.clock);
    struct aging *a;

    if (x->users.count + x->system.count == 0)
        return NULL;
    a = container_of(oldest(&x->ages), struct aging, link);
    return a->written_at_us < now - x->settings.age_s * 1000000 ? a : NULL;
}

/* The entry is taken out of the lists at once, since the removal is published
 * only later.
 */
static void
take_out(struct expiry *x, struct aging *a)
{
    list_remove(&a->link);
    list_remove(&a->owner_link);
    count(x, a->owner, false);
    a->entry->aging = NULL;
    free(a);
}

void
expiry_remove_expired(struct expiry *x)
{
    struct aging *a;
    unsigned n = 0;

    x->is_soon = false;
    while (!x->settings.is_off(x->settings.context)
           && ((a = one_too_many(x)) != NULL || (a = one_too_old(x)) != NULL)) {
        struct entry *entry = a->entry;

        if (n++ == AT_ONCE) {
            timer_start(x->timer, MORE_AFTER_MS);
            return;
        }
        take_out(x, a);
        x->settings.remove(entry, x->settings.context);
    }
    timer_start(x->timer, LOOK_EVERY_MS);
}

static void
on_time(void *arg)
{
    expiry_remove_expired(arg);
}

struct expiry *
expiry_new(const struct expiry_settings *settings)
{
    struct expiry *x = xnew(struct expiry);

    x->settings = *settings;
    ages_init(&x->ages);
    x->owners = map_new();
    x->users.owners = heap_new(has_more, NULL, offsetof(struct owner, place));
    x->system.owners = heap_new(has_more, NULL, offsetof(struct owner, place));
    x->timer = timer_new(settings->loop, on_time, x);
    timer_start(x->timer, LOOK_EVERY_MS);
    return x;
}

void
expiry_free(struct expiry *x)
{
    if (x == NULL)
        return;
    while (x->users.count + x->system.count > 0)
        take_out(x, container_of(oldest(&x->ages), struct aging, link));
    heap_free(x->users.owners);
    heap_free(x->system.owners);
    map_free(x->owners);
    timer_free(x->timer);
    free(x);
}

static void
remove_soon(struct expiry *x)
{
    if (x->is_soon || !has_too_many(x))
        return;
    x->is_soon = true;
    timer_start(x->timer, MORE_AFTER_MS);
}

/* An object stays with its first owner: what it is about may be gone when it is written
 * again.
 */
static struct aging *
hold(struct expiry *x, struct entry *entry, const struct object *object)
{
    struct aging *a = entry->aging;

    if (a == NULL) {
        a = entry->aging = xnew(struct aging);
        a->entry = entry;
        a->owner = owner_of(x, object);
        list_init(&a->link);
        list_init(&a->owner_link);
        count(x, a->owner, true);
        remove_soon(x);
    }
    a->written_at_us = clock_monotonic_us(x->settings.clock);
    list_remove(&a->link);
    list_remove(&a->owner_link);
    return a;
}

void
expiry_touch(struct expiry *x, struct entry *entry, const struct object *object)
{
    struct aging *a = hold(x, entry, object);

    list_add_last(&x->ages.touched, &a->link);
    list_add_last(&a->owner->ages.touched, &a->owner_link);
}

void
expiry_add_old(struct expiry *x, struct entry *entry, const struct object *object)
{
    struct aging *a = hold(x, entry, object);

    list_add_last(&x->ages.old, &a->link);
    list_add_last(&a->owner->ages.old, &a->owner_link);
}

void
expiry_forget(struct expiry *x, struct entry *entry)
{
    if (entry->aging != NULL)
        take_out(x, entry->aging);
}
