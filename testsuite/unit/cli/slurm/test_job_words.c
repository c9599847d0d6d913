/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm/job_words.h"

#include <check.h>

#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

START_TEST(jobs_and_steps_are_told_from_other_words)
{
    static const struct {
        const char *word;
        bool is_job, is_step;
    } cases[] = {
        {"17", true, false},
        {"17_4", true, false},
        {"17_[1-3,5]", true, false},
        {"17_[1-100:2%5]", true, false},
        {"17.0", false, true},
        {"17_4.12", false, true},
        {"17.batch", false, false},
        {"17.", false, false},
        {"", false, false},
        {"0", false, false},
        {"-1", false, false},
        {"abc", false, false},
        {"17_", false, false},
        {"17_x", false, false},
        {"17_[]", false, false},
        {"17_[1", false, false},
        {"17_[1]x", false, false},
        {"17 18", false, false},
        {"9999999999999999999", false, false},
        {".0", false, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        ck_assert_msg(job_words_is_job(cases[i].word) == cases[i].is_job, "%s", cases[i].word);
        ck_assert_msg(job_words_is_step(cases[i].word) == cases[i].is_step, "%s", cases[i].word);
    }
}
END_TEST

START_TEST(a_list_is_split_at_commas_outside_of_brackets)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *list = ",17,18_[1,3-5],,x,";

    ck_assert_str_eq(job_words_next(&list, arena), "17");
    ck_assert_str_eq(job_words_next(&list, arena), "18_[1,3-5]");
    ck_assert_str_eq(job_words_next(&list, arena), "x");
    ck_assert_ptr_null(job_words_next(&list, arena));
    list = "17_[1,2";
    ck_assert_str_eq(job_words_next(&list, arena), "17_[1,2");
    ck_assert_ptr_null(job_words_next(&list, arena));
}
END_TEST

SUITE("job_words", jobs_and_steps_are_told_from_other_words,
      a_list_is_split_at_commas_outside_of_brackets)
