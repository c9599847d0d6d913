/* SPDX-License-Identifier: Apache-2.0 */
/* "The first of this user and name" needs an order of all unfinished jobs, which nobody but
 * --dependency=singleton wants. The index is therefore built by the first job that asks, and
 * kept from then on: jobs come in the order of their numbers, so an array with a moving head
 * is a sorted list that costs nothing to keep.
 */
#include "controller/lifecycle/dependencies/singletons.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"

/* A job of a group; key NULL: the job has ended. */
struct member {
    int64_t id;
    char *key;
};

/* The members are sorted by id on demand: jobs are added in that order, except at the start.
 * Members before the head have ended.
 */
struct group {
    struct member *members;
    size_t head, count, room;
    bool is_sorted;
};

struct singletons {
    const struct object_cache *cache;
    singletons_wake_fn *wake;
    void *context;
    struct map *groups; /* by user and name; NULL: no job has asked yet */
};

/* ---- Groups ---- */

static char *
group_key(const struct job *job)
{
    const char *name = string_map_find(&job->meta.annotations, ANNOTATION_JOB_NAME);

    return xasprintf("%s\n%s", job_find_user(job), name != NULL ? name : job->meta.name);
}

static void
free_group(struct group *g)
{
    for (size_t i = 0; i < g->count; i++)
        free(g->members[i].key);
    free(g->members);
    free(g);
}

static int
compare(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

static void
sort(struct group *g)
{
    if (!g->is_sorted && g->count > g->head)
        qsort(g->members + g->head, g->count - g->head, sizeof(*g->members), compare);
    g->is_sorted = true;
}

static void
skip_ended(struct group *g)
{
    while (g->head < g->count && g->members[g->head].key == NULL)
        g->head++;
}

static struct member *
find(struct group *g, int64_t id)
{
    const struct member wanted = {.id = id};

    sort(g);
    return g->count > g->head
               ? bsearch(&wanted, g->members + g->head, g->count - g->head, sizeof(wanted), compare)
               : NULL;
}

/* Drops the ended members at the front if they are more than half; otherwise
 * grows the array.
 */
static void
make_room(struct group *g)
{
    if (g->count < g->room)
        return;
    if (g->head > g->count / 2) {
        memmove(g->members, g->members + g->head, (g->count - g->head) * sizeof(*g->members));
        g->count -= g->head;
        g->head = 0;
        return;
    }
    g->room = g->room > 0 ? g->room * 2 : 4;
    g->members = xrealloc_array(g->members, g->room, sizeof(*g->members));
}

static void
add(struct singletons *s, const struct object *object)
{
    const struct job *job = job_of(object);
    CLEANUP_FREE char *name = group_key(job);
    struct group *g = map_find(s->groups, name);
    char key[OBJECT_KEY_SIZE];

    if (g == NULL) {
        g = xnew(struct group);
        g->is_sorted = true;
        map_put(s->groups, name, g);
    }
    object_key(object, key);
    make_room(g);
    g->is_sorted =
        g->count == g->head || (g->is_sorted && g->members[g->count - 1].id < job->status.id);
    g->members[g->count++] = (struct member){.id = job->status.id, .key = xstrdup(key)};
}

static void
drop(struct singletons *s, const struct job *job)
{
    CLEANUP_FREE char *name = group_key(job);
    struct group *g = map_find(s->groups, name);
    struct member *m = g != NULL ? find(g, job->status.id) : NULL;

    if (m == NULL)
        return;
    free(m->key);
    m->key = NULL;
    skip_ended(g);
    if (g->head < g->count) {
        s->wake(g->members[g->head].key, s->context);
        return;
    }
    map_remove(s->groups, name);
    free_group(g);
}

/* ---- Jobs ---- */

static bool
belongs(const struct object *object)
{
    return object != NULL && job_of(object)->status.id != 0 && !job_is_finished(job_of(object));
}

static bool
is_renamed(const struct object *a, const struct object *b)
{
    CLEANUP_FREE char *was = group_key(job_of(a));
    CLEANUP_FREE char *is = group_key(job_of(b));

    return strcmp(was, is) != 0;
}

void
singletons_see(struct singletons *s, const struct object *old_job, const struct object *new_job)
{
    if (s->groups == NULL)
        return;
    if (belongs(old_job) && (!belongs(new_job) || is_renamed(old_job, new_job)))
        drop(s, job_of(old_job));
    if (belongs(new_job) && (!belongs(old_job) || is_renamed(old_job, new_job)))
        add(s, new_job);
}

static void
visit(const struct object *job, void *context)
{
    if (belongs(job))
        add(context, job);
}

bool
singletons_is_first(struct singletons *s, const struct object *job)
{
    CLEANUP_FREE char *name = group_key(job_of(job));
    struct group *g;

    if (s->groups == NULL) {
        s->groups = map_new();
        object_cache_visit(s->cache, &job_kind, visit, s);
    }
    g = map_find(s->groups, name);
    if (g == NULL)
        return true;
    sort(g);
    return g->head == g->count || g->members[g->head].id >= job_of(job)->status.id;
}

void
singletons_free(struct singletons *s)
{
    size_t at = 0;
    void *g;

    if (s == NULL)
        return;
    while (s->groups != NULL && map_next(s->groups, &at, NULL, &g))
        free_group(g);
    map_free(s->groups);
    free(s);
}

struct singletons *
singletons_new(const struct object_cache *cache, singletons_wake_fn *wake, void *context)
{
    struct singletons *s = xnew(struct singletons);

    s->cache = cache;
    s->wake = wake;
    s->context = context;
    return s;
}
