/* SPDX-License-Identifier: Apache-2.0 */
/* row_join.h - rows with their deltas, from two sequences that are both ordered
 * by row
 *
 * Thread:  any; one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/store/engine/engine.h"
#include "lib/base/strbuf.h"

struct error;

/* Next_body: 1 with all of a row but its deltas, next_patch: 1 with a delta and
 * the row that it changes; both 0 at the end, or a negative errno. Both
 * are borrowed until the next call.
 */
struct row_join_source {
    int (*next_body)(void *context, struct engine_row *ret_row, struct error *err);
    int (*next_patch)(void *context, int64_t *ret_row, struct engine_delta *ret_delta,
                      struct error *err);
    void *context;
};

struct row_join {
    const struct row_join_source *source;
    struct engine_row body; /* not yet returned, if has_body */
    bool has_body;
    bool bodies_ended;
    int64_t patch_row; /* of `patch`, if has_patch */
    struct engine_delta patch;
    bool has_patch;
    struct engine_delta *deltas; /* of the row that was returned last */
    size_t n_deltas;
    size_t capacity;
    struct strbuf text;
};

/* A scan of an engine, which its own struct of a scan contains. */
struct engine_scan {
    struct row_join_source source;
    struct row_join join;
};

/* Life. Init reads the first delta. Fini in any case. */
void row_join_fini(struct row_join *j);
int row_join_init(struct row_join *j, const struct row_join_source *source, struct error *err);

/* As engine_ops.scan_next. */
int row_join_next(struct row_join *j, struct engine_row *ret_row, struct error *err);
