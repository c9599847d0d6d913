/* SPDX-License-Identifier: Apache-2.0 */
/* history_round.h - the parts of a page that are read together, and their
 * results
 *
 * The reader adds parts; any free thread claims a part, reads it and gives the
 * result. The first result of a part is kept, so the reader can also read a
 * part that another thread has claimed and does not finish. There is no lock: a
 * thread that gets no CPU, at whatever point, never blocks the others.
 *
 * Owns:      a copy of the question, for threads that are late; the results.
 * Thread:    add, result_of and forget are the reader's; the others any's.
 * Invariant: whoever holds a reference can use the round until its unref, also
 *            after the page was sent.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/history/history_print.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

struct history_question;
struct history_round;

#define HISTORY_ROUND_PARTS 40 /* most parts; bounds the memory of a round */

/* Rows after one row, up to and including another. */
struct history_part {
    int64_t after_end_s, after_id;
    int64_t last_end_s, last_id;
};

struct history_part_result {
    struct history_page page;
    struct strbuf text;
    int code; /* 0, or why the part could not be read */
};

/* Life. `ends_us`: when the question's time is over; monotonic. */
void history_round_unref(struct history_round *round);
struct history_round *history_round_new(const struct history_question *question, int64_t ends_us)
    OWNED_BY(history_round_unref);
struct history_round *history_round_ref(struct history_round *round);
DEFINE_CLEANUP(struct history_round, history_round_unref)

/* For history_round_give, which takes it over. */
struct history_part_result *history_part_result_new(void);

/* The question. */
const struct history_question *history_round_question(const struct history_round *round);
int64_t history_round_ends_us(const struct history_round *round);

/* Parts, in their order. Add must not be called on a full round. Claim: the
 * first part that nobody has claimed; false if there is none.
 */
void history_round_add(struct history_round *round, const struct history_part *part);
unsigned history_round_count(const struct history_round *round);
const struct history_part *history_round_part(const struct history_round *round, unsigned i);
bool history_round_claim(struct history_round *round, unsigned *ret_i);

/* Results. Give keeps the first result of a part and frees later ones.
 * Result_of: NULL if there is none yet. After forget all results that are given
 * are freed.
 */
void history_round_give(struct history_round *round, unsigned i,
                        struct history_part_result *result TAKES);
const struct history_part_result *history_round_result_of(const struct history_round *round,
                                                          unsigned i);
void history_round_forget(struct history_round *round);
