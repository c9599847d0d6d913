/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/summary/job_counts.h"

#include <check.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "testsuite/lib/suite.h"

static const struct object *
job_in(const char *state)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *text =
        arena_printf(arena,
                     "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":"
                     "\"a\",\"namespace\":\"b\"},\"spec\":{\"template\":{\"spec\":{"
                     "\"containers\":[{\"name\":\"main\"}]}}},\"status\":{\"id\":7,"
                     "\"state\":\"%s\"}}",
                     state);
    struct json *tree = json_parse(arena, text, strlen(text), NULL, NULL);

    ck_assert_ptr_nonnull(tree);
    ck_assert_int_eq(record_normalize(job_kind.record, arena, tree, NULL, NULL), 0);
    return object_new(&job_kind, tree);
}

START_TEST(a_job_is_counted_in_the_state_that_it_is_in)
{
    CLEANUP(job_counts_freep) struct job_counts *counts = job_counts_new();
    CLEANUP(object_unrefp) const struct object *waits = job_in("Pending");
    CLEANUP(object_unrefp) const struct object *runs = job_in("Running");

    job_counts_moved(counts, NULL, waits);
    ck_assert_int_eq(job_counts_get(counts, JOB_STATE_PENDING), 1);
    job_counts_moved(counts, waits, runs);
    ck_assert_int_eq(job_counts_get(counts, JOB_STATE_PENDING), 0);
    ck_assert_int_eq(job_counts_get(counts, JOB_STATE_RUNNING), 1);

    /* The change is undone, because the disk was full; then the job is deleted.
     */
    job_counts_moved(counts, runs, waits);
    ck_assert_int_eq(job_counts_get(counts, JOB_STATE_PENDING), 1);
    job_counts_moved(counts, waits, NULL);
    ck_assert_int_eq(job_counts_get(counts, JOB_STATE_PENDING), 0);
    ck_assert_int_eq(job_counts_get(counts, JOB_STATE_RUNNING), 0);
    ck_assert_ptr_null(job_counts_find_oldest(counts, NULL));
}
END_TEST

SUITE("job_counts", a_job_is_counted_in_the_state_that_it_is_in)
