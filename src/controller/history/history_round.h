/* SPDX-License-Identifier: Apache-2.0 */
/* history_round.h - some parts of a page, and what those who read them found
 *
 * The reader adds parts; whoever is free claims one, reads it and gives what it
 * found. The first result of a part stays, so that the reader can also read a
 * part that another claimed and does not give. There is no lock: a thread that
 * gets no CPU, wherever it stands, has nothing that others wait for.
 *
 * Owns:      a copy of the question, for threads that come late; the results.
 * Thread:    add, result_of and forget are the reader's; the others anyone's.
 * Invariant: each who was given a reference can use the round until its unref,
 *            also when the page was sent long ago.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/history/history_page.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

struct history_question;
struct history_round;

#define HISTORY_ROUND_PARTS 40 /* the most: what stands in memory */

/* Rows behind one up to another. */
struct history_part {
    int64_t after_end_s, after_id;
    int64_t last_end_s, last_id;
};

struct history_part_result {
    struct history_page page;
    struct strbuf text;
    int code; /* 0, or why it could not be read */
};

/* Life. `ends_us`: when the question has had its time; monotonic. */
void history_round_unref(struct history_round *round);
struct history_round *history_round_new(const struct history_question *question,
                                        int64_t ends_us)
    OWNED_BY(history_round_unref);
struct history_round *history_round_ref(struct history_round *round);
DEFINE_CLEANUP(struct history_round, history_round_unref)

/* For give, which takes it. */
struct history_part_result *history_part_result_new(void);

/* The question */
const struct history_question *
history_round_question(const struct history_round *round);
int64_t history_round_ends_us(const struct history_round *round);

/* Parts, in their order. Adding one to a full round is the caller's mistake.
 * Claim: the first that nobody has claimed; false without one.
 */
void history_round_add(struct history_round *round,
                       const struct history_part *part);
unsigned history_round_count(const struct history_round *round);
const struct history_part *history_round_part(const struct history_round *round,
                                              unsigned i);
bool history_round_claim(struct history_round *round, unsigned *ret_i);

/* Results. One that comes second is freed. NULL: not given yet. After forget
 * all that come are freed.
 */
void history_round_give(struct history_round *round,
                        unsigned i,
                        struct history_part_result *result TAKES);
const struct history_part_result *
history_round_result_of(const struct history_round *round, unsigned i);
void history_round_forget(struct history_round *round);
