/* SPDX-License-Identifier: Apache-2.0 */
/* Limits for each user are only worth having if asking them costs nothing, so the sums are
 * kept with every change of the pending head, from which a failed commit goes back, and are
 * never computed by a scan. A limit of requests is one number and a time: what a user has
 * spent shrinks as time passes, which allows a burst and needs no timer.
 */
#include "controller/apiserver/access/user_counts.h"

#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/request/kind_hooks.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/map.h"

#define BURST_S    2    /* of requests, after a pause */
#define KEPT_USERS 4096 /* with more, sweep() removes unused entries */
#define SECOND_US  1000000

struct user_count_entry {
    uid_t uid;
    struct user_count count;
    struct {
        int64_t spent_us;
        int64_t at_us; /* when spent_us was updated */
    } allowances[N_USER_ALLOWANCES];
};

struct user_counts {
    struct clock *clock;
    struct map *users;
    size_t n_kept; /* call sweep() at this number */
};

/* Formats the uid's hex digits as letters. */
static void
format_key(uid_t uid, char out[9])
{
    for (unsigned i = 0; i < 8; i++)
        out[i] = (char)('a' + (uid >> 4 * i & 15));
    out[8] = '\0';
}

void
user_counts_free(struct user_counts *counts)
{
    size_t at = 0;
    void *entry;

    if (counts == NULL)
        return;
    while (map_next(counts->users, &at, NULL, &entry))
        free(entry);
    map_free(counts->users);
    free(counts);
}

struct user_counts *
user_counts_new(struct clock *clock)
{
    struct user_counts *counts = xnew(struct user_counts);

    counts->clock = clock;
    counts->users = map_new();
    counts->n_kept = KEPT_USERS;
    return counts;
}

static bool
has_nothing(const struct user_count_entry *e)
{
    static const struct user_count nothing;

    return memcmp(&e->count, &nothing, sizeof(nothing)) == 0;
}

/* Removes users who have nothing and have not made a request for a minute. The
 * next sweep is at twice the remaining number, so the cost for each new user is
 * small.
 */
static void
sweep(struct user_counts *counts)
{
    int64_t before_us = clock_monotonic_us(counts->clock) - 60 * SECOND_US;
    size_t at = 0;
    const char *key;
    void *value;

    while (map_next(counts->users, &at, &key, &value)) {
        struct user_count_entry *e = value;

        if (!has_nothing(e) || e->allowances[USER_REQUEST].at_us > before_us)
            continue;
        (void)map_remove(counts->users, key);
        free(e);
    }
    counts->n_kept = 2 * map_count(counts->users) + KEPT_USERS;
}

static struct user_count_entry *
entry_of(struct user_counts *counts, uid_t uid)
{
    char key[9];
    struct user_count_entry *e;

    format_key(uid, key);
    e = map_find(counts->users, key);
    if (e != NULL)
        return e;
    if (map_count(counts->users) >= counts->n_kept)
        sweep(counts);
    e = xnew(struct user_count_entry);
    e->uid = uid;
    (void)map_put(counts->users, key, e);
    return e;
}

bool
user_counts_measure(const struct object *object, uid_t *ret_uid, struct user_count *ret_count)
{
    *ret_count = (struct user_count){.objects = 1, .bytes = object->length};
    return object_owner(object, ret_uid);
}

void
user_counts_measure_derived(const struct object *object, struct user_count *count)
{
    /* Objects that resemble another take little memory but full size on the
     * disk. For objects that Kiln itself creates the size in memory counts,
     * because users cannot predict it.
     */
    count->objects = 0;
    count->bytes = (int64_t)object_bytes(object);
}

static bool
measure(const struct object *object, uid_t *ret_uid, struct user_count *ret_count)
{
    const struct kind_hooks *hooks;

    if (object == NULL)
        return false;
    hooks = kind_hooks_find(object->kind);
    return hooks->measure != NULL ? hooks->measure(object, ret_uid, ret_count)
                                  : user_counts_measure(object, ret_uid, ret_count);
}

static void
add(struct user_counts *counts, const struct object *object, int sign)
{
    struct user_count own;
    struct user_count_entry *e;
    uid_t uid;

    if (!measure(object, &uid, &own))
        return;
    e = entry_of(counts, uid);
    e->count.objects += sign * own.objects;
    e->count.bytes += sign * own.bytes;
    e->count.pods += sign * own.pods;
    e->count.nodes += sign * own.nodes;
}

void
user_counts_moved(struct user_counts *counts, const struct object *before,
                  const struct object *after)
{
    add(counts, after, 1);
    add(counts, before, -1);
}

void
user_counts_begin_stream(struct user_counts *counts, uid_t uid, enum user_stream stream)
{
    entry_of(counts, uid)->count.streams[stream]++;
}

void
user_counts_end_stream(struct user_counts *counts, uid_t uid, enum user_stream stream)
{
    entry_of(counts, uid)->count.streams[stream]--;
}

/* The amount spent grows with each request by the time of one request, and
 * shrinks as time passes.
 */
bool
user_counts_take(struct user_counts *counts, uid_t uid, enum user_allowance allowance,
                 int64_t per_second)
{
    struct user_count_entry *e = entry_of(counts, uid);
    int64_t now_us = clock_monotonic_us(counts->clock);
    int64_t rested_us = now_us - e->allowances[allowance].at_us;
    int64_t *spent_us = &e->allowances[allowance].spent_us;

    *spent_us = *spent_us > rested_us ? *spent_us - rested_us : 0;
    e->allowances[allowance].at_us = now_us;
    if (*spent_us + SECOND_US / per_second > BURST_S * SECOND_US)
        return false;
    *spent_us += SECOND_US / per_second;
    return true;
}

void
user_counts_charge(struct user_counts *counts, uid_t uid, enum user_allowance allowance,
                   int64_t per_second, unsigned count)
{
    entry_of(counts, uid)->allowances[allowance].spent_us += count * (SECOND_US / per_second);
}

struct user_count
user_counts_get(const struct user_counts *counts, uid_t uid)
{
    static const struct user_count nothing;
    const struct user_count_entry *e;
    char key[9];

    format_key(uid, key);
    e = map_find(counts->users, key);
    return e != NULL ? e->count : nothing;
}
