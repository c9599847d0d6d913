/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/directory/statedir.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/error.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

START_TEST(the_second_owner_is_told_who_the_first_is)
{
    CLEANUP(scratch_freep) char *directory = scratch_new();
    struct statedir *first = NULL, *second = NULL;
    struct error err = {0};
    char pid[32];

    ck_assert_int_eq(statedir_open(directory, &first, NULL), 0);
    snprintf(pid, sizeof(pid), "process %ld on host", (long)getpid());

    ck_assert_int_eq(statedir_open(directory, &second, &err), -EBUSY);

    ck_assert_ptr_null(second);
    ck_assert_ptr_nonnull(strstr(err.text, directory));
    ck_assert_ptr_nonnull(strstr(err.text, pid));
    statedir_close(first);
    ck_assert_int_eq(statedir_open(directory, &second, NULL), 0);
    statedir_close(second);
}
END_TEST

static void
hold_and_die(const char *directory)
{
    struct statedir *held;

    if (statedir_open(directory, &held, NULL) == 0)
        _exit(0);
    _exit(1);
}

START_TEST(the_lock_of_a_process_that_died_is_no_lock)
{
    CLEANUP(scratch_freep) char *directory = scratch_new();
    struct statedir *d = NULL;
    int status;
    pid_t child = fork();

    if (child == 0)
        hold_and_die(directory);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);

    ck_assert_int_eq(statedir_open(directory, &d, NULL), 0);
    statedir_close(d);
}
END_TEST

START_TEST(a_missing_directory_is_made_for_its_owner_alone)
{
    CLEANUP(scratch_freep) char *parent = scratch_new();
    CLEANUP_FREE char *directory = xasprintf("%s/a/b", parent);
    struct statedir *d = NULL;
    struct stat st;

    ck_assert_int_eq(statedir_open(directory, &d, NULL), 0);

    ck_assert_int_eq(stat(directory, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0700);
    statedir_close(d);
}
END_TEST

/* Root restores a backup into the directory of the service user. */
START_TEST(the_lock_file_belongs_to_the_owner_of_the_directory)
{
    CLEANUP(scratch_freep) char *directory = scratch_new();
    CLEANUP_FREE char *lock = xasprintf("%s/lock", directory);
    const uid_t owner = geteuid() == 0 ? 12345 : geteuid();
    struct statedir *d = NULL;
    struct stat st;

    ck_assert_int_eq(chown(directory, owner, (gid_t)-1), 0);
    ck_assert_int_eq(statedir_open(directory, &d, NULL), 0);

    ck_assert_int_eq(stat(lock, &st), 0);
    ck_assert_uint_eq(st.st_uid, owner);
    statedir_close(d);
}
END_TEST

START_TEST(network_file_systems_are_refused_and_local_ones_are_not)
{
    ck_assert_str_eq(statedir_refused_filesystem(0x6969), "NFS");
    ck_assert_str_eq(statedir_refused_filesystem(0x0bd00bd0), "Lustre");
    ck_assert_ptr_null(statedir_refused_filesystem(0xef53));     /* ext4 */
    ck_assert_ptr_null(statedir_refused_filesystem(0x58465342)); /* XFS */
    ck_assert_ptr_null(statedir_refused_filesystem(0x01021994)); /* tmpfs */
}
END_TEST

SUITE("statedir", the_second_owner_is_told_who_the_first_is,
      the_lock_of_a_process_that_died_is_no_lock, a_missing_directory_is_made_for_its_owner_alone,
      network_file_systems_are_refused_and_local_ones_are_not,
      the_lock_file_belongs_to_the_owner_of_the_directory)
