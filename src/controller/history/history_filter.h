/* SPDX-License-Identifier: Apache-2.0 */
/* history_filter.h - what a question asks for, in the numbers of the file
 *
 * Indexes lead to rows by one or two of these (history_scan.h); each row is
 * compared with all of them here, so that a question can stop between any two.
 *
 * Thread:  the reader's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "lib/api/job/job_state.h"

struct arena;
struct history_question;
struct history_reader;

struct history_filter {
    const struct history_question *question;
    int64_t user, account, partition, node; /* 0: any */
    int64_t states[JOB_STATE_COUNT];        /* those that rows have */
    size_t n_states;
    int64_t *accounts; /* of the rights */
    uint64_t columns;  /* that comparing needs */
    bool is_nothing;   /* no row has what is asked for */
};

void history_filter_make(struct history_reader *reader,
                         const struct history_question *question,
                         struct arena *arena,
                         struct history_filter *ret_filter);

/* Whether the statement's row is asked for, and may be read. Own: whether all of
 * it may be.
 */
bool history_filter_wants(const struct history_filter *filter, sqlite3_stmt *s);
bool history_filter_is_own(const struct history_filter *filter,
                           sqlite3_stmt *s);
