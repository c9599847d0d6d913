/* SPDX-License-Identifier: Apache-2.0 */
/* The entries are an unordered array with the sums beside it, because a node has few pods and
 * each change must be cheap. A journal undoes changes in reverse order, so an index is as good
 * as a pointer, and an array that is restored has the entries in their old order: what a cycle
 * decides must not depend on the trials that were made before it.
 *
 * Copies of nodes for trials were the alternative. They cost a copy of the occupancy for each
 * node that preemption looks at, and every result that is kept for a node would have to know
 * which copy it is about (decision 115).
 */
#include "controller/scheduler/framework/ledger.h"

#include <string.h>

#include "lib/allocator/holding.h"
#include "lib/allocator/occupancy.h"
#include "lib/allocator/topology_index.h"
#include "lib/base/alloc.h"

struct journal {
    struct journal_note *notes;
    size_t count, capacity;
    unsigned depth; /* begins that are still open */
};

struct journal *
journal_new(void)
{
    return xnew(struct journal);
}

void
journal_free(struct journal *j)
{
    if (j == NULL)
        return;
    free(j->notes);
    free(j);
}

bool
journal_is_open(const struct journal *j)
{
    return j != NULL && j->depth > 0;
}

size_t
journal_begin(struct journal *j)
{
    j->depth++;
    return j->count;
}

void
journal_add(struct journal *j, const struct journal_note *note)
{
    xgrow(j->notes, j->count, j->capacity);
    j->notes[j->count++] = *note;
}

/* While an outer journal is open, it can still roll back what is kept here. */
void
journal_keep(struct journal *j, size_t mark)
{
    if (--j->depth > 0)
        return;
    for (size_t i = mark; i < j->count; i++)
        j->notes[i].close(&j->notes[i], true);
    j->count = mark;
}

void
journal_roll_back(struct journal *j, size_t mark)
{
    while (j->count > mark) {
        struct journal_note *note = &j->notes[--j->count];

        note->close(note, false);
    }
    j->depth--;
}

void
ledger_init(struct ledger *l, struct journal *journal)
{
    *l = (struct ledger){.journal = journal};
}

void
ledger_fini(struct ledger *l)
{
    amounts_fini(&l->requested);
    occupancy_free(l->occupancy);
    free(l->entries);
    free(l->future);
    free(l->nominated);
}

/* CPU that a pod is charged beyond its request, for hardware threads that it
 * keeps idle. A nominated pod is charged its request only.
 */
static int64_t
withheld_milli(const struct ledger_entry *e)
{
    int64_t asked = e->requests != NULL ? e->requests->cpu_milli : 0;

    return e->state != LEDGER_NOMINATED && e->holding != NULL && e->holding->charged_milli > asked
               ? e->holding->charged_milli - asked
               : 0;
}

static void
count_in(struct ledger *l, const struct ledger_entry *e)
{
    int64_t withheld = withheld_milli(e);

    if (e->requests != NULL)
        amounts_add(&l->requested, e->requests);
    l->requested.cpu_milli += withheld - e->lent_milli;
    l->nonzero_cpu_milli += e->nonzero_cpu_milli + withheld - e->lent_milli;
    l->nonzero_memory_bytes += e->nonzero_memory_bytes;
    l->n_yielded += e->has_yielded;
    if (l->occupancy != NULL && e->holding != NULL)
        occupancy_take(l->occupancy, e->holding);
}

static void
count_out(struct ledger *l, const struct ledger_entry *e)
{
    int64_t withheld = withheld_milli(e);

    if (e->requests != NULL)
        amounts_subtract(&l->requested, e->requests);
    l->requested.cpu_milli -= withheld - e->lent_milli;
    l->nonzero_cpu_milli -= e->nonzero_cpu_milli + withheld - e->lent_milli;
    l->nonzero_memory_bytes -= e->nonzero_memory_bytes;
    l->n_yielded -= e->has_yielded;
    if (l->occupancy != NULL && e->holding != NULL)
        occupancy_release(l->occupancy, e->holding);
}

/* Saves the group (NUMA nodes that belong together) of each NUMA node of the
 * holding. Taking and releasing again does not restore it, because it depends
 * on what was taken and released before.
 */
static uint64_t *
save_groups(const struct ledger *l, const struct ledger_entry *e)
{
    const struct holding *h = e->holding;
    uint64_t *groups;

    if (l->occupancy == NULL || h == NULL || h->n_memory == 0)
        return NULL;
    groups = xnew_array(uint64_t, h->n_memory);
    for (unsigned i = 0; i < h->n_memory; i++)
        groups[i] = l->occupancy->numa[h->memory[i].numa].group;
    return groups;
}

static void
restore_groups(struct ledger *l, const struct ledger_entry *e, const uint64_t *groups)
{
    for (unsigned i = 0; groups != NULL && i < e->holding->n_memory; i++)
        l->occupancy->numa[e->holding->memory[i].numa].group = groups[i];
}

static void
close_added(struct journal_note *note, bool is_kept)
{
    struct ledger *l = note->changed;
    uint64_t *groups = note->removed;

    if (!is_kept) {
        const struct ledger_entry *e = &l->entries[--l->count];

        count_out(l, e);
        restore_groups(l, e, groups);
    }
    free(groups);
}

static void
close_removed(struct journal_note *note, bool is_kept)
{
    struct ledger *l = note->changed;
    uint64_t *groups = note->removed;

    if (!is_kept) {
        l->entries[l->count++] = l->entries[note->at[0]];
        l->entries[note->at[0]] = note->entry;
        count_in(l, &note->entry);
        restore_groups(l, &note->entry, groups);
    }
    free(groups);
}

void
ledger_add(struct ledger *l, const struct ledger_entry *entry)
{
    if (journal_is_open(l->journal))
        journal_add(l->journal, &(struct journal_note){
                                    .close = close_added,
                                    .changed = l,
                                    .removed = save_groups(l, entry),
                                });
    xgrow(l->entries, l->count, l->capacity);
    l->entries[l->count++] = *entry;
    count_in(l, entry);
}

static struct ledger_entry *
find_entry(const struct ledger *l, const void *owner)
{
    for (uint32_t i = 0; i < l->count; i++)
        if (l->entries[i].owner == owner)
            return &l->entries[i];
    return NULL;
}

const struct ledger_entry *
ledger_find(const struct ledger *l, const void *owner)
{
    return find_entry(l, owner);
}

bool
ledger_remove(struct ledger *l, const void *owner, uint32_t near)
{
    struct ledger_entry *found = near < l->count && l->entries[near].owner == owner
                                     ? &l->entries[near]
                                     : find_entry(l, owner);

    if (found == NULL)
        return false;
    if (journal_is_open(l->journal))
        journal_add(l->journal, &(struct journal_note){
                                    .close = close_removed,
                                    .changed = l,
                                    .removed = save_groups(l, found),
                                    .at = {(uint32_t)(found - l->entries)},
                                    .entry = *found,
                                });
    count_out(l, found);
    *found = l->entries[--l->count];
    return true;
}

void
ledger_replace(struct ledger *l, const void *owner, const struct ledger_entry *entry)
{
    struct ledger_entry *found = find_entry(l, owner);

    if (found == NULL)
        return;
    if (found->has_yielded == entry->has_yielded) {
        const int64_t lent = found->lent_milli;

        *found = *entry;
        found->lent_milli = lent;
        return;
    }
    count_out(l, found);
    *found = *entry;
    count_in(l, found);
}

/* ---- Cores that yielded pods lend ---- */

static void
close_lent(struct journal_note *note, bool is_kept)
{
    (void)is_kept;
    holding_free(note->removed);
}

void
ledger_lend(struct ledger *l, const void *owner)
{
    const struct ledger_entry *found = find_entry(l, owner);
    struct ledger_entry e;
    struct holding *rest;

    if (found == NULL || found->holding == NULL || found->whole != NULL)
        return;
    e = *found;
    rest = holding_dup_without_cores(e.holding);
    journal_add(l->journal, &(struct journal_note){.close = close_lent, .removed = rest});
    e.whole = e.holding;
    e.holding = rest;
    e.lent_milli = e.requests != NULL ? e.requests->cpu_milli : 0;
    ledger_remove(l, owner, (uint32_t)(found - l->entries));
    ledger_add(l, &e);
}

/* CPU, in thousandths, of the entry's cores that the occupancy gives at least
 * `holders` holders; at most what the entry is charged.
 */
static int64_t
shared_with_others(const struct ledger *l, const struct ledger_entry *e, unsigned holders)
{
    const struct holding *h = e->holding;
    int64_t asked = e->requests != NULL ? e->requests->cpu_milli : 0;
    int64_t counted = asked + withheld_milli(e), milli = 0;

    for (unsigned i = 0; l->occupancy != NULL && i < h->n_cores; i++)
        if (l->occupancy->core_holders[h->cores[i]] >= holders)
            milli += (int64_t)l->occupancy->topology_index->cores[h->cores[i]].n_pus * 1000;
    return milli < counted ? milli : counted;
}

void
ledger_take_back(struct ledger *l, const void *owner)
{
    const struct ledger_entry *found = find_entry(l, owner);
    struct ledger_entry e;

    if (found == NULL || found->whole == NULL)
        return;
    e = *found;
    e.holding = e.whole;
    e.whole = NULL;
    e.lent_milli = e.has_yielded ? shared_with_others(l, &e, 1) : 0;
    ledger_remove(l, owner, (uint32_t)(found - l->entries));
    ledger_add(l, &e);
}

void
ledger_settle(struct ledger *l)
{
    for (uint32_t i = 0; l->n_yielded > 0 && i < l->count; i++) {
        struct ledger_entry *e = &l->entries[i];
        int64_t lent;

        if (!e->has_yielded || e->holding == NULL || e->whole != NULL)
            continue;
        lent = shared_with_others(l, e, 2);
        l->requested.cpu_milli -= lent - e->lent_milli;
        l->nonzero_cpu_milli -= lent - e->lent_milli;
        e->lent_milli = lent;
    }
}

void
ledger_hold(struct ledger *l, const void *owner, const struct holding *holding)
{
    struct ledger_entry *found = find_entry(l, owner);

    if (found == NULL)
        return;
    count_out(l, found);
    found->holding = holding;
    count_in(l, found);
}

void
ledger_set_occupancy(struct ledger *l, struct occupancy *occupancy)
{
    occupancy_free(l->occupancy);
    l->occupancy = occupancy;
}

void
ledger_reserve(struct ledger *l, const struct ledger_entry *entry)
{
    xgrow(l->future, l->n_future, l->future_capacity);
    l->future[l->n_future++] = *entry;
}

void
ledger_unreserve(struct ledger *l, const void *owner)
{
    uint32_t at = 0;

    while (at < l->n_future && l->future[at].owner != owner)
        at++;
    if (at < l->n_future)
        l->future[at] = l->future[--l->n_future];
}

void
ledger_nominate(struct ledger *l, const struct ledger_entry *entry)
{
    xgrow(l->nominated, l->n_nominated, l->nominated_capacity);
    l->nominated[l->n_nominated++] = *entry;
}

void
ledger_unnominate(struct ledger *l, const void *owner)
{
    uint32_t at = 0;

    while (at < l->n_nominated && l->nominated[at].owner != owner)
        at++;
    if (at == l->n_nominated)
        return;
    l->n_nominated--;
    memmove(l->nominated + at, l->nominated + at + 1,
            (l->n_nominated - at) * sizeof(*l->nominated));
}
