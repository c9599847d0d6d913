/* SPDX-License-Identifier: Apache-2.0 */
/* load.h - reads what an engine has into memory
 *
 * Thread:  the one that opens the store; threads of its own help.
 */
#pragma once

#include <stdbool.h>

struct contents;
struct engine;
struct engine_counters;
struct error;

/* Is_over: asked by any thread; true: what is being read is given up (-ECANCELED). */
struct load_end {
    bool (*is_over)(void *context);
    void *context;
};

/* Counts: blobs and secrets, which replace those that were loaded before. Objects:
 * counters of NULL say that nothing may be written (-EUCLEAN: a row should be dropped).
 * All: both. `end` may be NULL.
 */
int load_counts(struct contents *contents, struct engine *engine, struct error *err);
int load_objects(struct contents *contents, struct engine *engine,
                 const struct engine_counters *counters, const struct load_end *end,
                 struct error *err);
int load_all(struct contents *contents, struct engine *engine,
             const struct engine_counters *counters, const struct load_end *end, struct error *err);
