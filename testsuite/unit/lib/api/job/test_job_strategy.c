/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/job_strategy.h"

#include "lib/api/job/job_rules.h"
#include "testsuite/lib/suite.h"
#include "testsuite/lib/tree.h"

static struct json *
job(struct arena *arena, const char *meta, const char *spec)
{
    return object_tree_of(arena, &job_kind,
                          arena_printf(arena,
                                       "{'metadata':{'name':'j','namespace':'a','uid':'u',"
                                       "'resourceVersion':'1'%s},'spec':{'template':{'metadata':"
                                       "{'labels':{'app':'x'}},'spec':{'restartPolicy':'Never',"
                                       "'containers':[{'name':'c','image':'host'}]}}%s}}",
                                       meta, spec));
}

START_TEST(a_job_gets_its_selector_and_its_pods_the_labels)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *v = job(arena, "", "");

    job_prepare(arena, v, NULL);

    ck_assert_str_eq(printed(arena, json_get_path(v, "spec.selector")),
                     "{'matchLabels':{'batch.kubernetes.io/controller-uid':"
                     "'u'}}");
    ck_assert_str_eq(printed(arena, json_get_path(v, "spec.template.metadata.labels")),
                     "{'app':'x','batch.kubernetes.io/controller-uid':'u',"
                     "'batch.kubernetes.io/job-name':'j','controller-uid':'u',"
                     "'job-name':'j'}");
    ck_assert_ptr_eq(json_get_path(v, "metadata.labels"),
                     json_get_path(v, "spec.template.metadata.labels"));
    ck_assert_str_eq(complaints(arena, job_validate, v, NULL), "");
}
END_TEST

/* Equal labels in another notation are decoded on their way to the comparison.
 */
START_TEST(a_selector_of_labels_matches_as_its_expressions_do)
{
    static const struct {
        const char *selector, *labels;
        bool matches;
    } cases[] = {
        {"{'matchLabels':{'a':'1'}}", "{'a':'1','b':'2'}", true},
        {"{'matchLabels':{'a':'1','b':'2'}}", "{'b':'2','a':'1'}", true},
        {"{'matchLabels':{'a':'1','b':'2'}}", "{'a':'1'}", false},
        {"{'matchLabels':{'a':'2'}}", "{'a':'1'}", false},
        {"{'matchLabels':{'a':''}}", "{'a':''}", true},
        {"{'matchLabels':{'a':''}}", "{}", false},
        {"{'matchLabels':{}}", "{}", true},
    };
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *none = tree(arena, "{'key':'x','operator':'DoesNotExist'}");

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct json *selector = tree(arena, cases[i].selector);
        const struct json *labels = tree(arena, cases[i].labels);
        struct json *expressions = json_array(arena);

        ck_assert(job_selector_matches(arena, selector, labels) == cases[i].matches);
        json_append(arena, expressions, none);
        json_set(arena, selector, "matchExpressions", expressions);
        ck_assert(job_selector_matches(arena, selector, labels) == cases[i].matches);
    }
}
END_TEST

START_TEST(a_job_with_a_generated_name_keeps_its_own_labels)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *v = job(arena, ",'generateName':'job-'", "");

    job_prepare(arena, v, NULL);

    ck_assert_str_eq(printed(arena, json_get_path(v, "metadata.labels")), "{'app':'x'}");
}
END_TEST

START_TEST(the_program_of_a_job_cannot_be_changed)
{
    static const struct {
        const char *before, *after, *complaint;
    } cases[] = {
        {",'script':{'digest':'a'}", ",'script':{'digest':'b'}", "spec.script FieldValueInvalid"},
        {",'script':{'digest':'a'}", "", "spec.script FieldValueInvalid"},
        {",'suspend':true", ",'suspend':false", ""},
        {",'completionMode':'Indexed','completions':3,'parallelism':3",
         ",'completionMode':'Indexed','completions':5,'parallelism':5", ""},
        {",'completionMode':'Indexed','completions':3,'parallelism':3",
         ",'completionMode':'Indexed','completions':5,'parallelism':3",
         "spec.completions FieldValueInvalid"},
        {",'completions':3", ",'completions':4", "spec.completions FieldValueInvalid"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct json *old = job(arena, "", cases[i].before);
        struct json *v = job(arena, "", cases[i].after);

        job_prepare(arena, old, NULL);
        job_prepare(arena, v, NULL);
        job_prepare(arena, v, old);
        ck_assert_str_eq(complaints(arena, job_validate, v, old), cases[i].complaint);
    }
}
END_TEST

START_TEST(a_held_job_may_still_be_sent_elsewhere)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *old = job(arena, "", ",'suspend':true");
    struct json *v = job(arena, "", ",'suspend':false");

    job_prepare(arena, old, NULL);
    job_prepare(arena, v, NULL);
    json_set(arena, json_get_path(v, "spec.template.spec"), "nodeSelector",
             tree(arena, "{'rack':'r1'}"));

    ck_assert_str_eq(complaints(arena, job_validate, v, old), "");
    json_set(arena, old, "status", tree(arena, "{'startTime':'2024-01-01T00:00:00Z'}"));
    ck_assert_str_eq(complaints(arena, job_validate, v, old), "spec.template FieldValueInvalid");
}
END_TEST

START_TEST(a_held_job_may_become_more_important_also_when_it_has_run)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *old = job(arena, "", ",'suspend':true");
    struct json *v = job(arena, "", ",'suspend':true");
    struct json *spec;

    job_prepare(arena, old, NULL);
    job_prepare(arena, v, NULL);
    json_set(arena, old, "status", tree(arena, "{'startTime':'2024-01-01T00:00:00Z'}"));
    spec = json_get_path(v, "spec.template.spec");
    json_set_int(arena, spec, "priority", 100);
    json_set_string(arena, spec, "priorityClassName", "urgent");

    ck_assert_str_eq(complaints(arena, job_validate, v, old), "");
    json_set_bool(arena, json_get(old, "spec"), "suspend", false);
    ck_assert_str_eq(complaints(arena, job_validate, v, old), "");
    json_set_bool(arena, json_get(v, "spec"), "suspend", false);
    ck_assert_str_eq(complaints(arena, job_validate, v, old), "spec.template FieldValueInvalid");
}
END_TEST

START_TEST(the_number_of_a_job_is_for_good)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *old = job(arena, "", "");
    struct json *v = job(arena, "", "");

    json_set(arena, old, "status", tree(arena, "{'id':1042}"));
    json_set(arena, v, "status", tree(arena, "{'id':1043,'active':-1}"));

    ck_assert_str_eq(complaints(arena, job_validate_status, v, old),
                     "status.active FieldValueInvalid, "
                     "status.id FieldValueInvalid");
}
END_TEST

/* The removed pods have messages of processes, and paths. */
START_TEST(others_do_not_see_what_its_pods_have_said)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *v = job(arena, "", "");
    struct json *status = json_make_object(arena, v, "status");

    json_set(arena, status, "removedPods", json_array(arena));
    json_set_string(arena, status, "state", "Running");

    job_redact(arena, v);

    ck_assert_str_eq(printed(arena, status), "{'state':'Running'}");
}
END_TEST

SUITE("job_strategy", a_job_gets_its_selector_and_its_pods_the_labels,
      a_selector_of_labels_matches_as_its_expressions_do,
      a_job_with_a_generated_name_keeps_its_own_labels, the_program_of_a_job_cannot_be_changed,
      a_held_job_may_still_be_sent_elsewhere,
      a_held_job_may_become_more_important_also_when_it_has_run, the_number_of_a_job_is_for_good,
      others_do_not_see_what_its_pods_have_said)
