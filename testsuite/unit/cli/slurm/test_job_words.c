/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm/job_words.h"

#include <check.h>

#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

START_TEST(jobs_are_told_from_other_words)
{
    static const struct {
        const char *word;
        bool is_job;
    } cases[] = {
        {"17", true},
        {"17_4", true},
        {"17_[1-3,5]", true},
        {"17_[1-100:2%5]", true},
        {"17.0", false},
        {"17_4.12", false},
        {"17.batch", false},
        {"17.", false},
        {"", false},
        {"0", false},
        {"-1", false},
        {"abc", false},
        {"17_", false},
        {"17_x", false},
        {"17_[]", false},
        {"17_[1", false},
        {"17_[1]x", false},
        {"17 18", false},
        {"9999999999999999999", false},
        {".0", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        ck_assert_msg(job_words_is_job(cases[i].word) == cases[i].is_job, "%s", cases[i].word);
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

SUITE("job_words", jobs_are_told_from_other_words, a_list_is_split_at_commas_outside_of_brackets)
