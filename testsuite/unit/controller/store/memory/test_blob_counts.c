/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/memory/blob_counts.h"

#include <check.h>

#include "testsuite/lib/suite.h"

START_TEST(a_blob_is_there_until_nobody_names_it)
{
    struct blob_counts *b = blob_counts_new();

    blob_counts_set(b, "sha256:a", (struct stored_blob){3, 1, 10});
    blob_counts_set(b, "sha256:a", (struct stored_blob){3, 2, 10});
    ck_assert_int_eq(blob_counts_get(b, "sha256:a").count, 2);
    ck_assert_int_eq(blob_counts_get(b, "sha256:a").row, 3);
    ck_assert_int_eq(blob_counts_get(b, "sha256:b").count, 0);

    blob_counts_set(b, "sha256:a", (struct stored_blob){3, 0, 10});
    blob_counts_set(b, "sha256:none", (struct stored_blob){9, 0, 1});
    ck_assert_int_eq(blob_counts_get(b, "sha256:a").row, 0);
    ck_assert_int_eq(blob_counts_get(b, "sha256:none").row, 0);
    blob_counts_free(b);
}
END_TEST

START_TEST(a_row_is_never_given_out_twice)
{
    struct blob_counts *b = blob_counts_new();

    /* Rows come from the database in no order. */
    blob_counts_set(b, "sha256:a", (struct stored_blob){7, 1, 1});
    blob_counts_set(b, "sha256:b", (struct stored_blob){2, 1, 1});
    ck_assert_int_eq(blob_counts_next_row(b), 8);
    ck_assert_int_eq(blob_counts_next_row(b), 9);

    /* The row is not reused even after its content was removed. */
    blob_counts_set(b, "sha256:a", (struct stored_blob){7, 0, 1});
    ck_assert_int_eq(blob_counts_next_row(b), 10);
    blob_counts_free(b);
}
END_TEST

SUITE("blob_counts", a_blob_is_there_until_nobody_names_it, a_row_is_never_given_out_twice)
