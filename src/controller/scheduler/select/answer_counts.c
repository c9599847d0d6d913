/* SPDX-License-Identifier: Apache-2.0 */
/* A pod that fits nowhere is refused with the counts of all reasons, and counting ten thousand
 * answers for each such pod costs more than asking the few nodes that have changed. So a
 * changed answer is taken out of its count and put into another. The plugins that rejected and
 * the first node with each reason must be those of a full count: they decide what wakes the
 * pod, and what the user reads.
 */
#include "controller/scheduler/select/answer_counts.h"

#include <string.h>

#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/snapshot.h"
#include "lib/base/alloc.h"

struct answer_kind {
    uint8_t verdict, plugin;
    unsigned nodes;
};

void
answer_counts_fini(struct answer_counts *c)
{
    diagnosis_counts_fini(&c->totals.counts);
    free(c->kinds);
    *c = (struct answer_counts){0};
}

void
answer_counts_copy(struct answer_counts *to, const struct answer_counts *from)
{
    struct diagnosis_counts *counts = &to->totals.counts;
    struct reason_nodes *items = counts->items;

    while (to->capacity < from->totals.counts.count)
        xgrow(items, to->capacity, to->capacity);
    while (to->kinds_capacity < from->n_kinds)
        xgrow(to->kinds, to->kinds_capacity, to->kinds_capacity);
    if (from->totals.counts.count > 0)
        memcpy(items, from->totals.counts.items, from->totals.counts.count * sizeof(*items));
    if (from->n_kinds > 0)
        memcpy(to->kinds, from->kinds, from->n_kinds * sizeof(*to->kinds));
    to->totals = from->totals;
    counts->items = items;
    to->n_kinds = from->n_kinds;
}

/* ---- Verdicts ---- */

static struct answer_kind *
find_kind(struct answer_counts *c, struct answer a)
{
    for (unsigned i = 0; i < c->n_kinds; i++)
        if (c->kinds[i].verdict == a.verdict && c->kinds[i].plugin == a.plugin)
            return &c->kinds[i];
    xgrow(c->kinds, c->n_kinds, c->kinds_capacity);
    c->kinds[c->n_kinds] = (struct answer_kind){.verdict = a.verdict, .plugin = a.plugin};
    return &c->kinds[c->n_kinds++];
}

/* Recomputes the totals from the kinds that some node has. */
static void
settle_kinds(struct answer_counts *c)
{
    c->totals.n_rejected = 0;
    c->totals.unschedulable = c->totals.pending = 0;
    for (unsigned i = 0; i < c->n_kinds; i++) {
        const struct answer_kind *k = &c->kinds[i];

        if (k->nodes == 0)
            continue;
        if (k->verdict == VERDICT_REJECT)
            c->totals.n_rejected += k->nodes;
        if (k->verdict == VERDICT_PENDING)
            c->totals.pending |= PLUGIN_BIT(k->plugin);
        else if (k->verdict != VERDICT_OK && k->plugin != PLUGIN_NONE)
            c->totals.unschedulable |= PLUGIN_BIT(k->plugin);
    }
}

/* ---- Reasons, by their numbers ---- */

/* The index of the reason, or where to insert it. */
static unsigned
place_of(const struct answer_counts *c, uint32_t reason)
{
    unsigned at = 0;

    while (at < c->totals.counts.count && c->totals.counts.items[at].reason < reason)
        at++;
    return at;
}

static struct reason_nodes *
find_reason(struct answer_counts *c, uint32_t reason)
{
    struct diagnosis_counts *counts = &c->totals.counts;
    unsigned at = place_of(c, reason);

    if (at < counts->count && counts->items[at].reason == reason)
        return &counts->items[at];
    xgrow(counts->items, counts->count, c->capacity);
    memmove(&counts->items[at + 1], &counts->items[at],
            (counts->count - at) * sizeof(*counts->items));
    counts->count++;
    counts->items[at] = (struct reason_nodes){.reason = reason};
    return &counts->items[at];
}

static const struct node_view *
find_first(const struct snapshot *s, const struct answer *answers, uint32_t reason)
{
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (answers[s->nodes[i]->slot].reason == reason)
            return s->nodes[i];
    return NULL;
}

static void
forget_reason(struct answer_counts *c, const struct snapshot *s, const struct answer *answers,
              const struct node_view *node, uint32_t reason)
{
    struct diagnosis_counts *counts = &c->totals.counts;
    unsigned at = place_of(c, reason);
    struct reason_nodes *item = &counts->items[at];

    if (--item->nodes == 0) {
        memmove(item, item + 1, (counts->count - at - 1) * sizeof(*counts->items));
        counts->count--;
    } else if (item->first == node) {
        item->first = find_first(s, answers, reason);
    }
}

/* ---- All ---- */

void
answer_counts_make(struct answer_counts *c, const struct snapshot *s, const struct answer *answers)
{
    struct reason_nodes *item = NULL;
    struct answer_kind *kind = NULL;

    c->totals.counts.count = c->n_kinds = 0;
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        struct answer a = answers[s->nodes[i]->slot];

        if (kind == NULL || kind->verdict != a.verdict || kind->plugin != a.plugin)
            kind = find_kind(c, a);
        kind->nodes++;
        if (a.reason == STRING_ID_NONE)
            continue;
        if (item == NULL || item->reason != a.reason)
            item = find_reason(c, a.reason);
        if (item->nodes++ == 0)
            item->first = s->nodes[i];
    }
    settle_kinds(c);
}

void
answer_counts_change(struct answer_counts *c, const struct snapshot *s,
                     const struct answer *answers, const struct node_view *node,
                     struct answer before)
{
    struct answer now = answers[node->slot];
    struct reason_nodes *item;

    if (before.verdict != now.verdict || before.plugin != now.plugin) {
        find_kind(c, before)->nodes--;
        find_kind(c, now)->nodes++;
        settle_kinds(c);
    }
    if (before.reason == now.reason)
        return;
    if (before.reason != STRING_ID_NONE)
        forget_reason(c, s, answers, node, before.reason);
    if (now.reason == STRING_ID_NONE)
        return;
    item = find_reason(c, now.reason);
    item->first = item->nodes++ == 0 ? node : find_first(s, answers, now.reason);
}
