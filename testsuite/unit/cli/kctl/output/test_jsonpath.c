/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/jsonpath.h"

#include <check.h>
#include <string.h>

#include "cli/kctl/output/jsonpath_template.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

static const char tree[] = "{\"kind\":\"List\",\"items\":["
                           "{\"name\":\"a\",\"n\":1,\"labels\":{\"x.y/z\":\"one\"},\"ok\":true},"
                           "{\"name\":\"b\",\"n\":20,\"labels\":{},\"conditions\":"
                           "[{\"type\":\"Ready\",\"status\":\"True\"},"
                           "{\"type\":\"Full\",\"status\":\"False\"}]},"
                           "{\"name\":\"c\",\"n\":3}]}";

struct example {
    const char *text;
    const char *wanted;
};

START_TEST(paths_find_what_kubectl_finds)
{
    static const struct example cases[] = {
        {"{.kind}", "List"},
        {"{$.kind}", "List"},
        {"{@.kind}", "List"},
        {"{['kind']}", "List"},
        {"{.items[0].name}", "a"},
        {"{.items[-1].name}", "c"},
        {"{.items[9].name}", ""},
        {"{.items[*].name}", "a b c"},
        {"{.items[0,2].name}", "a c"},
        {"{.items[1:].name}", "b c"},
        {"{.items[:2].name}", "a b"},
        {"{.items[0:3:2].name}", "a c"},
        {"{.items[-2:].name}", "b c"},
        {"{..name}", "a b c"},
        {"{.items[0].labels.x\\.y/z}", "one"},
        {"{.items[0].labels['x.y/z']}", "one"},
        {"{.items[0].labels}", "{\"x.y/z\":\"one\"}"},
        {"{.items[?(@.n>2)].name}", "b c"},
        {"{.items[?(@.n==20)].name}", "b"},
        {"{.items[?(@.name!=\"b\")].name}", "a c"},
        {"{.items[?(@.ok)].name}", "a"},
        {"{.items[?(@.ok==true)].name}", "a"},
        {"{.items[*].conditions[?(@.type=='Ready')].status}", "True"},
        {"{.items[0]['name','n']}", "a 1"},
        {"{.nothing}", ""},
        {"{.items[0].name} has {.items[0].n}", "a has 1"},
        {"{range .items[*]}{.name}={.n}{\"\\n\"}{end}!", "a=1\nb=20\nc=3\n!"},
        {"{range .items[*]}{.name}{range .conditions[*]}[{.type}]{end};{end}",
         "a;b[Ready][Full];c;"},
        {"{range .items[5:]}{.name}{end}", ""},
        {"{range .items[*]}{$.kind}{end}", "ListListList"},
        {"{.items[0].name}{'\\t'}{.items[0].n}", "a\t1"},
    };
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *root = json_parse(arena, tree, strlen(tree), NULL, NULL);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
        struct error err = {0};

        ck_assert_msg(jsonpath_template_print(cases[i].text, root, &out, &err) == 0, "%s: %s",
                      cases[i].text, err.text);
        ck_assert_msg(strcmp(out.text, cases[i].wanted) == 0, "%s: %s", cases[i].text, out.text);
    }
}
END_TEST

START_TEST(a_wrong_template_is_refused_with_the_place)
{
    static const char *const cases[] = {
        "",
        ".kind",
        "{.kind",
        "{kind}",
        "{.items[}",
        "{.items[x]}",
        "{.items[0}",
        "{.items[?(@.n>]}",
        "{.items[?(@.n > bad)]}",
        "{.items[0:2:0]}",
        "{range .items[*]}{.name}",
        "{end}",
        "{'a}",
        "{.}{range}{end}",
    };
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *root = json_parse(arena, tree, strlen(tree), NULL, NULL);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
        struct error err = {0};

        ck_assert_msg(jsonpath_template_print(cases[i], root, &out, &err) < 0, "%s", cases[i]);
        ck_assert_msg(err.text[0] != '\0', "%s", cases[i]);
    }
}
END_TEST

START_TEST(one_path_needs_no_braces)
{
    static const char *const cases[] = {"{.items[0].name}", ".items[0].name", "items[0].name"};
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *root = json_parse(arena, tree, strlen(tree), NULL, NULL);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct jsonpath_values values = {0};

        ck_assert_int_eq(jsonpath_find(cases[i], root, arena, &values, NULL), 0);
        ck_assert_uint_eq(values.count, 1);
        ck_assert_str_eq(json_text(values.items[0]), "a");
    }

    struct jsonpath_values none = {0};

    ck_assert_int_lt(jsonpath_find(".a b", root, arena, &none, NULL), 0);
}
END_TEST

SUITE("jsonpath", paths_find_what_kubectl_finds, a_wrong_template_is_refused_with_the_place,
      one_path_needs_no_braces)
