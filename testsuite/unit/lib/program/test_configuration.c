/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/configuration.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/program/option.h"
#include "lib/program/program.h"
#include "testsuite/lib/apart.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

struct target {
    bool conformance;
    int64_t port;
    const char *state_dir;
};

static const struct option_spec rows[] = {
    {"conformance", 0, NULL, "serve the API alone", OPTION_FLAG,
     .offset = offsetof(struct target, conformance)},
};

static const struct option_table options = {
    .name = "kiln-thing",
    .usage = "[OPTION]...",
    .summary = "A thing.",
    OPTION_ROWS(rows),
    .has_version = true,
};

static const struct setting settings[] = {
    {"port", SETTING_INT, offsetof(struct target, port), .initial = "80", .min = 1, .max = 65535,
     .help = "where to listen", .option = "port", .letter = 'p', .argument = "PORT"},
    {"stateDir", SETTING_TEXT, offsetof(struct target, state_dir), .initial = "/var/lib/kiln",
     .help = "where the state is kept"},
};

static const struct setting_table table = {settings, ARRAY_SIZE(settings)};

static const char *file_by_default;

static int
check_start(void *target, struct strbuf *mistakes)
{
    if (((struct target *)target)->port != 99)
        return 0;
    strbuf_add_text(mistakes, "port: 99 is in use\n");
    return -EINVAL;
}

/* Begins a daemon with that command line and prints its settings. */
static void
begin(const char *const *words)
{
    const struct configuration c = {
        .options = &options,
        .settings = &table,
        .file = file_by_default,
        .check_start = check_start,
    };
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct target target = {0};
    char name[] = "kiln-thing";
    char *argv[8] = {name};
    int argc = 1;

    for (; words[argc - 1] != NULL; argc++)
        argv[argc] = arena_strdup(arena, words[argc - 1]);
    configuration_begin(&c, argc, argv, arena, &target);
    printf("%lld %s %d\n", (long long)target.port, target.state_dir, target.conformance);
}

static void
begin_from_words(const void *context)
{
    begin(context);
}

#define BEGIN(run, ...) apart((run), begin_from_words, (const char *const[]){__VA_ARGS__, NULL})

static char *
write_file(const char *dir, const char *text)
{
    char *path = xasprintf("%s/kiln.yaml", dir);

    ck_assert_int_eq(file_write_atomic(path, 0600, text, strlen(text), NULL), 0);
    return path;
}

START_TEST(the_command_line_wins_over_the_file_and_the_file_over_defaults)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *path = write_file(dir, "port: 1\nstateDir: /srv\n");
    struct apart run;

    BEGIN(&run, "--config", path, "-p", "1", "--conformance");
    ck_assert_str_eq(run.text, "1 /srv 1\n");

    BEGIN(&run, "--config", path);
    ck_assert_str_eq(run.text, "1 /srv 0\n");

    BEGIN(&run, "--port=3");
    ck_assert_str_eq(run.text, "3 /var/lib/kiln 0\n");
}
END_TEST

START_TEST(the_usual_file_is_read_when_it_is_there)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *path = write_file(dir, "port: 1\n");
    struct apart run;

    file_by_default = path;
    BEGIN(&run, "--conformance");
    ck_assert_str_eq(run.text, "1 /var/lib/kiln 1\n");

    file_by_default = "/nowhere/at/all";
    BEGIN(&run, "--conformance");
    ck_assert_str_eq(run.text, "80 /var/lib/kiln 1\n");

    BEGIN(&run, "--config", "/nowhere/at/all");
    ck_assert_int_eq(run.status, EXIT_STATUS_CONFIG);
}
END_TEST

START_TEST(mistakes_in_the_file_are_all_told_and_end_the_program)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *path = write_file(dir, "port: 0\nstatDir: x\n");
    CLEANUP_FREE char *expected = xasprintf("kiln-thing: %s:1: port: '0' is not a number from 1 to "
                                            "65535\n"
                                            "kiln-thing: %s:2: statDir: unknown key (did you mean "
                                            "'stateDir'?)\n",
                                            path, path);
    struct apart run;

    BEGIN(&run, "--config", path);
    ck_assert_str_eq(run.text, expected);
    ck_assert_int_eq(run.status, EXIT_STATUS_CONFIG);

    BEGIN(&run, "--check-config", "--config", path);
    ck_assert_str_eq(run.text, expected);
    ck_assert_int_eq(run.status, EXIT_STATUS_CONFIG);
}
END_TEST

START_TEST(mistakes_on_the_command_line_are_told_as_such)
{
    struct apart run;

    BEGIN(&run, "--port", "x");
    ck_assert_str_eq(run.text, "kiln-thing: --port: 'x' is not a number from 1 to "
                               "65535; see 'kiln-thing --help'\n");
    ck_assert_int_eq(run.status, EXIT_STATUS_USAGE);
}
END_TEST

START_TEST(a_good_configuration_can_be_checked_and_printed)
{
    struct apart run;

    BEGIN(&run, "--check-config");
    ck_assert_str_eq(run.text, "the configuration is valid\n");
    ck_assert_int_eq(run.status, 0);

    BEGIN(&run, "--print-config", "-p5");
    ck_assert_str_eq(run.text, "# where to listen\n"
                               "port: 5\n"
                               "\n"
                               "# where the state is kept\n"
                               "stateDir: /var/lib/kiln\n");
    ck_assert_int_eq(run.status, 0);
}
END_TEST

START_TEST(a_mistake_that_only_a_start_refuses_is_checked_too)
{
    struct apart run;

    BEGIN(&run, "--check-config", "-p", "99");
    ck_assert_ptr_nonnull(strstr(run.text, "kiln-thing: port: 99 is in use\n"));
    ck_assert_int_eq(run.status, EXIT_STATUS_CONFIG);

    BEGIN(&run, "--print-config", "-p", "99");
    ck_assert_int_eq(run.status, 0);
}
END_TEST

START_TEST(a_value_of_the_file_is_not_overridden_in_silence)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *path = write_file(dir, "port: 1\n");
    CLEANUP_FREE char *as_initial = xasprintf("%s/initial.yaml", dir);
    struct apart run;

    BEGIN(&run, "--config", path, "-p", "2");
    ck_assert_ptr_nonnull(strstr(
        run.text, "port in the configuration file has no effect: the command line has --port 2\n"));
    ck_assert_ptr_nonnull(strstr(run.text, "2 /var/lib/kiln 0\n"));

    ck_assert_int_eq(file_write_atomic(as_initial, 0600, "port: 80\n", 9, NULL), 0);
    BEGIN(&run, "--config", as_initial, "-p", "2");
    ck_assert_str_eq(run.text, "2 /var/lib/kiln 0\n");
}
END_TEST

START_TEST(help_shows_the_options_of_settings_too)
{
    struct apart run;

    BEGIN(&run, "--help");
    ck_assert_ptr_nonnull(strstr(run.text, "  -p, --port PORT     where to listen\n"));
    ck_assert_ptr_nonnull(strstr(run.text, "      --conformance   serve the API alone\n"));
    ck_assert_ptr_nonnull(strstr(run.text, "      --check-config"));
}
END_TEST

START_TEST(a_reload_reads_the_file_as_it_is_now)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *path = write_file(dir, "port: 1\n");
    const struct configuration c = {.options = &options, .settings = &table, .file = path};
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf mistakes = STRBUF_INIT;
    struct target target = {0};
    char name[] = "kiln-thing";
    char *argv[] = {name, NULL};

    ck_assert_int_eq(configuration_read(&c, 1, argv, arena, &target, &mistakes), 0);
    ck_assert_int_eq(target.port, 1);

    free(write_file(dir, "port: 2\n"));
    ck_assert_int_eq(configuration_read(&c, 1, argv, arena, &target, &mistakes), 0);
    ck_assert_int_eq(target.port, 2);

    free(write_file(dir, "port: two\n"));
    ck_assert_int_eq(configuration_read(&c, 1, argv, arena, &target, &mistakes), -EINVAL);
    ck_assert_ptr_nonnull(strstr(mistakes.text, ":1: port: 'two'"));
}
END_TEST

SUITE("configuration", the_command_line_wins_over_the_file_and_the_file_over_defaults,
      the_usual_file_is_read_when_it_is_there,
      mistakes_in_the_file_are_all_told_and_end_the_program,
      mistakes_on_the_command_line_are_told_as_such,
      a_good_configuration_can_be_checked_and_printed,
      a_mistake_that_only_a_start_refuses_is_checked_too,
      a_value_of_the_file_is_not_overridden_in_silence, help_shows_the_options_of_settings_too,
      a_reload_reads_the_file_as_it_is_now)
