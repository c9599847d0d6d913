/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/postgres/batch_fold.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

/* "VERB ROW@REVISION=BYTES#COUNT;" for each operation of the fold. */
static char *
fold(const struct engine_op *ops, size_t n)
{
    static const char *const verbs[ENGINE_VERBS] = {"insert", "update", "delete", "add", "drop",
                                                    "blob",   "count",  "unblob", "put", "unput"};
    struct strbuf out = STRBUF_INIT;
    struct batch_fold f;
    struct error err = {0};

    ck_assert_msg(batch_fold_init(&f, ops, n, &err) == 0, "%s", err.text);
    for (size_t i = 0; i < f.first[ENGINE_VERBS]; i++)
        strbuf_printf(&out, "%s %lld@%lld=%s#%lld;", verbs[f.ops[i].verb], (long long)f.ops[i].row,
                      (long long)f.ops[i].revision, f.ops[i].bytes ? f.ops[i].bytes : "",
                      (long long)f.ops[i].count);
    if (f.unsure_drops > 0)
        strbuf_printf(&out, "unsure %zu", f.unsure_drops);
    batch_fold_fini(&f);
    return strbuf_take(&out);
}

#define CHECK_FOLD(wanted, ...)                                           \
    do {                                                                  \
        const struct engine_op ops[] = {__VA_ARGS__};                     \
        CLEANUP_FREE char *got = fold(ops, sizeof(ops) / sizeof(ops[0])); \
                                                                          \
        ck_assert_str_eq(got, wanted);                                    \
    } while (0)

#define OBJECT(v, r, rev, b)                                            \
    (struct engine_op)                                                  \
    {                                                                   \
        .verb = ENGINE_##v, .row = (r), .revision = (rev), .bytes = (b) \
    }
#define SECRET(v, n, b)                               \
    (struct engine_op)                                \
    {                                                 \
        .verb = ENGINE_##v, .name = (n), .bytes = (b) \
    }

START_TEST(each_row_is_changed_once)
{
    CHECK_FOLD("insert 1@3=c#0;", OBJECT(INSERT, 1, 1, "a"), OBJECT(UPDATE, 1, 2, "b"),
               OBJECT(UPDATE, 1, 3, "c"));
    CHECK_FOLD("update 1@3=c#0;update 2@9=z#0;", OBJECT(UPDATE, 2, 1, "y"),
               OBJECT(UPDATE, 1, 2, "b"), OBJECT(UPDATE, 1, 3, "c"), OBJECT(UPDATE, 2, 9, "z"));
    CHECK_FOLD("", OBJECT(INSERT, 1, 1, "a"), OBJECT(UPDATE, 1, 2, "b"), OBJECT(DELETE, 1, 3, ""));
    CHECK_FOLD("delete 1@3=#0;", OBJECT(UPDATE, 1, 2, "b"), OBJECT(DELETE, 1, 3, ""));
    CHECK_FOLD("add 1@2=p#0;", OBJECT(ADD_DELTA, 1, 2, "p"), OBJECT(ADD_DELTA, 1, 3, "q"),
               OBJECT(DROP_DELTA, 1, 3, ""));
    CHECK_FOLD("drop 1@3=#0;", OBJECT(DROP_DELTA, 1, 3, ""));
}
END_TEST

START_TEST(the_count_of_a_new_blob_is_the_last_one)
{
    CHECK_FOLD("blob 1@0=s#5;",
               (struct engine_op){.verb = ENGINE_ADD_BLOB, .row = 1, .count = 1, .bytes = "s"},
               (struct engine_op){.verb = ENGINE_COUNT_BLOB, .row = 1, .count = 2},
               (struct engine_op){.verb = ENGINE_COUNT_BLOB, .row = 1, .count = 5});
    CHECK_FOLD("unblob 1@0=#0;",
               (struct engine_op){.verb = ENGINE_COUNT_BLOB, .row = 1, .count = 0},
               (struct engine_op){.verb = ENGINE_DROP_BLOB, .row = 1});
}
END_TEST

/* Nobody knows whether a secret that is put and dropped was there before. */
START_TEST(the_last_word_on_a_secret_counts)
{
    CHECK_FOLD("put 0@0=2#0;", SECRET(PUT_SECRET, "a", "1"), SECRET(DROP_SECRET, "a", ""),
               SECRET(PUT_SECRET, "a", "2"));
    CHECK_FOLD("unput 0@0=#0;unput 0@0=#0;unsure 1", SECRET(PUT_SECRET, "a", "1"),
               SECRET(DROP_SECRET, "a", ""), SECRET(DROP_SECRET, "b", ""));
}
END_TEST

START_TEST(a_forbidden_statement_is_refused)
{
    const struct engine_op wrong[][2] = {
        {OBJECT(INSERT, 1, 1, "a"), OBJECT(INSERT, 1, 2, "b")},
        {OBJECT(DELETE, 1, 1, ""), OBJECT(UPDATE, 1, 2, "b")},
        {OBJECT(DELETE, 1, 1, ""), OBJECT(DELETE, 1, 2, "")},
        {OBJECT(ADD_DELTA, 1, 2, "p"), OBJECT(ADD_DELTA, 1, 2, "p")},
        {OBJECT(DROP_DELTA, 1, 2, ""), OBJECT(ADD_DELTA, 1, 2, "p")},
    };

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct batch_fold f;
        struct error err = {0};

        ck_assert_int_eq(batch_fold_init(&f, wrong[i], 2, &err), -EPROTO);
        batch_fold_fini(&f);
    }
}
END_TEST

#define ROWS 40

/* Any batch and its fold leave the same rows. */
START_TEST(a_fold_does_what_its_batch_does)
{
    struct random_source source = {.state = 7};

    for (int round = 0; round < 300; round++) {
        int64_t wanted[ROWS] = {0}, got[ROWS] = {0};
        bool began[ROWS], done[ROWS] = {false};
        struct engine_op ops[200];
        struct batch_fold f;
        size_t n = 0;

        for (int i = 0; i < ROWS; i++)
            wanted[i] = got[i] = (began[i] = random_below(&source, 2) == 0) ? 1 : 0;
        for (int64_t revision = 2; n < 150; revision++) {
            int row = (int)random_below(&source, ROWS);
            struct engine_op op = OBJECT(UPDATE, row, revision, "x");

            if (done[row])
                break;
            if (wanted[row] == 0)
                op.verb = ENGINE_INSERT;
            else if (random_below(&source, 5) == 0)
                op.verb = ENGINE_DELETE;
            done[row] = op.verb == ENGINE_DELETE;
            wanted[row] = op.verb == ENGINE_DELETE ? 0 : revision;
            ops[n++] = op;
        }
        ck_assert_int_eq(batch_fold_init(&f, ops, n, NULL), 0);
        for (size_t i = 0; i < f.first[ENGINE_VERBS]; i++) {
            const struct engine_op *op = &f.ops[i];

            ck_assert((op->verb == ENGINE_INSERT) == (got[op->row] == 0));
            got[op->row] = op->verb == ENGINE_DELETE ? 0 : op->revision;
        }
        ck_assert_mem_eq(got, wanted, sizeof(wanted));
        batch_fold_fini(&f);
    }
}
END_TEST

SUITE("batch_fold", each_row_is_changed_once, the_count_of_a_new_blob_is_the_last_one,
      the_last_word_on_a_secret_counts, a_forbidden_statement_is_refused,
      a_fold_does_what_its_batch_does)
