/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

START_TEST(written_bytes_are_read_back)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *path = xasprintf("%s/file", dir);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct error err = {0};

    ck_assert_int_eq(file_write_atomic(path, 0600, "one\0two", 7, &err), 0);
    ck_assert_int_eq(file_read(path, 100, &text, &err), 0);

    ck_assert_uint_eq(text.length, 7);
    ck_assert_mem_eq(text.text, "one\0two", 8);
}
END_TEST

START_TEST(answer_reader_appends_to_what_the_buffer_held)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *path = xasprintf("%s/file", dir);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    strbuf_add_text(&text, "before ");
    ck_assert_int_eq(file_write_atomic(path, 0600, "after", 5, NULL), 0);
    ck_assert_int_eq(file_read(path, 5, &text, NULL), 0);

    ck_assert_str_eq(text.text, "before after");
}
END_TEST

START_TEST(a_file_beyond_the_limit_is_refused_by_name)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *path = xasprintf("%s/large", dir);
    CLEANUP_FREE char *bytes = xcalloc(1, 100001);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct error err = {0};

    ck_assert_int_eq(file_write_atomic(path, 0600, bytes, 100001, NULL), 0);
    ck_assert_int_eq(file_read(path, 100000, &text, &err), -EFBIG);
    ck_assert_ptr_nonnull(strstr(err.text, path));

    strbuf_truncate(&text, 0);
    ck_assert_int_eq(file_read(path, 100001, &text, &err), 0);
    ck_assert_uint_eq(text.length, 100001);
}
END_TEST

START_TEST(a_missing_file_is_named)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct error err = {0};

    ck_assert_int_eq(file_read("/nowhere/at/all", 10, &text, &err), -ENOENT);
    ck_assert_str_eq(err.text, "reading '/nowhere/at/all': No such file or directory");
}
END_TEST

START_TEST(a_replaced_file_has_the_new_mode_and_leaves_nothing_beside_it)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *path = xasprintf("%s/file", dir);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct stat st;

    umask(077);
    ck_assert_int_eq(file_write_atomic(path, 0600, "old", 3, NULL), 0);
    ck_assert_int_eq(file_write_atomic(path, 0644, "new", 3, NULL), 0);

    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0644);
    ck_assert_int_eq(file_read(path, 10, &text, NULL), 0);
    ck_assert_str_eq(text.text, "new");
    ck_assert_uint_eq(scratch_entries(dir), 1);
}
END_TEST

START_TEST(a_write_that_fails_leaves_the_old_content)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *path = xasprintf("%s/file", dir);
    CLEANUP_FREE char *below = xasprintf("%s/file/below", dir);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct error err = {0};

    ck_assert_int_eq(file_write_atomic(path, 0600, "old", 3, NULL), 0);
    ck_assert_int_eq(file_write_atomic(dir, 0600, "new", 3, &err), -EISDIR);
    ck_assert_int_eq(file_write_atomic(below, 0600, "new", 3, &err), -ENOTDIR);

    ck_assert_ptr_nonnull(strstr(err.text, below));
    ck_assert_int_eq(file_read(path, 10, &text, NULL), 0);
    ck_assert_str_eq(text.text, "old");
    ck_assert_uint_eq(scratch_entries(dir), 1);
}
END_TEST

START_TEST(a_directory_is_made_with_its_parents_and_once)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *path = xasprintf("%s/a//b/c/", dir);
    struct stat st;

    ck_assert_int_eq(dir_make(path, 0755, NULL), 0);
    ck_assert_int_eq(dir_make(path, 0755, NULL), 0);

    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert(S_ISDIR(st.st_mode));
}
END_TEST

START_TEST(a_file_where_a_directory_should_be_is_an_error)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *path = xasprintf("%s/file", dir);
    struct error err = {0};

    ck_assert_int_eq(file_write_atomic(path, 0600, "", 0, NULL), 0);

    ck_assert_int_eq(dir_make(path, 0755, &err), -ENOTDIR);
    ck_assert_ptr_nonnull(strstr(err.text, path));
    ck_assert_int_eq(dir_make("", 0755, &err), -ENOENT);
}
END_TEST

START_TEST(descriptors_switch_to_nonblocking_and_back)
{
    int ends[2];
    char byte;

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(fd_set_nonblocking(ends[0], true), 0);
    ck_assert_int_eq(read(ends[0], &byte, 1), -1);
    ck_assert_int_eq(errno, EAGAIN);
    ck_assert_int_eq(fd_set_nonblocking(ends[0], false), 0);
    ck_assert_int_eq(fcntl(ends[0], F_GETFL) & O_NONBLOCK, 0);
    fd_closep(&ends[0]);
    fd_closep(&ends[1]);
}
END_TEST

START_TEST(writing_to_a_closed_descriptor_is_an_error)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    ck_assert_int_eq(fd_write_all(-1, "x", 1), -EBADF);
    ck_assert_int_eq(fd_read_all(-1, 10, &text), -EBADF);
    ck_assert_int_eq(fd_set_nonblocking(-1, true), -EBADF);
}
END_TEST

SUITE("fd", written_bytes_are_read_back, answer_reader_appends_to_what_the_buffer_held,
      a_file_beyond_the_limit_is_refused_by_name, a_missing_file_is_named,
      a_replaced_file_has_the_new_mode_and_leaves_nothing_beside_it,
      a_write_that_fails_leaves_the_old_content, a_directory_is_made_with_its_parents_and_once,
      a_file_where_a_directory_should_be_is_an_error, descriptors_switch_to_nonblocking_and_back,
      writing_to_a_closed_descriptor_is_an_error)
