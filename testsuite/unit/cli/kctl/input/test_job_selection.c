/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/input/job_selection.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/api/job/job_state.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

START_TEST(states_are_names_in_any_case_codes_and_groups)
{
    static const struct {
        const char *text;
        uint32_t states;
    } cases[] = {
        {"Running", JOB_STATE_BIT(JOB_STATE_RUNNING)},
        {"running,FAILED", JOB_STATE_BIT(JOB_STATE_RUNNING) | JOB_STATE_BIT(JOB_STATE_FAILED)},
        {"CD", JOB_STATE_BIT(JOB_STATE_COMPLETED)},
        {"active", JOB_STATES_ACTIVE},
        {"ended", JOB_STATES_ENDED},
        {"all", JOB_STATES_ACTIVE | JOB_STATES_ENDED},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct job_selection s = {.state = cases[i].text};

        ck_assert_int_eq(job_selection_check(&s, NULL), 0);
        ck_assert_uint_eq(s.states, cases[i].states);
    }
}
END_TEST

START_TEST(mistakes_are_refused)
{
    static const struct job_selection wrong[] = {
        {.state = ""},        {.state = ","}, {.state = "Running,"},
        {.state = "Runing"},  {.user = ""},   {.user = "a,b"},
        {.partition = "a=b"}, {.name = ""},   {.account = ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct job_selection s = wrong[i];
        struct error err = {0};

        ck_assert_int_eq(job_selection_check(&s, &err), -EINVAL);
        ck_assert_str_ne(err.text, "");
    }
}
END_TEST

START_TEST(the_server_is_asked_for_as_much_as_a_selector_says)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct job_selection none = {0};
    struct job_selection one = {.user = "u1", .partition = "gpu", .state = "Running"};
    struct job_selection two = {.state = "Running,Held"};

    ck_assert_int_eq(job_selection_check(&one, NULL), 0);
    ck_assert_int_eq(job_selection_check(&two, NULL), 0);

    ck_assert_ptr_null(job_selection_fields(&none, NULL, arena));
    ck_assert_str_eq(job_selection_fields(&one, "status.finished=false", arena),
                     "spec.user=u1,spec.partition=gpu,status.state=Running,"
                     "status.finished=false");
    ck_assert_ptr_null(strstr(job_selection_fields(&two, NULL, arena), "Running"));
    ck_assert_ptr_nonnull(
        strstr(job_selection_fields(&two, NULL, arena), "status.state!=Pending,"));
    ck_assert(job_selection_is_empty(&none));
    ck_assert(!job_selection_is_empty(&two));
}
END_TEST

START_TEST(the_rest_is_asked_of_each_job)
{
    struct job_selection s = {.account = "chem,physics", .name = "sweep*", .state = "Running,Held"};

    ck_assert_int_eq(job_selection_check(&s, NULL), 0);

    ck_assert(job_selection_has(&s, "physics", "sweep-1", "Held"));
    ck_assert(!job_selection_has(&s, "phys", "sweep-1", "Held"));
    ck_assert(!job_selection_has(&s, "chem", "a-sweep", "Held"));
    ck_assert(!job_selection_has(&s, "chem", "sweep", "Failed"));
    ck_assert(!job_selection_has(&s, "chem", "sweep", "OfLater"));
    ck_assert_ptr_null(job_selection_namespace(&s));
}
END_TEST

SUITE("job_selection", states_are_names_in_any_case_codes_and_groups, mistakes_are_refused,
      the_server_is_asked_for_as_much_as_a_selector_says, the_rest_is_asked_of_each_job)
