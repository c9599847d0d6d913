/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/queue/unschedulable_pods.h"

#include <string.h>

#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "lib/base/alloc.h"
#include "lib/base/heap.h"

/* How many of a group are looked at for one that is ready. */
#define PICK_DEPTH 16u

/* So many that come first are gathered in a shape. */
#define FIRST_MOST 256u

/* Families whose pods the same plugins of the same profile rejected. */
struct class
{
    struct list link;
    const struct profile *profile;
    plugin_set plugins;
    unsigned actions[EVENT_RESOURCES]; /* that any of them registered for */
    struct list shapes;
    struct list groups; /* those of no shape and no hint group */
    struct list hint_groups;
    struct list awake; /* groups of one pod, which is up: no event's business */
    struct heap *sleeping; /* groups of no shape, by the first asleep */
};

/* Groups of a class whose pods ask the same of a node's room. */
struct shape {
    struct list link;    /* of its class */
    struct list offered; /* or of none */
    struct class *class;
    struct shape *next; /* of that number, in another class */
    uint32_t number;
    struct list groups;
    struct heap *sleeping; /* of them, by the first asleep */
    bool is_offered;
    uint64_t since;  /* that number, when it is */
    bool is_visited; /* right now: it stays though it empties */
};

/* Families of a class that hints go by the same for. */
struct hint_group {
    struct list link; /* of its class */
    struct list groups;
    uint32_t hints;
    bool is_visited; /* right now: it stays though it empties */
};

struct signature_group {
    struct list link; /* of its class, shape or hint group */
    struct list turn; /* of all groups: the one looked at last is the last */
    struct class *class;
    struct shape *shape;               /* or NULL */
    uint64_t seen;                     /* offers before it are no news */
    size_t place;                      /* among those of it with one asleep */
    plugin_set unschedulable, pending; /* of the latest to fail */
    struct hint_group *hint_group;     /* or NULL */
    uint32_t signature;
    struct heap *members;     /* asleep */
    unsigned n_awake;         /* woken, and neither placed nor failed */
    struct queued_pod *awake; /* the last one woken */
};

struct unschedulable_pods {
    unschedulable_pods_less_fn *less;
    void *context;
    struct list classes;
    struct signature_group **by_signature;
    size_t n_signatures;
    struct hint_group **by_hints;
    size_t n_hints;
    struct shape **shapes; /* by number */
    size_t n_shapes;
    struct list offered; /* shapes that room was offered to */
    struct list turns;
    size_t n_pods, n_groups;
};

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

static void
settle_shape(struct unschedulable_pods *s, struct shape *shape)
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

static void
settle_hint_group(struct unschedulable_pods *s, struct hint_group *ch)
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
        settle_hint_group(s, f->hint_group);
    if (f->shape != NULL)
        settle_shape(s, f->shape);
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
            struct shape *shape =
                container_of(c->shapes.next, struct shape, link);

            group_free(
                s,
                container_of(shape->groups.next, struct signature_group, link));
        }
        list_foreach_safe(at, &c->groups)
            group_free(s, container_of(at, struct signature_group, link));
        while (!list_is_empty(&c->hint_groups)) {
            struct hint_group *ch =
                container_of(c->hint_groups.next, struct hint_group, link);

            group_free(
                s,
                container_of(ch->groups.next, struct signature_group, link));
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
class_new(struct unschedulable_pods *s,
          const struct profile *profile,
          plugin_set plugins)
{
    struct class *c = xnew(struct class);

    c->sleeping =
        heap_new(group_less, s, offsetof(struct signature_group, place));

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
            if ((plugins & PLUGIN_BIT(i)) != 0
                || plugin->wakes[w].resource == EVENT_PARTITION
                || plugin->wakes[w].resource == EVENT_NODE_RESERVATION)
                c->actions[plugin->wakes[w].resource] |=
                    plugin->wakes[w].actions;
    }
    return c;
}

/* There are as many as there are sets of plugins that reject together: few.
 * They are never freed, for they come back.
 */
static struct class *
class_find(struct unschedulable_pods *s,
           const struct profile *profile,
           plugin_set plugins)
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
    f->members =
        heap_new(s->less, s->context, offsetof(struct queued_pod, place));
    list_init(&f->link);
    list_add_last(&s->turns, &f->turn);
    f->place = HEAP_NOWHERE;
    s->n_groups++;
    return f;
}

/* Room for that number in an array of pointers. */
static void *
make_room(void *items, size_t *count, uint32_t number)
{
    size_t before = *count;

    if (number < before)
        return items;
    *count = (size_t)number * 2 + 64;
    items = xrealloc_array(items, *count, sizeof(void *));
    memset((char *)items + before * sizeof(void *),
           0,
           (*count - before) * sizeof(void *));
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
    shape->sleeping =
        heap_new(group_less, s, offsetof(struct signature_group, place));
    shape->next = s->shapes[number];
    s->shapes[number] = shape;
    list_init(&shape->groups);
    list_init(&shape->offered);
    list_add_last(&c->shapes, &shape->link);
    return shape;
}

/* The latest failure says best what the whole group waits for. */
static void
reclass(struct unschedulable_pods *s,
        struct signature_group *f,
        const struct queued_pod *pod,
        uint32_t shape)
{
    struct class *c =
        class_find(s, pod->profile, pod->unschedulable | pod->pending);
    struct shape *before = f->shape;

    f->unschedulable = pod->unschedulable;
    f->pending = pod->pending;
    if (f->class == c && f->hint_group == NULL
        && (before != NULL ? before->number : SIGNATURE_NONE) == shape)
        return;
    list_remove(&f->link);
    f->class = c;
    f->shape = shape != SIGNATURE_NONE ? shape_find(s, c, shape) : NULL;
    list_add_last(f->shape != NULL ? &f->shape->groups : &c->groups, &f->link);
    if (before != NULL)
        settle_shape(s, before);
}

/* Where its first is among those asleep. */
static struct heap *
heap_of(const struct signature_group *f)
{
    return f->shape != NULL ? f->shape->sleeping : f->class->sleeping;
}

/* Before those asleep in it change. */
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

/* A group that was just made, of one pod. */
static void
join_hint_group(struct unschedulable_pods *s,
                struct signature_group *f,
                uint32_t hints)
{
    f->hint_group = hint_group_find(s, f->class, hints);
    list_remove(&f->link);
    list_add_last(&f->hint_group->groups, &f->link);
}

static void
settle(struct unschedulable_pods *s, struct signature_group *f)
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
unschedulable_pods_add(struct unschedulable_pods *s,
                       struct queued_pod *pod,
                       const struct sleep_signs *signs)
{
    uint32_t signature = signs->signature, hints = signs->hints;
    struct signature_group *before = pod->group;
    struct signature_group *f = group_find(s, signature);

    leave_class(f);
    heap_push(f->members, pod);
    pod->group = f;
    s->n_pods++;
    reclass(s,
            f,
            pod,
            signature != SIGNATURE_NONE ? signs->shape : SIGNATURE_NONE);
    f->seen = signs->seen;
    enter_class(f);
    if (signature == SIGNATURE_NONE && hints != SIGNATURE_NONE)
        join_hint_group(s, f, hints);
    if (before == NULL)
        return;
    note_failed_again(before, pod);
    if (before != f)
        settle(s, before);
}

/* A group of one, which its pod will not come back to. */
static void
step_aside(struct unschedulable_pods *s, struct signature_group *f)
{
    list_remove(&f->link);
    list_add_last(&f->class->awake, &f->link);
    if (f->hint_group != NULL)
        settle_hint_group(s, f->hint_group);
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

/* Plugins that rejected one of late would reject its like, too. */
static void
take_rejectors(struct queued_pod *pod, const struct signature_group *f)
{
    pod->unschedulable = f->unschedulable;
    pod->pending = f->pending;
}

void
unschedulable_pods_update(struct queued_pod *pod)
{
    if (pod->group != NULL)
        take_rejectors(pod, pod->group);
}

bool
unschedulable_pods_leave(struct unschedulable_pods *s,
                         struct queued_pod *pod,
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
    settle(s, f);
    return false;
}

static bool
visit_group(struct list *link,
            unschedulable_pods_visit_fn *visit,
            void *context)
{
    struct signature_group *f =
        container_of(link, struct signature_group, link);
    struct queued_pod *first = heap_top(f->members);

    if (first == NULL)
        return true;
    take_rejectors(first, f);
    return visit(first, context);
}

static void
visit_shape(struct unschedulable_pods *s,
            struct shape *shape,
            unschedulable_pods_visit_fn *visit,
            void *context)
{
    shape->is_visited = true;
    list_foreach_safe(link, &shape->groups) visit_group(link, visit, context);
    shape->is_visited = false;
    settle_shape(s, shape);
}

static void
visit_hint_group(struct unschedulable_pods *s,
                 struct hint_group *ch,
                 unschedulable_pods_visit_fn *visit,
                 void *context)
{
    ch->is_visited = true;
    list_foreach_safe(link, &ch->groups)
    {
        if (!visit_group(link, visit, context))
            break;
    }
    ch->is_visited = false;
    settle_hint_group(s, ch);
}

/* Its first stands for all. */
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

/* Below a place in the heap nobody comes before who is there. */
static void
gather_first(struct shape *shape,
             size_t at,
             const struct unschedulable_pods_offer *offer,
             struct queued_pod **found,
             unsigned *count)
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

/* False: its groups are to be visited one by one. */
static bool
offer_to_shape(struct unschedulable_pods *s,
               struct shape *shape,
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
        if (found[i]->state == QUEUE_UNSCHEDULABLE
            && found[i]->group->shape == shape) {
            take_rejectors(found[i], found[i]->group);
            offer->try_first(found[i], offer->context);
        }
    return true;
}

static void
offer_to_class(struct unschedulable_pods *s,
               struct class *c,
               const struct unschedulable_pods_offer *offer)
{
    list_foreach_safe(link, &c->shapes)
    {
        struct shape *shape = container_of(link, struct shape, link);

        shape->is_visited = true;
        if (!offer_to_shape(s, shape, offer))
            list_foreach_safe(at, &shape->groups)
                visit_group(at, offer->visit, offer->context);
        shape->is_visited = false;
        settle_shape(s, shape);
    }
}

static void
visit_class(struct unschedulable_pods *s,
            struct class *c,
            unschedulable_pods_visit_fn *visit,
            void *context)
{
    list_foreach_safe(link, &c->shapes)
        visit_shape(s, container_of(link, struct shape, link), visit, context);
}

static void
visit_others(struct unschedulable_pods *s,
             struct class *c,
             unschedulable_pods_visit_fn *visit,
             void *context)
{
    list_foreach_safe(link, &c->groups) visit_group(link, visit, context);
    list_foreach_safe(link, &c->hint_groups)
        visit_hint_group(s,
                         container_of(link, struct hint_group, link),
                         visit,
                         context);
}

static bool
is_told(const struct class *c, const struct cluster_event *event)
{
    return (c->actions[event->resource] & event->actions) != 0;
}

void
unschedulable_pods_offer(struct unschedulable_pods *s,
                         const struct cluster_event *event,
                         const struct unschedulable_pods_offer *offer)
{
    list_foreach(at, &s->classes)
    {
        struct class *c = container_of(at, struct class, link);

        if (!is_told(c, event))
            continue;
        offer_to_class(s, c, offer);
        visit_others(s, c, offer->visit, offer->context);
    }
}

void
unschedulable_pods_visit(struct unschedulable_pods *s,
                         const struct cluster_event *event,
                         unschedulable_pods_visit_fn *visit,
                         void *context)
{
    list_foreach(at, &s->classes)
    {
        struct class *c = container_of(at, struct class, link);

        if (!is_told(c, event))
            continue;
        visit_class(s, c, visit, context);
        visit_others(s, c, visit, context);
    }
}
struct queued_pod *
unschedulable_pods_pick(const struct unschedulable_pods *s,
                        const struct queued_pod *member,
                        bool (*is_ready)(const struct queued_pod *pod,
                                         void *context),
                        void *context)
{
    const struct signature_group *f = member->group;
    struct queued_pod *best = NULL;

    if (f->awake != NULL && f->awake->state != QUEUE_BACKOFF)
        return NULL;
    for (size_t i = 0; i < heap_count(f->members) && i < PICK_DEPTH; i++) {
        struct queued_pod *pod = heap_at(f->members, i);

        if (is_ready(pod, context)
            && (best == NULL || s->less(pod, best, s->context)))
            best = pod;
    }
    if (best == NULL && f->awake == NULL)
        best = heap_top(f->members);
    return best;
}

/* A search among all groups. */
struct first_walk {
    const struct unschedulable_pods *s;
    bool (*is_wanted)(const struct queued_pod *pod, void *context);
    void *context;
    struct queued_pod *best;
};

/* Below a place in the heap nobody comes before who is there. */
static void
look_below(struct first_walk *w, const struct heap *sleeping, size_t at)
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
    look_below(w, sleeping, 2 * at + 1);
    look_below(w, sleeping, 2 * at + 2);
}

struct queued_pod *
unschedulable_pods_first(const struct unschedulable_pods *s,
                         bool (*is_wanted)(const struct queued_pod *pod,
                                           void *context),
                         void *context)
{
    struct first_walk w = {.s = s, .is_wanted = is_wanted, .context = context};

    list_foreach(at, &s->classes)
    {
        struct class *c = container_of(at, struct class, link);

        look_below(&w, c->sleeping, 0);
        list_foreach(link, &c->shapes)
            look_below(&w, container_of(link, struct shape, link)->sleeping, 0);
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
    bool is_open; /* somebody may still take it */
};

/* Whoever was woken from the group before decides for it. */
static bool
is_decided(const struct signature_group *f)
{
    return f->awake != NULL && f->awake->state != QUEUE_BACKOFF;
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
    if (f->seen < w->latest && !is_decided(f)) {
        take_rejectors(pod, f);
        if (w->takes(pod,
                     f->seen > w->since ? f->seen : w->since,
                     w->context)) {
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
unschedulable_pods_first_offered(struct unschedulable_pods *s,
                                 uint64_t latest,
                                 bool (*takes)(const struct queued_pod *pod,
                                               uint64_t since,
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
