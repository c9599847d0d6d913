/* SPDX-License-Identifier: Apache-2.0 */
/* history_file.h - the file of history as its one writer has it
 *
 * Rows, their sums by day and the watermark go in one transaction, so a crash
 * leaves all of a batch or nothing, and what comes twice is there once.
 *
 * Thread:  the writer's; one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct error;
struct history_file;
struct history_row;
struct strbuf;

/* The store that the file belongs to, when it was opened. */
struct history_origin {
    const char *cluster; /* its uid */
    int64_t revision;    /* the store's */
    const char *lost;    /* "AFTER BEFORE;...": backup.h */
    int64_t epoch;       /* of the store's opening; 0: not known */
    int64_t opened_at;   /* the revision that it was opened with */
};

/* Life. Open makes the file when it is missing. One that is damaged, or of
 * another cluster, is set aside, and a new one begun; `notice` then says so.
 * -ENOTSUP: of a later version.
 */
void history_file_close(struct history_file *file);
int history_file_open(const char *path,
                      const struct history_origin *origin,
                      struct history_file **ret_file,
                      struct strbuf *notice,
                      struct error *err);

/* Moves a file that is damaged out of the way: "PATH.damaged", ".damaged.1". */
void history_file_set_aside(const char *path,
                            const char *suffix,
                            const char *why,
                            struct strbuf *notice);

/* The store's revision up to which all rows are there. */
int64_t history_file_watermark(const struct history_file *file);

/* Change. Begin, add, commit; or after a failure roll back. Add returns 1 for a
 * new row, 0 for one that was there. Commit: the watermark moves to `revision`,
 * never back.
 */
int history_file_begin(struct history_file *file, struct error *err);
int history_file_add(struct history_file *file,
                     const struct history_row *row,
                     struct error *err);
int history_file_commit(struct history_file *file,
                        int64_t revision,
                        struct error *err);
void history_file_rollback(struct history_file *file);

/* Drops the oldest rows: those that ended before `before_s` (0: none), and as
 * many as make the file small enough (0: any size); at the most `most` rows.
 * The number that went, or a negative errno.
 */
int64_t history_file_drop(struct history_file *file,
                          int64_t before_s,
                          int64_t max_bytes,
                          int64_t most,
                          struct error *err);

/* Look */
int64_t history_file_bytes(const struct history_file *file);
