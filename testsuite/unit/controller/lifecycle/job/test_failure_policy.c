/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job/failure_policy.h"

#include <check.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "testsuite/lib/suite.h"

static struct arena *arena;

static const struct object *
parse(const struct kind *kind, const char *text)
{
    const struct object *object = NULL;
    struct error err = {0};

    ck_assert_msg(object_parse(kind, text, strlen(text), &object, &err) == 0, "%s: %s", text,
                  err.text);
    return object;
}

static const struct object *
job_with(const char *rules)
{
    return parse(&job_kind, arena_printf(arena,
                                         "{\"metadata\":{\"name\":\"j\",\"namespace\":"
                                         "\"default\"},\"spec\":{\"podFailurePolicy\":"
                                         "{\"rules\":[%s]},\"template\":{\"spec\":"
                                         "{\"containers\":[{\"name\":\"main\"}]}}}}",
                                         rules));
}

static const struct object *
pod_with(const char *status)
{
    return parse(&pod_kind, arena_printf(arena,
                                         "{\"metadata\":{\"name\":\"j-0\",\"namespace\":"
                                         "\"default\"},\"spec\":{\"containers\":"
                                         "[{\"name\":\"main\"}]},\"status\":{%s}}",
                                         status));
}

#define RULE(action, what)    "{\"action\":\"" action "\"," what "}"
#define CODES(operator, list) "\"onExitCodes\":{\"operator\":\"" operator"\",\"values\":[" list "]}"
#define CODES_OF(name)                                                     \
    "\"onExitCodes\":{\"containerName\":\"" name "\",\"operator\":\"In\"," \
    "\"values\":[3]}"
#define CONDITION(type, status)                               \
    "\"onPodConditions\":[{\"type\":\"" type "\",\"status\":" \
    "\"" status "\"}]"
#define ENDED(members)                                       \
    "\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":" \
    "\"main\",\"state\":{\"terminated\":{" members "}}}]"
#define EXITED(code) ENDED("\"exitCode\":" code)
#define DISRUPTED(status)                                                  \
    "\"phase\":\"Failed\",\"conditions\":[{\"type\":\"DisruptionTarget\"," \
    "\"status\":\"" status "\"}]"

START_TEST(the_first_rule_that_matches_says_what_a_failure_means)
{
    static const struct {
        const char *rules, *status;
        enum failure_action action;
        int rule;
    } cases[] = {
        {"", EXITED("3"), FAILURE_COUNTS, -1},
        {RULE("FailJob", CODES("In", "3,5")), EXITED("3"), FAILURE_ENDS_JOB, 0},
        {RULE("FailJob", CODES("In", "3,5")), EXITED("4"), FAILURE_COUNTS, -1},
        {RULE("FailJob", CODES("NotIn", "3")), EXITED("4"), FAILURE_ENDS_JOB, 0},
        {RULE("FailJob", CODES("NotIn", "3")), EXITED("3"), FAILURE_COUNTS, -1},
        /* A pod that did not fail by itself has no exit code. */
        {RULE("FailJob", CODES("NotIn", "3")), EXITED("0"), FAILURE_COUNTS, -1},
        {RULE("FailJob", CODES("NotIn", "3")), "\"phase\":\"Failed\"", FAILURE_COUNTS, -1},
        {RULE("FailJob", CODES("In", "137")), ENDED("\"exitCode\":0,\"signal\":9"),
         FAILURE_ENDS_JOB, 0},
        {RULE("FailJob", CODES_OF("main")), EXITED("3"), FAILURE_ENDS_JOB, 0},
        {RULE("FailJob", CODES_OF("other")), EXITED("3"), FAILURE_COUNTS, -1},
        {RULE("Count", CODES("In", "3")) "," RULE("FailJob", CODES("In", "3")), EXITED("3"),
         FAILURE_COUNTS, 0},
        {RULE("FailJob", CODES("In", "9")) "," RULE("FailIndex", CODES("In", "3")), EXITED("3"),
         FAILURE_ENDS_INDEX, 1},
        {RULE("Ignore", CONDITION("DisruptionTarget", "True")), DISRUPTED("True"),
         FAILURE_IS_IGNORED, 0},
        {RULE("Ignore", CONDITION("DisruptionTarget", "True")), DISRUPTED("False"), FAILURE_COUNTS,
         -1},
        {RULE("Ignore", CONDITION("ConfigIssue", "True")), DISRUPTED("True"), FAILURE_COUNTS, -1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        arena = arena_new(0);
        const struct object *job = job_with(cases[i].rules);
        const struct object *pod = pod_with(cases[i].status);

        struct failure_ruling ruling = failure_policy_judge(job_of(job), pod_of(pod));

        ck_assert_msg(ruling.action == cases[i].action && ruling.rule == cases[i].rule,
                      "case %zu: action %d of rule %d", i, ruling.action, ruling.rule);
        object_unref(job);
        object_unref(pod);
        arena_free(arena);
    }
}
END_TEST

START_TEST(a_failure_is_told_in_the_words_of_upstream)
{
    arena = arena_new(0);
    const struct object *job = job_with(RULE("FailJob", CODES("In", "3")) "," RULE(
        "FailJob", CONDITION("DisruptionTarget", "True")));
    const struct object *exited = pod_with(EXITED("3"));
    const struct object *disrupted = pod_with(DISRUPTED("True"));

    ck_assert_str_eq(failure_policy_explain(job_of(job), pod_of(exited), 0, arena),
                     "Container main for pod default/j-0 failed with exit code 3 matching "
                     "FailJob rule at index 0");
    ck_assert_str_eq(failure_policy_explain(job_of(job), pod_of(disrupted), 1, arena),
                     "Pod default/j-0 has condition DisruptionTarget matching FailJob rule "
                     "at index 1");
    object_unref(job);
    object_unref(exited);
    object_unref(disrupted);
    arena_free(arena);
}
END_TEST

SUITE("failure_policy", the_first_rule_that_matches_says_what_a_failure_means,
      a_failure_is_told_in_the_words_of_upstream)
