/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/volumes/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/error.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

static const struct scratch_volume volume = {
    .name = "pvc-1",
    .bytes = 4096,
    .uid = 65534,
    .gid = 65534,
};

static struct scratch *
open_at(const char *dir)
{
    struct scratch *s = NULL;
    struct error err = {0};

    ck_assert_msg(scratch_open(dir, 1 << 20, &s, &err) == 0, "%s", err.text);
    return s;
}

static char *
path_in(const char *dir, const char *name)
{
    return xasprintf("%s/%s", dir, name);
}

static bool
is_there(const char *dir, const char *name)
{
    CLEANUP_FREE char *path = path_in(dir, name);

    return access(path, F_OK) == 0;
}

static void
make_directory(const char *dir, const char *name)
{
    CLEANUP_FREE char *path = path_in(dir, name);

    ck_assert_int_eq(mkdir(path, 0700), 0);
}

START_TEST(a_volume_is_its_owners_alone)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP(scratch_closep) struct scratch *s = open_at(dir);
    CLEANUP_FREE char *path = path_in(dir, volume.name);
    struct stat st;

    ck_assert_int_eq(scratch_make(s, &volume, NULL), 0);

    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0700);
    if (geteuid() == 0) {
        ck_assert_uint_eq(st.st_uid, 65534);
        ck_assert_uint_eq(st.st_gid, 65534);
    }
}
END_TEST

START_TEST(making_and_removing_twice_is_as_good_as_once)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP(scratch_closep) struct scratch *s = open_at(dir);

    ck_assert_int_eq(scratch_make(s, &volume, NULL), 0);
    make_directory(dir, "pvc-1/data");
    ck_assert_int_eq(scratch_make(s, &volume, NULL), 0);
    ck_assert(is_there(dir, "pvc-1/data"));

    ck_assert_int_eq(scratch_remove(s, "pvc-1", NULL), 0);
    ck_assert_int_eq(scratch_remove(s, "pvc-1", NULL), 0);
    ck_assert(!is_there(dir, "pvc-1"));
}
END_TEST

/* The agent may have been killed at each step. */
START_TEST(a_removal_that_an_earlier_agent_began_is_finished)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP(scratch_closep) struct scratch *s = NULL;

    make_directory(dir, ".new-pvc-1"); /* made, without its owner yet */
    /* before the volume was moved into it */
    make_directory(dir, ".gone-pvc-2");
    make_directory(dir, "pvc-2");
    make_directory(dir, ".gone-pvc-3"); /* being emptied */
    make_directory(dir, ".gone-pvc-3/volume");
    make_directory(dir, ".gone-pvc-3/.up-0");
    make_directory(dir, ".new-pvc-4"); /* deleted before it was made */
    s = open_at(dir);

    ck_assert_int_eq(scratch_make(s, &volume, NULL), 0);
    ck_assert(is_there(dir, "pvc-1"));
    ck_assert(!is_there(dir, ".new-pvc-1"));

    ck_assert_int_eq(scratch_remove(s, "pvc-2", NULL), 0);
    ck_assert(!is_there(dir, "pvc-2"));
    ck_assert(!is_there(dir, ".gone-pvc-2"));

    ck_assert_uint_eq(scratch_tidy(s), 1);
    ck_assert(!is_there(dir, ".gone-pvc-3"));

    ck_assert_int_eq(scratch_remove(s, "pvc-4", NULL), 0);
    ck_assert(!is_there(dir, ".new-pvc-4"));
}
END_TEST

START_TEST(nothing_but_volumes_is_touched)
{
    static const char *const names[] = {
        "", "..", "precious", "../precious", "pvc-1/../precious", ".gone-pvc-1",
    };
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP(scratch_closep) struct scratch *s = open_at(dir);

    make_directory(dir, "precious");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct scratch_volume other = volume;

        other.name = names[i];
        ck_assert_int_lt(scratch_make(s, &other, NULL), 0);
        ck_assert_int_lt(scratch_remove(s, names[i], NULL), 0);
    }
    ck_assert(is_there(dir, "precious"));
}
END_TEST

START_TEST(a_link_in_the_place_of_a_volume_leads_nowhere)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP(scratch_closep) struct scratch *s = open_at(dir);
    CLEANUP_FREE char *link = path_in(dir, "pvc-1");
    CLEANUP_FREE char *precious = path_in(dir, "precious");

    make_directory(dir, "precious");
    make_directory(dir, "precious/inside");
    ck_assert_int_eq(symlink(precious, link), 0);

    ck_assert_int_lt(scratch_make(s, &volume, NULL), 0);
    ck_assert_int_eq(scratch_remove(s, "pvc-1", NULL), 0);
    ck_assert(!is_there(dir, "pvc-1"));
    ck_assert(is_there(dir, "precious/inside"));
}
END_TEST

START_TEST(more_than_there_is_is_not_promised)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP(scratch_closep) struct scratch *s = open_at(dir);
    struct scratch_volume huge = volume;
    struct error err = {0};

    huge.bytes = INT64_MAX / 2;
    ck_assert_int_lt(scratch_make(s, &huge, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "MiB left"));
    ck_assert(!is_there(dir, "pvc-1"));
}
END_TEST

START_TEST(a_directory_that_others_may_write_to_is_refused)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    struct scratch *s = NULL;
    struct error err = {0};

    ck_assert_int_eq(chmod(dir, 01777), 0);
    ck_assert_int_lt(scratch_open(dir, 1, &s, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "users other than the agent's can write to"));
}
END_TEST

START_TEST(a_part_of_a_file_system_needs_a_size)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *below = path_in(dir, "below");
    struct scratch *s = NULL;
    struct error err = {0};

    ck_assert_int_lt(scratch_open(below, 0, &s, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "scratchCapacity"));
}
END_TEST

/* Only where $TMPDIR is on a file system with project quotas (prjquota). */
START_TEST(a_volume_with_a_quota_cannot_grow_beyond_its_size)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP(scratch_closep) struct scratch *s = open_at(dir);
    CLEANUP_FREE char *path = path_in(dir, "pvc-1/file");
    struct scratch_volume small = volume;
    static char block[4096];
    int64_t written = 0;
    pid_t pid;
    int status;

    if (!scratch_has_quota(s))
        SKIP("the file system of $TMPDIR keeps no project quotas");
    small.bytes = 64 << 10;
    ck_assert_int_eq(scratch_make(s, &small, NULL), 0);
    ck_assert_int_eq(chmod(dir, 0711), 0);

    pid = fork();
    if (pid == 0) {
        int fd;

        if (setgid(65534) < 0 || setuid(65534) < 0)
            _exit(1);
        fd = open(path, O_WRONLY | O_CREAT, 0600);
        while (write(fd, block, sizeof(block)) == (ssize_t)sizeof(block))
            written += (int64_t)sizeof(block);
        _exit(errno == EDQUOT && written <= small.bytes && written > 0 ? 0 : 2);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(WEXITSTATUS(status), 0);

    ck_assert_int_eq(scratch_remove(s, "pvc-1", NULL), 0);
    ck_assert(!is_there(dir, "pvc-1"));
}
END_TEST

SUITE("scratch", a_volume_is_its_owners_alone, making_and_removing_twice_is_as_good_as_once,
      a_removal_that_an_earlier_agent_began_is_finished, nothing_but_volumes_is_touched,
      a_link_in_the_place_of_a_volume_leads_nowhere, more_than_there_is_is_not_promised,
      a_directory_that_others_may_write_to_is_refused, a_part_of_a_file_system_needs_a_size,
      a_volume_with_a_quota_cannot_grow_beyond_its_size)
