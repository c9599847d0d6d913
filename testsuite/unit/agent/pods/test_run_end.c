/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/run_end.h"

#include <check.h>
#include <string.h>

#include "agent/shepherd/files/exit_record.h"
#include "lib/base/alloc.h"
#include "testsuite/lib/suite.h"

/* "REASON" or "REASON, disruption" of an end with that record (NULL: none). */
static const char *
explain(const struct exit_record *record, const char *reason, bool was_late)
{
    static char text[64];
    struct run_end e = {0};

    if (record != NULL) {
        e.record = xnew(struct exit_record);
        *e.record = *record;
    }
    if (reason != NULL)
        run_end_set(&e, reason, "words");
    run_end_explain(&e, was_late);
    snprintf(text, sizeof(text), "%s%s", e.reason != NULL ? e.reason : "-",
             e.is_disruption ? ", disruption" : "");
    ck_assert_int_eq(e.reason != NULL, e.message != NULL);
    run_end_fini(&e);
    return text;
}

START_TEST(an_end_without_a_witness_is_not_the_jobs_fault)
{
    ck_assert_str_eq(explain(NULL, NULL, false), "ShepherdLost, disruption");
    ck_assert_str_eq(explain(NULL, NULL, true), "ShepherdLost, disruption");
}
END_TEST

START_TEST(the_reason_that_was_there_first_stands)
{
    const struct exit_record all = {.was_fenced = true, .was_shut_down = true, .was_late = true};

    ck_assert_str_eq(explain(NULL, "NodeRebooted", true), "NodeRebooted");
    ck_assert_str_eq(explain(&all, "StartError", true), "StartError");
}
END_TEST

START_TEST(a_limit_is_the_reason_only_if_nothing_else_ended_it)
{
    ck_assert_str_eq(explain(&(struct exit_record){.was_late = true}, NULL, false),
                     "DeadlineExceeded");
    ck_assert_str_eq(explain(&(struct exit_record){0}, NULL, true), "DeadlineExceeded");
    ck_assert_str_eq(explain(&(struct exit_record){.was_shut_down = true}, NULL, true),
                     "NodeShutdown, disruption");
    ck_assert_str_eq(
        explain(&(struct exit_record){.was_fenced = true, .was_shut_down = true}, NULL, true),
        "NodeLost, disruption");
}
END_TEST

START_TEST(an_end_that_its_record_explains_has_no_other_reason)
{
    ck_assert_str_eq(explain(&(struct exit_record){.exit_code = 3}, NULL, false), "-");
}
END_TEST

SUITE("run_end", an_end_without_a_witness_is_not_the_jobs_fault,
      the_reason_that_was_there_first_stands, a_limit_is_the_reason_only_if_nothing_else_ended_it,
      an_end_that_its_record_explains_has_no_other_reason)
