/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/audit_log.h"

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

static struct audit_log *
open_log(int64_t max_bytes, int64_t keep)
{
    struct audit_log *log = NULL;
    struct error err = {0};

    ck_assert_msg(
        audit_log_open(&(struct audit_log_settings){.path = path,
                                                    .max_bytes = max_bytes,
                                                    .keep = keep},
                       &log,
                       &err)
            == 0,
        "%s",
        err.text);
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

START_TEST(what_was_added_is_written_before_it_ends)
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

/* Each of them is closed, so that what it wrote is there. */
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

/* A pipe that nobody empties, as a disk that takes nothing any more. */
START_TEST(what_cannot_be_written_is_counted_and_waits_for_nobody)
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

START_TEST(a_place_that_is_not_there_is_refused_in_words)
{
    struct audit_log *log = NULL;
    struct error err = {0};

    ck_assert_int_eq(
        audit_log_open(
            &(struct audit_log_settings){.path = "/nowhere/audit.log",
                                         .max_bytes = 1,
                                         .keep = 1},
            &log,
            &err),
        -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "/nowhere/audit.log"));
    ck_assert_ptr_null(log);
}
END_TEST

SUITE("audit_log",
      what_was_added_is_written_before_it_ends,
      a_later_one_goes_on_in_the_same_file,
      a_full_file_makes_room_for_the_next_and_the_oldest_goes,
      what_cannot_be_written_is_counted_and_waits_for_nobody,
      a_place_that_is_not_there_is_refused_in_words)
