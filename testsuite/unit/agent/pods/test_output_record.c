/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/records/output_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

static int
note(const char *directory, const char *pod_uid, uid_t uid, const char *path)
{
    return output_record_note(
        directory, &(struct output_record){.pod_uid = pod_uid, .uid = uid, .gid = 7, .path = path});
}

static void
check(const char *directory, const char *pod_uid, uid_t uid, const char *path)
{
    CLEANUP_FREE char *found = NULL;
    uid_t found_uid = 0;
    gid_t gid = 0;

    ck_assert_int_eq(output_record_find(directory, pod_uid, &found_uid, &gid, &found),
                     path != NULL ? 0 : -ENOENT);
    if (path == NULL)
        return;
    ck_assert_uint_eq(found_uid, uid);
    ck_assert_uint_eq(gid, 7);
    ck_assert_str_eq(found, path);
}

START_TEST(the_last_line_counts)
{
    CLEANUP(scratch_freep) char *directory = scratch_new();

    check(directory, "a", 1, NULL);
    ck_assert_int_eq(note(directory, "a", 1, "/home/a b"), 0);
    ck_assert_int_eq(note(directory, "ab", 2, "/home/c"), 0);
    check(directory, "a", 1, "/home/a b");
    check(directory, "ab", 2, "/home/c");
    check(directory, "b", 2, NULL);
    check(directory, "", 2, NULL);
    check(directory, "a 1", 2, NULL);
    ck_assert_int_eq(note(directory, "a", 3, "/d"), 0);
    check(directory, "a", 3, "/d");
}
END_TEST

START_TEST(a_path_writes_no_line_of_its_own)
{
    CLEANUP(scratch_freep) char *directory = scratch_new();

    ck_assert_int_eq(note(directory, "a", 1, "/x\nb 0 0 /etc/shadow"), -EINVAL);
    ck_assert_int_eq(note(directory, "a", 1, "relative"), -EINVAL);
    ck_assert_int_eq(note(directory, "a\nb", 1, "/x"), -EINVAL);
    ck_assert_int_eq(note(directory, "c", 1, "/x b 0 0 /etc/shadow"), 0);
    check(directory, "a", 1, NULL);
    check(directory, "b", 1, NULL);
    check(directory, "c", 1, "/x b 0 0 /etc/shadow");
}
END_TEST

START_TEST(a_full_file_is_put_away_and_a_torn_line_is_none)
{
    CLEANUP(scratch_freep) char *directory = scratch_new();
    CLEANUP_FREE char *path = xasprintf("%s/outputs", directory);

    ck_assert_int_eq(note(directory, "old", 1, "/old"), 0);
    {
        CLEANUP_FD int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

        ck_assert_int_eq(fd_write_all(fd, "\ntorn 1 7 /half", 15), 0);
    }
    check(directory, "torn", 1, NULL);
    ck_assert_int_eq(note(directory, "next", 1, "/next"), 0);
    check(directory, "next", 1, "/next");
    ck_assert_int_eq(truncate(path, OUTPUT_RECORD_FILE_MAX), 0);
    ck_assert_int_eq(note(directory, "new", 1, "/new"), 0);
    check(directory, "new", 1, "/new");
    check(directory, "old", 1, "/old");
}
END_TEST

SUITE("output_record", the_last_line_counts, a_path_writes_no_line_of_its_own,
      a_full_file_is_put_away_and_a_torn_line_is_none)
