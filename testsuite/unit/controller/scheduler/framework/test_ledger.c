/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/framework/ledger.h"

#include <string.h>

#include "lib/allocator/holding.h"
#include "lib/allocator/occupancy.h"
#include "lib/base/alloc.h"
#include "lib/base/random.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/lib/allocator/machines.h"

#define OWNERS   24
#define NODES    3
#define SCALAR   7
#define ROUNDS   300
#define MAX_NEST 4

struct owner {
    struct ledger_entry entry;
    struct amounts requests;
    struct holding *holding;
    int at; /* the index of its node, or -1 */
};

struct cluster {
    struct topology_index *topology;
    struct journal *journal;
    struct ledger nodes[NODES];
    struct owner owners[OWNERS];
    struct random_source dice;
};

/* The state that the journal has to restore. */
struct picture {
    struct ledger nodes[NODES];
    int at[OWNERS];
};

static unsigned
roll(struct cluster *c, unsigned below)
{
    return (unsigned)random_below(&c->dice, below);
}

static struct holding *
random_holding(struct cluster *c)
{
    unsigned n_memory = roll(c, 4);
    struct holding *h = holding_new(1 + roll(c, 5), 0, n_memory);

    for (unsigned i = 0; i < h->n_cores; i++)
        h->cores[i] = (uint16_t)roll(c, c->topology->n_cores);
    for (unsigned i = 0; i < n_memory; i++)
        h->memory[i] = (struct holding_memory){
            .numa = (uint16_t)roll(c, c->topology->n_numa),
            .page = HOLDING_PLAIN,
            .bytes = INT64_C(1) << (20 + roll(c, 12)),
        };
    h->charged_milli = 2000 * h->n_cores;
    h->is_shared = roll(c, 2);
    return h;
}

static void
cluster_init(struct cluster *c, uint64_t seed)
{
    *c = (struct cluster){.dice = {seed}};
    c->topology = machine(4, 4, 2, 4, 2);
    c->journal = journal_new();
    for (unsigned i = 0; i < NODES; i++) {
        ledger_init(&c->nodes[i], c->journal);
        ledger_set_occupancy(&c->nodes[i], occupancy_new(c->topology));
    }
    for (unsigned i = 0; i < OWNERS; i++) {
        struct owner *o = &c->owners[i];

        o->at = -1;
        o->requests.cpu_milli = 1000 * roll(c, 8);
        o->requests.memory_bytes = roll(c, 1000);
        if (roll(c, 2) == 0)
            amounts_set_scalar(&o->requests, SCALAR, roll(c, 9));
        o->holding = roll(c, 4) == 0 ? NULL : random_holding(c);
        o->entry = (struct ledger_entry){
            .owner = o,
            .state = roll(c, 3) == 0 ? LEDGER_NOMINATED : LEDGER_RUNNING,
            .until_us = INT64_MAX,
            .requests = roll(c, 5) == 0 ? NULL : &o->requests,
            .holding = o->holding,
            .nonzero_cpu_milli = roll(c, 9),
            .nonzero_memory_bytes = roll(c, 9),
        };
    }
}

static void
cluster_fini(struct cluster *c)
{
    for (unsigned i = 0; i < NODES; i++)
        ledger_fini(&c->nodes[i]);
    for (unsigned i = 0; i < OWNERS; i++) {
        amounts_fini(&c->owners[i].requests);
        holding_free(c->owners[i].holding);
    }
    journal_free(c->journal);
    topology_index_unref(c->topology);
}

static void
change_one(struct cluster *c)
{
    struct owner *o = &c->owners[roll(c, OWNERS)];

    if (o->at < 0) {
        o->at = (int)roll(c, NODES);
        ledger_add(&c->nodes[o->at], &o->entry);
    } else {
        ck_assert(ledger_remove(&c->nodes[o->at], o, roll(c, OWNERS)));
        ck_assert(!ledger_remove(&c->nodes[o->at], o, roll(c, OWNERS)));
        o->at = -1;
    }
}

static struct occupancy *
copy_of(const struct occupancy *o)
{
    const struct topology_index *s = o->topology_index;
    struct occupancy *copy = occupancy_new(o->topology_index);
    const struct occupancy own = *copy;

    *copy = *o;
    copy->numa = own.numa;
    copy->group_free = own.group_free;
    copy->core_holders = own.core_holders;
    copy->device_holders = own.device_holders;
    memcpy(copy->numa, o->numa, s->n_numa * sizeof(*o->numa));
    memcpy(copy->group_free, o->group_free, s->n_groups * sizeof(uint16_t));
    memcpy(copy->core_holders, o->core_holders, s->n_cores);
    memcpy(copy->device_holders, o->device_holders, s->topology->n_devices);
    return copy;
}

static void
take_picture(const struct cluster *c, struct picture *p)
{
    for (unsigned i = 0; i < NODES; i++) {
        const struct ledger *l = &c->nodes[i];

        p->nodes[i] = *l;
        p->nodes[i].requested = (struct amounts){0};
        amounts_add(&p->nodes[i].requested, &l->requested);
        p->nodes[i].occupancy = copy_of(l->occupancy);
        p->nodes[i].entries =
            l->count > 0 ? xmemdup(l->entries, l->count * sizeof(*l->entries)) : NULL;
    }
    for (unsigned i = 0; i < OWNERS; i++)
        p->at[i] = c->owners[i].at;
}

static void
picture_fini(struct picture *p)
{
    for (unsigned i = 0; i < NODES; i++)
        ledger_fini(&p->nodes[i]);
}

static void
check_sums(const struct ledger *a, const struct ledger *b)
{
    const struct occupancy *x = a->occupancy, *y = b->occupancy;
    const struct topology_index *s = x->topology_index;

    ck_assert_int_eq(a->requested.cpu_milli, b->requested.cpu_milli);
    ck_assert_int_eq(a->requested.memory_bytes, b->requested.memory_bytes);
    ck_assert_int_eq(amounts_scalar(&a->requested, SCALAR), amounts_scalar(&b->requested, SCALAR));
    ck_assert_int_eq(a->nonzero_cpu_milli, b->nonzero_cpu_milli);
    ck_assert_int_eq(a->nonzero_memory_bytes, b->nonzero_memory_bytes);
    ck_assert_uint_eq(x->free_cores, y->free_cores);
    ck_assert_uint_eq(x->free_pus, y->free_pus);
    ck_assert_uint_eq(x->n_shared, y->n_shared);
    ck_assert_int_eq(x->free_memory, y->free_memory);
    ck_assert_mem_eq(x->core_holders, y->core_holders, s->n_cores);
    ck_assert(bitset_equals(&x->core_set, &y->core_set));
    for (unsigned i = 0; i < s->n_numa; i++) {
        ck_assert_uint_eq(x->numa[i].free_cores, y->numa[i].free_cores);
        ck_assert_uint_eq(x->numa[i].free_pus, y->numa[i].free_pus);
        ck_assert_int_eq(x->numa[i].free_memory, y->numa[i].free_memory);
        ck_assert_uint_eq(x->numa[i].blocks, y->numa[i].blocks);
    }
}

/* Compares the entries in their order, and the values that depend on earlier
 * operations.
 */
static void
check_same(const struct cluster *c, const struct picture *p)
{
    for (unsigned i = 0; i < NODES; i++) {
        const struct ledger *l = &c->nodes[i], *was = &p->nodes[i];

        check_sums(l, was);
        for (unsigned n = 0; n < c->topology->n_numa; n++)
            ck_assert_uint_eq(l->occupancy->numa[n].group, was->occupancy->numa[n].group);
        ck_assert_uint_eq(l->count, was->count);
        for (uint32_t e = 0; e < l->count; e++) {
            ck_assert_ptr_eq(l->entries[e].owner, was->entries[e].owner);
            ck_assert_ptr_eq(l->entries[e].holding, was->entries[e].holding);
        }
    }
}

static void
check_rebuilt(const struct cluster *c)
{
    for (unsigned i = 0; i < NODES; i++) {
        struct ledger fresh;

        ledger_init(&fresh, NULL);
        ledger_set_occupancy(&fresh, occupancy_new(c->topology));
        for (unsigned o = 0; o < OWNERS; o++)
            if (c->owners[o].at == (int)i)
                ledger_add(&fresh, &c->owners[o].entry);
        ck_assert_uint_eq(fresh.count, c->nodes[i].count);
        check_sums(&c->nodes[i], &fresh);
        ledger_fini(&fresh);
    }
}

static void
what_if(struct cluster *c, unsigned nest)
{
    struct picture before;
    size_t mark;

    take_picture(c, &before);
    mark = journal_begin(c->journal);
    for (unsigned i = roll(c, 12); i > 0; i--) {
        if (nest < MAX_NEST && roll(c, 6) == 0)
            what_if(c, nest + 1);
        else
            change_one(c);
    }
    if (roll(c, 3) == 0) {
        journal_keep(c->journal, mark);
    } else {
        journal_roll_back(c->journal, mark);
        for (unsigned i = 0; i < OWNERS; i++)
            c->owners[i].at = before.at[i];
        check_same(c, &before);
    }
    check_rebuilt(c);
    picture_fini(&before);
}

START_TEST(changes_and_roll_backs_equal_a_rebuild)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct cluster c;

        cluster_init(&c, seed);
        for (unsigned i = 0; i < ROUNDS / 8; i++) {
            change_one(&c);
            what_if(&c, 1);
            ck_assert(!journal_is_open(c.journal));
        }
        cluster_fini(&c);
    }
}
END_TEST

START_TEST(an_entry_is_found_replaced_and_held_by_its_owner)
{
    struct cluster c;
    struct owner *a, *b;
    struct ledger *l;
    struct ledger_entry entry;
    struct holding *holding;

    cluster_init(&c, 1);
    a = &c.owners[0];
    b = &c.owners[1];
    l = &c.nodes[0];
    a->entry.holding = NULL;
    a->entry.state = LEDGER_ASSUMED;
    a->entry.requests = &a->requests;
    a->requests.cpu_milli = 3000;
    ledger_add(l, &a->entry);
    ck_assert_int_eq(ledger_find(l, a)->state, LEDGER_ASSUMED);
    ck_assert_ptr_null(ledger_find(l, b));

    entry = a->entry;
    entry.owner = b;
    entry.state = LEDGER_RUNNING;
    ledger_replace(l, a, &entry);
    ck_assert_ptr_null(ledger_find(l, a));
    ck_assert_int_eq(ledger_find(l, b)->state, LEDGER_RUNNING);
    ck_assert_int_eq(l->requested.cpu_milli, 3000);

    holding = random_holding(&c);
    ledger_hold(l, b, holding);
    ck_assert_int_eq(l->requested.cpu_milli,
                     holding->charged_milli > 3000 ? holding->charged_milli : 3000);
    ck_assert_uint_lt(l->occupancy->free_cores, c.topology->n_cores);
    ledger_hold(l, b, NULL);
    ck_assert_int_eq(l->requested.cpu_milli, 3000);
    ck_assert_uint_eq(l->occupancy->free_cores, c.topology->n_cores);
    holding_free(holding);
    cluster_fini(&c);
}
END_TEST

static struct holding *
hold_cores(unsigned first, unsigned count, int64_t bytes)
{
    struct holding *h = holding_new(count, 0, 1);

    for (unsigned i = 0; i < count; i++)
        h->cores[i] = (uint16_t)(first + i);
    h->charged_milli = 2000 * count;
    h->memory[0] = (struct holding_memory){.page = HOLDING_PLAIN, .bytes = bytes};
    return h;
}

static void
place(struct ledger *l, struct owner *o, int64_t cpu_milli, struct holding *holding TAKES)
{
    holding_free(o->holding);
    o->holding = holding;
    o->requests.cpu_milli = cpu_milli;
    o->entry.state = LEDGER_RUNNING;
    o->entry.requests = &o->requests;
    o->entry.holding = holding;
    o->entry.nonzero_cpu_milli = cpu_milli;
    ledger_add(l, &o->entry);
}

START_TEST(lent_cores_are_free_their_memory_is_not_and_all_can_be_taken_back)
{
    struct cluster c;
    struct ledger *l;
    struct owner *still, *other;
    unsigned all;
    int64_t memory;
    size_t mark;

    cluster_init(&c, 1);
    l = &c.nodes[0];
    still = &c.owners[0];
    other = &c.owners[1];
    still->entry.has_yielded = true;
    place(l, still, 8000, hold_cores(0, 4, 1000));
    ledger_settle(l);
    all = l->occupancy->free_cores + 4;
    memory = l->occupancy->free_memory;
    ck_assert_int_eq(l->requested.cpu_milli, 8000);

    /* In a dry run. */
    mark = journal_begin(c.journal);
    ledger_lend(l, still);
    ledger_lend(l, still);
    ck_assert_uint_eq(l->occupancy->free_cores, all);
    ck_assert_int_eq(l->occupancy->free_memory, memory);
    ck_assert_int_eq(l->requested.cpu_milli, 0);
    ledger_take_back(l, still);
    ck_assert_uint_eq(l->occupancy->free_cores, all - 4);
    ck_assert_int_eq(l->requested.cpu_milli, 8000);
    ledger_lend(l, still);
    place(l, other, 4000, hold_cores(2, 2, 500));
    ledger_take_back(l, still);
    ck_assert_uint_eq(l->occupancy->free_cores, all - 4);
    ck_assert_int_eq(l->requested.cpu_milli, 8000);
    journal_roll_back(c.journal, mark);
    ck_assert_uint_eq(l->occupancy->free_cores, all - 4);
    ck_assert_int_eq(l->requested.cpu_milli, 8000);

    /* Outside a dry run: two of its cores are allocated to another, and count
     * once.
     */
    ledger_add(l, &other->entry);
    ledger_settle(l);
    ck_assert_uint_eq(l->occupancy->free_cores, all - 4);
    ck_assert_int_eq(l->requested.cpu_milli, 8000);
    ck_assert_int_eq(l->nonzero_cpu_milli, 8000);
    mark = journal_begin(c.journal);
    ledger_lend(l, still);
    ck_assert_uint_eq(l->occupancy->free_cores, all - 2);
    ck_assert_int_eq(l->requested.cpu_milli, 4000);
    journal_roll_back(c.journal, mark);
    ck_assert_int_eq(l->requested.cpu_milli, 8000);

    /* The pod continues when the other one has ended. */
    ck_assert(ledger_remove(l, other, 0));
    ledger_settle(l);
    ck_assert_int_eq(l->requested.cpu_milli, 8000);
    still->entry.has_yielded = false;
    ledger_replace(l, still, &still->entry);
    ledger_settle(l);
    ck_assert_int_eq(l->requested.cpu_milli, 8000);
    ck_assert(ledger_remove(l, still, 0));
    ck_assert_int_eq(l->requested.cpu_milli, 0);
    ck_assert_int_eq(l->nonzero_cpu_milli, 0);
    ck_assert_uint_eq(l->occupancy->free_cores, all);
    cluster_fini(&c);
}
END_TEST

START_TEST(a_ledger_after_random_loans_is_as_it_was)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct cluster c;

        cluster_init(&c, seed);
        for (unsigned i = 0; i < OWNERS; i++)
            c.owners[i].entry.has_yielded = roll(&c, 2) == 0;
        for (unsigned i = 0; i < OWNERS; i++)
            change_one(&c);
        for (unsigned round = 0; round < 40; round++) {
            struct picture before;
            size_t mark;

            change_one(&c);
            for (unsigned i = 0; i < NODES; i++)
                ledger_settle(&c.nodes[i]);
            take_picture(&c, &before);
            mark = journal_begin(c.journal);
            for (unsigned i = roll(&c, 12); i > 0; i--) {
                struct owner *o = &c.owners[roll(&c, OWNERS)];

                if (o->at < 0 || roll(&c, 4) == 0)
                    change_one(&c);
                else if (roll(&c, 2) == 0)
                    ledger_lend(&c.nodes[o->at], o);
                else
                    ledger_take_back(&c.nodes[o->at], o);
            }
            journal_roll_back(c.journal, mark);
            for (unsigned i = 0; i < OWNERS; i++)
                c.owners[i].at = before.at[i];
            check_same(&c, &before);
            picture_fini(&before);
        }
        cluster_fini(&c);
    }
}
END_TEST

SUITE("ledger", changes_and_roll_backs_equal_a_rebuild,
      lent_cores_are_free_their_memory_is_not_and_all_can_be_taken_back,
      a_ledger_after_random_loans_is_as_it_was, an_entry_is_found_replaced_and_held_by_its_owner)
