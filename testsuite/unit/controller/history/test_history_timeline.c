/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_timeline.h"

#include <check.h>

#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/history/history_place.h"

/* Opens the history with a store of that epoch, opened at one revision and now
 * at another.
 */
static void
open_epoch(struct place *p, int64_t epoch, int64_t opened_at, int64_t revision)
{
    const struct history_origin origin = {
        .cluster = "us",
        .lost = "",
        .epoch = epoch,
        .opened_at = opened_at,
        .revision = revision,
    };

    history_file_close(p->file);
    p->file = NULL;
    ck_assert_int_eq(history_file_open(p->path, &origin, &p->file, &p->notice, NULL), 0);
}

static void
add_at(struct place *p, int64_t revision)
{
    struct history_row row = row_of(p, revision);

    row.revision = revision;
    ck_assert_int_eq(add(p, &row, revision), 1);
}

/* The sum of the revisions of rows that are marked as lost. */
static int64_t
sum_lost(struct place *p)
{
    const struct json *items = ask(p, &everything, NULL);
    int64_t sum = 0;

    for (uint32_t i = 0; i < json_count(items); i++)
        if (json_is_true(json_get(json_at(items, i), "lost")))
            sum += json_get_int(json_at(items, i), "revision", 0);
    return sum;
}

START_TEST(a_store_that_is_opened_again_loses_nothing)
{
    struct place p;

    place_init(&p);
    open_epoch(&p, 1, 100, 100);
    add_at(&p, 150);
    open_epoch(&p, 2, 160, 1160);
    add_at(&p, 1170);
    open_epoch(&p, 3, 1180, 2180);

    ck_assert_int_eq(sum_lost(&p), 0);
    ck_assert_int_eq(history_file_watermark(p.file), 1170);
    place_fini(&p);
}
END_TEST

/* A copy of the files, restored by hand; its revision has jumped beyond the
 * history's, as after a crash, so the revision alone does not show the restore.
 */
START_TEST(an_older_store_is_known_by_its_epoch_though_its_revision_is_later)
{
    struct place p;

    place_init(&p);
    open_epoch(&p, 1, 100, 100);
    add_at(&p, 150);
    open_epoch(&p, 2, 160, 160);
    add_at(&p, 170);
    open_epoch(&p, 3, 180, 180);
    add_at(&p, 190);

    open_epoch(&p, 2, 155, 5000);

    ck_assert_int_eq(sum_lost(&p), 170 + 190);
    ck_assert_int_eq(history_file_watermark(p.file), 160);
    add_at(&p, 5010);
    open_epoch(&p, 3, 5020, 5020);
    ck_assert_int_eq(sum_lost(&p), 170 + 190);
    ck_assert_int_eq(history_file_watermark(p.file), 5010);
    place_fini(&p);
}
END_TEST

START_TEST(a_file_that_knows_no_epoch_yet_takes_the_first_that_comes)
{
    struct place p;

    place_init(&p);
    add_at(&p, 150);

    open_epoch(&p, 40, 160, 160);

    ck_assert_int_eq(sum_lost(&p), 0);
    ck_assert_int_eq(history_file_watermark(p.file), 150);
    place_fini(&p);
}
END_TEST

SUITE("history_timeline", a_store_that_is_opened_again_loses_nothing,
      an_older_store_is_known_by_its_epoch_though_its_revision_is_later,
      a_file_that_knows_no_epoch_yet_takes_the_first_that_comes)
