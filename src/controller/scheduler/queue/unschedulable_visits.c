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
    struct signature_group *g = container_of(link, struct signature_group, link);
    struct queued_pod *first = heap_top(g->members);

    if (first == NULL)
        return true;
    unschedulable_take_rejectors(first, g);
    return visit(first, context);
}

static void
visit_shape(struct unschedulable_pods *u, struct shape *shape, unschedulable_pods_visit_fn *visit,
            void *context)
{
    shape->is_visited = true;
    list_foreach_safe(link, &shape->groups) visit_group(link, visit, context);
    shape->is_visited = false;
    unschedulable_pods_settle_shape(u, shape);
}

static void
visit_hint_group(struct unschedulable_pods *u, struct hint_group *h,
                 unschedulable_pods_visit_fn *visit, void *context)
{
    h->is_visited = true;
    list_foreach_safe(link, &h->groups)
    {
        if (!visit_group(link, visit, context))
            break;
    }
    h->is_visited = false;
    unschedulable_pods_settle_hints(u, h);
}

void
unschedulable_pods_visit_ends_alike(const struct queued_pod *pod,
                                    void (*visit)(struct queued_pod *other, void *context),
                                    void *context)
{
    const struct signature_group *g = pod->group;

    if (g == NULL || g->signature == SIGNATURE_NONE || heap_count(g->members) == 0)
        return;
    visit(heap_at(g->members, 0), context);
    visit(heap_at(g->members, heap_count(g->members) - 1), context);
}

void
unschedulable_pods_visit_alike(const struct queued_pod *pod, unsigned most,
                               void (*visit)(struct queued_pod *other, void *context),
                               void *context)
{
    const struct signature_group *g = pod->group;

    if (g == NULL || g->signature == SIGNATURE_NONE)
        return;
    for (size_t i = 0; i < heap_count(g->members) && i < most; i++)
        visit(heap_at(g->members, i), context);
}

/* The first pod of a heap of groups, which stands for all of them. */
static struct queued_pod *
first_of(const struct heap *sleeping)
{
    struct signature_group *g = heap_top(sleeping);
    struct queued_pod *first;

    if (g == NULL)
        return NULL;
    first = heap_top(g->members);
    unschedulable_take_rejectors(first, g);
    return first;
}

/* A heap has no pod below a position that comes before the pod at it. */
static void
gather_first(struct shape *shape, size_t at, const struct unschedulable_pods_offer *offer,
             struct queued_pod **found, unsigned *count)
{
    const struct signature_group *g;

    if (at >= heap_count(shape->sleeping) || *count == FIRST_MOST)
        return;
    g = heap_at(shape->sleeping, at);
    if (!offer->is_first(heap_top(g->members), offer->context))
        return;
    found[(*count)++] = heap_top(g->members);
    gather_first(shape, 2 * at + 1, offer, found, count);
    gather_first(shape, 2 * at + 2, offer, found, count);
}

/* False: the caller is to visit the groups of the shape one by one. */
static bool
offer_to_shape(struct unschedulable_pods *u, struct shape *shape,
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
        list_add_last(&u->offered, &shape->offered);
    }
    for (unsigned i = 0; i < count; i++)
        if (found[i]->state == QUEUE_UNSCHEDULABLE && found[i]->group->shape == shape) {
            unschedulable_take_rejectors(found[i], found[i]->group);
            offer->try_first(found[i], offer->context);
        }
    return true;
}

static void
offer_to_class(struct unschedulable_pods *u, struct class *c,
               const struct unschedulable_pods_offer *offer)
{
    list_foreach_safe(link, &c->shapes)
    {
        struct shape *shape = container_of(link, struct shape, link);

        shape->is_visited = true;
        if (!offer_to_shape(u, shape, offer))
            list_foreach_safe(at, &shape->groups) visit_group(at, offer->visit, offer->context);
        shape->is_visited = false;
        unschedulable_pods_settle_shape(u, shape);
    }
}

static void
visit_class(struct unschedulable_pods *u, struct class *c, unschedulable_pods_visit_fn *visit,
            void *context)
{
    list_foreach_safe(link, &c->shapes)
        visit_shape(u, container_of(link, struct shape, link), visit, context);
}

static void
visit_others(struct unschedulable_pods *u, struct class *c, unschedulable_pods_visit_fn *visit,
             void *context)
{
    list_foreach_safe(link, &c->groups) visit_group(link, visit, context);
    list_foreach_safe(link, &c->hint_groups)
        visit_hint_group(u, container_of(link, struct hint_group, link), visit, context);
}

static bool
wakes_class(const struct class *c, const struct cluster_event *event)
{
    return (c->actions[event->resource] & event->actions) != 0;
}

void
unschedulable_pods_offer(struct unschedulable_pods *u, const struct cluster_event *event,
                         const struct unschedulable_pods_offer *offer)
{
    list_foreach(at, &u->classes)
    {
        struct class *c = container_of(at, struct class, link);

        if (!wakes_class(c, event))
            continue;
        offer_to_class(u, c, offer);
        visit_others(u, c, offer->visit, offer->context);
    }
}

void
unschedulable_pods_visit(struct unschedulable_pods *u, const struct cluster_event *event,
                         unschedulable_pods_visit_fn *visit, void *context)
{
    list_foreach(at, &u->classes)
    {
        struct class *c = container_of(at, struct class, link);

        if (!wakes_class(c, event))
            continue;
        visit_class(u, c, visit, context);
        visit_others(u, c, visit, context);
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
    const struct signature_group *g;
    struct queued_pod *pod;

    if (at >= heap_count(sleeping))
        return;
    g = heap_at(sleeping, at);
    pod = heap_top(g->members);
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
unschedulable_pods_first(const struct unschedulable_pods *u,
                         bool (*is_wanted)(const struct queued_pod *pod, void *context),
                         void *context)
{
    struct first_walk w = {.s = u, .is_wanted = is_wanted, .context = context};

    list_foreach(at, &u->classes)
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
is_decided(const struct offer_walk *w, const struct signature_group *g)
{
    return g->awake != NULL && g->awake->state != QUEUE_BACKOFF
           && !w->s->less(heap_top(g->members), g->awake, w->s->context);
}

static void
offer_below(struct offer_walk *w, const struct heap *sleeping, size_t at)
{
    struct signature_group *g;
    struct queued_pod *pod;

    if (at >= heap_count(sleeping))
        return;
    g = heap_at(sleeping, at);
    pod = heap_top(g->members);
    if (w->best != NULL && !w->s->less(pod, w->best, w->s->context)) {
        w->is_open = true;
        return;
    }
    if (g->seen < w->latest && !is_decided(w, g)) {
        unschedulable_take_rejectors(pod, g);
        if (w->takes(pod, g->seen > w->since ? g->seen : w->since, w->context)) {
            w->best = pod;
            w->is_open = true;
            return;
        }
    }
    g->seen = w->latest;
    offer_below(w, sleeping, 2 * at + 1);
    offer_below(w, sleeping, 2 * at + 2);
}

struct queued_pod *
unschedulable_pods_first_offered(struct unschedulable_pods *u, uint64_t latest,
                                 bool (*takes)(const struct queued_pod *pod, uint64_t since,
                                               void *context),
                                 void *context)
{
    struct offer_walk w = {
        .s = u,
        .latest = latest,
        .takes = takes,
        .context = context,
    };

    list_foreach_safe(link, &u->offered)
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
unschedulable_pods_has_offered(const struct unschedulable_pods *u)
{
    return !list_is_empty(&u->offered);
}

struct queued_pod *
unschedulable_pods_next_turn(struct unschedulable_pods *u)
{
    struct signature_group *g;

    if (list_is_empty(&u->turns))
        return NULL;
    g = container_of(u->turns.next, struct signature_group, turn);
    list_remove(&g->turn);
    list_add_last(&u->turns, &g->turn);
    if (heap_count(g->members) == 0)
        return NULL;
    unschedulable_take_rejectors(heap_top(g->members), g);
    return heap_top(g->members);
}

bool
unschedulable_pods_is_offered(const struct queued_pod *pod, uint64_t latest)
{
    const struct signature_group *g = pod->group;

    return g != NULL && g->shape != NULL && g->shape->is_offered && g->seen < latest;
}
