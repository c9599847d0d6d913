/* SPDX-License-Identifier: Apache-2.0 */
/* The terms of a waiting pod depend on pods that it does not know: how many of its group have
 * a node or have succeeded. They are counted with each event, by group and owner, and pods
 * whose terms may differ now are collected in a list, so that a change costs the pods that it
 * concerns. Anybody may write the name of another's group into a pod; counting by owner makes
 * that harmless.
 */
#include "controller/scheduler/state/pod_groups.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/queue/queued_group.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/pod_group.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/list.h"
#include "lib/base/map.h"

static const char is_absent[] = "its PodGroup does not exist";
static const char is_of_other_user[] = "its PodGroup belongs to another user";

#define NOBODY ((uid_t)-1)

/* The pods of one owner that name a group. Usually there is one owner; anybody
 * may name the group of another user, and gets the message that it is not
 * theirs.
 */
struct owner_pods {
    char key[16]; /* the uid; NOBODY: the pods have none */
    unsigned n_placed;
    unsigned n_ended;    /* of these, the pods that have succeeded */
    struct map *waiting; /* name to the object */
};

struct named_group {
    char *key;                   /* "namespace/name" */
    const struct object *object; /* NULL: pods name it, but it does not exist */
    bool ends_together;
    char *topology_key;  /* or NULL */
    struct map *owners;  /* by their keys */
    struct list changed; /* of pod_groups.changed, or of none */
};

struct pod_groups {
    struct map *groups;
    struct list changed;
};

static void
free_owner(struct owner_pods *o)
{
    size_t at = 0;
    void *pod;

    while (map_next(o->waiting, &at, NULL, &pod))
        object_unref(pod);
    map_free(o->waiting);
    free(o);
}

static void
free_group(struct named_group *group)
{
    size_t at = 0;
    void *owner;

    while (map_next(group->owners, &at, NULL, &owner))
        free_owner(owner);
    map_free(group->owners);
    list_remove(&group->changed);
    object_unref(group->object);
    free(group->topology_key);
    free(group->key);
    free(group);
}

struct pod_groups *
pod_groups_new(void)
{
    struct pod_groups *g = xnew(struct pod_groups);

    g->groups = map_new();
    list_init(&g->changed);
    return g;
}

void
pod_groups_free(struct pod_groups *g)
{
    size_t at = 0;
    void *group;

    if (g == NULL)
        return;
    while (map_next(g->groups, &at, NULL, &group))
        free_group(group);
    map_free(g->groups);
    free(g);
}

static void
format_key(const char *namespace, const char *name, char out[OBJECT_KEY_SIZE])
{
    snprintf(out, OBJECT_KEY_SIZE, "%s/%s", namespace != NULL ? namespace : "", name);
}

static struct named_group *
make_group(struct pod_groups *g, const char *key)
{
    struct named_group *group = map_find(g->groups, key);

    if (group != NULL)
        return group;
    group = xnew(struct named_group);
    group->key = xstrdup(key);
    group->owners = map_new();
    list_init(&group->changed);
    map_put(g->groups, group->key, group);
    return group;
}

static uid_t
owner_of(const struct object *pod)
{
    uid_t uid;

    return object_owner(pod, &uid) ? uid : NOBODY;
}

static void
format_owner(uid_t owner, char out[16])
{
    snprintf(out, 16, "%u", (unsigned)owner);
}

static struct owner_pods *
find_owner(const struct named_group *group, uid_t owner)
{
    char key[16];

    format_owner(owner, key);
    return map_find(group->owners, key);
}

static struct owner_pods *
make_owner(struct named_group *group, uid_t owner)
{
    struct owner_pods *o = find_owner(group, owner);

    if (o != NULL)
        return o;
    o = xnew(struct owner_pods);
    format_owner(owner, o->key);
    o->waiting = map_new();
    map_put(group->owners, o->key, o);
    return o;
}

/* Removes what no pod and no object needs any longer. */
static void
tidy(struct pod_groups *g, struct named_group *group, struct owner_pods *o)
{
    if (o != NULL && o->n_placed == 0 && map_count(o->waiting) == 0) {
        map_remove(group->owners, o->key);
        free_owner(o);
    }
    if (group->object == NULL && map_count(group->owners) == 0) {
        map_remove(g->groups, group->key);
        free_group(group);
    }
}

static char *
copy_topology_key(const struct object *object)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *key = pod_group_topology_key(object, arena);

    return key != NULL ? xstrdup(key) : NULL;
}

static void
note_changed(struct pod_groups *g, struct named_group *group)
{
    list_remove(&group->changed);
    list_add_last(&g->changed, &group->changed);
}

void
pod_groups_changed(struct pod_groups *g, const struct object *old_group,
                   const struct object *new_group)
{
    const struct object *any = new_group != NULL ? new_group : old_group;
    char key[OBJECT_KEY_SIZE];
    struct named_group *group;

    format_key(any->meta->namespace, any->meta->name, key);
    group = make_group(g, key);
    object_unref(group->object);
    group->object = new_group != NULL ? object_ref(new_group) : NULL;
    group->ends_together = new_group != NULL && pod_group_ends_together(new_group);
    free(group->topology_key);
    group->topology_key = new_group != NULL ? copy_topology_key(new_group) : NULL;
    note_changed(g, group);
    tidy(g, group, NULL);
}

/* How many more pods of that owner must be placed together. */
static unsigned
count_wanted(const struct named_group *group, const struct owner_pods *o)
{
    int64_t wanted = group->object != NULL ? pod_group_least(group->object) : 0;

    wanted -= o != NULL ? o->n_placed : 0;
    return wanted < 2 ? 0 : wanted > UINT_MAX ? UINT_MAX : (unsigned)wanted;
}

static bool
has_ended(const struct object *pod)
{
    return pod_group_counts(pod) && pod_is_finished(pod_of(pod));
}

void
pod_groups_pod_changed(struct pod_groups *g, const struct object *old_pod,
                       const struct object *new_pod, bool waits)
{
    const struct object *any = new_pod != NULL ? new_pod : old_pod;
    const char *name = pod_group_named_by(any);
    unsigned wanted;
    char key[OBJECT_KEY_SIZE];
    struct named_group *group;
    struct owner_pods *o;

    if (name == NULL)
        return;
    format_key(any->meta->namespace, name, key);
    group = make_group(g, key);
    o = make_owner(group, owner_of(any));
    wanted = count_wanted(group, o);
    o->n_placed += new_pod != NULL && pod_group_counts(new_pod);
    o->n_placed -= old_pod != NULL && pod_group_counts(old_pod);
    o->n_ended += new_pod != NULL && has_ended(new_pod);
    o->n_ended -= old_pod != NULL && has_ended(old_pod);
    if (waits)
        object_unref(map_put(o->waiting, any->meta->name, (void *)(uintptr_t)object_ref(any)));
    else
        object_unref(map_remove(o->waiting, any->meta->name));
    if (count_wanted(group, o) != wanted)
        note_changed(g, group);
    tidy(g, group, o);
}

void
pod_groups_terms(const struct pod_groups *g, const struct object *pod,
                 struct group_terms *ret_terms)
{
    const char *name = pod_group_named_by(pod);
    const struct named_group *group;
    char key[OBJECT_KEY_SIZE];

    *ret_terms = (struct group_terms){.name = name, .owner = owner_of(pod)};
    if (name == NULL)
        return;
    format_key(pod->meta->namespace, name, key);
    group = map_find(g->groups, key);
    if (group == NULL || group->object == NULL)
        ret_terms->obstacle = is_absent;
    else if (!object_owner_is_same(group->object, pod))
        ret_terms->obstacle = is_of_other_user;
    else {
        const struct owner_pods *o = find_owner(group, owner_of(pod));

        ret_terms->wanted = count_wanted(group, o);
        ret_terms->n_placed = o != NULL ? o->n_placed : 0;
        ret_terms->is_one_per_node = pod_group_is_one_per_node(group->object);
    }
}

/* The group of the pod, if it exists and is of the same owner. */
static const struct named_group *
find_own_group(const struct pod_groups *g, const struct object *pod)
{
    const char *name = pod_group_named_by(pod);
    const struct named_group *group;
    char key[OBJECT_KEY_SIZE];

    if (name == NULL)
        return NULL;
    format_key(pod->meta->namespace, name, key);
    group = map_find(g->groups, key);
    return group != NULL && group->object != NULL && object_owner_is_same(group->object, pod)
               ? group
               : NULL;
}

bool
pod_groups_is_gang(const struct pod_groups *g, const struct object *pod)
{
    const struct named_group *group = find_own_group(g, pod);

    return group != NULL && pod_group_least(group->object) > 1;
}

bool
pod_groups_goes_one_per_node(const struct pod_groups *g, const struct object *pod)
{
    struct group_terms terms;

    if (pod_of(pod)->spec.scheduling_group == NULL)
        return false;
    pod_groups_terms(g, pod, &terms);
    return terms.is_one_per_node;
}

bool
pod_groups_holds_up(const struct pod_groups *g, const struct object *pod)
{
    const struct named_group *group = pod_awaits_start(pod_of(pod)) ? find_own_group(g, pod) : NULL;
    const struct owner_pods *o = group != NULL ? find_owner(group, owner_of(pod)) : NULL;

    return group != NULL && pod_group_least(group->object) > (o != NULL ? o->n_placed : 0);
}

bool
pod_groups_ends_together(const struct pod_groups *g, const struct object *pod)
{
    const struct named_group *group = find_own_group(g, pod);

    return group != NULL && group->ends_together;
}

static void
visit_owners(const struct named_group *group,
             void (*each)(const struct object *waiting, unsigned count, void *context),
             void *context)
{
    size_t at = 0;
    void *value;

    while (map_next(group->owners, &at, NULL, &value)) {
        const struct owner_pods *o = value;
        size_t at_pod = 0;
        void *pod;

        if (o->n_ended > 0 && map_next(o->waiting, &at_pod, NULL, &pod))
            each(pod, o->n_ended, context);
    }
}

void
pod_groups_visit_ended(const struct pod_groups *g,
                       void (*each)(const struct object *waiting, unsigned count, void *context),
                       void *context)
{
    size_t at = 0;
    void *group;

    while (map_next(g->groups, &at, NULL, &group))
        visit_owners(group, each, context);
}

void
pod_groups_add_ended(struct pod_groups *g, const struct object *pod, unsigned count)
{
    const char *name = pod_group_named_by(pod);
    char key[OBJECT_KEY_SIZE];
    struct named_group *group;
    struct owner_pods *o;

    if (name == NULL)
        return;
    format_key(pod->meta->namespace, name, key);
    group = make_group(g, key);
    o = make_owner(group, owner_of(pod));
    o->n_placed += count;
    o->n_ended += count;
    note_changed(g, group);
}

bool
pod_groups_switches(const struct pod_groups *g, const struct object *pod,
                    struct group_switches *ret)
{
    const struct named_group *group = find_own_group(g, pod);
    const struct switch_limit *limit = group != NULL ? pod_group_switches(group->object) : NULL;

    if (limit == NULL)
        return false;
    *ret = (struct group_switches){
        .most = limit->most, .since_us = group->object->meta->created_at_us, .wait_us = -1};
    if (limit->wait_s != NULL)
        ret->wait_us =
            *limit->wait_s < INT64_MAX / 2000000 ? *limit->wait_s * 1000000 : INT64_MAX / 2;
    return true;
}

const char *
pod_groups_topology_key(const struct pod_groups *g, const struct object *pod)
{
    const struct named_group *group = find_own_group(g, pod);

    return group != NULL ? group->topology_key : NULL;
}

bool
pod_groups_have_changed(const struct pod_groups *g)
{
    return !list_is_empty(&g->changed);
}

static void
visit_waiting(const struct named_group *group,
              void (*each)(const struct object *pod, void *context), void *context)
{
    size_t at = 0;
    void *owner;

    while (map_next(group->owners, &at, NULL, &owner)) {
        size_t at_pod = 0;
        void *pod;

        while (map_next(((struct owner_pods *)owner)->waiting, &at_pod, NULL, &pod))
            each(pod, context);
    }
}

void
pod_groups_visit_changed(struct pod_groups *g,
                         void (*each)(const struct object *pod, void *context), void *context)
{
    while (!list_is_empty(&g->changed)) {
        struct named_group *group = container_of(g->changed.next, struct named_group, changed);

        list_remove(&group->changed);
        visit_waiting(group, each, context);
    }
}
