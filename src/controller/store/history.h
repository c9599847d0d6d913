/* SPDX-License-Identifier: Apache-2.0 */
/* history.h - the latest changes, in order of revision: what watches follow
 * and lists as of an older revision are undone through
 *
 * A ring of references to what was and what became. Changes of one entry are
 * chained from the newest back, so a list at a revision costs what changed
 * since, not what the ring holds. Bounded in bytes and in age.
 *
 * Owns:       references to the objects it names.
 * Thread:     the loop's.
 * Invariant:  sequence numbers have no gaps; revisions rise with them. What is
 *             not published yet is at the end and is never forgotten.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct entry;
struct history;
struct object;
struct shelf;

struct change {
    int64_t revision;
    int64_t at_us; /* when it was made, monotonic */
    struct shelf *shelf;
    struct entry *entry;
    const struct object *old_object; /* or NULL */
    const struct object *new_object; /* its last state, when a removal */
    uint64_t previous;               /* of the same entry, 0: none */
    bool is_removal;
};

/* Life. `revision`: where it begins. */
void history_free(struct history *h);
struct history *history_new(int64_t revision) OWNED_BY(history_free);

/* Change. Add takes new references to the objects, sets `previous` and makes
 * it the entry's last change. Pop undoes the last add. Publish lets the next
 * one be seen. Forget drops the oldest, which must be published, and lets its
 * entry go.
 */
void history_add(struct history *h, struct change change);
void history_pop(struct history *h);
const struct change *history_publish(struct history *h);
void history_forget(struct history *h);

/* Takes the entry off its shelf when nothing refers to it. */
void
history_let_go(struct history *h, struct shelf *shelf, struct entry *entry);

/* Forgets what is beyond the bounds. */
void history_trim(struct history *h, size_t bytes, int64_t before_us);
void history_forget_to(struct history *h, int64_t revision);

/* Look. Numbers of changes run from the first to before the end; published
 * is the end of what may be seen. Oldest: the oldest revision that can still
 * be made; published revision: the latest that may be seen.
 */
const struct change *history_get(const struct history *h, uint64_t number);
uint64_t history_first(const struct history *h);
uint64_t history_published(const struct history *h);
uint64_t history_end(const struct history *h);
int64_t history_oldest_revision(const struct history *h);
int64_t history_revision(const struct history *h);
size_t history_bytes(const struct history *h);

/* The number of the first published change behind that revision. */
uint64_t history_seek(const struct history *h, int64_t revision);

/* What the entry was at a revision that is not older than the oldest. */
const struct object *
history_at(const struct history *h, const struct entry *entry, int64_t rev);
