/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/output_index.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

/* A job that does nothing, with an output that the test extends. */
struct scene {
    char *directory;
    int output_fd;
    pid_t job;
    struct output_index output_index;
};

static void
begin(struct scene *s)
{
    s->directory = scratch_new();
    CLEANUP_FREE char *path = xasprintf("%s/output", s->directory);
    s->output_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(s->output_fd, 0);
    s->job = fork();
    if (s->job == 0) {
        dup2(s->output_fd, STDOUT_FILENO);
        raise(SIGSTOP);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(s->job, NULL, WUNTRACED), s->job);
    output_index_begin(&s->output_index, s->directory, s->job);
}

static void
end(struct scene *s)
{
    kill(s->job, SIGKILL);
    waitpid(s->job, NULL, 0);
    close(s->output_fd);
    scratch_freep(&s->directory);
}

static void
grow_to(struct scene *s, off_t size)
{
    ck_assert_int_eq(ftruncate(s->output_fd, size), 0);
}

/* Notes the output when the next entry is due. */
static void
look(struct scene *s)
{
    output_index_note(&s->output_index, s->output_index.next_us);
}

static int
read_back(const struct scene *s, struct output_index_copy *copy)
{
    CLEANUP_FREE char *path = xasprintf("%s/" OUTPUT_INDEX_NAME, s->directory);
    CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

    return fd < 0 ? -errno : output_index_read(fd, copy);
}

START_TEST(growth_is_noted_and_found_by_size_and_time)
{
    struct scene s;
    struct output_index_copy copy = {0};

    begin(&s);
    look(&s); /* empty as yet */
    grow_to(&s, 10);
    look(&s);
    grow_to(&s, 25);
    look(&s);
    look(&s); /* nothing new */

    ck_assert_int_eq(read_back(&s, &copy), 0);
    ck_assert_uint_eq(copy.count, 2);
    ck_assert_int_eq(copy.entries[0].size, 10);
    ck_assert_uint_eq(output_index_find_size(&copy, 10), 0);
    ck_assert_uint_eq(output_index_find_size(&copy, 11), 1);
    ck_assert_uint_eq(output_index_find_size(&copy, 26), 2);
    ck_assert_uint_eq(output_index_find_time(&copy, 0), 0);
    ck_assert_uint_eq(output_index_find_time(&copy, copy.entries[1].at_us + 1), 2);
    free(copy.entries);
    end(&s);
}
END_TEST

/* The directory is open to the job's user, and so to all. */
START_TEST(other_users_cannot_read_when_an_output_grew)
{
    struct scene s;
    struct stat st;

    begin(&s);
    look(&s);
    grow_to(&s, 10);
    look(&s);
    CLEANUP_FREE char *path = xasprintf("%s/" OUTPUT_INDEX_NAME, s.directory);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
    end(&s);
}
END_TEST

START_TEST(a_look_is_taken_no_earlier_than_due)
{
    struct scene s;
    struct output_index_copy copy = {0};
    int64_t due = 0;
    int wait_ms;

    begin(&s);
    grow_to(&s, 10);
    due = s.output_index.next_us;
    ck_assert_int_eq(output_index_watch(&s.output_index, due - 50000, &wait_ms), -1);
    ck_assert_int_eq(wait_ms, 51);
    output_index_note(&s.output_index, due - 1);
    ck_assert_int_eq(read_back(&s, &copy), -ENOENT);
    look(&s);

    /* Before the next entry is due, it waits for that time; then only for
     * output.
     */
    due = s.output_index.next_us;
    ck_assert_int_eq(output_index_watch(&s.output_index, due - 1000, &wait_ms), -1);
    ck_assert_int_eq(wait_ms, 2);
    ck_assert_int_ge(output_index_watch(&s.output_index, due, &wait_ms), 0);
    ck_assert_int_eq(wait_ms, -1);
    output_index_note(&s.output_index, due);
    ck_assert_int_eq(s.output_index.next_us, due);
    end(&s);
}
END_TEST

START_TEST(an_index_is_bounded_and_keeps_both_ends)
{
    struct scene s;
    struct output_index_copy copy = {0};
    const off_t notes = 3 * OUTPUT_INDEX_MAX;

    begin(&s);
    for (off_t size = 1; size <= notes; size++) {
        grow_to(&s, size);
        look(&s);
    }

    ck_assert_int_eq(read_back(&s, &copy), 0);
    ck_assert_uint_le(copy.count, OUTPUT_INDEX_MAX);
    ck_assert_uint_gt(copy.count, OUTPUT_INDEX_MAX / 4);
    ck_assert_int_le(copy.entries[0].size, 16);
    ck_assert_int_eq(copy.entries[copy.count - 1].size, notes);
    for (size_t i = 1; i < copy.count; i++) {
        ck_assert_int_gt(copy.entries[i].size, copy.entries[i - 1].size);
        ck_assert_int_ge(copy.entries[i].at_us, copy.entries[i - 1].at_us);
    }
    ck_assert_int_gt(s.output_index.pause_us, OUTPUT_INDEX_MS * 1000);
    free(copy.entries);
    end(&s);
}
END_TEST

START_TEST(an_output_that_is_emptied_is_begun_anew)
{
    struct scene s;
    struct output_index_copy copy = {0};

    begin(&s);
    grow_to(&s, 100);
    look(&s);
    grow_to(&s, 7);
    look(&s);

    ck_assert_int_eq(read_back(&s, &copy), 0);
    ck_assert_uint_eq(copy.count, 1);
    ck_assert_int_eq(copy.entries[0].size, 7);
    free(copy.entries);
    end(&s);
}
END_TEST

START_TEST(output_before_the_end_is_noted)
{
    struct scene s;
    struct output_index_copy copy = {0};

    begin(&s);
    look(&s);
    grow_to(&s, 3);
    output_index_end(&s.output_index);

    ck_assert_int_eq(read_back(&s, &copy), 0);
    ck_assert_uint_eq(copy.count, 1);
    free(copy.entries);
    end(&s);
}
END_TEST

START_TEST(a_file_that_is_no_index_is_reported)
{
    CLEANUP(scratch_freep) char *directory = scratch_new();
    CLEANUP_FREE char *path = xasprintf("%s/x", directory);
    struct output_index_copy copy = {0};
    struct output_index_head head = {.magic = "kilntms1", .generation = 1};
    CLEANUP_FD int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    ck_assert_int_eq(output_index_read(fd, &copy), -EBADMSG);
    ck_assert_int_eq(pwrite(fd, &head, sizeof(head), 0), sizeof(head));
    ck_assert_int_eq(output_index_read(fd, &copy), -EAGAIN);
}
END_TEST

SUITE("output_index", growth_is_noted_and_found_by_size_and_time,
      other_users_cannot_read_when_an_output_grew, a_look_is_taken_no_earlier_than_due,
      an_index_is_bounded_and_keeps_both_ends, an_output_that_is_emptied_is_begun_anew,
      output_before_the_end_is_noted, a_file_that_is_no_index_is_reported)
