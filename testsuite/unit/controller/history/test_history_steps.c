/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_steps.h"

#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "controller/history/history_replica.h"
#include "controller/store/engine/sql.h"
#include "lib/api/cluster/step_record.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/json/record.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/history/history_place.h"

static struct step_record
step_of(int64_t id, int64_t observed_us)
{
    return (struct step_record){
        .id = id,
        .name = "hostname",
        .tasks = 1,
        .start_at_us = NOON,
        .observed_at_us = observed_us,
        .state = "Running",
    };
}

static struct step_record
ended(int64_t id, int64_t at_us)
{
    static const int64_t seven = 7;
    struct step_record s = step_of(id, at_us);

    s.end_at_us = at_us;
    s.state = "Failed";
    s.exit_code = &seven;
    return s;
}

/* Of job 17 on n1, by alice, uid 1000. */
static struct step_batch
batch_of(struct step_record *steps, uint32_t n)
{
    struct step_batch b = {
        .pod = "job-17-0",
        .pod_uid = "11111111-0000-4000-8000-000000000017",
        .node = "n1",
        .job_id = 17,
        .attempt = 1,
        .user = "alice",
        .uid = 1000,
    };

    b.steps.items = steps;
    b.steps.count = n;
    return b;
}

static int
put(struct place *p, const struct step_batch *batch)
{
    int r;

    ck_assert_int_eq(history_file_begin(p->file, NULL), 0);
    r = history_file_add_steps(p->file, batch, NULL);
    ck_assert_int_eq(history_file_commit(p->file, 0, NULL), 0);
    return r;
}

static struct json *
ask_steps(struct place *p, const struct history_question *q)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct history_reader *reader = NULL;
    struct json *tree;

    ck_assert_int_eq(history_reader_open(p->path, 0, &reader, NULL), 0);
    ck_assert_int_eq(history_reader_answer(reader, q, 10000000, &text, NULL), 0);
    history_reader_close(reader);
    tree = json_parse(p->arena, text.text, text.length, NULL, NULL);
    ck_assert_ptr_nonnull(tree);
    return tree;
}

static const struct history_question of_job = {
    .by = HISTORY_STEPS,
    .rights = {.is_all = true},
    .job_id = 17,
    .limit = 100,
    .after_step = {.index = -2},
};

static struct json *
items(struct place *p)
{
    return json_get(ask_steps(p, &of_job), "items");
}

START_TEST(a_step_comes_back_with_its_owner)
{
    struct place p;
    struct step_record step = ended(3, NOON + 5000000);
    struct step_batch batch = batch_of(&step, 1);
    const struct json *item;

    place_init(&p);
    ck_assert_int_eq(put(&p, &batch), 1);
    item = json_at(items(&p), 0);

    ck_assert_int_eq(json_get_int(item, "step", -1), 3);
    ck_assert_int_eq(json_get_int(item, "job", 0), 17);
    ck_assert_int_eq(json_get_int(item, "exitCode", 0), 7);
    ck_assert_str_eq(json_get_text(item, "user"), "alice");
    ck_assert_str_eq(json_get_text(item, "podUid"), batch.pod_uid);
    place_fini(&p);
}
END_TEST

/* Page by page, as JOB.STEP. */
static void
list_jobs(struct place *p, const int64_t *jobs, size_t count, int64_t limit, struct strbuf *out)
{
    struct history_question q = of_job;

    q.jobs = jobs;
    q.n_jobs = count;
    q.limit = limit;
    for (int page = 0; page < 20; page++) {
        const struct json *tree = ask_steps(p, &q);
        const char *next = json_path_text(tree, "metadata.continue");

        for (uint32_t i = 0; i < json_count(json_get(tree, "items")); i++)
            strbuf_printf(out, "%" PRId64 ".%" PRId64 " ",
                          json_get_int(json_at(json_get(tree, "items"), i), "job", 0),
                          json_get_int(json_at(json_get(tree, "items"), i), "step", -1));
        if (next == NULL)
            return;
        ck_assert_int_eq(sscanf(next, "%" SCNd64 ".%" SCNd64 ".%" SCNd64 ".%" SCNd64,
                                &q.after_step.job, &q.after_step.index, &q.after_step.attempt,
                                &q.after_step.id),
                         4);
    }
    ck_abort_msg("the pages have no end");
}

START_TEST(the_steps_of_several_jobs_are_in_the_order_of_these_jobs_each_once)
{
    static const int64_t jobs[] = {18, 99, 17, 18, 19, 17};
    struct place p;

    place_init(&p);
    for (int64_t job = 17; job <= 20; job++) {
        struct step_record steps[] = {ended(0, NOON), ended(1, NOON)};
        struct step_batch batch = batch_of(steps, job == 19 ? 1 : 2);

        batch.job_id = job;
        batch.pod_uid = arena_printf(p.arena, "00000000-0000-0000-0000-0000000000%d", (int)job);
        put(&p, &batch);
    }
    for (int64_t limit = 1; limit <= 6; limit++) {
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

        list_jobs(&p, jobs, ARRAY_SIZE(jobs), limit, &text);
        ck_assert_str_eq(text.text, "18.0 18.1 17.0 17.1 19.0 ");
    }
    place_fini(&p);
}
END_TEST

START_TEST(a_batch_that_comes_twice_or_late_changes_nothing)
{
    struct place p;
    struct step_record begun = step_of(0, NOON), later = step_of(0, NOON + 9000000);
    struct step_record end = ended(0, NOON + 5000000);
    struct step_batch first = batch_of(&begun, 1), second = batch_of(&later, 1);
    struct step_batch third = batch_of(&end, 1);

    place_init(&p);
    ck_assert_int_eq(put(&p, &second), 1);
    ck_assert_int_eq(put(&p, &second), 0);
    ck_assert_int_eq(put(&p, &first), 0);
    ck_assert_str_eq(json_get_text(json_at(items(&p), 0), "state"), "Running");
    ck_assert_int_eq(put(&p, &third), 1);
    ck_assert_int_eq(put(&p, &second), 0);

    ck_assert_uint_eq(json_count(items(&p)), 1);
    ck_assert_str_eq(json_get_text(json_at(items(&p), 0), "state"), "Failed");
    place_fini(&p);
}
END_TEST

START_TEST(the_owner_of_a_pod_that_is_gone_is_in_its_row_if_it_was_on_the_node)
{
    struct place p;
    struct step_record step = ended(0, NOON);
    struct step_batch batch = batch_of(&step, 1), other = batch;
    struct history_row row;

    place_init(&p);
    row = row_of(&p, 17);
    batch.is_of_row = other.is_of_row = true;
    batch.job_id = other.job_id = 0;
    batch.user = other.user = NULL;
    other.node = "n2";
    ck_assert_int_eq(put(&p, &batch), -ENOENT);
    ck_assert_int_eq(add(&p, &row, 117), 1);

    ck_assert_int_eq(put(&p, &other), -ENOENT);
    ck_assert_uint_eq(json_count(items(&p)), 0);
    ck_assert_int_eq(put(&p, &batch), 1);
    ck_assert_str_eq(json_get_text(json_at(items(&p), 0), "user"), "alice");
    ck_assert_str_eq(json_get_text(json_at(items(&p), 0), "jobUid"), row.job_uid);
    place_fini(&p);
}
END_TEST

START_TEST(only_the_owner_and_administrators_see_steps)
{
    struct place p;
    struct step_record step = ended(0, NOON);
    struct step_batch batch = batch_of(&step, 1);
    struct history_question question = of_job;

    place_init(&p);
    ck_assert_int_eq(put(&p, &batch), 1);
    question.rights = (struct history_rights){.uid = 1000, .user = "alice"};
    ck_assert_uint_eq(json_count(json_get(ask_steps(&p, &question), "items")), 1);
    question.rights = (struct history_rights){.uid = 1001, .user = "bob"};
    ck_assert_uint_eq(json_count(json_get(ask_steps(&p, &question), "items")), 0);
    place_fini(&p);
}
END_TEST

START_TEST(pages_have_all_steps_once_and_each_its_owner)
{
    struct place p;
    struct step_record steps[5];
    struct step_batch batch = batch_of(steps, 5);
    struct history_question question = of_job;
    int64_t seen = 0;

    place_init(&p);
    for (int i = 0; i < 5; i++)
        steps[i] = ended(i, NOON);
    batch.omitted = 12;
    ck_assert_int_eq(put(&p, &batch), 1);
    question.limit = 2;
    for (unsigned pages = 0; pages < 4; pages++) {
        const struct json *answer = ask_steps(&p, &question);
        const struct json *page = json_get(answer, "items");
        const char *next = json_path_text(answer, "metadata.continue");

        for (uint32_t i = 0; i < json_count(page); i++) {
            ck_assert_int_eq(json_get_int(json_at(page, i), "step", -1), seen++);
            ck_assert_str_eq(json_get_text(json_at(page, i), "user"), "alice");
        }
        if (pages == 0)
            ck_assert_int_eq(
                json_get_int(json_at(json_get(json_get(answer, "metadata"), "omitted"), 0), "steps",
                             0),
                12);
        if (next == NULL)
            break;
        ck_assert_int_eq(sscanf(next, "%" SCNd64 ".%" SCNd64 ".%" SCNd64,
                                &question.after_step.index, &question.after_step.attempt,
                                &question.after_step.id),
                         3);
    }
    ck_assert_int_eq(seen, 5);
    place_fini(&p);
}
END_TEST

START_TEST(a_step_that_ran_when_its_node_was_lost_has_ended_with_it)
{
    struct place p;
    struct step_record step = step_of(0, NOON);
    struct step_batch batch = batch_of(&step, 1);
    struct history_question running = of_job;
    struct history_row row;
    const struct json *item;

    step.command = "echo \"state\":\"Running\"";
    running.is_running = true;
    place_init(&p);
    ck_assert_int_eq(put(&p, &batch), 1);
    ck_assert_str_eq(json_get_text(json_at(items(&p), 0), "state"), "Running");
    ck_assert_uint_eq(json_count(json_get(ask_steps(&p, &running), "items")), 1);
    row = row_of(&p, 17);
    row.state = "NodeFailed";
    ck_assert_int_eq(add(&p, &row, 117), 1);
    item = json_at(items(&p), 0);

    ck_assert_str_eq(json_get_text(item, "state"), "NodeFailed");
    ck_assert_str_eq(json_get_text(item, "command"), step.command);
    ck_assert_ptr_nonnull(json_get(item, "endTime"));
    ck_assert_uint_eq(json_count(json_get(ask_steps(&p, &running), "items")), 0);
    place_fini(&p);
}
END_TEST

START_TEST(a_file_that_is_too_large_loses_steps_and_no_attempt)
{
    struct place p;
    struct step_record step = ended(0, NOON);
    struct step_batch batch = batch_of(&step, 1);
    struct history_row row;

    place_init(&p);
    row = row_of(&p, 17);
    ck_assert_int_eq(add(&p, &row, 117), 1);
    ck_assert_int_eq(put(&p, &batch), 1);

    ck_assert_int_eq(history_file_drop(p.file, 0, 1, 100, NULL), 2); /* with that of the pod */
    ck_assert_uint_eq(json_count(items(&p)), 0);
    ck_assert_uint_eq(json_count(ask(&p, &everything, NULL)), 1);
    place_fini(&p);
}
END_TEST

START_TEST(of_too_many_steps_the_oldest_go_whatever_is_kept_otherwise)
{
    struct history_steps *h = NULL;
    struct place p;
    struct step_record steps[5];
    struct step_batch batch = batch_of(steps, 5);
    sqlite3 *db = NULL;

    place_init(&p);
    for (int i = 0; i < 5; i++)
        steps[i] = ended(i, NOON + i * INT64_C(1000000));
    ck_assert_int_eq(put(&p, &batch), 1);
    ck_assert_int_eq(sql_open(p.path, &db, NULL), 0);
    ck_assert_int_eq(history_steps_new(db, &h, NULL), 0);

    ck_assert_int_eq(history_steps_drop(h, 0, 4, 2, NULL), 2);
    ck_assert_int_eq(history_steps_drop(h, 0, 4, 2, NULL), 0);
    ck_assert_uint_eq(json_count(items(&p)), 3);
    ck_assert_int_eq(json_get_int(json_at(items(&p), 0), "step", -1), 2);
    history_steps_free(h);
    sql_close(db);
    place_fini(&p);
}
END_TEST

START_TEST(the_owner_is_known_as_long_as_there_is_a_step)
{
    struct place p;
    struct step_record first = ended(0, NOON), last = ended(1, NOON + 100 * INT64_C(1000000));
    struct step_batch early = batch_of(&first, 1), late = batch_of(&last, 1);

    place_init(&p);
    ck_assert_int_eq(put(&p, &early), 1);
    ck_assert_int_eq(put(&p, &late), 1);
    ck_assert_int_eq(history_file_drop(p.file, NOON / 1000000 + 50, 0, 100, NULL), 1);

    ck_assert_uint_eq(json_count(items(&p)), 1);
    ck_assert_str_eq(json_get_text(json_at(items(&p), 0), "user"), "alice");
    place_fini(&p);
}
END_TEST

START_TEST(a_batch_is_shared_as_text_and_is_no_row)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct step_record step = ended(4, NOON);
    struct step_batch batch = batch_of(&step, 1), back;
    struct history_row row;
    struct place p;

    json_print(record_encode(&step_batch_record, arena, &batch), &text);
    ck_assert(history_replica_read_steps(arena, text.text, text.length, &back));
    ck_assert_int_eq(back.steps.items[0].id, 4);
    ck_assert_int_eq(back.job_id, 17);
    ck_assert(!history_replica_read_row(arena, text.text, text.length, &row));

    place_init(&p);
    row = row_of(&p, 7);
    strbuf_truncate(&text, 0);
    json_print(record_encode(&history_row_record, arena, &row), &text);
    ck_assert(history_replica_read_row(arena, text.text, text.length, &row));
    ck_assert(!history_replica_read_steps(arena, text.text, text.length, &back));
    place_fini(&p);

    step.id = STEP_RECORDS_MOST;
    strbuf_truncate(&text, 0);
    json_print(record_encode(&step_batch_record, arena, &batch), &text);
    ck_assert(!history_replica_read_steps(arena, text.text, text.length, &back));
}
END_TEST

/* A file as the release of that schema wrote it: what the present schema has forgotten of it
 * would not be seen in one that is made from the present schema.
 */
static const char schema_11[] =
    "CREATE TABLE watermark (id INTEGER PRIMARY KEY CHECK (id = 1), cluster TEXT NOT "
    "NULL, revision INTEGER NOT NULL, lost TEXT NOT NULL, followed INTEGER NOT NULL "
    "DEFAULT 0); "
    "CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE); "
    "CREATE TABLE attempts (id INTEGER PRIMARY KEY, end_at INTEGER NOT NULL, uid INTEGER "
    "NOT NULL, user INTEGER NOT NULL, account INTEGER NOT NULL, partition INTEGER NOT "
    "NULL, job INTEGER NOT NULL, job_uid BLOB, idx INTEGER, attempt INTEGER NOT NULL, "
    "object TEXT NOT NULL, name TEXT, pod TEXT, key BLOB NOT NULL, submit_at INTEGER NOT "
    "NULL, eligible_at INTEGER NOT NULL, start_at INTEGER NOT NULL, node INTEGER NOT "
    "NULL, cpu_milli INTEGER NOT NULL, memory INTEGER NOT NULL, devices INTEGER NOT "
    "NULL, time_limit INTEGER NOT NULL, cpu_us INTEGER, peak INTEGER, state INTEGER NOT "
    "NULL, exit_code INTEGER, signal INTEGER NOT NULL, ended_by INTEGER NOT NULL, reason "
    "INTEGER NOT NULL, message TEXT, script BLOB, revision INTEGER NOT NULL, lost "
    "INTEGER NOT NULL, task INTEGER, frozen_us INTEGER, tasks TEXT, read_bytes INTEGER, "
    "written_bytes INTEGER, rss INTEGER, cache INTEGER, gpus INTEGER, gpu_milli INTEGER, "
    "gpu_peak INTEGER, gpu_memory INTEGER, nodes INTEGER, member INTEGER); "
    "CREATE UNIQUE INDEX by_key ON attempts (key); CREATE INDEX by_end ON attempts "
    "(end_at); CREATE INDEX by_uid ON attempts (uid, end_at); CREATE INDEX by_account ON "
    "attempts (account, end_at); CREATE INDEX by_node ON attempts (node, end_at); CREATE "
    "INDEX by_job ON attempts (job, end_at) WHERE job > 0; CREATE INDEX by_member ON "
    "attempts (member) WHERE member > 0; "
    "CREATE TABLE users (user INTEGER NOT NULL, uid INTEGER NOT NULL, PRIMARY KEY (user, "
    "uid)) WITHOUT ROWID; "
    "CREATE TABLE daily (day INTEGER NOT NULL, account INTEGER NOT NULL, user INTEGER "
    "NOT NULL, partition INTEGER NOT NULL, ended INTEGER NOT NULL, completed INTEGER NOT "
    "NULL, failed INTEGER NOT NULL, stopped INTEGER NOT NULL, cpu_s REAL NOT NULL, "
    "cpu_used_s REAL NOT NULL, cpu_measured_s REAL NOT NULL, memory_gib_s REAL NOT NULL, "
    "device_s REAL NOT NULL, started INTEGER NOT NULL, wait_s INTEGER NOT NULL, "
    "wait_most_s INTEGER NOT NULL, PRIMARY KEY (day, account, user, partition)) WITHOUT "
    "ROWID; "
    "CREATE TABLE monthly (month INTEGER NOT NULL, account INTEGER NOT NULL, user "
    "INTEGER NOT NULL, partition INTEGER NOT NULL, ended INTEGER NOT NULL, completed "
    "INTEGER NOT NULL, failed INTEGER NOT NULL, stopped INTEGER NOT NULL, cpu_s REAL NOT "
    "NULL, cpu_used_s REAL NOT NULL, cpu_measured_s REAL NOT NULL, memory_gib_s REAL NOT "
    "NULL, device_s REAL NOT NULL, started INTEGER NOT NULL, wait_s INTEGER NOT NULL, "
    "wait_most_s INTEGER NOT NULL, PRIMARY KEY (month, account, user, partition)) "
    "WITHOUT ROWID; "
    "CREATE TABLE epochs (epoch INTEGER PRIMARY KEY, revision INTEGER NOT NULL); "
    "CREATE TABLE open_attempts (key TEXT PRIMARY KEY, ended INTEGER NOT NULL, row TEXT "
    "NOT NULL) WITHOUT ROWID; "
    "CREATE TABLE steps (pod BLOB NOT NULL, step INTEGER NOT NULL, job INTEGER NOT NULL, "
    "idx INTEGER NOT NULL, attempt INTEGER NOT NULL, uid INTEGER NOT NULL, at INTEGER "
    "NOT NULL, is_over INTEGER NOT NULL, observed INTEGER NOT NULL, record TEXT NOT "
    "NULL, PRIMARY KEY (pod, step)) WITHOUT ROWID; "
    "CREATE INDEX steps_by_job ON steps (job, idx, attempt, step); CREATE INDEX "
    "steps_by_at ON steps (at); "
    "INSERT INTO watermark VALUES (1, 'us', 500, '', 0); "
    "INSERT INTO words VALUES (1, ''), (2, 'alice'), (3, 'chem'), (4, 'n1'), (5, "
    "'Completed'); "
    "INSERT INTO users VALUES (2, 1000); "
    "INSERT INTO attempts (id, end_at, uid, user, account, partition, job, job_uid, "
    "attempt, object, name, pod, key, submit_at, eligible_at, start_at, node, cpu_milli, "
    "memory, devices, time_limit, state, exit_code, signal, ended_by, reason, revision, "
    "lost) VALUES (1, 1728043200, 1000, 2, 3, 1, 17, "
    "x'00000000000040008000000000000017', 1, 'job-17', 'sweep', '-0', "
    "x'11111111000040008000000000000017', 1728040000, 1728040000, 1728041000, 4, 2000, "
    "0, 0, 3600, 5, 0, 0, 1, 1, 400, 0); "
    "INSERT INTO steps VALUES (x'11111111000040008000000000000017', -1, 17, -1, 1, 1000, "
    "1728042000, 0, 0, "
    "'{\"pod\":\"job-17-0\",\"podUid\":\"11111111-0000-4000-8000-000000000017\",\"job\":17,\"attempt\":1,\"user\":\"alice\",\"uid\":1000}'), "
    "(x'11111111000040008000000000000017', 0, 17, -1, 1, 1000, 1728042000, 1, "
    "1728042000000000, "
    "'{\"step\":0,\"name\":\"hostname\",\"tasks\":2,\"endTime\":\"2024-10-04T11:40:00.000000Z\",\"state\":\"Failed\",\"exitCode\":7}'); ";

static void
make_file(const struct place *p, int version)
{
    CLEANUP_FREE char *mark =
        xasprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", 0x4b696c48, version);
    sqlite3 *db = NULL;

    ck_assert_int_eq(remove(p->path), 0);
    ck_assert_int_eq(sql_open(p->path, &db, NULL), 0);
    ck_assert_int_eq(sql_exec(db, schema_11, NULL), 0);
    if (version > 11)
        ck_assert_int_eq(sql_exec(db,
                                  "ALTER TABLE attempts ADD COLUMN allocation INTEGER;"
                                  "UPDATE attempts SET allocation = 1",
                                  NULL),
                         0);
    ck_assert_int_eq(sql_exec(db, mark, NULL), 0);
    sql_close(db);
}

static void
check_file_of(int version)
{
    static const int64_t ender = 1001;
    struct step_record step = ended(1, NOON + 5000000);
    struct step_batch batch = batch_of(&step, 1);
    struct history_row row;
    struct place p;
    const struct json *list;

    step.state = "Cancelled";
    step.ended_by = &ender;
    place_init(&p);
    history_file_close(p.file);
    p.file = NULL;
    make_file(&p, version);
    ck_assert_int_eq(open_as(&p, "us", 1000, ""), 0);
    row = row_of(&p, 18);
    row.is_allocation = true;
    ck_assert_int_eq(add(&p, &row, 600), 1);
    batch.is_of_row = true;
    ck_assert_int_eq(put(&p, &batch), 1);

    list = ask(&p, &everything, NULL);
    ck_assert_uint_eq(json_count(list), 2);
    for (uint32_t i = 0; i < 2; i++) {
        const bool is_old = json_get_int(json_at(list, i), "job", 0) == 17;

        ck_assert_str_eq(json_get_text(json_at(list, i), "user"), "alice");
        ck_assert_int_eq(json_is_true(json_get(json_at(list, i), "allocation")),
                         !is_old || version > 11);
    }
    list = items(&p);
    ck_assert_uint_eq(json_count(list), 2);
    ck_assert_int_eq(json_get_int(json_at(list, 0), "exitCode", 0), 7);
    ck_assert_ptr_null(json_get(json_at(list, 0), "endedBy"));
    ck_assert_int_eq(json_get_int(json_at(list, 1), "endedBy", 0), 1001);
    ck_assert_str_eq(json_get_text(json_at(list, 1), "user"), "alice");
    place_fini(&p);
}

START_TEST(a_file_of_schema_11_is_read_and_written_on)
{
    check_file_of(11);
}
END_TEST

START_TEST(a_file_of_schema_12_is_read_and_written_on)
{
    check_file_of(12);
}
END_TEST

/* "NAME TYPE NOT_NULL IS_KEY;..." of the columns of attempts. */
static char *
columns_of(const struct place *p)
{
    sqlite3_stmt *s = NULL;
    sqlite3 *db = NULL;
    char *columns;

    ck_assert_int_eq(sql_open(p->path, &db, NULL), 0);
    ck_assert_int_eq(sql_prepare(db,
                                 "SELECT group_concat(name || ' ' || type || ' ' || \"notnull\" ||"
                                 " ' ' || pk, ';') FROM (SELECT * FROM"
                                 " pragma_table_info('attempts') ORDER BY name)",
                                 &s, NULL),
                     0);
    ck_assert_int_eq(sqlite3_step(s), SQLITE_ROW);
    columns = xstrdup((const char *)sqlite3_column_text(s, 0));
    (void)sqlite3_finalize(s);
    sql_close(db);
    return columns;
}

/* The columns come from a table of fields, and what releases wrote is above as they wrote it. */
START_TEST(a_new_file_has_the_columns_of_one_that_an_earlier_release_made)
{
    for (int version = 11; version <= 12; version++) {
        CLEANUP_FREE char *of_new = NULL;
        CLEANUP_FREE char *of_old = NULL;
        struct place p;

        place_init(&p);
        of_new = columns_of(&p);
        history_file_close(p.file);
        p.file = NULL;
        make_file(&p, version);
        ck_assert_int_eq(open_as(&p, "us", 1000, ""), 0);
        of_old = columns_of(&p);

        ck_assert_str_eq(of_new, of_old);
        place_fini(&p);
    }
}
END_TEST

SUITE("history_steps", a_step_comes_back_with_its_owner,
      the_steps_of_several_jobs_are_in_the_order_of_these_jobs_each_once,
      a_batch_that_comes_twice_or_late_changes_nothing,
      the_owner_of_a_pod_that_is_gone_is_in_its_row_if_it_was_on_the_node,
      only_the_owner_and_administrators_see_steps, pages_have_all_steps_once_and_each_its_owner,
      a_file_that_is_too_large_loses_steps_and_no_attempt, a_batch_is_shared_as_text_and_is_no_row,
      a_step_that_ran_when_its_node_was_lost_has_ended_with_it,
      of_too_many_steps_the_oldest_go_whatever_is_kept_otherwise,
      the_owner_is_known_as_long_as_there_is_a_step, a_file_of_schema_11_is_read_and_written_on,
      a_file_of_schema_12_is_read_and_written_on,
      a_new_file_has_the_columns_of_one_that_an_earlier_release_made)
