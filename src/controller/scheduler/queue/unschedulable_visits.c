/* SPDX-License-Identifier: Apache-2.0 */
/* Visits to unschedulable pods: those that an event may help, those that room
 * is offered to, and those whose turn it is.
 */
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/queue/unschedulable_state.h"
#include "lib/base/heap.h"

/* If a shape has this many first pods, all its groups are visited. */
#define FIRST_MOST 256u

static bool
visit_group(struct list *link, unschedulable_pods_visit_fn *visit, void *context)
{
    struct signature_group *f = container_of(link, struct signature_group, link);
    struct queued_pod *first = heap_top(f->members);

    if (first == NULL)
        return true;
    take_rejectors(first, f);
    return visit(first, context);
}

static void
visit_shape(struct unschedulable_pods *s, struct shape *shape, unschedulable_pods_visit_fn *visit,
            void *context)
{
    shape->is_visited = true;
    list_foreach_safe(link, &shape->groups) visit_group(link, visit, context);
    shape->is_visited = false;
    unschedulable_pods_settle_shape(s, shape);
}

static void
visit_hint_group(struct unschedulable_pods *s, struct hint_group *ch,
                 unschedulable_pods_visit_fn *visit, void *context)
{
    ch->is_visited = true;
    list_foreach_safe(link, &ch->groups)
    {
        if (!visit_group(link, visit, context))
            break;
    }
    ch->is_visited = false;
    unschedulable_pods_settle_hints(s, ch);
}

void
unschedulable_pods_visit_ends_alike(const struct queued_pod *pod,
                                    void (*visit)(struct queued_pod *other, void *context),
                                    void *context)
{
    const struct signature_group *f = pod->group;

    if (f == NULL || f->signature == SIGNATURE_NONE || heap_count(f->members) == 0)
        return;
    visit(heap_at(f->members, 0), context);
    visit(heap_at(f->members, heap_count(f->members) - 1), context);
}

void
unschedulable_pods_visit_alike(const struct queued_pod *pod, unsigned most,
                               void (*visit)(struct queued_pod *other, void *context),
                               void *context)
{
    const struct signature_group *f = pod->group;

    if (f == NULL || f->signature == SIGNATURE_NONE)
        return;
    for (size_t i = 0; i < heap_count(f->members) && i < most; i++)
        visit(heap_at(f->members, i), context);
}

/* The first pod of a heap of groups, which stands for all of them. */
static struct queued_pod *
first_of(const struct heap *sleeping)
{
    struct signature_group *f = heap_top(sleeping);
    struct queued_pod *first;

    if (f == NULL)
        return NULL;
    first = heap_top(f->members);
    take_rejectors(first, f);
    return first;
}

/* A heap has no pod below a position that comes before the pod at it. */
static void
gather_first(struct shape *shape, size_t at, const struct unschedulable_pods_offer *offer,
             struct queued_pod **found, unsigned *count)
{
    const struct signature_group *f;

    if (at >= heap_count(shape->sleeping) || *count == FIRST_MOST)
        return;
    f = heap_at(shape->sleeping, at);
    if (!offer->is_first(heap_top(f->members), offer->context))
        return;
    found[(*count)++] = heap_top(f->members);
    gather_first(shape, 2 * at + 1, offer, found, count);
    gather_first(shape, 2 * at + 2, offer, found, count);
}

/* False: the caller is to visit the groups of the shape one by one. */
static bool
offer_to_shape(struct unschedulable_pods *s, struct shape *shape,
               const struct unschedulable_pods_offer *offer)
{
    struct queued_pod *first = first_of(shape->sleeping);
    struct queued_pod *found[FIRST_MOST];
    unsigned count = 0;

    if (first == NULL)
        return true;
    if (!offer->goes_by_room(first, offer->context))
        return false;
    gather_first(shape, 0, offer, found, &count);
    if (count == FIRST_MOST)
        return false;
    if (!shape->is_offered && offer->may_help(first, offer->context)) {
        shape->is_offered = true;
        shape->since = offer->number;
        list_add_last(&s->offered, &shape->offered);
    }
    for (unsigned i = 0; i < count; i++)
        if (found[i]->state == QUEUE_UNSCHEDULABLE && found[i]->group->shape == shape) {
            take_rejectors(found[i], found[i]->group);
            offer->try_first(found[i], offer->context);
        }
    return true;
}

static void
offer_to_class(struct unschedulable_pods *s, struct class *c,
               const struct unschedulable_pods_offer *offer)
{
    list_foreach_safe(link, &c->shapes)
    {
        struct shape *shape = container_of(link, struct shape, link);

        shape->is_visited = true;
        if (!offer_to_shape(s, shape, offer))
            list_foreach_safe(at, &shape->groups) visit_group(at, offer->visit, offer->context);
        shape->is_visited = false;
        unschedulable_pods_settle_shape(s, shape);
    }
}

static void
visit_class(struct unschedulable_pods *s, struct class *c, unschedulable_pods_visit_fn *visit,
            void *context)
{
    list_foreach_safe(link, &c->shapes)
        visit_shape(s, container_of(link, struct shape, link), visit, context);
}

static void
visit_others(struct unschedulable_pods *s, struct class *c, unschedulable_pods_visit_fn *visit,
             void *context)
{
    list_foreach_safe(link, &c->groups) visit_group(link, visit, context);
    list_foreach_safe(link, &c->hint_groups)
        visit_hint_group(s, container_of(link, struct hint_group, link), visit, context);
}

static bool
wakes_class(const struct class *c, const struct cluster_event *event)
{
    return (c->actions[event->resource] & event->actions) != 0;
}

void
unschedulable_pods_offer(struct unschedulable_pods *s, const struct cluster_event *event,
                         const struct unschedulable_pods_offer *offer)
{
    list_foreach(at, &s->classes)
    {
        struct class *c = container_of(at, struct class, link);

        if (!wakes_class(c, event))
            continue;
        offer_to_class(s, c, offer);
        visit_others(s, c, offer->visit, offer->context);
    }
}

void
unschedulable_pods_visit(struct unschedulable_pods *s, const struct cluster_event *event,
                         unschedulable_pods_visit_fn *visit, void *context)
{
    list_foreach(at, &s->classes)
    {
        struct class *c = container_of(at, struct class, link);

        if (!wakes_class(c, event))
            continue;
        visit_class(s, c, visit, context);
        visit_others(s, c, visit, context);
    }
}

/* A search among all groups. */
struct first_walk {
    const struct unschedulable_pods *s;
    bool (*is_wanted)(const struct queued_pod *pod, void *context);
    void *context;
    struct queued_pod *best;
};

/* A heap has no pod below a position that comes before the pod at it. */
static void
search_below(struct first_walk *w, const struct heap *sleeping, size_t at)
{
    const struct signature_group *f;
    struct queued_pod *pod;

    if (at >= heap_count(sleeping))
        return;
    f = heap_at(sleeping, at);
    pod = heap_top(f->members);
    if (w->best != NULL && !w->s->less(pod, w->best, w->s->context))
        return;
    if (w->is_wanted(pod, w->context)) {
        w->best = pod;
        return;
    }
    search_below(w, sleeping, 2 * at + 1);
    search_below(w, sleeping, 2 * at + 2);
}

struct queued_pod *
unschedulable_pods_first(const struct unschedulable_pods *s,
                         bool (*is_wanted)(const struct queued_pod *pod, void *context),
                         void *context)
{
    struct first_walk w = {.s = s, .is_wanted = is_wanted, .context = context};

    list_foreach(at, &s->classes)
    {
        struct class *c = container_of(at, struct class, link);

        search_below(&w, c->sleeping, 0);
        list_foreach(link, &c->shapes)
            search_below(&w, container_of(link, struct shape, link)->sleeping, 0);
    }
    return w.best;
}

/* ---- Offers ---- */

/* A search among the groups of one shape. */
struct offer_walk {
    const struct unschedulable_pods *s;
    uint64_t since, latest;
    bool (*takes)(const struct queued_pod *pod, uint64_t since, void *context);
    void *context;
    struct queued_pod *best;
    bool is_open; /* a group may still take some room */
};

/* A pod that was activated from the group and comes before all its
 * unschedulable pods decides for the group.
 */
static bool
is_decided(const struct offer_walk *w, const struct signature_group *f)
{
    return f->awake != NULL && f->awake->state != QUEUE_BACKOFF
           && !w->s->less(heap_top(f->members), f->awake, w->s->context);
}

static void
offer_below(struct offer_walk *w, const struct heap *sleeping, size_t at)
{
    struct signature_group *f;
    struct queued_pod *pod;

    if (at >= heap_count(sleeping))
        return;
    f = heap_at(sleeping, at);
    pod = heap_top(f->members);
    if (w->best != NULL && !w->s->less(pod, w->best, w->s->context)) {
        w->is_open = true;
        return;
    }
    if (f->seen < w->latest && !is_decided(w, f)) {
        take_rejectors(pod, f);
        if (w->takes(pod, f->seen > w->since ? f->seen : w->since, w->context)) {
            w->best = pod;
            w->is_open = true;
            return;
        }
    }
    f->seen = w->latest;
    offer_below(w, sleeping, 2 * at + 1);
    offer_below(w, sleeping, 2 * at + 2);
}

struct queued_pod *
unschedulable_pods_first_offered(struct unschedulable_pods *s, uint64_t latest,
                                 bool (*takes)(const struct queued_pod *pod, uint64_t since,
                                               void *context),
                                 void *context)
{
    struct offer_walk w = {
        .s = s,
        .latest = latest,
        .takes = takes,
        .context = context,
    };

    list_foreach_safe(link, &s->offered)
    {
        struct shape *shape = container_of(link, struct shape, offered);

        w.is_open = false;
        w.since = shape->since;
        offer_below(&w, shape->sleeping, 0);
        if (w.is_open)
            continue;
        shape->is_offered = false;
        list_remove(&shape->offered);
    }
    return w.best;
}

void
unschedulable_pods_note_seen(const struct queued_pod *pod, uint64_t latest)
{
    pod->group->seen = latest;
}

bool
unschedulable_pods_has_offered(const struct unschedulable_pods *s)
{
    return !list_is_empty(&s->offered);
}

struct queued_pod *
unschedulable_pods_next_turn(struct unschedulable_pods *s)
{
    struct signature_group *f;

    if (list_is_empty(&s->turns))
        return NULL;
    f = container_of(s->turns.next, struct signature_group, turn);
    list_remove(&f->turn);
    list_add_last(&s->turns, &f->turn);
    if (heap_count(f->members) == 0)
        return NULL;
    take_rejectors(heap_top(f->members), f);
    return heap_top(f->members);
}

bool
unschedulable_pods_is_offered(const struct queued_pod *pod, uint64_t latest)
{
    const struct signature_group *f = pod->group;

    return f != NULL && f->shape != NULL && f->shape->is_offered && f->seen < latest;
}
