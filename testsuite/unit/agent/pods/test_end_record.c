/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/records/end_record.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

static void
check(const struct end_records *ends, const char *pod_uid, const char *text)
{
    CLEANUP_FREE char *found = end_records_find(ends, pod_uid);

    if (text == NULL)
        ck_assert_ptr_null(found);
    else
        ck_assert_str_eq(found, text);
}

START_TEST(ends_outlive_the_agent)
{
    CLEANUP(scratch_freep) char *directory = scratch_new();
    struct end_records *ends = end_records_open(directory);

    check(ends, "a", NULL);
    end_records_add(ends, "a", 7, "{\"x\": 1}");
    end_records_add(ends, "b", 8, "second");
    end_records_add(ends, "c", 9, "two\nlines");
    end_records_add(ends, "a", 10, "later");
    check(ends, "a", "later");
    check(ends, "b", "second");
    check(ends, "c", NULL);
    end_records_free(ends);

    ends = end_records_open(directory);
    check(ends, "a", "later");
    check(ends, "b", "second");
    end_records_add(ends, "d", 11, "third");
    check(ends, "d", "third");
    check(ends, "b", "second");
    end_records_free(ends);
}
END_TEST

START_TEST(a_line_that_was_cut_is_passed_over)
{
    CLEANUP(scratch_freep) char *directory = scratch_new();
    CLEANUP_FREE char *path = xasprintf("%s/ended", directory);
    struct end_records *ends;
    struct error err = {0};

    ck_assert_int_eq(file_write_atomic(path, 0600, "\na 1 whole\n\nb 2 cu", 19, &err), 0);
    ends = end_records_open(directory);
    check(ends, "a", "whole");
    check(ends, "b", NULL);
    end_records_add(ends, "c", 3, "next");
    end_records_free(ends);
    ends = end_records_open(directory);
    check(ends, "a", "whole");
    check(ends, "b", "cu"); /* the text is the caller's to judge */
    check(ends, "c", "next");
    end_records_free(ends);
}
END_TEST

START_TEST(the_oldest_are_forgotten)
{
    CLEANUP(scratch_freep) char *directory = scratch_new();
    struct end_records *ends = end_records_open(directory);
    char text[4096], uid[32];
    const int n = 3 * (int)(END_RECORD_FILE_MAX / sizeof(text));

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (int i = 0; i < n; i++) {
        snprintf(uid, sizeof(uid), "pod-%d", i);
        end_records_add(ends, uid, i, text);
    }
    check(ends, "pod-0", NULL);
    check(ends, uid, text);
    snprintf(uid, sizeof(uid), "pod-%d", n - (int)(END_RECORD_FILE_MAX / sizeof(text)));
    check(ends, uid, text); /* in the former file, or in this one */
    end_records_free(ends);
    ends = end_records_open(directory);
    check(ends, uid, text);
    check(ends, "pod-0", NULL);
    end_records_free(ends);
}
END_TEST

static bool
wants_second(int64_t revision, UNUSED void *context)
{
    return revision == 8;
}

static void
count(const char *pod_uid, int64_t revision, const char *text, void *context)
{
    ck_assert_str_eq(pod_uid, "b");
    ck_assert_int_eq(revision, 8);
    ck_assert_str_eq(text, "second");
    ++*(int *)context;
}

START_TEST(those_of_some_revisions_are_visited)
{
    CLEANUP(scratch_freep) char *directory = scratch_new();
    struct end_records *ends = end_records_open(directory);
    int n = 0;

    end_records_add(ends, "a", 7, "first");
    end_records_add(ends, "b", 8, "second");
    end_records_visit(ends, &(struct end_record_visitor){wants_second, count, &n});
    ck_assert_int_eq(n, 1);
    end_records_free(ends);
}
END_TEST

SUITE("end_record", ends_outlive_the_agent, a_line_that_was_cut_is_passed_over,
      the_oldest_are_forgotten, those_of_some_revisions_are_visited)
