/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "lib/api/job/job_nodes.h"

#include <check.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

#define TERMS(text)                     \
    "{\"affinity\":{\"nodeAffinity\":{" \
    "\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[" text "]}}}}"
#define NAME(op, name) \
    "{\"key\":\"metadata.name\",\"operator\":\"" op "\",\"values\":[\"" name "\"]}"
#define FEATURE(name) "{\"key\":\"feature.kiln.hpc/" name "\",\"operator\":\"Exists\"}"
#define FIELDS(all)   "\"matchFields\":[" all "]"
#define LABELS(all)   "\"matchExpressions\":[" all "]"

START_TEST(names_and_features_are_read_back)
{
    static const struct {
        const char *spec, *names, *excluded, *features;
    } cases[] = {
        {"{}", "", "", ""},
        {TERMS("{" FIELDS(NAME("In", "n1")) "}"), "n1", "", ""},
        {TERMS("{" LABELS(FEATURE("a") "," FEATURE("b")) "," FIELDS(
             NAME("NotIn", "n1") "," NAME("NotIn", "n2")) "}"),
         "", "n1,n2", "a&b"},
        {TERMS("{" LABELS(FEATURE("a")) "," FIELDS(NAME("NotIn", "n1")) "},{" LABELS(
             "{\"key\":\"zone\",\"operator\":\"In\",\"values\":[\"east\"]}") "," FIELDS(NAME("NotIn",
                                                                                             "n1")) "}"),
         "", "n1", "a|zone=east"},
        {TERMS("{" LABELS("{\"key\":\"zone\",\"operator\":\"Gt\",\"values\":[\"3\"]}") "}"), "", "",
         ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct json *spec = json_parse(arena, cases[i].spec, strlen(cases[i].spec), NULL, NULL);

        ck_assert_str_eq(job_nodes_names(arena, spec, false), cases[i].names);
        ck_assert_str_eq(job_nodes_names(arena, spec, true), cases[i].excluded);
        ck_assert_str_eq(job_nodes_features(arena, spec), cases[i].features);
    }
}
END_TEST

START_TEST(each_sort_of_requirement_is_replaced_and_the_others_stay)
{
    static const struct {
        const char *spec;
        char what; /* of ksub's options: w, x, C */
        const char *value, *result;
    } cases[] = {
        {"{}", 'w', "n1", TERMS("{" FIELDS(NAME("In", "n1")) "}")},
        {"{}", 'w', "", "{}"},
        {"{}", 'x', "n1,n2", TERMS("{" FIELDS(NAME("NotIn", "n1") "," NAME("NotIn", "n2")) "}")},
        {TERMS("{" FIELDS(NAME("In", "n1")) "}"), 'w', "n2",
         TERMS("{" FIELDS(NAME("In", "n2")) "}")},
        {TERMS("{" FIELDS(NAME("In", "n1")) "}"), 'w', "", "{}"},
        {TERMS("{" LABELS(FEATURE("a")) "},{" LABELS(FEATURE("b")) "}"), 'x', "n1",
         TERMS("{" LABELS(FEATURE("a")) "," FIELDS(NAME("NotIn", "n1")) "},{" LABELS(
             FEATURE("b")) "," FIELDS(NAME("NotIn", "n1")) "}")},
        {TERMS("{" FIELDS(NAME("In", "n1")) "}"), 'C', "a&b",
         TERMS("{" LABELS(FEATURE("a") "," FEATURE("b")) "," FIELDS(NAME("In", "n1")) "}")},
        {TERMS("{" LABELS(FEATURE("a") "," FEATURE("b")) "}"), 'C', "c|d",
         TERMS("{" LABELS(FEATURE("c")) "},{" LABELS(FEATURE("d")) "}")},
        {TERMS("{" LABELS(FEATURE("a")) "}"), 'C', "", "{}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
        struct json *spec = json_parse(arena, cases[i].spec, strlen(cases[i].spec), NULL, NULL);
        struct json *result =
            json_parse(arena, cases[i].result, strlen(cases[i].result), NULL, NULL);

        if (cases[i].what == 'C')
            ck_assert_int_eq(job_nodes_set_features(arena, spec, cases[i].value, NULL), 0);
        else
            ck_assert_int_eq(
                job_nodes_set_names(arena, spec, cases[i].what == 'x', cases[i].value, NULL), 0);
        json_print(spec, &text);

        ck_assert_msg(json_equals(spec, result), "case %zu: %s", i, text.text);
    }
}
END_TEST

START_TEST(a_constraint_that_cannot_be_expressed_is_refused)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    static const char other[] =
        TERMS("{" FIELDS(NAME("In", "n1")) "},{" FIELDS(NAME("In", "n2")) "}");
    struct json *spec = json_object(arena);

    ck_assert_int_lt(job_nodes_set_names(arena, spec, false, "n1,n2", NULL), 0);
    ck_assert_int_lt(job_nodes_set_features(arena, spec, "(a|b", NULL), 0);
    ck_assert_int_lt(job_nodes_set_features(arena, spec, "a)", NULL), 0);
    ck_assert_int_lt(job_nodes_set_features(arena, spec, "a(b)", NULL), 0);
    ck_assert_int_lt(job_nodes_set_features(arena, spec, "()", NULL), 0);
    ck_assert_int_lt(
        job_nodes_set_features(arena, spec, "((((((((((((((((((a))))))))))))))))))", NULL), 0);
    ck_assert_int_eq(job_nodes_set_features(arena, spec,
                                            "(a|b)&(c|d)&(e|f)&(g|h)&(i|j)&(k|l)&(m|n)&(o|p)&(q|r)",
                                            NULL),
                     -E2BIG);
    ck_assert_int_lt(job_nodes_set_features(arena, spec, "a b", NULL), 0);
    ck_assert_int_lt(job_nodes_set_features(
                         arena, json_parse(arena, other, strlen(other), NULL, NULL), "a", NULL),
                     0);
    ck_assert_uint_eq(json_count(spec), 0);
}
END_TEST

/* Each alternative has all names. */
START_TEST(names_times_alternatives_are_bounded)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf names = STRBUF_INIT, features = STRBUF_INIT;
    struct json *spec = json_object(arena);

    for (unsigned i = 0; i < 2000; i++)
        strbuf_printf(&names, "%sn%u", i > 0 ? "," : "", i);
    for (unsigned i = 0; i < 20; i++)
        strbuf_printf(&features, "%sf%u", i > 0 ? "|" : "", i);

    ck_assert_int_eq(job_nodes_set_names(arena, spec, true, names.text, NULL), 0);
    ck_assert_int_eq(job_nodes_set_features(arena, spec, "a|b", NULL), 0);
    ck_assert_int_eq(job_nodes_set_features(arena, spec, features.text, NULL), -E2BIG);
    ck_assert_int_eq(job_nodes_set_names(arena, spec, true, "n1", NULL), 0);
    ck_assert_int_eq(job_nodes_set_features(arena, spec, features.text, NULL), 0);
    ck_assert_int_eq(job_nodes_set_names(arena, spec, true, names.text, NULL), -E2BIG);
}
END_TEST

SUITE("job_nodes", names_and_features_are_read_back,
      each_sort_of_requirement_is_replaced_and_the_others_stay,
      a_constraint_that_cannot_be_expressed_is_refused, names_times_alternatives_are_bounded)
