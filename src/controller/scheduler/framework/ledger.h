/* SPDX-License-Identifier: Apache-2.0 */
/* ledger.h - who holds what of a node, from when until when
 *
 * An entry says that its owner has amounts and exact cores of a node. The
 * node's ledger keeps the sums and what is free now. A journal makes what-if
 * cheap: between begin and roll back any number of entries of any nodes may be
 * added and removed, and all of it is undone at the cost of what was changed.
 *
 * Owns:       the journal owns what was removed until it is kept or rolled
 *             back. Entries borrow from their owners, who outlive them.
 * Called by:  node_view.c, for pods and what is left of them; preemption and the filter with nominated
 *             pods (the journal); NumaFit (room for nominated pods).
 * Thread:     the scheduler's.
 * Invariant:  an owner has one entry at most, now or in the future; the room of
 *             a nominated pod counts for those whom it outranks alone, so inside
 *             a journal it may have one more. The sums and the occupancy are those of the entries. A roll back
 *             restores the entries in their order, and the occupancy to the
 *             last bit. No journal is open between two cycles.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/scheduler/framework/amounts.h"
#include "lib/base/macro.h"

struct holding;
struct journal;
struct occupancy;

enum ledger_state {
    LEDGER_RUNNING,   /* the API says that the pod is there */
    LEDGER_ASSUMED,   /* the scheduler chose, and the API has not said it yet */
    LEDGER_NOMINATED, /* room that is being made: on from nobody knows when */
    LEDGER_RESERVED,  /* a waiting pod's room in the future */
    LEDGER_WITHHELD,  /* a Reservation has the node now and then */
    LEDGER_RETAINED,  /* the API has forgotten the pod, the node has not */
};

struct ledger_entry {
    const void *owner; /* who has it; compared by address */
    enum ledger_state state;
    int64_t from_us;                /* INT64_MAX: it has not begun */
    int64_t until_us;               /* INT64_MAX: nobody knows */
    const struct amounts *requests; /* NULL: none but what it holds */
    const struct holding *holding;  /* NULL: nothing exact */
    int64_t nonzero_cpu_milli;
    int64_t nonzero_memory_bytes;
    bool has_yielded;   /* it stands still: its cores are lent to some */
    int64_t lent_milli; /* of its CPU, which others have and are counted for */
    const struct holding *whole; /* when it lends, within a journal: what it
                                    holds otherwise; else NULL */
};

struct ledger {
    struct journal *journal;  /* NULL: changes are for good */
    struct amounts requested; /* with the CPUs that are withheld */
    int64_t nonzero_cpu_milli;
    int64_t nonzero_memory_bytes;
    struct occupancy *occupancy; /* NULL: the node has no topology */
    uint32_t n_yielded;          /* entries */
    struct ledger_entry *entries;
    uint32_t count, capacity;
    struct ledger_entry *future; /* reserved, withheld: in none of the sums */
    uint32_t n_future, future_capacity;
    struct ledger_entry *nominated; /* as they were; in none of the sums */
    uint32_t n_nominated, nominated_capacity;
};

/* Life of a node's ledger. It borrows the journal, and owns its occupancy. */
void ledger_init(struct ledger *l, struct journal *journal);
void ledger_fini(struct ledger *l);

/* Change. Remove: the last entry takes the place of the one removed; false when
 * the owner had none, `near` is where its entry may be. Replace: the same amounts for another owner.
 */
void ledger_add(struct ledger *l, const struct ledger_entry *entry);
bool ledger_remove(struct ledger *l, const void *owner, uint32_t near);
void ledger_replace(struct ledger *l,
                    const void *owner,
                    const struct ledger_entry *entry);

/* Within a journal, of an owner that has exact cores. Lend: they are free, and its
 * memory and devices are not. Take back: they are its own again.
 */
void ledger_lend(struct ledger *l, const void *owner);
void ledger_take_back(struct ledger *l, const void *owner);

/* Counts no core twice that somebody has beside its owner, who has yielded.
 * After each change outside of a journal.
 */
void ledger_settle(struct ledger *l);

/* Change outside of a journal. Hold: what the owner holds exactly, or NULL.
 * Set occupancy: another topology (takes it); nobody may hold anything then.
 */
void
ledger_hold(struct ledger *l, const void *owner, const struct holding *holding);
void ledger_set_occupancy(struct ledger *l, struct occupancy *occupancy TAKES);

/* Change of what is to come, outside of a journal. Reserve: the entry begins in
 * the future. Unreserve: of the owner that has one.
 */
void ledger_reserve(struct ledger *l, const struct ledger_entry *entry);
void ledger_unreserve(struct ledger *l, const void *owner);

/* The same for nominated pods, whose order stays. */
void ledger_nominate(struct ledger *l, const struct ledger_entry *entry);
void ledger_unnominate(struct ledger *l, const void *owner);

/* Look: the owner's entry, or NULL; valid until the next change. */
const struct ledger_entry *ledger_find(const struct ledger *l,
                                       const void *owner);

/* A journal, for all nodes. Begin returns a mark; begins nest, and the marks
 * are kept or rolled back the latest first.
 */
void journal_free(struct journal *j);
struct journal *journal_new(void) OWNED_BY(journal_free);
DEFINE_CLEANUP(struct journal, journal_free)
size_t journal_begin(struct journal *j);
void journal_keep(struct journal *j, size_t mark);
void journal_roll_back(struct journal *j, size_t mark);

/* For what else changes with the entries (a node view's lists of pods). Close
 * is called once: to undo the change, or when it is kept, to let go of what was
 * removed.
 */
struct journal_note;
typedef void journal_close_fn(struct journal_note *note, bool is_kept);
struct journal_note {
    journal_close_fn *close;
    void *changed; /* the list or ledger */
    void *removed; /* or added; NULL: nothing */
    int64_t before;
    uint32_t at[3];
    struct ledger_entry entry;
};
bool journal_is_open(const struct journal *j); /* NULL is closed */
void journal_add(struct journal *j, const struct journal_note *note);
