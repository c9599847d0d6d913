/* SPDX-License-Identifier: Apache-2.0 */
/* batch_fold.h - what a batch changes in all: each row, change, blob and secret
 * once
 *
 * A statement that updates from arrays with the same row twice keeps either of
 * the two values, so a batch is folded before it is sent.
 *
 * Thread:  any; pure functions.
 */
#pragma once

#include <stddef.h>

#include "controller/store/engine/engine.h"

struct error;

struct batch_fold {
    struct engine_op *ops;          /* by verb; texts are those of the batch */
    size_t first[ENGINE_VERBS + 1]; /* ops of a verb: first[verb] to first[verb + 1] */
    size_t unsure_drops;            /* of secrets that the batch itself put before */
};

/* -EPROTO: the batch puts a row that it has put before, or changes one that it
 * has removed. Free the fold in any case.
 */
void batch_fold_fini(struct batch_fold *fold);
int batch_fold_init(struct batch_fold *fold, const struct engine_op *ops, size_t n_ops,
                    struct error *err);

static inline size_t
batch_fold_count(const struct batch_fold *fold, enum engine_verb verb)
{
    return fold->first[verb + 1] - fold->first[verb];
}
