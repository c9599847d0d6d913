/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/input/job_operands.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

#define MOST 3

START_TEST(lists_are_the_same_in_one_operand_and_in_several)
{
    static const struct {
        const char *operands[MOST + 1];
        const char *ids;
        size_t n_names;
    } cases[] = {
        {{"7"}, "7", 0},
        {{"1-3", "2,9"}, "1-3,9", 0},
        {{"job", "7"}, "7", 0},
        {{"job/7", "jobs/9"}, "7,9", 0},
        {{"5_7,6", "5_[1-3]"}, "6,5_[1-3,7]", 0},
        {{"train", "job/big", "4"}, "4", 2},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
        char *operands[MOST];
        struct job_operands o;
        int n = 0;

        for (; cases[i].operands[n] != NULL; n++)
            operands[n] = arena_strdup(arena, cases[i].operands[n]);
        ck_assert_int_eq(job_operands_read(n, operands, arena, &o, NULL), 0);
        id_ranges_format(&o.ids, &text);

        ck_assert_str_eq(text.text, cases[i].ids);
        ck_assert_uint_eq(o.n_names, cases[i].n_names);
    }
}
END_TEST

START_TEST(mistakes_are_refused)
{
    static const struct {
        const char *operand, *words;
    } cases[] = {
        {"pod/7", "is not a job"},
        {"", "empty job id"},
        {"job/", "empty job id"},
        {"9-3", "ends before it begins"},
        {"train", "kctl jobs --name 'train'"},
        {"17.0", "'17.0' is a step; give its job: 17"},
        {"17_4.0", "'17_4.0' is a step; give its job: 17_4"},
        {"17_4.batch",
         "'17_4.batch' is the script of its job, which is no step; give the job: 17_4"},
        {"17.extern", "nodes of its job, which is no step; give the job: 17"},
        {"17.x", "'17.x' is not a job id"},
        {"1-20", "more than 10"},
        {"5_[", "5_["},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        char *operand = arena_strdup(arena, cases[i].operand);
        struct id_ranges ids;
        struct error err = {0};

        ck_assert_int_eq(job_operands_read_ids(1, &operand, 10, arena, &ids, &err), -EINVAL);
        ck_assert_msg(strstr(err.text, cases[i].words) != NULL, "%s: %s", operand, err.text);
    }
}
END_TEST

START_TEST(steps_are_told_from_jobs_and_names)
{
    static const struct {
        const char *text;
        bool is_step;
    } cases[] = {
        {"17.0", true},     {"17_4.12", true},   {"17", false},    {"17_4", false},
        {"17.", false},     {"17.batch", false}, {".0", false},    {"", false},
        {"a.0", false},     {"17.0.1", false},   {"17.0x", false}, {"17.-1", false},
        {"17,18.0", false}, {"job/17.0", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        ck_assert_msg(job_operands_is_step(cases[i].text) == cases[i].is_step, "%s", cases[i].text);
}
END_TEST

SUITE("job_operands", lists_are_the_same_in_one_operand_and_in_several, mistakes_are_refused,
      steps_are_told_from_jobs_and_names)
