/* SPDX-License-Identifier: Apache-2.0 */
/* Users give limits that are many times too long, and each in his own way, so what is
 * predicted is a part of the limit and not a time. The harmonic mean is kept beside the plain
 * one, because "probably short" is what an order by shortness needs, and one long run must not
 * hide many short ones. Levels that have seen few runs count little: a new user is predicted
 * by what all users do.
 *
 * Levels are bounded for each user and not in all, so that somebody who submits with a
 * thousand limits forgets only what he did himself.
 */
#include "controller/scheduler/order/run_history.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/list.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"

/* The weight of the newest run in the means of its levels, and in those of all
 * users.
 */
#define NEWEST        0.3
#define NEWEST_OF_ALL 0.002

/* Shorter runs count as this long. */
#define SHORTEST_S 10

#define LEVELS   3
#define KEY_SIZE 72

/* One map of the keys of all running pods would grow in steps of 20 ms. */
#define FROZEN_PARTS 64u

struct run_means {
    double weight;  /* the number of runs, newer ones count more */
    double share;   /* run time / limit */
    double inverse; /* limit / run time */
};

struct level {
    struct list link; /* of its user; the last one used is at the end */
    struct run_means means;
    char key[KEY_SIZE];
};

struct run_user {
    struct list levels;
    unsigned n_levels;
};

struct run_history {
    struct run_means all;
    struct map *users;
    struct map *levels;
    bool is_frozen;
    struct map *frozen[FROZEN_PARTS]; /* predictions by the key of the last level */
};

struct run_history *
run_history_new(void)
{
    struct run_history *h = xnew(struct run_history);

    h->users = map_new();
    h->levels = map_new();
    return h;
}

struct run_history *
run_history_new_frozen(void)
{
    struct run_history *h = run_history_new();

    h->is_frozen = true;
    for (unsigned i = 0; i < FROZEN_PARTS; i++)
        h->frozen[i] = map_new();
    return h;
}

static void
free_frozen(struct map *frozen)
{
    size_t at = 0;
    void *value;

    if (frozen == NULL)
        return;
    while (map_next(frozen, &at, NULL, &value))
        free(value);
    map_free(frozen);
}

void
run_history_free(struct run_history *h)
{
    size_t at = 0;
    void *value;

    if (h == NULL)
        return;
    while (map_next(h->levels, &at, NULL, &value))
        free(value);
    at = 0;
    while (map_next(h->users, &at, NULL, &value))
        free(value);
    map_free(h->levels);
    map_free(h->users);
    for (unsigned i = 0; i < FROZEN_PARTS; i++)
        free_frozen(h->frozen[i]);
    free(h);
}

static void
format_key(const struct run_kind *kind, unsigned level, char out[KEY_SIZE])
{
    CLEANUP_STRBUF struct strbuf key;

    strbuf_init_in(&key, out, KEY_SIZE);
    strbuf_add_int(&key, kind->user);
    if (level > 0) {
        strbuf_add_char(&key, ' ');
        strbuf_add_int(&key, kind->limit_s);
    }
    if (level > 1) {
        strbuf_add_char(&key, ' ');
        strbuf_add_int(&key, kind->width);
    }
}

static struct run_user *
make_user(struct run_history *h, const char *key)
{
    struct run_user *user = map_find(h->users, key);

    if (user == NULL) {
        user = xnew(struct run_user);
        list_init(&user->levels);
        map_put(h->users, key, user);
    }
    return user;
}

/* A user with many limits loses levels of that user only. */
static void
forget_oldest(struct run_history *h, struct run_user *user)
{
    struct level *oldest = container_of(user->levels.next, struct level, link);

    list_remove(&oldest->link);
    map_remove(h->levels, oldest->key);
    free(oldest);
    user->n_levels--;
}

static struct level *
make_level(struct run_history *h, struct run_user *user, const char *key)
{
    struct level *l = map_find(h->levels, key);

    if (l == NULL) {
        if (user->n_levels >= RUN_HISTORY_LEVELS)
            forget_oldest(h, user);
        l = xnew(struct level);
        snprintf(l->key, sizeof(l->key), "%s", key);
        list_init(&l->link);
        map_put(h->levels, key, l);
        user->n_levels++;
    }
    list_remove(&l->link);
    list_add_last(&user->levels, &l->link);
    return l;
}

static void
learn(struct run_means *m, double share, double inverse, double newest)
{
    m->weight = m->weight * (1 - newest) + 1;
    m->share += (share - m->share) / m->weight;
    m->inverse += (inverse - m->inverse) / m->weight;
}

void
run_history_add(struct run_history *h, const struct run_kind *kind, int64_t run_s)
{
    struct run_user *user;
    char key[KEY_SIZE];
    double share, inverse;

    if (run_s <= 0 || kind->limit_s <= 0 || h->is_frozen)
        return;
    share = (double)run_s / (double)kind->limit_s;
    inverse = (double)kind->limit_s / (double)(run_s > SHORTEST_S ? run_s : SHORTEST_S);
    share = share > 1 ? 1 : share;
    inverse = inverse < 1 ? 1 : inverse;
    learn(&h->all, share, inverse, NEWEST_OF_ALL);
    format_key(kind, 0, key);
    user = make_user(h, key);
    for (unsigned i = 0; i < LEVELS; i++) {
        format_key(kind, i, key);
        learn(&make_level(h, user, key)->means, share, inverse, NEWEST);
    }
}

static struct map *
part_of(const struct run_history *h, const char *key)
{
    return h->frozen[(map_hash(key, strlen(key)) >> 32) % FROZEN_PARTS];
}

void
run_history_freeze(struct run_history *frozen, struct run_history *from,
                   const struct run_kind *kind)
{
    struct run_prediction *p;
    char key[KEY_SIZE];

    format_key(kind, LEVELS - 1, key);
    if (map_find(part_of(frozen, key), key) != NULL)
        return;
    p = xnew(struct run_prediction);
    *p = run_history_predict(from, kind);
    map_put(part_of(frozen, key), key, p);
}

static struct run_prediction
find_frozen(const struct run_history *h, const struct run_kind *kind)
{
    const struct run_prediction *p;
    char key[KEY_SIZE];

    format_key(kind, LEVELS - 1, key);
    p = map_find(part_of(h, key), key);
    return p != NULL ? *p
                     : (struct run_prediction){
                         .run_s = (double)kind->limit_s,
                         .short_s = (double)kind->limit_s,
                     };
}

struct run_prediction
run_history_predict(struct run_history *h, const struct run_kind *kind)
{
    double limit_s = (double)kind->limit_s;
    double share = h->all.weight > 0 ? h->all.share : 1;
    double inverse = h->all.weight > 0 ? h->all.inverse : 1;
    struct run_prediction p;

    if (h->is_frozen)
        return find_frozen(h, kind);
    for (unsigned i = 0; i < LEVELS; i++) {
        char key[KEY_SIZE];
        const struct level *l;
        const struct run_means *m;

        format_key(kind, i, key);
        l = map_find(h->levels, key);
        if (l == NULL)
            continue;
        m = &l->means;
        share = (m->weight * m->share + share) / (m->weight + 1);
        inverse = (m->weight * m->inverse + inverse) / (m->weight + 1);
    }
    p.run_s = fmax(1, fmin(share * limit_s, limit_s));
    p.short_s = fmax(SHORTEST_S, fmin(limit_s / inverse, p.run_s));
    return p;
}

double
run_prediction_key(const struct run_prediction *p)
{
    return log(fmax(p->run_s, SHORTEST_S)) + log(p->short_s);
}
