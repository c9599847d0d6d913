/* SPDX-License-Identifier: Apache-2.0 */
/* history_filter.h - the conditions of a question, as numbers of the file
 *
 * Indexes find rows by one or two of the conditions (history_scan.h). Each row
 * is then compared with all of them here, so that a question can stop between
 * any two rows.
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
    int64_t user, account, partition; /* 0: any */
    int64_t *nodes;                   /* sorted; those of a host list that
                                             * rows in the file have */
    size_t n_nodes;
    int64_t states[JOB_STATE_COUNT]; /* those that rows in the file
                                             * have */
    size_t n_states;
    int64_t *accounts; /* of the asker's rights */
    uint64_t columns;  /* needed for the comparison */
    bool is_nothing;   /* no row can match */
    bool has_members;  /* the file has attempts of several nodes */
};

void history_filter_make(struct history_reader *reader, const struct history_question *question,
                         struct arena *arena, struct history_filter *ret_filter);

/* Wants: whether the statement's row matches and the asker may read it. Is_own:
 * whether the asker may read all of it.
 */
bool history_filter_wants(const struct history_filter *filter, sqlite3_stmt *s);
bool history_filter_is_own(const struct history_filter *filter, sqlite3_stmt *s);
