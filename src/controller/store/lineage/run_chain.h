/* SPDX-License-Identifier: Apache-2.0 */
/* run_chain.h - which openings of a store issued its revisions
 *
 * Each opening is a run with a random number. The chain has, for each earlier
 * run, the last revision that the store knew of it when the next run opened the
 * store. A copy of the store that is put back continues with other runs than
 * the store that it replaces. So two chains show how far two stores, or a store
 * and what a node has seen, have the same past.
 *
 * Revisions up to `unnamed` are of runs that the chain does not name: those of
 * an earlier release, and the oldest ones of a long chain.
 *
 * Thread:  any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct strbuf;

/* How many runs a store names. */
#define RUN_CHAIN_MOST 512

/* How many runs a node's mark names: the newest RUN_CHAIN_NEWEST, and fewer and
 * fewer of the older ones.
 */
#define RUN_CHAIN_NEWEST 8
#define RUN_CHAIN_BRIEF  20

struct run_link {
    uint64_t run;
    int64_t last; /* of the newest run: 0 */
};

/* Zeroed: a store that no named run has opened. */
struct run_chain {
    struct run_link *links; /* oldest first */
    size_t count;
    int64_t unnamed;
    int64_t epoch; /* of the store, at the newest run's opening */
};

/* Life. Parse: NULL, or a text that it cannot read: a zeroed chain. */
void run_chain_fini(struct run_chain *chain);
void run_chain_parse(const char *text, struct run_chain *ret_chain);
char *run_chain_format(const struct run_chain *chain) MUST_USE;

/* The run opens the store of that epoch, and has found the revision.
 */
void run_chain_open(struct run_chain *chain, uint64_t run, int64_t epoch, int64_t found);

/* The brief form of a mark: "RUN:LAST,RUN:LAST,...", newest first. The newest
 * run has issued revisions up to `revision`.
 */
void run_chain_write_brief(const struct run_chain *chain, int64_t revision, struct strbuf *out);

/* The last revision that the chain, whose newest run has issued revisions up to
 * `revision`, and what a mark says have in common. The mark is of the run and
 * that revision; `brief` is its chain, or NULL. If the result is less than the
 * mark's revision, the store lacks what was issued in between.
 */
int64_t run_chain_common(const struct run_chain *chain, int64_t revision, uint64_t mark_run,
                         int64_t mark_revision, const char *brief);
