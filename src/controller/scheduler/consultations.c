/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/consultations.h"

#include "controller/scheduler/consultation.h"
#include "controller/scheduler/counsel.h"
#include "controller/scheduler/extenders/extender.h"
#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/node_view.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"

/* Pods that are asked about at a time: a question may hold every node. */
#define AT_A_TIME 16

struct consultations *
consultations_new(const struct consultations_settings *settings)
{
    struct consultations *cs = xnew(struct consultations);

    cs->settings = *settings;
    list_init(&cs->in_line);
    list_init(&cs->under_way);
    list_init(&cs->answered);
    for (unsigned i = 0; i < settings->extenders->count; i++)
        if (settings->extenders->items[i].timeout_us > cs->patience_us)
            cs->patience_us = settings->extenders->items[i].timeout_us;
    return cs;
}

static void
free_all(struct list *list)
{
    list_foreach_safe(link, list)
    {
        struct consultation *c = container_of(link, struct consultation, link);

        c->owner->settings.abandon(c->a);
        consultation_free(c);
    }
}

void
consultations_free(struct consultations *cs)
{
    if (cs == NULL)
        return;
    free_all(&cs->in_line);
    free_all(&cs->under_way);
    free_all(&cs->answered);
    free(cs);
}

/* The line */

void
consultations_begin_next(struct consultations *cs)
{
    while (cs->n_under_way < AT_A_TIME && !list_is_empty(&cs->in_line)) {
        struct consultation *c =
            container_of(cs->in_line.next, struct consultation, link);

        list_remove(&c->link);
        list_add_last(&cs->under_way, &c->link);
        cs->n_under_way++;
        if (c->stage == STAGE_PREEMPT)
            consultation_preempt(c);
        else
            consultation_filter(c);
    }
}

static struct consultation *
park(struct consultations *cs, struct assignment *a, enum stage stage)
{
    struct consultation *c = xnew(struct consultation);

    c->owner = cs;
    c->a = a;
    c->stage = stage;
    c->deadline_us = clock_monotonic_us(cs->settings.clock) + cs->patience_us;
    list_init(&c->questions);
    list_add_last(&cs->in_line, &c->link);
    cs->n_parked++;
    if (a->counsel == NULL)
        a->counsel = counsel_new();
    return c;
}

void
consultations_ask_nodes(struct consultations *cs,
                        struct assignment *a TAKES,
                        struct node_view *const *nodes,
                        unsigned count)
{
    struct consultation *c = park(cs, a, STAGE_FILTER);

    c->asked = xnew_array(struct opinion *, count + 1);
    for (unsigned i = 0; i < count; i++)
        c->asked[c->n_asked++] = counsel_add(a->counsel, nodes[i]->name);
    consultations_begin_next(cs);
}

void
consultations_ask_preemption(struct consultations *cs,
                             struct assignment *a TAKES,
                             struct proposals *proposals TAKES)
{
    struct consultation *c = park(cs, a, STAGE_PREEMPT);

    proposals_take(&c->proposals, proposals);
    consultations_begin_next(cs);
}

struct assignment *
consultations_take(struct consultations *cs)
{
    struct consultation *c;
    struct assignment *a;

    if (list_is_empty(&cs->answered))
        return NULL;
    c = container_of(cs->answered.next, struct consultation, link);
    a = c->a;
    consultation_free(c);
    cs->n_parked--;
    return a;
}

void
consultations_expire(struct consultations *cs)
{
    int64_t now_us = clock_monotonic_us(cs->settings.clock);

    list_foreach_safe(link, &cs->in_line)
    {
        struct consultation *c = container_of(link, struct consultation, link);

        if (c->deadline_us > now_us)
            return;
        c->a->error = xstrdup("the extenders are busy with other pods");
        list_remove(&c->link);
        list_add_last(&cs->answered, &c->link);
        cs->settings.ready(cs->settings.context);
    }
}

/* Look */

bool
consultations_concern_nodes(const struct consultations *cs,
                            const struct pod_view *pod)
{
    const struct extenders *all = cs->settings.extenders;

    for (unsigned i = 0; i < all->count; i++)
        if ((all->items[i].filter_verb != NULL
             || all->items[i].prioritize_verb != NULL)
            && extender_is_concerned(&all->items[i], pod))
            return true;
    return false;
}

bool
consultations_concern_preemption(const struct consultations *cs,
                                 const struct pod_view *pod)
{
    const struct extenders *all = cs->settings.extenders;

    for (unsigned i = 0; i < all->count; i++)
        if (all->items[i].preempt_verb != NULL
            && extender_is_concerned(&all->items[i], pod))
            return true;
    return false;
}

size_t
consultations_count(const struct consultations *cs)
{
    return cs->n_parked;
}

bool
consultations_has_ready(const struct consultations *cs)
{
    return !list_is_empty(&cs->answered);
}
