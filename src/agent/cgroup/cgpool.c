/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cgroup/cgpool.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/cgroup/cgroot.h"
#include "agent/cgroup/cgroup.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"

struct stack {
    struct cgroup **items;
    unsigned count;
    unsigned capacity;
};

struct cgpool {
    struct cgroot *root;
    char *prefix;
    pthread_mutex_t lock; /* of all below */
    struct stack ready;
    struct stack retired;
    bool has_new_retired; /* since the last sweep began */
    unsigned long next_number;
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

bool
cgpool_retire(struct cgpool *p, struct cgroup *c TAKES)
{
    bool is_first;

    pthread_mutex_lock(&p->lock);
    push(&p->retired, c);
    is_first = !p->has_new_retired;
    p->has_new_retired = true;
    pthread_mutex_unlock(&p->lock);
    return is_first;
}

void
cgpool_forget(struct cgpool *p)
{
    struct cgroup *c;

    while ((c = cgpool_take(p)) != NULL)
        cgroup_free(c);
}

static unsigned
count(struct cgpool *p, const struct stack *s)
{
    unsigned n;

    pthread_mutex_lock(&p->lock);
    n = s->count;
    pthread_mutex_unlock(&p->lock);
    return n;
}

unsigned
cgpool_ready(struct cgpool *p)
{
    return count(p, &p->ready);
}

unsigned
cgpool_retired(struct cgpool *p)
{
    return count(p, &p->retired);
}

int
cgpool_make(struct cgpool *p, struct cgroup **ret_c, struct error *err)
{
    CLEANUP_FREE char *name = NULL;

    pthread_mutex_lock(&p->lock);
    name = xasprintf("%s%lu", p->prefix, p->next_number++);
    pthread_mutex_unlock(&p->lock);
    return cgroot_make(p->root, name, ret_c, err);
}

int
cgpool_fill(struct cgpool *p, unsigned wanted, struct error *err)
{
    while (cgpool_ready(p) < wanted) {
        struct cgroup *c;
        int r = cgpool_make(p, &c, err);

        if (r < 0)
            return r;
        pthread_mutex_lock(&p->lock);
        push(&p->ready, c);
        pthread_mutex_unlock(&p->lock);
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

/* For the next sweep, which somebody else's retirement brings about. */
static void
keep_retired(struct cgpool *p, struct cgroup *c)
{
    pthread_mutex_lock(&p->lock);
    push(&p->retired, c);
    pthread_mutex_unlock(&p->lock);
}

unsigned
cgpool_sweep(struct cgpool *p)
{
    struct stack all = take_retired(p);
    unsigned left = 0;

    for (unsigned i = 0; i < all.count; i++) {
        if (cgroup_remove(all.items[i], NULL) == -EBUSY) {
            keep_retired(p, all.items[i]);
            left++;
        } else {
            cgroup_free(all.items[i]);
        }
    }
    free(all.items);
    return left;
}
