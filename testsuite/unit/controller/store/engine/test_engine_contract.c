/* SPDX-License-Identifier: Apache-2.0 */
/* What every engine does alike. The engine is SQLite, or PostgreSQL where
 * $KILN_TEST_POSTGRES is the URL of a database of its own (as when
 * testsuite/cluster/heads_store.t starts this program).
 */
#include "controller/store/engine/engine.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/store/engine/engine_copy.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

enum { SQLITE, POSTGRES };

struct bed {
    int which;
    char *directory;
    char *path;
    struct engine *engine;
    struct engine_counters counters;
};

static const char *
database(void)
{
    return getenv("KILN_TEST_POSTGRES");
}

static int
tested(void)
{
    return database() != NULL ? POSTGRES : SQLITE;
}

static void
open_again(struct bed *b)
{
    const struct engine_sqlite_settings file = {.path = b->path};
    const struct engine_postgres_settings server = {.url = database(), .place = "test"};
    struct error err = {0};
    int r = b->which == SQLITE ? engine_sqlite_open(&file, &b->engine, &b->counters, &err)
                               : engine_postgres_open(&server, &b->engine, &b->counters, &err);

    ck_assert_msg(r == 0, "%s", err.text);
}

/* A database of an earlier test is emptied: it has the schema "kiln" only. */
static void
empty_database(void)
{
    CLEANUP_FREE char *command = xasprintf("psql -qX '%s' -c 'SET client_min_messages = error;"
                                           " DROP SCHEMA IF EXISTS kiln CASCADE' >/dev/null",
                                           database());

    ck_assert_int_eq(system(command), 0); /* NOLINT: a test's own text */
}

static void
init(struct bed *b, int which)
{
    bool was_there = true;
    struct error err = {0};

    *b = (struct bed){.which = which, .directory = scratch_new()};
    b->path = xasprintf("%s/kiln.db", b->directory);
    if (which == POSTGRES) {
        empty_database();
        ck_assert_msg(engine_postgres_create(database(), false, &was_there, &err) == 0, "%s",
                      err.text);
        ck_assert(!was_there);
    }
    open_again(b);
}

static void
fini(struct bed *b)
{
    b->engine->ops->close(b->engine);
    free(b->path);
    scratch_freep(&b->directory);
}

static enum engine_outcome
apply(struct bed *b, const struct engine_op *ops, size_t n, struct error *err)
{
    struct engine_batch batch = {
        .expected_revision = b->counters.revision,
        .after = b->counters,
        .ops = ops,
        .n_ops = n,
    };
    enum engine_outcome outcome;

    batch.after.revision++;
    outcome = b->engine->ops->apply(b->engine, &batch, err);
    if (outcome == ENGINE_COMMITTED)
        b->counters = batch.after;
    return outcome;
}

static void
must_apply(struct bed *b, const struct engine_op *ops, size_t n)
{
    struct error err = {0};

    ck_assert_msg(apply(b, ops, n, &err) == ENGINE_COMMITTED, "%s", err.text);
}

static struct engine_op
op_on(enum engine_verb verb, int64_t row, int64_t revision, const char *bytes)
{
    return (struct engine_op){
        .verb = verb,
        .row = row,
        .revision = revision,
        .kind = "pods",
        .namespace = "a",
        .name = "x",
        .bytes = bytes,
        .length = strlen(bytes),
    };
}

/* All rows as "ROW@REVISION=BODY+REVISION=PATCH;", those without a body with "?". */
static char *
text_of(struct bed *b)
{
    struct strbuf out = STRBUF_INIT;
    struct engine_scan *scan;
    struct engine_row row;
    struct error err = {0};
    int r;

    ck_assert_int_eq(b->engine->ops->scan_open(b->engine, &scan, &err), 0);
    while ((r = b->engine->ops->scan_next(scan, &row, &err)) > 0) {
        strbuf_printf(&out, "%s%lld@%lld=%.*s", row.is_lone_change ? "?" : "", (long long)row.row,
                      (long long)row.revision, (int)row.length, row.body);
        for (size_t i = 0; i < row.n_deltas; i++)
            strbuf_printf(&out, "+%lld=%.*s", (long long)row.deltas[i].revision,
                          (int)row.deltas[i].length, row.deltas[i].patch);
        strbuf_add_char(&out, ';');
    }
    ck_assert_msg(r == 0, "%s", err.text);
    b->engine->ops->scan_close(scan);
    return strbuf_take(&out);
}

static void
check_text(struct bed *b, const char *wanted)
{
    CLEANUP_FREE char *text = text_of(b);

    ck_assert_str_eq(text, wanted);
}

START_TEST(rows_come_back_with_their_changes_in_order)
{
    struct bed b;

    init(&b, tested());
    must_apply(&b,
               (struct engine_op[]){op_on(ENGINE_INSERT, 7, 1, "seven"),
                                    op_on(ENGINE_INSERT, 3, 2, "three")},
               2);
    must_apply(&b,
               (struct engine_op[]){op_on(ENGINE_ADD_DELTA, 7, 5, "d5"),
                                    op_on(ENGINE_ADD_DELTA, 3, 4, "d4"),
                                    op_on(ENGINE_ADD_DELTA, 7, 3, "d3")},
               3);
    must_apply(&b, (struct engine_op[]){op_on(ENGINE_ADD_DELTA, 5, 6, "lone")}, 1);
    check_text(&b, "3@2=three+4=d4;?5@6=lone;7@1=seven+3=d3+5=d5;");

    must_apply(
        &b,
        (struct engine_op[]){op_on(ENGINE_UPDATE, 7, 8, "new"), op_on(ENGINE_DROP_DELTA, 0, 3, ""),
                             op_on(ENGINE_DROP_DELTA, 0, 5, ""), op_on(ENGINE_DELETE, 3, 9, ""),
                             op_on(ENGINE_DROP_DELTA, 0, 4, "")},
        5);
    b.engine->ops->close(b.engine);
    open_again(&b);
    check_text(&b, "?5@6=lone;7@8=new;");
    fini(&b);
}
END_TEST

/* A row may be made, changed and removed within one batch. */
START_TEST(a_batch_may_change_a_row_many_times)
{
    struct bed b;

    init(&b, tested());
    must_apply(
        &b,
        (struct engine_op[]){op_on(ENGINE_INSERT, 1, 1, "a"), op_on(ENGINE_UPDATE, 1, 2, "b"),
                             op_on(ENGINE_ADD_DELTA, 1, 3, "c"), op_on(ENGINE_INSERT, 2, 4, "d"),
                             op_on(ENGINE_ADD_DELTA, 2, 5, "e"), op_on(ENGINE_DROP_DELTA, 2, 5, ""),
                             op_on(ENGINE_DELETE, 2, 6, ""), op_on(ENGINE_UPDATE, 1, 7, "f"),
                             op_on(ENGINE_DROP_DELTA, 1, 3, ""), op_on(ENGINE_UPDATE, 1, 8, "g")},
        10);
    check_text(&b, "1@8=g;");
    fini(&b);
}
END_TEST

START_TEST(a_batch_is_applied_whole_or_not_at_all)
{
    const struct engine_op wrong[] = {
        op_on(ENGINE_UPDATE, 9, 2, "x"),     op_on(ENGINE_DELETE, 9, 2, ""),
        op_on(ENGINE_DROP_DELTA, 9, 9, ""),  op_on(ENGINE_COUNT_BLOB, 9, 0, ""),
        op_on(ENGINE_DROP_BLOB, 9, 0, ""),   {.verb = ENGINE_DROP_SECRET, .name = "none"},
        op_on(ENGINE_INSERT, 1, 2, "twice"),
    };

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct bed b;
        struct error err = {0};

        init(&b, tested());
        must_apply(&b, (struct engine_op[]){op_on(ENGINE_INSERT, 1, 1, "one")}, 1);

        ck_assert_int_eq(
            apply(&b, (struct engine_op[]){op_on(ENGINE_INSERT, 5, 5, "five"), wrong[i]}, 2, &err),
            ENGINE_UNKNOWN);

        ck_assert_str_ne(err.text, "");
        check_text(&b, "1@1=one;");
        must_apply(&b, (struct engine_op[]){op_on(ENGINE_INSERT, 6, 6, "six")}, 1);
        fini(&b);
    }
}
END_TEST

START_TEST(a_fenced_engine_can_commit_nothing_more)
{
    struct bed first, second;
    struct error err = {0};

    init(&first, tested());
    second = first;
    open_again(&second);

    ck_assert_int_eq(apply(&first, (struct engine_op[]){op_on(ENGINE_INSERT, 1, 1, "a")}, 1, &err),
                     ENGINE_FENCED);

    ck_assert_ptr_nonnull(strstr(err.text, "taken over"));
    check_text(&second, "");
    must_apply(&second, (struct engine_op[]){op_on(ENGINE_INSERT, 1, 1, "b")}, 1);
    second.engine->ops->close(second.engine);
    fini(&first);
}
END_TEST

/* PostgreSQL's texts have neither NUL nor bytes that are no UTF-8. */
START_TEST(bytes_come_back_as_they_were)
{
    static const char bytes[] = "a\0b\xff\xc3(\"'\\{},\n";
    struct engine_op op = op_on(ENGINE_INSERT, 1, 1, "");
    struct engine_scan *scan;
    struct engine_row row;
    struct bed b;

    init(&b, tested());
    op.bytes = bytes;
    op.length = sizeof(bytes) - 1;
    op.name = "\xff-name";
    must_apply(&b, &op, 1);

    ck_assert_int_eq(b.engine->ops->scan_open(b.engine, &scan, NULL), 0);
    ck_assert_int_eq(b.engine->ops->scan_next(scan, &row, NULL), 1);
    ck_assert_uint_eq(row.length, op.length);
    ck_assert_mem_eq(row.body, bytes, op.length);
    ck_assert_str_eq(row.name, op.name);
    b.engine->ops->scan_close(scan);
    fini(&b);
}
END_TEST

static void
note_blob(int64_t row, const char *digest, int64_t count, void *context)
{
    strbuf_printf(context, "%lld:%s:%lld;", (long long)row, digest, (long long)count);
}

static void
note_secret(const char *name, const char *value, void *context)
{
    strbuf_printf(context, "%s=%s;", name, value);
}

static void
check_beside(struct bed *b, const char *wanted)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const struct engine_visitor visitor = {note_blob, note_secret, &text};

    ck_assert_int_eq(b->engine->ops->visit(b->engine, &visitor, NULL), 0);
    ck_assert_str_eq(text.text, wanted);
}

static struct engine_op
blob(enum engine_verb verb, int64_t row, int64_t count, const char *bytes)
{
    struct engine_op op = op_on(verb, row, 0, bytes);

    op.name = "digest";
    op.count = count;
    return op;
}

static struct engine_op
secret(enum engine_verb verb, const char *name, const char *value)
{
    struct engine_op op = op_on(verb, 0, 0, value);

    op.name = name;
    return op;
}

START_TEST(blobs_and_secrets_are_kept_beside_the_rows)
{
    CLEANUP_STRBUF struct strbuf content = STRBUF_INIT;
    struct bed b;

    init(&b, tested());
    must_apply(&b,
               (struct engine_op[]){
                   blob(ENGINE_ADD_BLOB, 4, 1, "script"), blob(ENGINE_COUNT_BLOB, 4, 3, ""),
                   blob(ENGINE_ADD_BLOB, 5, 1, "gone"), blob(ENGINE_DROP_BLOB, 5, 0, ""),
                   secret(ENGINE_PUT_SECRET, "a", "1"), secret(ENGINE_PUT_SECRET, "b", "2"),
                   secret(ENGINE_DROP_SECRET, "b", ""), secret(ENGINE_PUT_SECRET, "a", "3")},
               8);
    check_beside(&b, "4:digest:3;a=3;");
    ck_assert_int_eq(b.engine->ops->read_blob(b.engine, 4, &content, NULL), 0);
    ck_assert_str_eq(content.text, "script");
    ck_assert_int_eq(b.engine->ops->read_blob(b.engine, 5, &content, NULL), -ENOENT);

    must_apply(
        &b,
        (struct engine_op[]){blob(ENGINE_DROP_BLOB, 4, 0, ""), secret(ENGINE_DROP_SECRET, "a", "")},
        2);
    check_beside(&b, "");
    ck_assert_int_eq(b.engine->ops->read_blob(b.engine, 4, &content, NULL), -ENOENT);
    fini(&b);
}
END_TEST

START_TEST(the_counters_are_those_of_the_last_batch)
{
    struct engine_batch batch = {.after = {.revision = 7, .reserved = 70, .job_id = 5}};
    struct bed b;
    int64_t epoch;

    init(&b, tested());
    epoch = b.counters.epoch;
    ck_assert_int_eq(b.engine->ops->apply(b.engine, &batch, NULL), ENGINE_COMMITTED);
    ck_assert_int_eq(b.engine->ops->apply(b.engine, &batch, NULL), ENGINE_FENCED);
    b.engine->ops->close(b.engine);

    open_again(&b);
    ck_assert_int_gt(b.counters.epoch, epoch);
    ck_assert_int_eq(b.counters.revision, 7);
    ck_assert_int_eq(b.counters.reserved, 70);
    ck_assert_int_eq(b.counters.job_id, 5);
    ck_assert_int_eq(b.engine->ops->check(b.engine, NULL), 0);
    fini(&b);
}
END_TEST

static void
count_wrong(const struct engine_row *row, void *context)
{
    (void)row;
    ++*(int *)context;
}

START_TEST(rows_can_be_checked_in_slices_and_dropped)
{
    struct engine_slice slice = {.after = INT64_MIN, .rows = 2, .bytes = 1 << 20};
    const struct engine_lost_row object = {.row = 1, .revision = 1};
    const struct engine_lost_row change = {.row = 9, .revision = 8, .is_lone_change = true};
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct bed b;
    int wrong = 0, slices = 0;

    init(&b, tested());
    must_apply(&b,
               (struct engine_op[]){
                   op_on(ENGINE_INSERT, 1, 1, "one"), op_on(ENGINE_INSERT, 2, 2, "two"),
                   op_on(ENGINE_INSERT, 3, 3, "three"), op_on(ENGINE_ADD_DELTA, 1, 4, "patch"),
                   op_on(ENGINE_ADD_DELTA, 9, 8, "lone")},
               5);
    while (b.engine->ops->verify(b.engine, &slice, count_wrong, &wrong, NULL) > 0)
        ck_assert_int_lt(++slices, 10);
    ck_assert_int_eq(wrong, 0);

    ck_assert_int_eq(b.engine->ops->drop_row(b.engine, &object, &out, NULL), 0);
    ck_assert_str_eq(out.text, "one\npatch\n");
    ck_assert_int_eq(b.engine->ops->drop_row(b.engine, &change, &out, NULL), 0);
    check_text(&b, "2@2=two;3@3=three;");
    fini(&b);
}
END_TEST

#define MANY 5000

static void
fill(struct bed *b)
{
    CLEANUP_FREE struct engine_op *ops = xnew_array(struct engine_op, MANY);

    for (int i = 0; i < MANY; i++)
        ops[i] = op_on(ENGINE_INSERT, i + 1, i + 1, "{\"a\":\"body of some length\"}");
    must_apply(b, ops, MANY);
    must_apply(b,
               (struct engine_op[]){op_on(ENGINE_ADD_DELTA, 77, MANY + 5, "patch"),
                                    blob(ENGINE_ADD_BLOB, 4, 2, "script"),
                                    secret(ENGINE_PUT_SECRET, "a", "1")},
               3);
}

static void
check_copy(int from_which, int to_which)
{
    CLEANUP_FREE char *before = NULL, *after = NULL;
    CLEANUP_STRBUF struct strbuf content = STRBUF_INIT;
    struct bed from, to;
    struct error err = {0};

    init(&from, from_which);
    init(&to, to_which);
    fill(&from);
    before = text_of(&from);

    ck_assert_msg(engine_copy(from.engine, &from.counters, to.engine, &to.counters, &err) == 0,
                  "%s", err.text);

    to.engine->ops->close(to.engine);
    open_again(&to);
    after = text_of(&to);
    ck_assert_str_eq(after, before);
    ck_assert_int_eq(to.counters.revision, from.counters.revision);
    check_beside(&to, "4:digest:2;a=1;");
    ck_assert_int_eq(to.engine->ops->read_blob(to.engine, 4, &content, NULL), 0);
    ck_assert_str_eq(content.text, "script");
    ck_assert_int_eq(engine_copy(from.engine, &from.counters, to.engine, &to.counters, &err),
                     -EEXIST);
    fini(&to);
    fini(&from);
}

START_TEST(a_store_can_be_copied_from_this_engine_and_into_it)
{
    check_copy(tested(), SQLITE);
    check_copy(SQLITE, tested());
}
END_TEST

SUITE("engine", rows_come_back_with_their_changes_in_order, a_batch_may_change_a_row_many_times,
      a_batch_is_applied_whole_or_not_at_all, a_fenced_engine_can_commit_nothing_more,
      bytes_come_back_as_they_were, blobs_and_secrets_are_kept_beside_the_rows,
      the_counters_are_those_of_the_last_batch, rows_can_be_checked_in_slices_and_dropped,
      a_store_can_be_copied_from_this_engine_and_into_it)
