/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/program/option.h"
#include "testsuite/lib/apart.h"
#include "testsuite/lib/suite.h"

struct target {
    bool all;
};

static const struct option_spec rows[] = {
    {"all", 'a', NULL, "all of it", OPTION_FLAG, .offset = offsetof(struct target, all)},
};

static const struct option_table table = {
    .name = "kctl drain",
    .usage = "[OPTION]... NODE...",
    .summary = "Drains.",
    OPTION_ROWS(rows),
    .has_version = true,
};

static void
begin_with(const char *word)
{
    char name[] = "kctl";
    char argument[32];
    char *argv[] = {name, argument, NULL};
    struct target target = {0};

    snprintf(argument, sizeof(argument), "%s", word);
    printf("%d\n", program_begin(&table, 2, argv, &target));
}

static void
begin_well(UNUSED const void *context)
{
    begin_with("n1");
}

static void
begin_badly(UNUSED const void *context)
{
    begin_with("--al1");
}

static void
ask_for_help(UNUSED const void *context)
{
    begin_with("--help");
}

static void
ask_for_version(UNUSED const void *context)
{
    begin_with("--version");
}

START_TEST(operands_are_handed_back)
{
    struct apart r;

    apart(&r, begin_well, NULL);

    ck_assert_str_eq(r.text, "1\n");
    ck_assert_int_eq(r.status, 0);
}
END_TEST

START_TEST(a_mistake_is_one_line_that_names_the_command_and_the_way_to_help)
{
    struct apart r;

    apart(&r, begin_badly, NULL);

    ck_assert_str_eq(r.text, "kctl: drain: unknown option '--al1' (did you mean "
                             "'--all'?); see 'kctl drain --help'\n");
    ck_assert_int_eq(r.status, EXIT_STATUS_USAGE);
}
END_TEST

START_TEST(help_and_version_end_the_program_well)
{
    struct apart r;

    apart(&r, ask_for_help, NULL);
    ck_assert_ptr_eq(strstr(r.text, "usage: kctl drain [OPTION]"), r.text);
    ck_assert_int_eq(r.status, 0);

    apart(&r, ask_for_version, NULL);
    ck_assert_str_eq(r.text, "kctl drain " PACKAGE_VERSION "\n");
    ck_assert_int_eq(r.status, 0);
}
END_TEST

static void
end_with_words(UNUSED const void *context)
{
    struct error err = {0};

    error_set(&err, -ENOENT, "node 'n7' not found");
    printf("before\n");
    exit((int)program_end("kctl drain", -ENOENT, &err));
}

static void
end_without_words(UNUSED const void *context)
{
    exit((int)program_end("kctl", -ECONNREFUSED, NULL));
}

static void
end_on_a_full_disk(UNUSED const void *context)
{
    int full = open("/dev/full", O_WRONLY);

    dup2(full, STDOUT_FILENO);
    printf("lost\n");
    exit((int)program_end("kctl", 0, NULL));
}

START_TEST(an_error_is_told_and_decides_the_status)
{
    struct apart r;

    apart(&r, end_with_words, NULL);
    ck_assert_str_eq(r.text, "before\nkctl: drain: node 'n7' not found\n");
    ck_assert_int_eq(r.status, EXIT_STATUS_NOT_FOUND);

    apart(&r, end_without_words, NULL);
    ck_assert_str_eq(r.text, "kctl: Connection refused\n");
    ck_assert_int_eq(r.status, EXIT_STATUS_UNAVAILABLE);
}
END_TEST

START_TEST(output_that_cannot_be_written_is_a_failure)
{
    struct apart r;

    apart(&r, end_on_a_full_disk, NULL);

    ck_assert_str_eq(r.text, "kctl: writing to standard output: "
                             "No space left on device\n");
    ck_assert_int_eq(r.status, EXIT_STATUS_FAILED);
}
END_TEST

/* Standard output is a pipe that nobody reads, and SIGPIPE is ignored, as by a
 * loop.
 */
static void
lose_reader(void)
{
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    close(ends[0]);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[1]);
    signal(SIGPIPE, SIG_IGN);
}

static void
end_without_reader(UNUSED const void *context)
{
    lose_reader();
    printf("lost\n");
    exit((int)program_end("kctl", 0, NULL));
}

static void
end_after_a_failed_flush(UNUSED const void *context)
{
    lose_reader();
    printf("lost\n");
    fflush(stdout);
    errno = ENOENT;
    exit((int)program_end("kctl", 0, NULL));
}

static void
end_with_the_error_of_the_pipe(UNUSED const void *context)
{
    lose_reader();
    exit((int)program_end("kctl", -EPIPE, NULL));
}

static void
end_with_another_error_and_no_reader(UNUSED const void *context)
{
    lose_reader();
    exit((int)program_end("kctl", -ENOENT, NULL));
}

static void
end_with_the_error_of_another_pipe(UNUSED const void *context)
{
    exit((int)program_end("kctl", -EPIPE, NULL));
}

START_TEST(a_reader_that_has_gone_ends_the_program_without_a_word)
{
    static const apart_fn cases[] = {end_without_reader, end_after_a_failed_flush,
                                     end_with_the_error_of_the_pipe};
    struct apart r;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        apart(&r, cases[i], NULL);
        ck_assert_str_eq(r.text, "");
        ck_assert_int_eq(r.status, -SIGPIPE);
    }
}
END_TEST

START_TEST(other_errors_are_told_whether_or_not_a_reader_has_gone)
{
    struct apart r;

    apart(&r, end_with_another_error_and_no_reader, NULL);
    ck_assert_str_eq(r.text, "kctl: No such file or directory\n");
    ck_assert_int_eq(r.status, EXIT_STATUS_NOT_FOUND);

    apart(&r, end_with_the_error_of_another_pipe, NULL);
    ck_assert_str_eq(r.text, "kctl: Broken pipe\n");
    ck_assert_int_eq(r.status, EXIT_STATUS_UNAVAILABLE);
}
END_TEST

static void
begin_without_descriptors(UNUSED const void *context)
{
    int out = dup(STDOUT_FILENO);
    char name[] = "kctl";
    char *argv[] = {name, NULL};
    struct target target = {0};

    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    program_begin(&table, 1, argv, &target);
    dprintf(out, "%d\n", open("/dev/null", O_RDONLY) > STDERR_FILENO);
}

START_TEST(no_file_takes_the_place_of_a_closed_standard_descriptor)
{
    struct apart r;

    apart(&r, begin_without_descriptors, NULL);

    ck_assert_str_eq(r.text, "1\n");
}
END_TEST

START_TEST(words_are_joined_and_cut_between_characters)
{
    char program[] = "srun", option[] = "-n", word[] = "a b", x[] = "x", euros[1501];
    char *const words[] = {program, option, word}, *const many[] = {x, euros};
    CLEANUP_FREE char *line = program_join_words(3, words);
    CLEANUP_FREE char *none = program_join_words(0, words);
    CLEANUP_FREE char *cut = NULL;

    ck_assert_str_eq(line, "srun -n a b");
    ck_assert_str_eq(none, "");
    for (size_t i = 0; i < 500; i++)
        memcpy(euros + 3 * i, "\xe2\x82\xac", 4);
    cut = program_join_words(2, many);
    /* two bytes, 332 characters of three, and dots */
    ck_assert_uint_eq(strlen(cut), 2 + 332 * 3 + 3);
    ck_assert_str_eq(cut + strlen(cut) - 6, "\xe2\x82\xac...");
}
END_TEST

SUITE("program", operands_are_handed_back,
      a_mistake_is_one_line_that_names_the_command_and_the_way_to_help,
      help_and_version_end_the_program_well, an_error_is_told_and_decides_the_status,
      output_that_cannot_be_written_is_a_failure,
      a_reader_that_has_gone_ends_the_program_without_a_word,
      other_errors_are_told_whether_or_not_a_reader_has_gone,
      no_file_takes_the_place_of_a_closed_standard_descriptor,
      words_are_joined_and_cut_between_characters)
