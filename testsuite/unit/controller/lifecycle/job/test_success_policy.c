/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job/success_policy.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/value/index_set.h"
#include "lib/base/error.h"
#include "testsuite/lib/suite.h"

START_TEST(the_first_rule_that_is_met_is_the_one)
{
    static const struct {
        const char *policy, *done;
        int rule;
    } cases[] = {
        {"", "0-9", -1},
        {"{\"succeededCount\":3}", "0,4", -1},
        {"{\"succeededCount\":3}", "0,4,9", 0},
        {"{\"succeededIndexes\":\"0,2-3\"}", "0-2", -1},
        {"{\"succeededIndexes\":\"0,2-3\"}", "0-3", 0},
        {"{\"succeededIndexes\":\"0-5\",\"succeededCount\":2}", "5,7-9", -1},
        {"{\"succeededIndexes\":\"0-5\",\"succeededCount\":2}", "1,5,7", 0},
        {"{\"succeededCount\":4},{\"succeededIndexes\":\"0\"}", "0,1", 1},
        {"{\"succeededCount\":1}", "", -1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct object *job = NULL;
        struct index_set done = {0};
        struct error err = {0};
        char text[512];

        snprintf(text, sizeof(text),
                 "{\"metadata\":{\"name\":\"j\",\"namespace\":\"default\"},"
                 "\"spec\":{\"completions\":10,\"successPolicy\":{\"rules\":"
                 "[%s]},\"template\":{\"spec\":{\"containers\":[{\"name\":"
                 "\"main\"}]}}}}",
                 cases[i].policy);
        ck_assert_int_eq(object_parse(&job_kind, text, strlen(text), &job, &err), 0);
        ck_assert(index_set_parse(&done, cases[i].done));

        int rule = success_policy_judge(job_of(job), &done);

        ck_assert_msg(rule == cases[i].rule, "case %zu: rule %d", i, rule);
        index_set_fini(&done);
        object_unref(job);
    }
}
END_TEST

SUITE("success_policy", the_first_rule_that_is_met_is_the_one)
