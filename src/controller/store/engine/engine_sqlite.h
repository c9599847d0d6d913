/* SPDX-License-Identifier: Apache-2.0 */
/* engine_sqlite.h - the parts of the embedded engine, for its own files
 *
 * There are three connections to one file in WAL mode: `db` commits,
 * `checkpointer` copies committed pages back into the file meanwhile, `reader`
 * reads blobs and verifies rows.
 *
 * Thread:  one for each connection; see engine.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <sqlite3.h>

#include "controller/store/engine/engine.h"

struct engine_sqlite {
    struct engine base;
    sqlite3 *db;
    sqlite3 *checkpointer;
    sqlite3 *reader;
    sqlite3_stmt *begin;
    sqlite3_stmt *commit;
    sqlite3_stmt *claim; /* updates the counters if they are as expected */
    sqlite3_stmt *verbs[ENGINE_VERBS];
    sqlite3_stmt *add_content; /* of a blob; and drop_content its removal */
    sqlite3_stmt *drop_content;
    sqlite3_stmt *read_content;
    int64_t epoch;
    bool is_relaxed;
    bool must_exist;
    size_t wal_pages;
    int index_fd; /* of the log's index (-shm); or -1 */
    bool holds_index;
    char *path;
};

struct engine_sqlite *engine_sqlite_of(struct engine *engine);

/* engine_sqlite_apply.c */
int engine_sqlite_prepare(struct engine_sqlite *e, struct error *err);
enum engine_outcome engine_sqlite_apply(struct engine *engine, const struct engine_batch *batch,
                                        struct error *err);

/* engine_sqlite_scan.c */
int engine_sqlite_scan_open(struct engine *engine, struct engine_scan **ret_scan,
                            struct error *err);
int engine_sqlite_scan_next(struct engine_scan *scan, struct engine_row *ret_row,
                            struct error *err);
void engine_sqlite_scan_close(struct engine_scan *scan);
int engine_sqlite_visit(struct engine *engine, const struct engine_visitor *visitor,
                        struct error *err);
int engine_sqlite_read_blob(struct engine *engine, int64_t row, struct strbuf *out,
                            struct error *err);

/* engine_sqlite_verify.c */
int engine_sqlite_verify(struct engine *engine, struct engine_slice *slice, engine_wrong_fn *wrong,
                         void *context, struct error *err);
