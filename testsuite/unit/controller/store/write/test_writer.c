/* SPDX-License-Identifier: Apache-2.0 */
/* The writer with an engine that returns what the test sets. */
#include "controller/store/write/writer.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "controller/store/write/batch.h"
#include "lib/base/error.h"
#include "lib/loop/loop.h"
#include "testsuite/lib/suite.h"

static struct {
    struct engine engine;
    enum engine_outcome outcome;
    size_t backlog;
    int copy_back_result;
    int64_t expected, after; /* of the last batch */
    size_t n_ops;
    unsigned applied, copied, settled, closed;
} fake;

static struct loop *loop;
static struct writer *writer;
static unsigned committed, failed;

static enum engine_outcome
fake_apply(struct engine *engine, const struct engine_batch *batch, struct error *err)
{
    (void)engine;
    fake.applied++;
    fake.expected = batch->expected_revision;
    fake.after = batch->after.revision;
    fake.n_ops = batch->n_ops;
    if (fake.outcome != ENGINE_COMMITTED)
        error_set(err, -EIO, "the disk is full");
    return fake.outcome;
}

static size_t
fake_backlog(struct engine *engine)
{
    (void)engine;
    return fake.backlog;
}

static int
fake_copy_back(struct engine *engine, struct error *err)
{
    (void)engine;
    (void)err;
    fake.copied++;
    return fake.copy_back_result;
}

static int
fake_settle(struct engine *engine, struct error *err)
{
    (void)engine;
    (void)err;
    fake.settled++;
    fake.backlog = 0;
    return 0;
}

static void
fake_close(struct engine *engine)
{
    (void)engine;
    fake.closed++;
}

static const struct engine_ops fake_ops = {
    .apply = fake_apply,
    .backlog = fake_backlog,
    .checkpoint = fake_copy_back,
    .finish_checkpoint = fake_settle,
    .close = fake_close,
};

static void
on_done(struct batch *batch, enum engine_outcome outcome, const struct error *err, void *context)
{
    (void)context;
    ck_assert_int_eq(outcome, fake.outcome);
    if (err != NULL) {
        ck_assert_str_eq(err->text, "the disk is full");
        failed++;
    } else {
        committed++;
    }
    batch_free(batch);
}

static void
begin(void)
{
    memset(&fake, 0, sizeof(fake));
    fake.engine.ops = &fake_ops;
    fake.outcome = ENGINE_COMMITTED;
    committed = failed = 0;
    loop = loop_new();
    writer = writer_new(&(struct writer_settings){
        .loop = loop,
        .engine = &fake.engine,
        .counters = {.revision = 10},
        .thread_name = "writer",
        .done = on_done,
    });
}

static void
end(void)
{
    writer_free(writer);
    ck_assert_uint_eq(fake.closed, 1);
    loop_free(loop);
}

static void
write_at(int64_t revision)
{
    struct batch *batch = batch_new();
    struct engine_op op = {.verb = ENGINE_PUT_SECRET};

    batch_add(batch, &op, NULL);
    writer_submit(writer, batch, &(struct engine_counters){.revision = revision});
    ck_assert(writer_is_busy(writer));
    writer_drain(writer);
}

START_TEST(a_batch_goes_from_what_is_durable_to_what_is_behind_it)
{
    begin();
    write_at(12);
    ck_assert_int_eq(fake.expected, 10);
    ck_assert_int_eq(fake.after, 12);
    ck_assert_uint_eq(fake.n_ops, 1);
    write_at(15);
    ck_assert_int_eq(fake.expected, 12);
    ck_assert_int_eq(writer_durable(writer)->revision, 15);
    ck_assert_uint_eq(committed, 2);
    ck_assert(!writer_is_busy(writer));
    end();
}
END_TEST

START_TEST(after_a_failure_nothing_is_written_any_more)
{
    static const enum engine_outcome outcomes[] = {ENGINE_FENCED, ENGINE_UNKNOWN};

    for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++) {
        begin();
        fake.outcome = outcomes[i];
        write_at(12);
        ck_assert_uint_eq(failed, 1);
        ck_assert_int_eq(writer_durable(writer)->revision, 10);

        fake.outcome = ENGINE_COMMITTED;
        write_at(13);
        ck_assert_uint_eq(fake.applied, 1);
        ck_assert_uint_eq(committed, 0);
        end();
    }
}
END_TEST

START_TEST(a_refused_batch_is_reported_and_the_next_is_written)
{
    begin();
    fake.outcome = ENGINE_REFUSED;
    write_at(12);
    ck_assert_uint_eq(failed, 1);
    ck_assert_int_eq(writer_durable(writer)->revision, 10);

    fake.outcome = ENGINE_COMMITTED;
    write_at(13);
    ck_assert_int_eq(fake.expected, 10);
    ck_assert_uint_eq(committed, 1);
    end();
}
END_TEST

START_TEST(the_log_is_copied_back_early_where_space_is_short)
{
    begin();
    writer_spare(writer, true);
    writer_drain(writer);
    ck_assert_uint_eq(fake.copied, 1);
    fake.backlog = 1u << 20;
    write_at(11);
    ck_assert_uint_eq(fake.copied, 2);
    writer_spare(writer, false);
    fake.backlog = 1u << 20;
    write_at(12);
    ck_assert_uint_eq(fake.copied, 2);
    end();
}
END_TEST

START_TEST(a_long_log_is_copied_back_and_settled)
{
    begin();
    fake.backlog = 1u << 20;
    write_at(11);
    ck_assert_uint_eq(fake.copied, 0);
    fake.backlog = 16u << 20;
    write_at(12);
    ck_assert_uint_eq(fake.copied, 1);
    ck_assert_uint_eq(fake.settled, 1);
    write_at(13);
    ck_assert_uint_eq(fake.copied, 1);
    end();
}
END_TEST

/* Not at every later commit. */
START_TEST(a_copying_that_failed_is_tried_again_when_as_much_has_come)
{
    begin();
    fake.copy_back_result = -EIO;
    fake.backlog = 17u << 20;
    write_at(11);
    ck_assert_uint_eq(fake.copied, 1);
    ck_assert_uint_eq(fake.settled, 0);
    write_at(12);
    ck_assert_uint_eq(fake.copied, 1);
    fake.copy_back_result = 0;
    fake.backlog = 33u << 20;
    write_at(13);
    ck_assert_uint_eq(fake.copied, 2);
    ck_assert_uint_eq(fake.settled, 1);
    end();
}
END_TEST

SUITE("writer", a_batch_goes_from_what_is_durable_to_what_is_behind_it,
      after_a_failure_nothing_is_written_any_more,
      a_refused_batch_is_reported_and_the_next_is_written,
      the_log_is_copied_back_early_where_space_is_short, a_long_log_is_copied_back_and_settled,
      a_copying_that_failed_is_tried_again_when_as_much_has_come)
