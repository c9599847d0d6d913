/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/extenders/extender_rounds.h"

#include "controller/scheduler/extenders/extender.h"
#include "controller/scheduler/extenders/extender_results.h"
#include "controller/scheduler/extenders/extender_round.h"
#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/node_view.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"

/* Pods handled at a time: limited, because a question may contain every node.
 */
#define AT_A_TIME 16

struct extender_rounds *
extender_rounds_new(const struct extender_rounds_settings *settings)
{
    struct extender_rounds *rounds = xnew(struct extender_rounds);

    rounds->settings = *settings;
    list_init(&rounds->in_line);
    list_init(&rounds->under_way);
    list_init(&rounds->answered);
    for (unsigned i = 0; i < settings->extenders->count; i++)
        if (settings->extenders->items[i].timeout_us > rounds->patience_us)
            rounds->patience_us = settings->extenders->items[i].timeout_us;
    return rounds;
}

static void
free_all(struct list *list)
{
    list_foreach_safe(link, list)
    {
        struct extender_round *c = container_of(link, struct extender_round, link);

        c->owner->settings.abandon(c->a);
        extender_round_free(c);
    }
}

void
extender_rounds_free(struct extender_rounds *rounds)
{
    if (rounds == NULL)
        return;
    free_all(&rounds->in_line);
    free_all(&rounds->under_way);
    free_all(&rounds->answered);
    free(rounds);
}

/* The waiting line */

void
extender_rounds_begin_next(struct extender_rounds *rounds)
{
    while (rounds->n_under_way < AT_A_TIME && !list_is_empty(&rounds->in_line)) {
        struct extender_round *c = container_of(rounds->in_line.next, struct extender_round, link);

        list_remove(&c->link);
        list_add_last(&rounds->under_way, &c->link);
        rounds->n_under_way++;
        if (c->stage == STAGE_PREEMPT)
            extender_round_preempt(c);
        else
            extender_round_filter(c);
    }
}

static struct extender_round *
park(struct extender_rounds *rounds, struct assignment *a, enum round_stage stage)
{
    struct extender_round *c = xnew(struct extender_round);

    c->owner = rounds;
    c->a = a;
    c->stage = stage;
    c->deadline_us = clock_monotonic_us(rounds->settings.clock) + rounds->patience_us;
    list_init(&c->questions);
    list_add_last(&rounds->in_line, &c->link);
    rounds->n_parked++;
    if (a->extender_results == NULL)
        a->extender_results = extender_results_new();
    return c;
}

void
extender_rounds_ask_nodes(struct extender_rounds *rounds, struct assignment *a TAKES,
                          struct node_view *const *nodes, unsigned count)
{
    struct extender_round *c = park(rounds, a, STAGE_FILTER);

    c->asked = xnew_array(struct extender_result *, count + 1);
    for (unsigned i = 0; i < count; i++)
        c->asked[c->n_asked++] = extender_results_add(a->extender_results, nodes[i]->name);
    extender_rounds_begin_next(rounds);
}

void
extender_rounds_ask_preemption(struct extender_rounds *rounds, struct assignment *a TAKES,
                               struct proposals *proposals TAKES)
{
    struct extender_round *c = park(rounds, a, STAGE_PREEMPT);

    proposals_take(&c->proposals, proposals);
    extender_rounds_begin_next(rounds);
}

struct assignment *
extender_rounds_take(struct extender_rounds *rounds)
{
    struct extender_round *c;
    struct assignment *a;

    if (list_is_empty(&rounds->answered))
        return NULL;
    c = container_of(rounds->answered.next, struct extender_round, link);
    a = c->a;
    extender_round_free(c);
    rounds->n_parked--;
    return a;
}

void
extender_rounds_expire(struct extender_rounds *rounds)
{
    int64_t now_us = clock_monotonic_us(rounds->settings.clock);

    list_foreach_safe(link, &rounds->in_line)
    {
        struct extender_round *c = container_of(link, struct extender_round, link);

        if (c->deadline_us > now_us)
            return;
        c->a->error = xstrdup("the extenders are busy with other pods");
        list_remove(&c->link);
        list_add_last(&rounds->answered, &c->link);
        rounds->settings.ready(rounds->settings.context);
    }
}

bool
extender_rounds_concern_nodes(const struct extender_rounds *rounds, const struct pod_view *pod)
{
    const struct extenders *all = rounds->settings.extenders;

    for (unsigned i = 0; i < all->count; i++)
        if ((all->items[i].filter_verb != NULL || all->items[i].prioritize_verb != NULL)
            && extender_is_concerned(&all->items[i], pod))
            return true;
    return false;
}

bool
extender_rounds_concern_preemption(const struct extender_rounds *rounds, const struct pod_view *pod)
{
    const struct extenders *all = rounds->settings.extenders;

    for (unsigned i = 0; i < all->count; i++)
        if (all->items[i].preempt_verb != NULL && extender_is_concerned(&all->items[i], pod))
            return true;
    return false;
}

size_t
extender_rounds_count(const struct extender_rounds *rounds)
{
    return rounds->n_parked;
}

bool
extender_rounds_has_ready(const struct extender_rounds *rounds)
{
    return !list_is_empty(&rounds->answered);
}
