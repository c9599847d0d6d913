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

/* Families whose pods the same plugins of the same profile rejected. */
struct class
{
    struct list link;
    const struct profile *profile;
    plugin_set plugins;
    unsigned actions[EVENT_RESOURCES]; /* that any of them registered for */
    struct list groups;                /* those of no hint group */
    struct list hint_groups;
    struct list awake; /* groups of one pod, which is up: no event's business */
    struct heap *sleeping; /* groups, by the first of those asleep */
};

/* Families of a class that hints go by the same for. */
struct hint_group {
    struct list link; /* of its class */
    struct list groups;
    uint32_t hints;
    bool is_visited; /* right now: it stays though it empties */
};

struct signature_group {
    struct list link; /* of its class or hint group */
    struct class *class;
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
    size_t n_pods, n_groups;
};

struct unschedulable_pods *
unschedulable_pods_new(unschedulable_pods_less_fn *less, void *context)
{
    struct unschedulable_pods *s = xnew(struct unschedulable_pods);

    s->less = less;
    s->context = context;
    list_init(&s->classes);
    return s;
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
    if (f->hint_group != NULL)
        settle_hint_group(s, f->hint_group);
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

/* The latest failure says best what the whole group waits for. */
static void
reclass(struct unschedulable_pods *s,
        struct signature_group *f,
        const struct queued_pod *pod)
{
    struct class *c =
        class_find(s, pod->profile, pod->unschedulable | pod->pending);

    f->unschedulable = pod->unschedulable;
    f->pending = pod->pending;
    if (f->class == c)
        return;
    list_remove(&f->link);
    list_add_last(&c->groups, &f->link);
    f->class = c;
}

/* Before those asleep in it change. */
static void
leave_class(struct signature_group *f)
{
    if (f->place != HEAP_NOWHERE)
        heap_remove(f->class->sleeping, f);
}

static void
enter_class(struct signature_group *f)
{
    if (heap_count(f->members) > 0)
        heap_push(f->class->sleeping, f);
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
                       uint32_t signature,
                       uint32_t hints)
{
    struct signature_group *before = pod->group;
    struct signature_group *f = group_find(s, signature);

    leave_class(f);
    heap_push(f->members, pod);
    pod->group = f;
    s->n_pods++;
    reclass(s, f, pod);
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

void
unschedulable_pods_visit(struct unschedulable_pods *s,
                         const struct cluster_event *event,
                         unschedulable_pods_visit_fn *visit,
                         void *context)
{
    list_foreach(at, &s->classes)
    {
        struct class *c = container_of(at, struct class, link);

        if ((c->actions[event->resource] & event->actions) == 0)
            continue;
        list_foreach_safe(link, &c->groups) visit_group(link, visit, context);
        list_foreach_safe(link, &c->hint_groups)
            visit_hint_group(s,
                             container_of(link, struct hint_group, link),
                             visit,
                             context);
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
        look_below(&w, container_of(at, struct class, link)->sleeping, 0);
    return w.best;
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
