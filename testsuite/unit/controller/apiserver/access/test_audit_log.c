/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/access/audit_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

static char *place;
static char *path;

static const char *store;

static struct audit_log *
open_log(int64_t max_bytes, int64_t keep)
{
    struct audit_log *log = NULL;
    struct error err = {0};

    ck_assert_msg(audit_log_open(
                      &(struct audit_log_settings){
                          .path = path, .max_bytes = max_bytes, .keep = keep, .store = store},
                      &log, &err)
                      == 0,
                  "%s", err.text);
    return log;
}

static void
begin(void)
{
    place = scratch_new();
    path = xasprintf("%s/audit.log", place);
}

static void
end(void)
{
    free(path);
    scratch_freep(&place);
}

static char *
text_of(const char *suffix)
{
    CLEANUP_FREE char *file = xasprintf("%s%s", path, suffix);
    struct strbuf text = STRBUF_INIT;

    if (file_read(file, 1 << 20, &text, NULL) < 0) {
        strbuf_fini(&text);
        return NULL;
    }
    return strbuf_take(&text);
}

START_TEST(an_added_line_is_written_before_the_log_ends)
{
    CLEANUP_FREE char *text = NULL;
    struct audit_log *log;

    begin();
    log = open_log(1 << 20, 1);
    audit_log_add(log, "one", 3);
    audit_log_add(log, "two", 3);
    audit_log_free(log);

    text = text_of("");
    ck_assert_str_eq(text, "one\ntwo\n");
    end();
}
END_TEST

START_TEST(a_later_one_goes_on_in_the_same_file)
{
    CLEANUP_FREE char *text = NULL;
    struct audit_log *log;

    begin();
    for (int i = 0; i < 2; i++) {
        log = open_log(1 << 20, 1);
        audit_log_add(log, "again", 5);
        audit_log_free(log);
    }

    text = text_of("");
    ck_assert_str_eq(text, "again\nagain\n");
    end();
}
END_TEST

/* Each file is closed before it is renamed, so it contains everything written.
 */
START_TEST(a_full_file_makes_room_for_the_next_and_the_oldest_goes)
{
    static const char *const lines[] = {"aaaa", "bbbb", "cccc", "dddd"};
    CLEANUP_FREE char *now = NULL;
    CLEANUP_FREE char *before = NULL;
    CLEANUP_FREE char *gone = NULL;

    begin();
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        struct audit_log *log = open_log(5, 2);

        audit_log_add(log, lines[i], 4);
        audit_log_free(log);
    }

    now = text_of("");
    before = text_of(".2");
    gone = text_of(".3");
    ck_assert_str_eq(now, "dddd\n");
    ck_assert_str_eq(before, "bbbb\n");
    ck_assert_ptr_null(gone);
    end();
}
END_TEST

/* A pipe that nobody reads, like a disk that accepts no writes any more. */
START_TEST(a_line_that_cannot_be_written_is_counted_and_blocks_nobody)
{
    static char line[64 << 10];
    struct audit_log *log;
    int reader;

    begin();
    memset(line, 'x', sizeof(line));
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ck_assert_int_ge(reader, 0);
    log = open_log(1 << 30, 1);
    while (audit_log_dropped(log) == 0)
        audit_log_add(log, line, sizeof(line));
    audit_log_free(log);

    close(reader);
    end();
}
END_TEST

static void
add_many(struct audit_log *log, const char *line, size_t bytes)
{
    for (size_t n = 0; n < bytes; n += strlen(line) + 1)
        audit_log_add(log, line, strlen(line));
}

static void
be_beside(const char *directory, uint64_t *ret_dropped, char **ret_text)
{
    static char line[1024];
    struct strbuf text = STRBUF_INIT;
    struct audit_log *log;

    store = directory;
    memset(line, 'x', sizeof(line) - 1);
    log = open_log(1 << 30, 1);
    audit_log_spare(log, true);
    add_many(log, line, 2 * AUDIT_LOG_SPARED_BYTES);
    *ret_dropped = audit_log_dropped(log);
    audit_log_spare(log, false);
    audit_log_add(log, "after", 5);
    audit_log_free(log);
    store = NULL;
    ck_assert_int_eq(file_read(path, 8 << 20, &text, NULL), 0);
    *ret_text = strbuf_take(&text);
}

START_TEST(on_the_full_disk_of_the_store_it_takes_little)
{
    CLEANUP_FREE char *text = NULL;
    uint64_t dropped;

    begin();
    be_beside(place, &dropped, &text);

    ck_assert_uint_ge(dropped, 1024);
    ck_assert_uint_le(strlen(text), AUDIT_LOG_SPARED_BYTES + 64);
    ck_assert_ptr_nonnull(strstr(text, "{\"dropped\":"));
    ck_assert_str_eq(text + strlen(text) - 7, "\nafter\n");
    end();
}
END_TEST

START_TEST(on_another_disk_it_takes_all)
{
    CLEANUP_FREE char *text = NULL;
    uint64_t dropped;

    begin();
    be_beside("/proc", &dropped, &text);

    ck_assert_uint_eq(dropped, 0);
    ck_assert_uint_ge(strlen(text), 2 * AUDIT_LOG_SPARED_BYTES);
    end();
}
END_TEST

START_TEST(a_place_that_is_not_there_is_refused_in_words)
{
    struct audit_log *log = NULL;
    struct error err = {0};

    ck_assert_int_eq(
        audit_log_open(
            &(struct audit_log_settings){.path = "/nowhere/audit.log", .max_bytes = 1, .keep = 1},
            &log, &err),
        -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "/nowhere/audit.log"));
    ck_assert_ptr_null(log);
}
END_TEST

SUITE("audit_log", an_added_line_is_written_before_the_log_ends,
      a_later_one_goes_on_in_the_same_file, a_full_file_makes_room_for_the_next_and_the_oldest_goes,
      a_line_that_cannot_be_written_is_counted_and_blocks_nobody,
      on_the_full_disk_of_the_store_it_takes_little, on_another_disk_it_takes_all,
      a_place_that_is_not_there_is_refused_in_words)
