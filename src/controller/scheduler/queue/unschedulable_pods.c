/* SPDX-License-Identifier: Apache-2.0 */
/* Upstream asks the hints of each waiting pod at each event. With a hundred thousand waiting
 * pods and thousands of ends a minute that would be all that the thread does, so here an event
 * pays for what differs: a class of rejecting plugins, a shape of needs, a group of equal pods
 * (decisions 41 and 194). The price is that pods have to be equal by signature before they
 * share a group; one that is signed wrongly would sleep while its room is free, which is why
 * test_signatures varies every field.
 *
 * A group is in the heap of its shape by its first sleeping pod. Whatever changes that pod
 * therefore takes the group out first and puts it back after.
 */
#include "controller/scheduler/queue/unschedulable_pods.h"

#include <string.h>

#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/queue/unschedulable_state.h"
#include "lib/base/alloc.h"
#include "lib/base/heap.h"

/* How many pods of a group are checked to find one that is ready. */
#define PICK_DEPTH 16u

struct unschedulable_pods *
unschedulable_pods_new(unschedulable_pods_less_fn *less, void *context)
{
    struct unschedulable_pods *u = xnew(struct unschedulable_pods);

    u->less = less;
    u->context = context;
    list_init(&u->classes);
    list_init(&u->offered);
    list_init(&u->turns);
    return u;
}

void
unschedulable_pods_settle_shape(struct unschedulable_pods *u, struct shape *shape)
{
    struct shape **at = &u->shapes[shape->number];

    if (shape->is_visited || !list_is_empty(&shape->groups))
        return;
    while (*at != shape)
        at = &(*at)->next;
    *at = shape->next;
    list_remove(&shape->link);
    list_remove(&shape->offered);
    heap_free(shape->sleeping);
    free(shape);
}

void
unschedulable_pods_settle_hints(struct unschedulable_pods *u, struct hint_group *h)
{
    if (h->is_visited || !list_is_empty(&h->groups))
        return;
    u->by_hints[h->hints] = NULL;
    list_remove(&h->link);
    free(h);
}

static void
group_free(struct unschedulable_pods *u, struct signature_group *g)
{
    if (g->signature != SIGNATURE_NONE)
        u->by_signature[g->signature] = NULL;
    list_remove(&g->link);
    list_remove(&g->turn);
    if (g->hint_group != NULL)
        unschedulable_pods_settle_hints(u, g->hint_group);
    if (g->shape != NULL)
        unschedulable_pods_settle_shape(u, g->shape);
    heap_free(g->members);
    free(g);
    u->n_groups--;
}

void
unschedulable_pods_free(struct unschedulable_pods *u)
{
    if (u == NULL)
        return;
    list_foreach_safe(link, &u->classes)
    {
        struct class *c = container_of(link, struct class, link);

        while (!list_is_empty(&c->shapes)) {
            struct shape *shape = container_of(c->shapes.next, struct shape, link);

            group_free(u, container_of(shape->groups.next, struct signature_group, link));
        }
        list_foreach_safe(at, &c->groups)
            group_free(u, container_of(at, struct signature_group, link));
        while (!list_is_empty(&c->hint_groups)) {
            struct hint_group *h = container_of(c->hint_groups.next, struct hint_group, link);

            group_free(u, container_of(h->groups.next, struct signature_group, link));
        }
        list_foreach_safe(at, &c->awake)
            group_free(u, container_of(at, struct signature_group, link));
        heap_free(c->sleeping);
        free(c);
    }
    free(u->by_signature);
    free(u->by_hints);
    free(u->shapes);
    free(u);
}

static bool
group_less(const void *a, const void *b, void *context)
{
    const struct signature_group *fa = a, *fb = b;
    const struct unschedulable_pods *u = context;

    return u->less(heap_top(fa->members), heap_top(fb->members), u->context);
}

static struct class *
class_new(struct unschedulable_pods *u, const struct profile *profile, plugin_set plugins)
{
    struct class *c = xnew(struct class);

    c->sleeping = heap_new(group_less, u, offsetof(struct signature_group, place));

    c->profile = profile;
    c->plugins = plugins;
    list_init(&c->shapes);
    list_init(&c->groups);
    list_init(&c->hint_groups);
    list_init(&c->awake);
    if ((plugins & PLUGIN_BIT(PLUGIN_EXTENDERS)) != 0)
        for (unsigned i = 0; i < EVENT_RESOURCES; i++)
            c->actions[i] = ACTION_ALL & ~(unsigned)ACTION_UPDATE_OTHER;
    for (unsigned i = 0; i < profile->n_entries; i++) {
        const struct plugin *plugin = profile->entries[i].plugin;

        for (unsigned w = 0; w < plugin->n_wakes; w++)
            if ((plugins & PLUGIN_BIT(i)) != 0 || plugin->wakes[w].resource == EVENT_PARTITION
                || plugin->wakes[w].resource == EVENT_NODE_RESERVATION)
                c->actions[plugin->wakes[w].resource] |= plugin->wakes[w].actions;
    }
    return c;
}

/* There are as many classes as sets of plugins that reject pods together: few.
 * They are never freed, because the same sets come back.
 */
static struct class *
class_find(struct unschedulable_pods *u, const struct profile *profile, plugin_set plugins)
{
    struct class *c;

    list_foreach(link, &u->classes)
    {
        c = container_of(link, struct class, link);
        if (c->profile == profile && c->plugins == plugins)
            return c;
    }
    c = class_new(u, profile, plugins);
    list_add_last(&u->classes, &c->link);
    return c;
}

static struct signature_group *
group_new(struct unschedulable_pods *u, uint32_t signature)
{
    struct signature_group *g = xnew(struct signature_group);

    g->signature = signature;
    g->members = heap_new(u->less, u->context, offsetof(struct queued_pod, place));
    list_init(&g->link);
    list_add_last(&u->turns, &g->turn);
    g->place = HEAP_NOWHERE;
    u->n_groups++;
    return g;
}

/* Grows an array of pointers so that `number` is an index of it. */
static void *
make_room(void *items, size_t *count, uint32_t number)
{
    size_t before = *count;

    if (number < before)
        return items;
    *count = (size_t)number * 2 + 64;
    items = xrealloc_array(items, *count, sizeof(void *));
    memset((char *)items + before * sizeof(void *), 0, (*count - before) * sizeof(void *));
    return items;
}

static struct signature_group *
group_find(struct unschedulable_pods *u, uint32_t signature)
{
    if (signature == SIGNATURE_NONE)
        return group_new(u, signature);
    u->by_signature = make_room(u->by_signature, &u->n_signatures, signature);
    if (u->by_signature[signature] == NULL)
        u->by_signature[signature] = group_new(u, signature);
    return u->by_signature[signature];
}

static struct shape *
shape_find(struct unschedulable_pods *u, struct class *c, uint32_t number)
{
    struct shape *shape;

    u->shapes = make_room(u->shapes, &u->n_shapes, number);
    shape = u->shapes[number];
    while (shape != NULL && shape->class != c)
        shape = shape->next;
    if (shape != NULL)
        return shape;
    shape = xnew(struct shape);
    shape->class = c;
    shape->number = number;
    shape->sleeping = heap_new(group_less, u, offsetof(struct signature_group, place));
    shape->next = u->shapes[number];
    u->shapes[number] = shape;
    list_init(&shape->groups);
    list_init(&shape->offered);
    list_add_last(&c->shapes, &shape->link);
    return shape;
}

static bool
is_of_class(const struct signature_group *g, const struct class *c, uint32_t shape)
{
    return g->class == c && g->hint_group == NULL
           && (g->shape != NULL ? g->shape->number : SIGNATURE_NONE) == shape;
}

static void
reclass(struct unschedulable_pods *u, struct signature_group *g, struct class *c, uint32_t shape)
{
    struct shape *before = g->shape;

    if (is_of_class(g, c, shape))
        return;
    list_remove(&g->link);
    g->class = c;
    g->shape = shape != SIGNATURE_NONE ? shape_find(u, c, shape) : NULL;
    list_add_last(g->shape != NULL ? &g->shape->groups : &c->groups, &g->link);
    if (before != NULL)
        unschedulable_pods_settle_shape(u, before);
}

/* The heap of groups, by their first unschedulable pod, that the group is in.
 */
static struct heap *
heap_of(const struct signature_group *g)
{
    return g->shape != NULL ? g->shape->sleeping : g->class->sleeping;
}

/* To be called before the unschedulable pods of the group change. */
static void
leave_class(struct signature_group *g)
{
    if (g->place != HEAP_NOWHERE)
        heap_remove(heap_of(g), g);
}

static void
enter_class(struct signature_group *g)
{
    if (heap_count(g->members) > 0)
        heap_push(heap_of(g), g);
}

static struct hint_group *
hint_group_find(struct unschedulable_pods *u, struct class *c, uint32_t hints)
{
    struct hint_group *h;

    u->by_hints = make_room(u->by_hints, &u->n_hints, hints);
    h = u->by_hints[hints];
    if (h != NULL)
        return h;
    h = xnew(struct hint_group);
    h->hints = hints;
    list_init(&h->groups);
    list_add_last(&c->hint_groups, &h->link);
    u->by_hints[hints] = h;
    return h;
}

/* The group is new and has one pod. */
static void
join_hint_group(struct unschedulable_pods *u, struct signature_group *g, uint32_t hints)
{
    g->hint_group = hint_group_find(u, g->class, hints);
    list_remove(&g->link);
    list_add_last(&g->hint_group->groups, &g->link);
}

static void
free_if_empty(struct unschedulable_pods *u, struct signature_group *g)
{
    if (heap_count(g->members) == 0 && g->n_awake == 0)
        group_free(u, g);
}

static void
note_failed_again(struct signature_group *g, struct queued_pod *pod)
{
    g->n_awake--;
    if (g->awake == pod)
        g->awake = NULL;
}

void
unschedulable_pods_add(struct unschedulable_pods *u, struct queued_pod *pod,
                       const struct sleep_signs *signs)
{
    uint32_t signature = signs->signature, hints = signs->hints;
    struct signature_group *before = pod->group;
    uint32_t shape = signature != SIGNATURE_NONE ? signs->shape : SIGNATURE_NONE;
    struct signature_group *g = group_find(u, signature);
    struct class *c = class_find(u, pod->profile, pod->unschedulable | pod->pending);
    bool stays = g->place != HEAP_NOWHERE && is_of_class(g, c, shape)
                 && !u->less(pod, heap_top(g->members), u->context);

    if (!stays)
        leave_class(g);
    heap_push(g->members, pod);
    pod->group = g;
    u->n_pods++;
    /* The last failure says best what the whole group waits for. */
    g->unschedulable = pod->unschedulable;
    g->pending = pod->pending;
    reclass(u, g, c, shape);
    g->seen = signs->seen;
    g->admission = signs->admission;
    if (!stays)
        enter_class(g);
    if (signature == SIGNATURE_NONE && hints != SIGNATURE_NONE)
        join_hint_group(u, g, hints);
    if (before == NULL)
        return;
    note_failed_again(before, pod);
    if (before != g)
        free_if_empty(u, before);
}

/* The group has one pod, which gets a new group when it fails again. */
static void
step_aside(struct unschedulable_pods *u, struct signature_group *g)
{
    list_remove(&g->link);
    list_add_last(&g->class->awake, &g->link);
    if (g->hint_group != NULL)
        unschedulable_pods_settle_hints(u, g->hint_group);
    g->hint_group = NULL;
}

void
unschedulable_pods_remove(struct unschedulable_pods *u, struct queued_pod *pod)
{
    struct signature_group *g = pod->group;

    leave_class(g);
    heap_remove(g->members, pod);
    enter_class(g);
    u->n_pods--;
    g->n_awake++;
    g->awake = pod;
    if (g->signature == SIGNATURE_NONE)
        step_aside(u, g);
}

bool
unschedulable_pods_speaks_for_group(const struct queued_pod *pod, const struct sleep_signs *signs)
{
    return signs->signature != SIGNATURE_NONE && signs->admission == pod->group->admission;
}

void
unschedulable_pods_update(struct queued_pod *pod)
{
    if (pod->group != NULL)
        unschedulable_take_rejectors(pod, pod->group);
}

bool
unschedulable_pods_leave(struct unschedulable_pods *u, struct queued_pod *pod,
                         struct queued_pod **ret_next)
{
    struct signature_group *g = pod->group;

    if (g == NULL)
        return false;
    pod->group = NULL;
    note_failed_again(g, pod);
    if (g->n_awake == 0 && heap_count(g->members) > 0) {
        *ret_next = heap_top(g->members);
        return true;
    }
    free_if_empty(u, g);
    return false;
}

struct queued_pod *
unschedulable_pods_pick(const struct unschedulable_pods *u, const struct queued_pod *member,
                        bool (*is_ready)(const struct queued_pod *pod, void *context),
                        void *context)
{
    const struct signature_group *g = member->group;
    struct queued_pod *best = NULL;

    if (g->awake != NULL && g->awake->state != QUEUE_BACKOFF)
        return NULL;
    for (size_t i = 0; i < heap_count(g->members) && i < PICK_DEPTH; i++) {
        struct queued_pod *pod = heap_at(g->members, i);

        if (is_ready(pod, context) && (best == NULL || u->less(pod, best, u->context)))
            best = pod;
    }
    if (best == NULL && g->awake == NULL)
        best = heap_top(g->members);
    return best;
}

size_t
unschedulable_pods_count(const struct unschedulable_pods *u)
{
    return u->n_pods;
}

size_t
unschedulable_pods_groups(const struct unschedulable_pods *u)
{
    return u->n_groups;
}

void
unschedulable_pods_leave_order(struct queued_pod *pod)
{
    leave_class(pod->group);
}

void
unschedulable_pods_enter_order(struct queued_pod *pod)
{
    enter_class(pod->group);
}
