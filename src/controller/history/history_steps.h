/* SPDX-License-Identifier: Apache-2.0 */
/* history_steps.h - the records of the steps of jobs, also of running ones
 *
 * One row for each step, by the pod's uid and the step's id, and one of the pod with
 * whose it is (id -1). A record replaces another one only if it is newer: the end of a step
 * always is. So a batch may come twice, late, or after a later one.
 *
 * Thread:  the writer's, except the answer: that of its connection.
 */
#pragma once

#include <stdint.h>

#include <sqlite3.h>

#include "lib/base/macro.h"

struct error;
struct history_connection;
struct history_question;
struct history_steps;
struct step_batch;
struct strbuf;

/* Rows, about a gigabyte: whatever users do, the file has room for attempts. */
#define HISTORY_STEPS_MOST 2000000

/* Life. The statements belong to the connection: free them before it is closed. */
void history_steps_free(struct history_steps *steps);
int history_steps_new(sqlite3 *db, struct history_steps **ret_steps, struct error *err);

/* Within the caller's transaction. Add: 1 if anything is new, 0 if not; -ENOENT: the
 * batch is of a pod that has no row, or that was not on the node which reports it.
 * Drop: at most `most` steps, those that were seen last before that time (0: none) and, if
 * there are more than `rows_most`, the oldest; returns how many. The rows are counted in one
 * call of 60, and as long as there are too many.
 */
int history_steps_add(struct history_steps *steps, const struct step_batch *batch,
                      struct error *err);
int64_t history_steps_drop(struct history_steps *steps, int64_t before_s, int64_t rows_most,
                           int64_t most, struct error *err);

/* Adds the answer to a question for the steps of jobs, kind StepList. */
int history_steps_print(struct history_connection *connection,
                        const struct history_question *question, struct strbuf *out,
                        struct error *err);
