/* SPDX-License-Identifier: Apache-2.0 */
/* Incrementally updated counts equal newly computed ones. */
#include "controller/scheduler/select/answer_counts.h"

#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/snapshot.h"
#include "lib/base/alloc.h"
#include "lib/base/random.h"
#include "testsuite/lib/suite.h"

#define NODES 20u
#define TURNS 2000u

struct yard {
    struct random_source dice;
    struct node_view views[NODES], *nodes[NODES];
    struct snapshot snapshot;
    struct answer answers[NODES + 3];
};

static struct answer
some_answer(struct yard *y)
{
    static const struct answer answers[] = {
        ANSWER_OK,
        {VERDICT_REJECT, 3, 7},
        {VERDICT_NEVER, 3, 7},
        {VERDICT_REJECT, 5, 2},
        {VERDICT_NEVER, 1, 9},
        {VERDICT_PENDING, 4, 4},
        {VERDICT_NEVER, PLUGIN_NONE, STRING_ID_NONE},
    };

    return answers[random_below(&y->dice, ARRAY_SIZE(answers))];
}

/* Slots have another order than nodes, and some have no node. */
static void
yard_init(struct yard *y)
{
    *y = (struct yard){.dice = {7}};
    for (unsigned i = 0; i < NODES; i++) {
        y->views[i].slot = (i * 7 + 3) % (NODES + 3);
        y->nodes[i] = &y->views[i];
        y->answers[y->views[i].slot] = some_answer(y);
    }
    y->snapshot.nodes = y->nodes;
    y->snapshot.n_nodes = NODES;
    y->snapshot.n_slots = NODES + 3;
}

static void
check_same(const struct answer_counts *a, const struct answer_counts *b)
{
    const struct diagnosis_counts *x = &a->totals.counts;
    const struct diagnosis_counts *y = &b->totals.counts;

    ck_assert_uint_eq(a->totals.n_rejected, b->totals.n_rejected);
    ck_assert_uint_eq(a->totals.unschedulable, b->totals.unschedulable);
    ck_assert_uint_eq(a->totals.pending, b->totals.pending);
    ck_assert_uint_eq(x->count, y->count);
    for (unsigned i = 0; i < x->count; i++) {
        ck_assert_uint_eq(x->items[i].reason, y->items[i].reason);
        ck_assert_uint_eq(x->items[i].nodes, y->items[i].nodes);
        ck_assert_ptr_eq(x->items[i].first, y->items[i].first);
    }
}

START_TEST(changes_are_counted_as_all_anew)
{
    struct yard y;
    struct answer_counts kept = {0}, copy = {0}, anew = {0};

    yard_init(&y);
    answer_counts_make(&kept, &y.snapshot, y.answers);
    for (unsigned i = 0; i < TURNS; i++) {
        const struct node_view *node = y.nodes[random_below(&y.dice, NODES)];
        struct answer before = y.answers[node->slot];

        y.answers[node->slot] = some_answer(&y);
        answer_counts_change(&kept, &y.snapshot, y.answers, node, before);
        answer_counts_make(&anew, &y.snapshot, y.answers);
        check_same(&kept, &anew);
        answer_counts_copy(&copy, &kept);
        check_same(&copy, &anew);
    }
    answer_counts_fini(&kept);
    answer_counts_fini(&copy);
    answer_counts_fini(&anew);
}
END_TEST

START_TEST(reasons_and_their_nodes_are_told)
{
    struct yard y;
    struct answer_counts t = {0};

    yard_init(&y);
    for (unsigned i = 0; i < NODES; i++)
        y.answers[y.views[i].slot] = (struct answer){
            .verdict = VERDICT_REJECT, .plugin = i < 5 ? 2 : 6, .reason = i < 5 ? 8 : 1};
    answer_counts_make(&t, &y.snapshot, y.answers);
    ck_assert_uint_eq(t.totals.n_rejected, NODES);
    ck_assert_uint_eq(t.totals.unschedulable, PLUGIN_BIT(2) | PLUGIN_BIT(6));
    ck_assert_uint_eq(t.totals.counts.count, 2);
    ck_assert_uint_eq(t.totals.counts.items[0].reason, 1);
    ck_assert_uint_eq(t.totals.counts.items[0].nodes, NODES - 5);
    ck_assert_ptr_eq(t.totals.counts.items[0].first, y.nodes[5]);
    ck_assert_ptr_eq(t.totals.counts.items[1].first, y.nodes[0]);
    answer_counts_fini(&t);
}
END_TEST

SUITE("answer_counts", changes_are_counted_as_all_anew, reasons_and_their_nodes_are_told)
