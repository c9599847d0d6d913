/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kalloc/srun_words.h"

#include <errno.h>
#include <string.h>

#include "cli/ksub/sbatch_options.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/program/option.h"
#include "testsuite/lib/suite.h"

static struct arena *arena;
static struct error error;

static bool
is_jobs(const char *name)
{
    const struct option_table *table = sbatch_options();

    if (strcmp(name, "immediate") == 0)
        return true; /* kalloc has it */
    for (size_t i = 0; i < table->n_options; i++)
        if (strcmp(table->options[i].name, name) == 0)
            return true;
    return false;
}

static const char *
join(char **words, int n)
{
    struct strbuf text = STRBUF_INIT;
    const char *copy;

    for (int i = 1; i < n; i++)
        strbuf_printf(&text, "%s%s", i > 1 ? " " : "", words[i]);
    ck_assert_ptr_null(words[n]);
    copy = arena_strdup(arena, text.text != NULL ? text.text : "");
    strbuf_fini(&text);
    return copy;
}

static int
split(const char *line, struct srun_words *words)
{
    char *text = arena_strdup(arena, line), *word;
    char *argv[40];
    int argc = 0;

    argv[argc++] = arena_strdup(arena, "srun");
    while ((word = strsep(&text, " ")) != NULL)
        argv[argc++] = word;
    argv[argc] = NULL;
    error = (struct error){0};
    return srun_words_split(arena, argc, argv, is_jobs, words, &error);
}

START_TEST(options_go_to_the_job_the_step_or_both)
{
    static const struct {
        const char *line, *job, *step;
    } cases[] = {
        {"hostname", "--job-name=hostname", "-- hostname"},
        {"-n 4 hostname -n 3", "--ntasks=4 --job-name=hostname", "--ntasks=4 -- hostname -n 3"},
        {"-p gpu -A phys --mem=2G -t 10 --pty bash -l",
         "--partition=gpu --account=phys --mem=2G --time=10 --job-name=bash", "--pty -- bash -l"},
        {"-lN2 -J x -c 3 --mem-per-cpu 1G -x n1 ./a",
         "--nodes=2 --job-name=x --cpus-per-task=3 --mem-per-cpu=1G "
         "--exclude=n1",
         "--label --nodes=2 --job-name=x --cpus-per-task=3 -- ./a"},
        {"-o out.%t -W 5 -K --export=NONE /bin/a", "--job-name=a",
         "--output=out.%t --wait=5 --kill-on-bad-exit --export=NONE -- /bin/a"},
        {"-I10 -G 2 -w n[1-2] -Q a",
         "--immediate=10 --gpus=2 --nodelist=n[1-2] --quiet --job-name=a", "--quiet -- a"},
        {"--x11 a", "--x11 --job-name=a", "-- a"},
    };

    arena = arena_new(0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct srun_words words;

        ck_assert_msg(split(cases[i].line, &words) == 0, "%s: %s", cases[i].line, error.text);
        ck_assert_str_eq(join(words.job, words.n_job), cases[i].job);
        ck_assert_str_eq(join(words.step, words.n_step), cases[i].step);
    }
    arena_free(arena);
}
END_TEST

START_TEST(a_command_line_that_is_wrong_makes_no_job)
{
    struct srun_words words;

    arena = arena_new(0);
    ck_assert_int_eq(split("-n 2", &words), -EINVAL);
    ck_assert_str_eq(error.text, "No command given to execute.");
    ck_assert_int_eq(split("--nosuch a", &words), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error.text, "--nosuch"));
    ck_assert_int_eq(split("-n", &words), -EINVAL);
    arena_free(arena);
}
END_TEST

SUITE("srun_words", options_go_to_the_job_the_step_or_both,
      a_command_line_that_is_wrong_makes_no_job)
