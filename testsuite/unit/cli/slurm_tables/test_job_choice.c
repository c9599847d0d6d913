/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_tables/job_choice.h"

#include <check.h>

#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

START_TEST(jobs_are_named_in_every_form)
{
    static const struct {
        const char *list;
        int64_t id, task;
        bool is_chosen;
    } cases[] = {
        {"17", 17, -1, true},           {"17", 17, 4, true},
        {"17", 18, -1, false},          {"17,18", 18, -1, true},
        {"17 18", 18, -1, true},        {"17_4", 17, 4, true},
        {"17_4", 17, 5, false},         {"17_4", 17, -1, false},
        {"17_[1-3,7],18", 17, 7, true}, {"17_[1-3,7],18", 17, 4, false},
        {"17_[1-3,7],18", 18, 1, true}, {"17_[1-9:2%2]", 17, 3, true},
        {"17_*", 17, 3, true},          {"17.batch", 17, -1, true},
        {"17_4.extern", 17, 4, true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct slurm_job_choices jobs = {0};

        ck_assert_ptr_null(job_choices_add(&jobs, arena, cases[i].list));
        ck_assert_msg(job_choices_have(&jobs, cases[i].id, cases[i].task) == cases[i].is_chosen,
                      "%s", cases[i].list);
    }
}
END_TEST

START_TEST(an_operand_that_is_no_job_is_named)
{
    static const struct {
        const char *list, *bad;
    } cases[] = {
        {"abc", "abc"}, {"1,abc", "abc"}, {"17_", "17_"}, {"17_x", "17_x"},
        {"0", "0"},     {"17.", "17."},   {"-1", "-1"},   {"17_[1-", "17_[1-"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct slurm_job_choices jobs = {0};

        ck_assert_str_eq(job_choices_add(&jobs, arena, cases[i].list), cases[i].bad);
    }
}
END_TEST

START_TEST(a_step_is_part_of_the_choice)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct slurm_job_choices jobs = {0};

    ck_assert_ptr_null(job_choices_add(&jobs, arena, "17.batch"));
    ck_assert_str_eq(jobs.items[0].step, "batch");
}
END_TEST

START_TEST(a_list_of_names_has_whole_names)
{
    ck_assert(name_list_has(NULL, "a"));
    ck_assert(name_list_has("a,b", "b"));
    ck_assert(!name_list_has("ab,c", "b"));
    ck_assert(!name_list_has("", "b"));
    ck_assert(!name_list_has("a,b", "B"));
    ck_assert(name_list_has_any_case("a,b", "B"));
    ck_assert(!name_list_has_any_case("a,bc", "B"));
    ck_assert(name_list_has_any(NULL, "a"));
    ck_assert(name_list_has_any("a,b", "c,b"));
    ck_assert(!name_list_has_any("ab,b", "c,a"));
    ck_assert(!name_list_has_any("a", ""));
}
END_TEST

SUITE("job_choice", jobs_are_named_in_every_form, an_operand_that_is_no_job_is_named,
      a_step_is_part_of_the_choice, a_list_of_names_has_whole_names)
