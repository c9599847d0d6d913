/* SPDX-License-Identifier: Apache-2.0 */
/* ledger.h - who holds which amounts and cores of a node, and for which time
 *
 * An entry records that its owner has amounts, and possibly exact cores, of a
 * node. The node's ledger keeps the sums and what is free now. A journal makes
 * what-if cheap: between begin and roll back, any number of entries of any
 * nodes may be added and removed; undoing them costs only as much as was
 * changed.
 *
 * Owns:       the journal owns what was removed until it is kept or rolled
 *             back. Entries borrow from their owners, who outlive them.
 * Called by:  node_view.c, for pods and retained allocations; preemption and
 *             the filter with nominated pods (the journal); NumaFit (room for
 *             nominated pods).
 * Thread:     the scheduler's.
 * Invariant:  an owner has at most one entry, now or in the future. A nominated
 *             pod's room counts only for pods of the same or a lower priority,
 *             so inside a journal its owner may have one entry more. The sums
 *             and the occupancy match the entries. A roll back restores the
 *             order of the entries, and the occupancy bit by bit. No journal
 *             is open between two cycles.
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
    LEDGER_RUNNING,   /* the API shows the pod on the node */
    LEDGER_ASSUMED,   /* chosen here; the API does not show it yet */
    LEDGER_NOMINATED, /* room that preemption makes; start unknown */
    LEDGER_RESERVED,  /* a waiting pod's reserved room in the future */
    LEDGER_WITHHELD,  /* a Reservation has the node in its windows */
    LEDGER_RETAINED,  /* gone from the API, still on the node */
};

struct ledger_entry {
    const void *owner; /* the holder; compared by address */
    enum ledger_state state;
    int64_t from_us;                /* INT64_MAX: has not begun */
    int64_t until_us;               /* INT64_MAX: unknown */
    const struct amounts *requests; /* NULL: only what it holds */
    const struct holding *holding;  /* NULL: no exact cores, memory, devices */
    int64_t nonzero_cpu_milli;
    int64_t nonzero_memory_bytes;
    bool has_yielded; /* frozen; other pods may use its cores */
    /* Its CPU that other pods use now and are charged for */
    int64_t lent_milli;
    /* While lent, within a journal: the full holding with cores; else NULL */
    const struct holding *whole;
};

struct ledger {
    struct journal *journal;  /* NULL: changes are permanent */
    struct amounts requested; /* plus CPU kept idle by pods */
    int64_t nonzero_cpu_milli;
    int64_t nonzero_memory_bytes;
    struct occupancy *occupancy; /* NULL: the node has no topology */
    uint32_t n_yielded;          /* entries with has_yielded */
    struct ledger_entry *entries;
    uint32_t count, capacity;
    struct ledger_entry *future; /* reserved, withheld; not in the sums */
    uint32_t n_future, future_capacity;
    struct ledger_entry *nominated; /* in their order; not in the sums */
    uint32_t n_nominated, nominated_capacity;
};

/* Life of a node's ledger. The ledger borrows the journal and owns its
 * occupancy.
 */
void ledger_init(struct ledger *l, struct journal *journal);
void ledger_fini(struct ledger *l);

/* Adds an entry. */
void ledger_add(struct ledger *l, const struct ledger_entry *entry);

/* Removes the owner's entry, in whose place the last entry moves; `near` is the index where
 * the owner's entry probably is. False: the owner had none.
 */
bool ledger_remove(struct ledger *l, const void *owner, uint32_t near);

/* Puts an entry with the same amounts but another owner in the place of the owner's. */
void ledger_replace(struct ledger *l, const void *owner, const struct ledger_entry *entry);

/* Within a journal, for an owner that holds exact cores. */

/* The cores of the owner become free, its memory and devices do not. */
void ledger_lend(struct ledger *l, const void *owner);

/* The cores are the owner's again. */
void ledger_take_back(struct ledger *l, const void *owner);

/* Updates how much CPU each yielded entry lends, so that a core that it shares
 * with another entry is counted once. Called after each change outside a
 * journal.
 */
void ledger_settle(struct ledger *l);

/* Changes outside a journal. */

/* Sets what the owner holds exactly, or NULL. */
void ledger_hold(struct ledger *l, const void *owner, const struct holding *holding);

/* Sets the occupancy of another topology. No entry may have a holding at that time. */
void ledger_set_occupancy(struct ledger *l, struct occupancy *occupancy TAKES);

/* Changes of future entries, outside a journal. */

/* Adds an entry that begins in the future. */
void ledger_reserve(struct ledger *l, const struct ledger_entry *entry);

/* Removes that entry of its owner, if there is one. */
void ledger_unreserve(struct ledger *l, const void *owner);

/* The same for nominated pods. Removing one keeps the order of the others. */
void ledger_nominate(struct ledger *l, const struct ledger_entry *entry);
void ledger_unnominate(struct ledger *l, const void *owner);

/* The owner's entry, or NULL; valid until the next change. */
const struct ledger_entry *ledger_find(const struct ledger *l, const void *owner);

/* A journal, shared by all nodes. Begin returns a mark. Begins nest: the latest
 * mark must be kept or rolled back first.
 */
void journal_free(struct journal *j);
struct journal *journal_new(void) OWNED_BY(journal_free);
DEFINE_CLEANUP(struct journal, journal_free)
size_t journal_begin(struct journal *j);
void journal_keep(struct journal *j, size_t mark);
void journal_roll_back(struct journal *j, size_t mark);

/* For state that changes together with the entries, such as a node view's lists
 * of pods. `close` is called once: with is_kept false to undo the change, or
 * with is_kept true to free what was removed.
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
bool journal_is_open(const struct journal *j); /* false for NULL */
void journal_add(struct journal *j, const struct journal_note *note);
