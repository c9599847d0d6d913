/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/queue/in_flight.h"

#include <string.h>

#include "controller/scheduler/framework/cluster_event.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"

struct in_flight_event {
    struct in_flight_mark mark;
    struct cluster_event event;
    const struct object *old_object, *new_object;
};

/* The number of kept events with that label. */
struct label_count {
    const char *label;
    size_t count;
};

#define LABELS 64

struct in_flight {
    struct list marks;
    size_t n_pods, n_events;
    struct label_count labels[LABELS];
    unsigned n_labels;
};

struct in_flight *
in_flight_new(void)
{
    struct in_flight *f = xnew(struct in_flight);

    list_init(&f->marks);
    return f;
}

static struct in_flight_mark *
mark_of(struct list *link)
{
    return container_of(link, struct in_flight_mark, link);
}

static struct in_flight_event *
in_flight_event_of(struct in_flight_mark *mark)
{
    return container_of(mark, struct in_flight_event, mark);
}

/* Events of further labels are not counted once the table is full. */
static void
count_label(struct in_flight *f, const char *label, int by)
{
    unsigned i = 0;

    while (i < f->n_labels && strcmp(f->labels[i].label, label) != 0)
        i++;
    if (i == LABELS)
        return;
    if (i == f->n_labels)
        f->labels[f->n_labels++].label = label;
    f->labels[i].count += (size_t)by;
}

static void
forget(struct in_flight *f, struct in_flight_event *h)
{
    list_remove(&h->mark.link);
    f->n_events--;
    count_label(f, h->event.label, -1);
    object_unref(h->old_object);
    object_unref(h->new_object);
    free(h);
}

/* No pod needs the events that are before all pods in the list. */
static void
prune(struct in_flight *f)
{
    while (!list_is_empty(&f->marks)) {
        struct in_flight_mark *first = mark_of(f->marks.next);

        if (!first->is_event)
            return;
        forget(f, in_flight_event_of(first));
    }
}

void
in_flight_free(struct in_flight *f)
{
    if (f == NULL)
        return;
    list_foreach_safe(link, &f->marks) if (mark_of(link)->is_event)
        forget(f, in_flight_event_of(mark_of(link)));
    free(f);
}

void
in_flight_begin(struct in_flight *f, struct queued_pod *pod)
{
    pod->mark.is_event = false;
    list_add_last(&f->marks, &pod->mark.link);
    f->n_pods++;
}

void
in_flight_end(struct in_flight *f, struct queued_pod *pod)
{
    if (list_is_empty(&pod->mark.link))
        return;
    list_remove(&pod->mark.link);
    f->n_pods--;
    prune(f);
}

void
in_flight_add(struct in_flight *f, const struct cluster_event *event,
              const struct object *old_object, const struct object *new_object)
{
    struct in_flight_event *h;

    if (f->n_pods == 0)
        return;
    h = xnew(struct in_flight_event);
    h->mark.is_event = true;
    h->event = *event;
    h->old_object = old_object != NULL ? object_ref(old_object) : NULL;
    h->new_object = new_object != NULL ? object_ref(new_object) : NULL;
    list_add_last(&f->marks, &h->mark.link);
    f->n_events++;
    count_label(f, event->label, 1);
}

void
in_flight_visit(const struct in_flight *f, const struct queued_pod *pod, in_flight_visit_fn *visit,
                void *context)
{
    for (struct list *link = pod->mark.link.next; link != &f->marks; link = link->next) {
        const struct in_flight_event *h;

        if (!mark_of(link)->is_event)
            continue;
        h = in_flight_event_of(mark_of(link));
        if (!visit(&h->event, h->old_object, h->new_object, context))
            return;
    }
}

void
in_flight_visit_labels(const struct in_flight *f, in_flight_label_fn *visit, void *context)
{
    for (unsigned i = 0; i < f->n_labels; i++)
        visit(f->labels[i].label, f->labels[i].count, context);
}

size_t
in_flight_pods(const struct in_flight *f)
{
    return f->n_pods;
}
