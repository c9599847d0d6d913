/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/krun_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/krun/krun_settings.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "testsuite/lib/suite.h"

static struct arena *arena;
static struct error error;

static int
make(struct krun_settings *s, const char *command)
{
    static char word[256], more[] = "x";
    static char *arguments[] = {word, more, NULL};

    snprintf(word, sizeof(word), "%s", command);
    error = (struct error){0};
    s->program = "krun";
    if (s->gpus == 0)
        s->gpus = KRUN_UNSET;
    s->patience_s = KRUN_UNSET;
    return krun_request_make(arena, s, 2, arguments, &error);
}

static void
enter_job(const char *tasks, const char *nodes)
{
    clearenv();
    setenv("KILN_POD_UID", "u", 1);
    setenv("KILN_STEP_SOCKET", "/run/steps", 1);
    setenv("KILN_NTASKS", tasks, 1);
    setenv("KILN_NNODES", nodes, 1);
}

START_TEST(outside_a_job_krun_says_what_to_do)
{
    struct krun_settings s = {0};

    arena = arena_new(0);
    clearenv();
    ck_assert_int_eq(make(&s, "a"), -ENOENT);
    ck_assert_ptr_nonnull(strstr(error.text, "submit a script that calls it"));
    arena_free(arena);
}
END_TEST

START_TEST(numbers_that_were_not_given_are_the_jobs)
{
    static const struct {
        const char *tasks, *nodes;
        struct krun_settings asked;
        int64_t expected_tasks, expected_nodes, expected_per_node;
    } cases[] = {
        {"4", "1", {.gpus = 0}, 4, 1, 0},
        {"4", "2", {.gpus = 0}, 4, 2, 0},
        {"4", "2", {.request.tasks = 1, .has_tasks = true}, 1, 1, 0},
        /* SLURM_NTASKS_PER_NODE of the job does not fit. */
        {"6", "2", {.request = {.tasks = 4, .tasks_per_node = 3}, .has_tasks = true}, 4, 2, 0},
        {"6", "2", {.request = {.tasks = 6, .tasks_per_node = 3}}, 6, 2, 3},
        /* As the user asks, although SLURM_NTASKS is 6. */
        {"6",
         "2",
         {.request = {.tasks = 6, .tasks_per_node = 1}, .has_tasks_per_node = true},
         2,
         2,
         1},
        {"6", "2", {.request = {.min_nodes = 1, .max_nodes = 1}, .has_nodes = true}, 6, 1, 0},
    };

    arena = arena_new(0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct krun_settings s = cases[i].asked;

        enter_job(cases[i].tasks, cases[i].nodes);
        s.is_quiet = true;
        ck_assert_int_eq(make(&s, "a"), 0);
        ck_assert_int_eq(s.request.tasks, cases[i].expected_tasks);
        ck_assert_int_eq(s.request.min_nodes, cases[i].expected_nodes);
        ck_assert_int_eq(s.request.tasks_per_node, cases[i].expected_per_node);
    }
    arena_free(arena);
}
END_TEST

START_TEST(files_of_tasks_and_nodes_are_opened_there)
{
    struct krun_settings s = {.output = "out.%t", .input = "in"};
    struct krun_settings one = {.output = "out.%j", .error = "2"};

    arena = arena_new(0);
    enter_job("4", "1");
    ck_assert_int_eq(make(&s, "/bin/ring"), 0);
    ck_assert_str_eq(s.request.streams.output, "out.%t");
    ck_assert_str_eq(s.request.streams.error, "out.%t");
    ck_assert_ptr_null(s.request.streams.input);
    ck_assert_str_eq(s.request.name, "ring");
    ck_assert_int_eq(make(&one, "a"), 0);
    ck_assert_ptr_null(one.request.streams.output);
    ck_assert_str_eq(one.request.streams.error, "2");
    one.error = "4";
    ck_assert_int_eq(make(&one, "a"), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error.text, "--error=4: there is no task 4"));
    arena_free(arena);
}
END_TEST

START_TEST(a_file_of_programs_is_checked_before_the_step_is_asked_for)
{
    char path[] = "/tmp/programs.XXXXXX";
    int fd = mkstemp(path);
    struct krun_settings s = {.has_several_programs = true};

    arena = arena_new(0);
    ck_assert_int_eq(write(fd, "0 a\n7 b\n", 8), 8);
    close(fd);
    enter_job("2", "1");
    ck_assert_int_eq(make(&s, path), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error.text, "line 2: there is no task 7"));
    unlink(path);
    ck_assert_int_eq(make(&s, path), -ENOENT);
    arena_free(arena);
}
END_TEST

START_TEST(a_terminal_has_all_streams)
{
    struct krun_settings s = {.request.has_terminal = true, .output = "out"};

    arena = arena_new(0);
    enter_job("1", "1");
    ck_assert_int_eq(make(&s, "a"), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error.text, "--output incompatible with --pty option"));
    s.output = NULL;
    s.input = "all";
    ck_assert_int_eq(make(&s, "a"), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error.text, "--input incompatible with --pty option"));
    s.input = NULL;
    ck_assert_int_eq(make(&s, "a"), 0);
    ck_assert(s.is_unbuffered);
    arena_free(arena);
}
END_TEST

START_TEST(gpus_of_a_step_are_divided_among_its_nodes)
{
    struct krun_settings s = {.gpus = 4}, odd = {.gpus = 3};

    arena = arena_new(0);
    enter_job("4", "2");
    ck_assert_int_eq(make(&s, "a"), 0);
    ck_assert_int_eq(s.request.gpus_per_node, 2);
    ck_assert_int_eq(make(&odd, "a"), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error.text, "cannot be divided equally"));
    arena_free(arena);
}
END_TEST

SUITE("krun_request", outside_a_job_krun_says_what_to_do, numbers_that_were_not_given_are_the_jobs,
      files_of_tasks_and_nodes_are_opened_there,
      a_file_of_programs_is_checked_before_the_step_is_asked_for, a_terminal_has_all_streams,
      gpus_of_a_step_are_divided_among_its_nodes)
