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
    struct unschedulable_pods *s = xnew(struct unschedulable_pods);

    s->less = less;
    s->context = context;
    list_init(&s->classes);
    list_init(&s->offered);
    list_init(&s->turns);
    return s;
}

void
unschedulable_pods_settle_shape(struct unschedulable_pods *s, struct shape *shape)
{
    struct shape **at = &s->shapes[shape->number];

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
unschedulable_pods_settle_hints(struct unschedulable_pods *s, struct hint_group *ch)
{
    if (ch->is_visited || !list_is_empty(&ch->groups))
        return;
    s->by_hints[ch->hints] = NULL;
    list_remove(&ch->link);
    free(ch);
}

static void
group_free(struct unschedulable_pods *s, struct signature_group *f)
{
    if (f->signature != SIGNATURE_NONE)
        s->by_signature[f->signature] = NULL;
    list_remove(&f->link);
    list_remove(&f->turn);
    if (f->hint_group != NULL)
        unschedulable_pods_settle_hints(s, f->hint_group);
    if (f->shape != NULL)
        unschedulable_pods_settle_shape(s, f->shape);
    heap_free(f->members);
    free(f);
    s->n_groups--;
}

void
unschedulable_pods_free(struct unschedulable_pods *s)
{
    if (s == NULL)
        return;
    list_foreach_safe(link, &s->classes)
    {
        struct class *c = container_of(link, struct class, link);

        while (!list_is_empty(&c->shapes)) {
            struct shape *shape = container_of(c->shapes.next, struct shape, link);

            group_free(s, container_of(shape->groups.next, struct signature_group, link));
        }
        list_foreach_safe(at, &c->groups)
            group_free(s, container_of(at, struct signature_group, link));
        while (!list_is_empty(&c->hint_groups)) {
            struct hint_group *ch = container_of(c->hint_groups.next, struct hint_group, link);

            group_free(s, container_of(ch->groups.next, struct signature_group, link));
        }
        list_foreach_safe(at, &c->awake)
            group_free(s, container_of(at, struct signature_group, link));
        heap_free(c->sleeping);
        free(c);
    }
    free(s->by_signature);
    free(s->by_hints);
    free(s->shapes);
    free(s);
}

static bool
group_less(const void *a, const void *b, void *context)
{
    const struct signature_group *fa = a, *fb = b;
    const struct unschedulable_pods *s = context;

    return s->less(heap_top(fa->members), heap_top(fb->members), s->context);
}

static struct class *
class_new(struct unschedulable_pods *s, const struct profile *profile, plugin_set plugins)
{
    struct class *c = xnew(struct class);

    c->sleeping = heap_new(group_less, s, offsetof(struct signature_group, place));

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
class_find(struct unschedulable_pods *s, const struct profile *profile, plugin_set plugins)
{
    struct class *c;

    list_foreach(link, &s->classes)
    {
        c = container_of(link, struct class, link);
        if (c->profile == profile && c->plugins == plugins)
            return c;
    }
    c = class_new(s, profile, plugins);
    list_add_last(&s->classes, &c->link);
    return c;
}

static struct signature_group *
group_new(struct unschedulable_pods *s, uint32_t signature)
{
    struct signature_group *f = xnew(struct signature_group);

    f->signature = signature;
    f->members = heap_new(s->less, s->context, offsetof(struct queued_pod, place));
    list_init(&f->link);
    list_add_last(&s->turns, &f->turn);
    f->place = HEAP_NOWHERE;
    s->n_groups++;
    return f;
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
group_find(struct unschedulable_pods *s, uint32_t signature)
{
    if (signature == SIGNATURE_NONE)
        return group_new(s, signature);
    s->by_signature = make_room(s->by_signature, &s->n_signatures, signature);
    if (s->by_signature[signature] == NULL)
        s->by_signature[signature] = group_new(s, signature);
    return s->by_signature[signature];
}

static struct shape *
shape_find(struct unschedulable_pods *s, struct class *c, uint32_t number)
{
    struct shape *shape;

    s->shapes = make_room(s->shapes, &s->n_shapes, number);
    shape = s->shapes[number];
    while (shape != NULL && shape->class != c)
        shape = shape->next;
    if (shape != NULL)
        return shape;
    shape = xnew(struct shape);
    shape->class = c;
    shape->number = number;
    shape->sleeping = heap_new(group_less, s, offsetof(struct signature_group, place));
    shape->next = s->shapes[number];
    s->shapes[number] = shape;
    list_init(&shape->groups);
    list_init(&shape->offered);
    list_add_last(&c->shapes, &shape->link);
    return shape;
}

static bool
is_of_class(const struct signature_group *f, const struct class *c, uint32_t shape)
{
    return f->class == c && f->hint_group == NULL
           && (f->shape != NULL ? f->shape->number : SIGNATURE_NONE) == shape;
}

static void
reclass(struct unschedulable_pods *s, struct signature_group *f, struct class *c, uint32_t shape)
{
    struct shape *before = f->shape;

    if (is_of_class(f, c, shape))
        return;
    list_remove(&f->link);
    f->class = c;
    f->shape = shape != SIGNATURE_NONE ? shape_find(s, c, shape) : NULL;
    list_add_last(f->shape != NULL ? &f->shape->groups : &c->groups, &f->link);
    if (before != NULL)
        unschedulable_pods_settle_shape(s, before);
}

/* The heap of groups, by their first unschedulable pod, that the group is in.
 */
static struct heap *
heap_of(const struct signature_group *f)
{
    return f->shape != NULL ? f->shape->sleeping : f->class->sleeping;
}

/* To be called before the unschedulable pods of the group change. */
static void
leave_class(struct signature_group *f)
{
    if (f->place != HEAP_NOWHERE)
        heap_remove(heap_of(f), f);
}

static void
enter_class(struct signature_group *f)
{
    if (heap_count(f->members) > 0)
        heap_push(heap_of(f), f);
}

static struct hint_group *
hint_group_find(struct unschedulable_pods *s, struct class *c, uint32_t hints)
{
    struct hint_group *ch;

    s->by_hints = make_room(s->by_hints, &s->n_hints, hints);
    ch = s->by_hints[hints];
    if (ch != NULL)
        return ch;
    ch = xnew(struct hint_group);
    ch->hints = hints;
    list_init(&ch->groups);
    list_add_last(&c->hint_groups, &ch->link);
    s->by_hints[hints] = ch;
    return ch;
}

/* The group is new and has one pod. */
static void
join_hint_group(struct unschedulable_pods *s, struct signature_group *f, uint32_t hints)
{
    f->hint_group = hint_group_find(s, f->class, hints);
    list_remove(&f->link);
    list_add_last(&f->hint_group->groups, &f->link);
}

static void
free_if_empty(struct unschedulable_pods *s, struct signature_group *f)
{
    if (heap_count(f->members) == 0 && f->n_awake == 0)
        group_free(s, f);
}

static void
note_failed_again(struct signature_group *f, struct queued_pod *pod)
{
    f->n_awake--;
    if (f->awake == pod)
        f->awake = NULL;
}

void
unschedulable_pods_add(struct unschedulable_pods *s, struct queued_pod *pod,
                       const struct sleep_signs *signs)
{
    uint32_t signature = signs->signature, hints = signs->hints;
    struct signature_group *before = pod->group;
    uint32_t shape = signature != SIGNATURE_NONE ? signs->shape : SIGNATURE_NONE;
    struct signature_group *f = group_find(s, signature);
    struct class *c = class_find(s, pod->profile, pod->unschedulable | pod->pending);
    bool stays = f->place != HEAP_NOWHERE && is_of_class(f, c, shape)
                 && !s->less(pod, heap_top(f->members), s->context);

    if (!stays)
        leave_class(f);
    heap_push(f->members, pod);
    pod->group = f;
    s->n_pods++;
    /* The last failure says best what the whole group waits for. */
    f->unschedulable = pod->unschedulable;
    f->pending = pod->pending;
    reclass(s, f, c, shape);
    f->seen = signs->seen;
    f->admission = signs->admission;
    if (!stays)
        enter_class(f);
    if (signature == SIGNATURE_NONE && hints != SIGNATURE_NONE)
        join_hint_group(s, f, hints);
    if (before == NULL)
        return;
    note_failed_again(before, pod);
    if (before != f)
        free_if_empty(s, before);
}

/* The group has one pod, which gets a new group when it fails again. */
static void
step_aside(struct unschedulable_pods *s, struct signature_group *f)
{
    list_remove(&f->link);
    list_add_last(&f->class->awake, &f->link);
    if (f->hint_group != NULL)
        unschedulable_pods_settle_hints(s, f->hint_group);
    f->hint_group = NULL;
}

void
unschedulable_pods_remove(struct unschedulable_pods *s, struct queued_pod *pod)
{
    struct signature_group *f = pod->group;

    leave_class(f);
    heap_remove(f->members, pod);
    enter_class(f);
    s->n_pods--;
    f->n_awake++;
    f->awake = pod;
    if (f->signature == SIGNATURE_NONE)
        step_aside(s, f);
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
        take_rejectors(pod, pod->group);
}

bool
unschedulable_pods_leave(struct unschedulable_pods *s, struct queued_pod *pod,
                         struct queued_pod **ret_next)
{
    struct signature_group *f = pod->group;

    if (f == NULL)
        return false;
    pod->group = NULL;
    note_failed_again(f, pod);
    if (f->n_awake == 0 && heap_count(f->members) > 0) {
        *ret_next = heap_top(f->members);
        return true;
    }
    free_if_empty(s, f);
    return false;
}

struct queued_pod *
unschedulable_pods_pick(const struct unschedulable_pods *s, const struct queued_pod *member,
                        bool (*is_ready)(const struct queued_pod *pod, void *context),
                        void *context)
{
    const struct signature_group *f = member->group;
    struct queued_pod *best = NULL;

    if (f->awake != NULL && f->awake->state != QUEUE_BACKOFF)
        return NULL;
    for (size_t i = 0; i < heap_count(f->members) && i < PICK_DEPTH; i++) {
        struct queued_pod *pod = heap_at(f->members, i);

        if (is_ready(pod, context) && (best == NULL || s->less(pod, best, s->context)))
            best = pod;
    }
    if (best == NULL && f->awake == NULL)
        best = heap_top(f->members);
    return best;
}

size_t
unschedulable_pods_count(const struct unschedulable_pods *s)
{
    return s->n_pods;
}

size_t
unschedulable_pods_groups(const struct unschedulable_pods *s)
{
    return s->n_groups;
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
