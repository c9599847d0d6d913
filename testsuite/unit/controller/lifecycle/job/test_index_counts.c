/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job/index_counts.h"

#include <check.h>
#include <string.h>

#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

static struct index_counts counts;

static void
is_text(const struct index_set *set, const char *wanted)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    index_set_format(set, INT64_MAX, &text);
    ck_assert_str_eq(text.text, wanted);
}

/* A pod is requested and created. */
static void
make(int64_t index, int64_t attempt)
{
    index_counts_note(&counts, index, attempt);
    index_counts_take(&counts, index);
}

START_TEST(an_index_is_taken_while_it_has_a_pod)
{
    make(3, 0);
    make(3, 1);
    is_text(&counts.taken, "3");
    index_counts_release(&counts, 3);
    is_text(&counts.taken, "3");
    index_counts_release(&counts, 3);
    is_text(&counts.taken, "");
    ck_assert_int_eq(index_counts_find(&counts, 3)->next_attempt, 2);
    ck_assert_ptr_null(index_counts_find(&counts, 4));
    index_counts_fini(&counts);
}
END_TEST

START_TEST(a_settled_index_stays_so)
{
    make(1, 0);
    index_counts_finish(&counts, 1);
    index_counts_fail(&counts, 1);
    index_counts_fail(&counts, 2);
    index_counts_release(&counts, 1);
    make(2, 4);
    index_counts_note_failures(&counts, 2, 9, 9, 9);

    is_text(&counts.done, "1");
    is_text(&counts.failed, "2");
    is_text(&counts.taken, "1,2");
    ck_assert_ptr_null(index_counts_find(&counts, 1));
    ck_assert_ptr_null(index_counts_find(&counts, 2));
    index_counts_fini(&counts);
}
END_TEST

START_TEST(an_index_of_the_status_is_settled)
{
    index_counts_load(&counts, "0-2,7", "4");
    ck_assert(index_counts_is_settled(&counts, 7));
    ck_assert(index_counts_is_settled(&counts, 4));
    ck_assert(!index_counts_is_settled(&counts, 3));
    is_text(&counts.taken, "0-2,4,7");
    index_counts_fini(&counts);
    index_counts_load(&counts, NULL, NULL);
    is_text(&counts.taken, "");
    index_counts_fini(&counts);
}
END_TEST

START_TEST(a_pod_that_was_not_made_gives_its_number_back)
{
    make(5, 0);
    index_counts_release(&counts, 5);
    index_counts_withdraw(&counts, 5, 0);
    ck_assert_ptr_null(index_counts_find(&counts, 5));
    ck_assert_uint_eq(counts.n_slots, 0);

    /* Only the last attempt can be withdrawn. */
    make(5, 0);
    make(5, 1);
    index_counts_withdraw(&counts, 5, 0);
    ck_assert_int_eq(index_counts_find(&counts, 5)->next_attempt, 2);
    index_counts_withdraw(&counts, 5, 1);
    ck_assert_int_eq(index_counts_find(&counts, 5)->next_attempt, 1);
    index_counts_fini(&counts);
}
END_TEST

START_TEST(failures_are_the_most_that_any_pod_tells_of)
{
    make(0, 2);
    index_counts_note_failures(&counts, 0, 2, 0, 50);
    index_counts_note_failures(&counts, 0, 1, 1, 70);

    const struct index_slot *slot = index_counts_find(&counts, 0);

    ck_assert_int_eq(slot->failures, 2);
    ck_assert_int_eq(slot->ignored, 1);
    ck_assert_int_eq(slot->last_failure_us, 70);
    index_counts_fini(&counts);
}
END_TEST

START_TEST(settled_indexes_keep_no_slots)
{
    for (int i = 0; i < 1000; i++) {
        make(i, 0);
        index_counts_finish(&counts, i);
    }
    ck_assert_uint_le(counts.n_slots, 2);
    ck_assert_uint_eq(counts.done.count, 1);
    index_counts_fini(&counts);
}
END_TEST

SUITE("index_counts", an_index_is_taken_while_it_has_a_pod, a_settled_index_stays_so,
      an_index_of_the_status_is_settled, a_pod_that_was_not_made_gives_its_number_back,
      failures_are_the_most_that_any_pod_tells_of, settled_indexes_keep_no_slots)
