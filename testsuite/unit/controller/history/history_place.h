/* SPDX-License-Identifier: Apache-2.0 */
/* history_place.h - a history file in its own directory, with short functions
 * for rows and queries
 */
#pragma once

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/history/history_file.h"
#include "controller/history/history_question.h"
#include "controller/history/history_reader.h"
#include "controller/history/history_schema.h"
#include "controller/store/engine/sql.h"
#include "lib/api/job/history_row.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "testsuite/lib/scratch.h"

#define DAY_US INT64_C(86400000000)
#define NOON   (20000 * DAY_US + DAY_US / 2)

struct place {
    char *directory, *path;
    struct history_file *file;
    struct strbuf notice;
    struct arena *arena;
};

static inline int
open_as(struct place *p, const char *cluster, int64_t revision, const char *lost)
{
    const struct history_origin origin = {
        .cluster = cluster,
        .revision = revision,
        .lost = lost,
    };

    history_file_close(p->file);
    p->file = NULL;
    return history_file_open(p->path, &origin, &p->file, &p->notice, NULL);
}

static inline void
place_init(struct place *p)
{
    *p = (struct place){.directory = scratch_new(), .arena = arena_new(0)};
    p->path = xasprintf("%s/history.db", p->directory);
    strbuf_init(&p->notice);
    ck_assert_int_eq(open_as(p, "us", 1000, ""), 0);
}

static inline void
place_fini(struct place *p)
{
    history_file_close(p->file);
    strbuf_fini(&p->notice);
    free(p->path);
    arena_free(p->arena);
    scratch_freep(&p->directory);
}

/* What versions of the schema added beside columns of attempts, is taken away again. */
static const char *const place_undo[HISTORY_SCHEMA_VERSION + 1] = {
    [4] = "DROP TABLE epochs; DROP TABLE monthly",
    [9] = "DROP INDEX by_member; DROP TABLE open_attempts",
    [10] = "ALTER TABLE watermark DROP COLUMN followed",
    [11] = "DROP TABLE steps",
    [13] = "DROP TABLE applied; ALTER TABLE watermark DROP COLUMN read_after",
};

static inline void
place_undo_version(sqlite3 *db, int version)
{
    unsigned n = 0;

    if (place_undo[version] != NULL)
        ck_assert_int_eq(sql_exec(db, place_undo[version], NULL), 0);
    for (unsigned i = 0; i < history_row_record.n_fields; i++) {
        const struct field_column *column = history_row_record.fields[i].column;
        CLEANUP_FREE char *drop = xasprintf("ALTER TABLE attempts DROP COLUMN %s", column->name);

        if (column->since != version)
            continue;
        ck_assert_int_eq(sql_exec(db, drop, NULL), 0);
        n++;
    }
    ck_assert_msg(n > 0 || place_undo[version] != NULL,
                  "version %d added no column, and has no line in place_undo", version);
}

/* Closes the file and makes it one that this earlier version has written. */
static inline void
place_make_old(struct place *p, int version)
{
    CLEANUP_FREE char *set_version = xasprintf("PRAGMA user_version = %d", version);
    sqlite3 *db = NULL;

    history_file_close(p->file);
    p->file = NULL;
    ck_assert_int_eq(sql_open(p->path, &db, NULL), 0);
    for (int v = HISTORY_SCHEMA_VERSION; v > version; v--)
        place_undo_version(db, v);
    ck_assert_int_eq(sql_exec(db, set_version, NULL), 0);
    sql_close(db);
}

/* Half an hour on two CPUs, with the usage of one. */
static inline struct history_row
row_of(struct place *p, int64_t n)
{
    static const int64_t half_hour = INT64_C(1800000000);
    static const int64_t zero;

    return (struct history_row){
        .user = "alice",
        .uid = 1000,
        .account = "chem",
        .job_id = n,
        .job_uid = arena_printf(p->arena, "00000000-0000-4000-8000-%012lld", (long long)n),
        .object = arena_printf(p->arena, "job-%lld", (long long)n),
        .name = "sweep",
        .pod = arena_printf(p->arena, "job-%lld-0", (long long)n),
        .pod_uid = arena_printf(p->arena, "11111111-0000-4000-8000-%012lld", (long long)n),
        .attempt = 1,
        .submit_at_us = NOON - 2 * half_hour,
        .eligible_at_us = NOON - 2 * half_hour,
        .start_at_us = NOON - half_hour,
        .end_at_us = NOON + n * 1000000,
        .node = "n1",
        .cpu_milli = 2000,
        .cpu_time_us = &half_hour,
        .exit_code = &zero,
        .state = "Completed",
        .script = "sha256:"
                  "f59357c9c1fd7e42f3b17df33455f24a9a435c768894b51ccd977a9c18f0"
                  "c38b",
        .message = "words",
        .revision = 100 + n,
    };
}

static inline int
add(struct place *p, const struct history_row *row, int64_t revision)
{
    int r;

    ck_assert_int_eq(history_file_begin(p->file, NULL), 0);
    r = history_file_add(p->file, row, NULL);
    ck_assert_int_eq(history_file_commit(p->file, revision, NULL), 0);
    return r;
}

/* Returns the answer's items. */
static inline struct json *
ask(struct place *p, const struct history_question *q, const char **ret_next)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct history_reader *reader = NULL;
    struct json *tree;

    ck_assert_int_eq(history_reader_open(p->path, 0, &reader, NULL), 0);
    ck_assert_int_eq(history_reader_answer(reader, q, 10000000, &text, NULL), 0);
    history_reader_close(reader);
    tree = json_parse(p->arena, text.text, text.length, NULL, NULL);
    ck_assert_ptr_nonnull(tree);
    if (ret_next != NULL)
        *ret_next = json_path_text(tree, "metadata.continue");
    return json_get(tree, "items");
}

static const struct history_question everything = {
    .rights = {.is_all = true},
    .limit = 100,
};
