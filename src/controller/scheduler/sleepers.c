/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/sleepers.h"

#include <string.h>

#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "lib/base/alloc.h"
#include "lib/base/heap.h"

/* How many of a family are looked at for one that is ready. */
#define PICK_DEPTH 16u

/* Families whose pods the same plugins of the same profile rejected. */
struct class
{
    struct list link;
    const struct profile *profile;
    plugin_set plugins;
    unsigned actions[EVENT_RESOURCES]; /* that any of them registered for */
    struct list families;              /* those of no chorus */
    struct list choruses;
    struct list
        awake; /* families of one pod, which is up: no event's business */
};

/* Families of a class that hints go by the same for. */
struct chorus {
    struct list link; /* of its class */
    struct list families;
    uint32_t hints;
    bool is_visited; /* right now: it stays though it empties */
};

struct family {
    struct list link; /* of its class or chorus */
    struct class *class;
    struct chorus *chorus; /* or NULL */
    uint32_t signature;
    struct heap *members;     /* asleep */
    unsigned n_awake;         /* woken, and neither placed nor failed */
    struct queued_pod *awake; /* the last one woken */
};

struct sleepers {
    sleepers_less_fn *less;
    void *context;
    struct list classes;
    struct family **by_signature;
    size_t n_signatures;
    struct chorus **by_hints;
    size_t n_hints;
    size_t n_pods, n_families;
};

struct sleepers *
sleepers_new(sleepers_less_fn *less, void *context)
{
    struct sleepers *s = xnew(struct sleepers);

    s->less = less;
    s->context = context;
    list_init(&s->classes);
    return s;
}

static void
settle_chorus(struct sleepers *s, struct chorus *ch)
{
    if (ch->is_visited || !list_is_empty(&ch->families))
        return;
    s->by_hints[ch->hints] = NULL;
    list_remove(&ch->link);
    free(ch);
}

static void
family_free(struct sleepers *s, struct family *f)
{
    if (f->signature != SIGNATURE_NONE)
        s->by_signature[f->signature] = NULL;
    list_remove(&f->link);
    if (f->chorus != NULL)
        settle_chorus(s, f->chorus);
    heap_free(f->members);
    free(f);
    s->n_families--;
}

void
sleepers_free(struct sleepers *s)
{
    if (s == NULL)
        return;
    list_foreach_safe(link, &s->classes)
    {
        struct class *c = container_of(link, struct class, link);

        list_foreach_safe(at, &c->families)
            family_free(s, container_of(at, struct family, link));
        while (!list_is_empty(&c->choruses)) {
            struct chorus *ch =
                container_of(c->choruses.next, struct chorus, link);

            family_free(s,
                        container_of(ch->families.next, struct family, link));
        }
        list_foreach_safe(at, &c->awake)
            family_free(s, container_of(at, struct family, link));
        free(c);
    }
    free(s->by_signature);
    free(s->by_hints);
    free(s);
}

static struct class *
class_new(const struct profile *profile, plugin_set plugins)
{
    struct class *c = xnew(struct class);

    c->profile = profile;
    c->plugins = plugins;
    list_init(&c->families);
    list_init(&c->choruses);
    list_init(&c->awake);
    if ((plugins & PLUGIN_BIT(PLUGIN_EXTENDERS)) != 0)
        for (unsigned i = 0; i < EVENT_RESOURCES; i++)
            c->actions[i] = ACTION_ALL & ~(unsigned)ACTION_UPDATE_OTHER;
    for (unsigned i = 0; i < profile->n_entries; i++) {
        const struct plugin *plugin = profile->entries[i].plugin;

        if ((plugins & PLUGIN_BIT(i)) == 0)
            continue;
        for (unsigned w = 0; w < plugin->n_wakes; w++)
            c->actions[plugin->wakes[w].resource] |= plugin->wakes[w].actions;
    }
    return c;
}

/* There are as many as there are sets of plugins that reject together: few.
 * They are never freed, for they come back.
 */
static struct class *
class_find(struct sleepers *s,
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
    c = class_new(profile, plugins);
    list_add_last(&s->classes, &c->link);
    return c;
}

static struct family *
family_new(struct sleepers *s, uint32_t signature)
{
    struct family *f = xnew(struct family);

    f->signature = signature;
    f->members =
        heap_new(s->less, s->context, offsetof(struct queued_pod, place));
    list_init(&f->link);
    s->n_families++;
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

static struct family *
family_find(struct sleepers *s, uint32_t signature)
{
    if (signature == SIGNATURE_NONE)
        return family_new(s, signature);
    s->by_signature = make_room(s->by_signature, &s->n_signatures, signature);
    if (s->by_signature[signature] == NULL)
        s->by_signature[signature] = family_new(s, signature);
    return s->by_signature[signature];
}

/* The latest failure says best what the whole family waits for. */
static void
reclass(struct sleepers *s, struct family *f, const struct queued_pod *pod)
{
    struct class *c =
        class_find(s, pod->profile, pod->unschedulable | pod->pending);

    if (f->class == c)
        return;
    list_remove(&f->link);
    list_add_last(&c->families, &f->link);
    f->class = c;
}

static struct chorus *
chorus_find(struct sleepers *s, struct class *c, uint32_t hints)
{
    struct chorus *ch;

    s->by_hints = make_room(s->by_hints, &s->n_hints, hints);
    ch = s->by_hints[hints];
    if (ch != NULL)
        return ch;
    ch = xnew(struct chorus);
    ch->hints = hints;
    list_init(&ch->families);
    list_add_last(&c->choruses, &ch->link);
    s->by_hints[hints] = ch;
    return ch;
}

/* A family that was just made, of one pod. */
static void
join_chorus(struct sleepers *s, struct family *f, uint32_t hints)
{
    f->chorus = chorus_find(s, f->class, hints);
    list_remove(&f->link);
    list_add_last(&f->chorus->families, &f->link);
}

static void
settle(struct sleepers *s, struct family *f)
{
    if (heap_count(f->members) == 0 && f->n_awake == 0)
        family_free(s, f);
}

static void
fall_asleep(struct family *f, struct queued_pod *pod)
{
    f->n_awake--;
    if (f->awake == pod)
        f->awake = NULL;
}

void
sleepers_add(struct sleepers *s,
             struct queued_pod *pod,
             uint32_t signature,
             uint32_t hints)
{
    struct family *before = pod->family;
    struct family *f = family_find(s, signature);

    heap_push(f->members, pod);
    pod->family = f;
    s->n_pods++;
    reclass(s, f, pod);
    if (signature == SIGNATURE_NONE && hints != SIGNATURE_NONE)
        join_chorus(s, f, hints);
    if (before == NULL)
        return;
    fall_asleep(before, pod);
    if (before != f)
        settle(s, before);
}

/* A family of one, which its pod will not come back to. */
static void
step_aside(struct sleepers *s, struct family *f)
{
    list_remove(&f->link);
    list_add_last(&f->class->awake, &f->link);
    if (f->chorus != NULL)
        settle_chorus(s, f->chorus);
    f->chorus = NULL;
}

void
sleepers_remove(struct sleepers *s, struct queued_pod *pod)
{
    struct family *f = pod->family;

    heap_remove(f->members, pod);
    s->n_pods--;
    f->n_awake++;
    f->awake = pod;
    if (f->signature == SIGNATURE_NONE)
        step_aside(s, f);
}

bool
sleepers_leave(struct sleepers *s,
               struct queued_pod *pod,
               struct queued_pod **ret_next)
{
    struct family *f = pod->family;

    if (f == NULL)
        return false;
    pod->family = NULL;
    fall_asleep(f, pod);
    if (f->n_awake == 0 && heap_count(f->members) > 0) {
        *ret_next = heap_top(f->members);
        return true;
    }
    settle(s, f);
    return false;
}

static bool
visit_family(struct list *link, sleepers_visit_fn *visit, void *context)
{
    struct family *f = container_of(link, struct family, link);

    return heap_count(f->members) == 0 || visit(heap_top(f->members), context);
}

static void
visit_chorus(struct sleepers *s,
             struct chorus *ch,
             sleepers_visit_fn *visit,
             void *context)
{
    ch->is_visited = true;
    list_foreach_safe(link, &ch->families)
    {
        if (!visit_family(link, visit, context))
            break;
    }
    ch->is_visited = false;
    settle_chorus(s, ch);
}

void
sleepers_visit(struct sleepers *s,
               const struct cluster_event *event,
               sleepers_visit_fn *visit,
               void *context)
{
    list_foreach(at, &s->classes)
    {
        struct class *c = container_of(at, struct class, link);

        if ((c->actions[event->resource] & event->actions) == 0)
            continue;
        list_foreach_safe(link, &c->families)
            visit_family(link, visit, context);
        list_foreach_safe(link, &c->choruses)
            visit_chorus(s,
                         container_of(link, struct chorus, link),
                         visit,
                         context);
    }
}

struct queued_pod *
sleepers_pick(const struct sleepers *s,
              const struct queued_pod *member,
              bool (*is_ready)(const struct queued_pod *pod, void *context),
              void *context)
{
    const struct family *f = member->family;
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

size_t
sleepers_count(const struct sleepers *s)
{
    return s->n_pods;
}

size_t
sleepers_families(const struct sleepers *s)
{
    return s->n_families;
}
