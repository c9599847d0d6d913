/* SPDX-License-Identifier: Apache-2.0 */
/* opening.h - what an opening of a store is: its engine, its number, and the revisions
 * that it may issue
 *
 * Thread:  the one that opens the store.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/store/lineage/run_chain.h"

struct engine;
struct engine_counters;
struct engine_waits;
struct error;
struct map;
struct store_location;

/* How far revisions are reserved ahead of those in use. */
#define REVISIONS_RESERVED 65536

struct opening {
    int64_t opened_at; /* the revision found then */
    int64_t begun_at;  /* this opening issues revisions above it */
    int64_t epoch;
    bool was_closed; /* the opening before ended in good order */
    struct run_chain runs;
};

int opening_engine(const struct store_location *location, bool must_exist,
                   const struct engine_waits *waits, struct engine **ret_engine,
                   struct engine_counters *ret_counters, struct error *err);

/* Begins a run, and skips revisions and job ids that an earlier one may have issued after
 * what is stored. The secrets are those of the engine.
 */
int opening_begin(struct opening *opening, struct engine *engine, struct map *secrets,
                  struct engine_counters *counters, struct error *err);
