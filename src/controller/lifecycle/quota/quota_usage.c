/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/quota/quota_usage.h"

#include <stdlib.h>
#include <string.h>

#include "lib/api/job/job_update.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/quota.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

#define NEVER_US 0 /* now_us for quota_add_usage: no deadline has passed then */

struct quota_usage {
    struct arena *arena;
    const struct json *quota;
    struct quota_amounts sums; /* names and items in `arena` */
};

struct quota_usage *
quota_usage_new(const struct object *quota)
{
    struct quota_usage *u = xnew(struct quota_usage);

    u->arena = arena_new(0);
    u->quota = object_tree(quota, u->arena);
    quota_amounts_init(&u->sums, u->arena);
    return u;
}

void
quota_usage_free(struct quota_usage *u)
{
    if (u == NULL)
        return;
    arena_free(u->arena);
    free(u);
}

static void
count(struct quota_usage *u, const struct object *object, bool is_there)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *tree = object_tree(object, arena);
    struct quota_amounts taken;

    if (!quota_covers(u->quota, object->kind, tree))
        return;
    quota_amounts_init(&taken, arena);
    quota_add_usage(&taken, object->kind, tree, NEVER_US);
    for (unsigned i = 0; i < taken.count; i++)
        if (is_there)
            quota_amounts_add(&u->sums, taken.items[i].name, &taken.items[i].amount);
        else
            quota_amounts_subtract(&u->sums, taken.items[i].name, &taken.items[i].amount);
}

/* The fields of a pod that can change and that a quota counts. */
static bool
is_same_pod(const struct pod *x, const struct pod *y)
{
    const int64_t *until_x = x->spec.active_deadline_seconds;
    const int64_t *until_y = y->spec.active_deadline_seconds;

    return pod_is_finished(x) == pod_is_finished(y) && (until_x == NULL) == (until_y == NULL)
           && job_update_is_current(&x->meta, &y->meta);
}

/* A claim's request may grow. Of other kinds only the existence of an object
 * counts.
 */
static bool
is_same(const struct object *a, const struct object *b)
{
    if (strcmp(a->meta->uid, b->meta->uid) != 0 || a->kind == &persistent_volume_claim_kind)
        return false;
    return a->kind != &pod_kind || is_same_pod(pod_of(a), pod_of(b));
}

bool
quota_usage_change(struct quota_usage *u, const struct object *old_object,
                   const struct object *new_object)
{
    if (old_object != NULL && new_object != NULL && is_same(old_object, new_object))
        return false;
    if (old_object != NULL)
        count(u, old_object, false);
    if (new_object != NULL)
        count(u, new_object, true);
    return true;
}

void
quota_usage_add_to(const struct quota_usage *u, struct quota_amounts *amounts)
{
    for (unsigned i = 0; i < u->sums.count; i++)
        quota_amounts_add(amounts, u->sums.items[i].name, &u->sums.items[i].amount);
}
