/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm/sbatch_variables.h"

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

static bool
has_word(char **words, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

START_TEST(variables_become_options)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    size_t count = 0;
    char **words;

    clearenv();
    setenv("SBATCH_TIMELIMIT", "5", 1);
    setenv("SBATCH_JOB_NAME", "a b", 1);
    setenv("SBATCH_ARRAY_INX", "1-3", 1);
    setenv("SBATCH_MEM_PER_NODE", "4G", 1);
    setenv("SBATCH_REQUEUE", "", 1);
    setenv("SBATCH_UNKNOWN", "x", 1);
    setenv("SLURM_JOB_NAME", "of an outer job", 1);
    words = sbatch_variables_read(arena, &count);
    ck_assert_uint_eq(count, 5);
    ck_assert(has_word(words, count, "--time=5"));
    ck_assert(has_word(words, count, "--job-name=a b"));
    ck_assert(has_word(words, count, "--array=1-3"));
    ck_assert(has_word(words, count, "--mem=4G"));
    ck_assert(has_word(words, count, "--requeue"));
}
END_TEST

START_TEST(a_flag_is_given_as_in_slurm)
{
    static const struct {
        const char *value;
        size_t count;
    } cases[] = {{"", 1}, {"yes", 1}, {"1", 1}, {"2", 1}, {"0", 0}, {"no", 0}, {"true", 0}};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        size_t count = 0;

        clearenv();
        setenv("SBATCH_NO_REQUEUE", cases[i].value, 1);
        setenv("SBATCH_ARRAY_INX", "", 1);
        sbatch_variables_read(arena, &count);
        ck_assert_msg(count == cases[i].count, "'%s'", cases[i].value);
    }
}
END_TEST

START_TEST(switches_have_their_time_in_another_variable)
{
    static const struct {
        const char *switches, *wait, *word;
    } cases[] = {
        {"1", NULL, "--switches=1"},
        {"1", "10", "--switches=1@10"},
        {"1@5", "10", "--switches=1@5"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        size_t count = 0;

        clearenv();
        setenv("SBATCH_REQ_SWITCH", cases[i].switches, 1);
        if (cases[i].wait != NULL)
            setenv("SBATCH_WAIT4SWITCH", cases[i].wait, 1);
        ck_assert(has_word(sbatch_variables_read(arena, &count), 1, cases[i].word));
    }
}
END_TEST

START_TEST(exclusive_has_a_value_only_if_it_says_for_whom)
{
    static const struct {
        const char *value, *word;
    } cases[] = {
        {"", "--exclusive"},
        {"exclusive", "--exclusive"},
        {"user", "--exclusive=user"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        size_t count = 0;
        char **words;

        clearenv();
        setenv("SBATCH_EXCLUSIVE", cases[i].value, 1);
        words = sbatch_variables_read(arena, &count);
        ck_assert_uint_eq(count, 1);
        ck_assert_str_eq(words[0], cases[i].word);
    }
}
END_TEST

SUITE("sbatch_variables", variables_become_options, a_flag_is_given_as_in_slurm,
      switches_have_their_time_in_another_variable, exclusive_has_a_value_only_if_it_says_for_whom)
