/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cgroup/cgpool.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/cgroup/cgroot.h"
#include "agent/cgroup/cgroup.h"
#include "agent/cgroup/cgroup_state.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"

/* the most used cgroups that are kept for reuse */
#define KEPT_MOST 64u

struct stack {
    struct cgroup **items;
    unsigned count;
    unsigned capacity;
};

struct cgpool {
    struct cgroot *root;
    char *prefix;
    pthread_mutex_t lock; /* protects all members below */
    struct stack ready;
    struct stack retired;
    bool has_new_retired; /* since the last sweep began */
    unsigned long next_number;
    unsigned generation;
};

static void
push(struct stack *s, struct cgroup *c)
{
    xgrow(s->items, s->count, s->capacity);
    s->items[s->count++] = c;
}

struct cgpool *
cgpool_new(struct cgroot *root, const char *prefix)
{
    struct cgpool *p = xnew(struct cgpool);

    p->root = root;
    p->prefix = xstrdup(prefix);
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

void
cgpool_free(struct cgpool *p)
{
    if (p == NULL)
        return;
    while (p->ready.count > 0) {
        struct cgroup *c = p->ready.items[--p->ready.count];

        cgroup_remove(c, NULL);
        cgroup_free(c);
    }
    while (p->retired.count > 0)
        cgroup_free(p->retired.items[--p->retired.count]);
    free(p->ready.items);
    free(p->retired.items);
    pthread_mutex_destroy(&p->lock);
    free(p->prefix);
    free(p);
}

struct cgroup *
cgpool_take(struct cgpool *p)
{
    struct cgroup *c = NULL;

    pthread_mutex_lock(&p->lock);
    if (p->ready.count > 0)
        c = p->ready.items[--p->ready.count];
    pthread_mutex_unlock(&p->lock);
    return c;
}

static bool
retire(struct cgpool *p, struct cgroup *c TAKES, bool may_reuse)
{
    bool is_first;

    c->may_reuse = may_reuse;
    pthread_mutex_lock(&p->lock);
    push(&p->retired, c);
    is_first = !p->has_new_retired;
    p->has_new_retired = true;
    pthread_mutex_unlock(&p->lock);
    return is_first;
}

bool
cgpool_retire(struct cgpool *p, struct cgroup *c TAKES)
{
    return retire(p, c, false);
}

bool
cgpool_give_back(struct cgpool *p, struct cgroup *c TAKES)
{
    return retire(p, c, true);
}

void
cgpool_renew(struct cgpool *p)
{
    pthread_mutex_lock(&p->lock);
    p->generation++;
    while (p->ready.count > 0)
        push(&p->retired, p->ready.items[--p->ready.count]);
    pthread_mutex_unlock(&p->lock);
}

void
cgpool_forget(struct cgpool *p)
{
    struct cgroup *c;

    while ((c = cgpool_take(p)) != NULL)
        cgroup_free(c);
}

static unsigned
count_ready(struct cgpool *p)
{
    unsigned n;

    pthread_mutex_lock(&p->lock);
    n = p->ready.count;
    pthread_mutex_unlock(&p->lock);
    return n;
}

int
cgpool_make(struct cgpool *p, struct cgroup **ret_c, struct error *err)
{
    CLEANUP_FREE char *name = NULL;
    unsigned generation;
    int r;

    pthread_mutex_lock(&p->lock);
    name = xasprintf("%s%lu", p->prefix, p->next_number++);
    generation = p->generation;
    pthread_mutex_unlock(&p->lock);
    r = cgroot_make(p->root, name, ret_c, err);
    if (r == 0)
        (*ret_c)->generation = generation;
    return r;
}

/* A cgroup that was made before a renewal goes to the next sweep instead. */
static void
add_ready(struct cgpool *p, struct cgroup *c)
{
    pthread_mutex_lock(&p->lock);
    push(c->generation == p->generation ? &p->ready : &p->retired, c);
    pthread_mutex_unlock(&p->lock);
}

int
cgpool_fill(struct cgpool *p, unsigned wanted, struct error *err)
{
    while (count_ready(p) < wanted) {
        struct cgroup *c;
        int r = cgpool_make(p, &c, err);

        if (r < 0)
            return r;
        add_ready(p, c);
    }
    return 0;
}

static struct stack
take_retired(struct cgpool *p)
{
    struct stack all;

    pthread_mutex_lock(&p->lock);
    all = p->retired;
    p->retired = (struct stack){0};
    p->has_new_retired = false;
    pthread_mutex_unlock(&p->lock);
    return all;
}

/* Keeps the cgroup for the next sweep, which the next retirement starts. */
static void
keep_retired(struct cgpool *p, struct cgroup *c)
{
    pthread_mutex_lock(&p->lock);
    push(&p->retired, c);
    pthread_mutex_unlock(&p->lock);
}

static bool
is_kept(struct cgpool *p, const struct cgroup *c)
{
    bool is_kept;

    pthread_mutex_lock(&p->lock);
    is_kept = c->may_reuse && c->generation == p->generation && p->ready.count < KEPT_MOST;
    pthread_mutex_unlock(&p->lock);
    return is_kept;
}

/* -EBUSY: the cgroup still holds something and is kept. */
static int
sweep_one(struct cgpool *p, struct cgroup *c)
{
    int r = is_kept(p, c) ? cgroup_reset(c) : -EOPNOTSUPP;

    if (r == 0) {
        add_ready(p, c);
        return 0;
    }
    if (r != -EBUSY)
        r = cgroup_remove(c, NULL);
    if (r != -EBUSY)
        cgroup_free(c);
    return r;
}

unsigned
cgpool_sweep(struct cgpool *p)
{
    struct stack all = take_retired(p);
    unsigned left = 0;

    for (unsigned i = 0; i < all.count; i++)
        if (sweep_one(p, all.items[i]) == -EBUSY) {
            keep_retired(p, all.items[i]);
            left++;
        }
    free(all.items);
    return left;
}
