/* SPDX-License-Identifier: Apache-2.0 */
/* history_file.h - the history file, as its only writer uses it
 *
 * Rows, their sums by day and the watermark are written in one transaction, so
 * a crash leaves all of a batch or nothing, and a row that is added twice
 * exists once.
 *
 * Thread:  the writer's; one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct error;
struct history_applied;
struct history_file;
struct history_row;
struct step_batch;
struct strbuf;

/* The store to which the file belongs, at the time of opening. */
struct history_origin {
    const char *cluster; /* its uid */
    int64_t revision;    /* the store's */
    const char *lost;    /* "AFTER BEFORE;...": backup.h */
    int64_t epoch;       /* number of the store's opening; 0: not known */
    int64_t opened_at;   /* the revision with which it was opened */
};

/* Life. Open creates the file if it is missing. A file that is damaged, or of
 * another cluster, is set aside, and a new one is begun; `notice` then says so.
 * -ENOTSUP: of a later version.
 */
void history_file_close(struct history_file *file);
int history_file_open(const char *path, const struct history_origin *origin,
                      struct history_file **ret_file, struct strbuf *notice, struct error *err);

/* Renames a damaged file: "PATH.SUFFIX", "PATH.SUFFIX.1". */
void history_file_set_aside(const char *path, const char *suffix, const char *why,
                            struct strbuf *notice);

/* The store's revision up to which all rows are in the file. */
int64_t history_file_watermark(const struct history_file *file);

/* Which records of the shared log are in the file. */
struct history_applied *history_file_applied(struct history_file *file);

/* Begin, add, commit; or roll back after a failure. Add returns 1 for a
 * new row, 0 for an existing one. Commit moves the watermark up to `revision`,
 * never down.
 */
int history_file_begin(struct history_file *file, struct error *err);
int history_file_add(struct history_file *file, const struct history_row *row, struct error *err);
int history_file_add_steps(struct history_file *file, const struct step_batch *batch,
                           struct error *err); /* history_steps.h */
int history_file_commit(struct history_file *file, int64_t revision, struct error *err);
void history_file_rollback(struct history_file *file);

/* Deletes steps, and then the oldest rows: those that ended before `before_s` (0: none), and as
 * many as make the file small enough (0: any size); at most `most` rows.
 * Returns the number of deleted rows, or a negative errno.
 */
int64_t history_file_drop(struct history_file *file, int64_t before_s, int64_t max_bytes,
                          int64_t most, struct error *err);

int64_t history_file_bytes(const struct history_file *file);
