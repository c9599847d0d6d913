/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testsuite/lib/suite.h"

/* Standard error of the test, redirected to a file. */
struct caught {
    FILE *file;
    int real;
    char text[8192];
};

static void
catch_start(struct caught *c)
{
    c->file = tmpfile();
    c->real = dup(STDERR_FILENO);
    dup2(fileno(c->file), STDERR_FILENO);
}

static const char *
catch_stop(struct caught *c)
{
    size_t n;

    dup2(c->real, STDERR_FILENO);
    close(c->real);
    rewind(c->file);
    n = fread(c->text, 1, sizeof(c->text) - 1, c->file);
    c->text[n] = '\0';
    fclose(c->file);
    return c->text;
}

START_TEST(a_line_has_time_level_room_and_message)
{
    struct caught c;
    const char *text;

    unsetenv("JOURNAL_STREAM");
    catch_start(&c);
    log_write(LOG_LEVEL_WARNING, "controller/store/store.c", "job '%d'", 7);
    text = catch_stop(&c);

    ck_assert_uint_eq(strlen(text), strlen("2000-01-01T00:00:00.000Z warning store: "
                                           "job '7'\n"));
    ck_assert_int_eq(text[10], 'T');
    ck_assert_int_eq(text[23], 'Z');
    ck_assert_str_eq(text + 24, " warning store: job '7'\n");
}
END_TEST

START_TEST(the_room_is_the_second_folder_whatever_folders_it_has)
{
    static const struct {
        const char *file, *room;
    } files[] = {
        {"controller/lifecycle/job/job_plan.c", " error   lifecycle: x\n"},
        {"controller/main.c", " error   controller: x\n"},
        {"main.c", " error   kiln: x\n"},
    };
    struct caught c;

    unsetenv("JOURNAL_STREAM");
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        catch_start(&c);
        log_write(LOG_LEVEL_ERROR, files[i].file, "x");
        ck_assert_str_eq(catch_stop(&c) + 24, files[i].room);
    }
}
END_TEST

START_TEST(a_record_is_one_line_whatever_a_peer_put_into_a_name)
{
    struct caught c;
    const char *text;

    catch_start(&c);
    log_error("job '%s'", "a\nerror root: \x1b[2Jall is well\r");
    text = catch_stop(&c);

    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
    ck_assert_ptr_null(strchr(text, '\x1b'));
    ck_assert_ptr_null(strchr(text, '\r'));
}
END_TEST

START_TEST(a_message_too_long_is_cut_and_still_ends_its_line)
{
    struct caught c;
    const char *text;

    catch_start(&c);
    log_error("%0*d", 5000, 1);
    text = catch_stop(&c);

    ck_assert_uint_lt(strlen(text), 2100);
    ck_assert_int_eq(text[strlen(text) - 1], '\n');
}
END_TEST

START_TEST(a_message_below_the_level_is_not_written)
{
    struct caught c;

    log_set_level(LOG_LEVEL_WARNING);
    catch_start(&c);
    log_info("too quiet");
    log_debug("too quiet");
    ck_assert_str_eq(catch_stop(&c), "");

    log_set_level(LOG_LEVEL_DEBUG);
    catch_start(&c);
    log_debug("loud enough");
    ck_assert_ptr_nonnull(strstr(catch_stop(&c), "loud enough"));
}
END_TEST

/* $JOURNAL_STREAM identifies the stream that systemd made for this process;
 * output that is redirected elsewhere is for people.
 */
START_TEST(the_journal_gets_its_prefix_and_no_other_file_does)
{
    struct caught c;
    struct stat st;
    char stream[64];

    catch_start(&c);
    ck_assert_int_eq(fstat(STDERR_FILENO, &st), 0);
    snprintf(stream, sizeof(stream), "%lu:%lu", (unsigned long)st.st_dev, (unsigned long)st.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
    log_write(LOG_LEVEL_ERROR, "agent/agent.c", "bad");
    ck_assert_str_eq(catch_stop(&c), "<3>agent: bad\n");

    catch_start(&c);
    setenv("JOURNAL_STREAM", "1:1", 1);
    log_write(LOG_LEVEL_ERROR, "agent/agent.c", "bad");
    ck_assert_ptr_nonnull(strstr(catch_stop(&c), "Z error   agent: bad\n"));
    unsetenv("JOURNAL_STREAM");
}
END_TEST

START_TEST(logging_leaves_errno_alone)
{
    struct caught c;

    catch_start(&c);
    errno = ENOSPC;
    log_error("x");
    ck_assert_int_eq(errno, ENOSPC);
    catch_stop(&c);
}
END_TEST

SUITE("log", a_line_has_time_level_room_and_message,
      the_room_is_the_second_folder_whatever_folders_it_has,
      a_record_is_one_line_whatever_a_peer_put_into_a_name,
      a_message_too_long_is_cut_and_still_ends_its_line, a_message_below_the_level_is_not_written,
      the_journal_gets_its_prefix_and_no_other_file_does, logging_leaves_errno_alone)
