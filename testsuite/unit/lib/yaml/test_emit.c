/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/yaml/yaml.h"
#include "testsuite/lib/suite.h"

static void
check_printed(const char *json, const char *yaml)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct json *value = json_parse(arena, json, strlen(json), NULL, NULL);

    ck_assert_ptr_nonnull(value);
    yaml_print(value, &out);
    ck_assert_str_eq(out.text, yaml);
}

START_TEST(an_object_is_printed_as_kubectl_does)
{
    check_printed("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\","
                  "\"labels\":{\"app\":\"x\"},\"creationTimestamp\":"
                  "\"2024-01-02T03:04:05Z\"},\"spec\":{\"containers\":[{\"name\":\"c\","
                  "\"args\":[\"a\",\"-b\"],\"resources\":{}}],\"tolerations\":[],"
                  "\"priority\":0,\"hostNetwork\":true,\"nodeName\":null}}",
                  "apiVersion: v1\n"
                  "kind: Pod\n"
                  "metadata:\n"
                  "  creationTimestamp: \"2024-01-02T03:04:05Z\"\n"
                  "  labels:\n"
                  "    app: x\n"
                  "  name: p\n"
                  "spec:\n"
                  "  containers:\n"
                  "  - args:\n"
                  "    - a\n"
                  "    - -b\n"
                  "    name: c\n"
                  "    resources: {}\n"
                  "  hostNetwork: true\n"
                  "  nodeName: null\n"
                  "  priority: 0\n"
                  "  tolerations: []\n");
}
END_TEST

START_TEST(strings_are_quoted_when_they_must_be)
{
    static const struct {
        const char *json;
        const char *yaml;
    } cases[] = {
        {"\"abc\"", "abc\n"},
        {"\"\"", "\"\"\n"},
        {"\"true\"", "\"true\"\n"},
        {"\"yes\"", "\"yes\"\n"},
        {"\"123\"", "\"123\"\n"},
        {"\"1e3\"", "\"1e3\"\n"},
        {"\"null\"", "\"null\"\n"},
        {"\"~\"", "\"~\"\n"},
        {"\"100m\"", "100m\n"},
        {"\"a: b\"", "'a: b'\n"},
        {"\"# no comment\"", "'# no comment'\n"},
        {"\" x\"", "' x'\n"},
        {"\"it's\"", "it's\n"},
        {"\"- x\"", "'- x'\n"},
        {"\"*x\"", "'*x'\n"},
        {"\"a\\tb\"", "\"a\\tb\"\n"},
        {"\"\\u0000\"", "\"\\0\"\n"},
        {"\"h\\u00e9\"", "h\xc3\xa9\n"},
        {"\"{}\"", "'{}'\n"},
        {"{\"y\":1}", "\"y\": 1\n"},
        {"{\"1\":1}", "\"1\": 1\n"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        check_printed(cases[i].json, cases[i].yaml);
}
END_TEST

START_TEST(lines_are_printed_as_lines)
{
    check_printed("{\"a\":\"one\\ntwo\\n\"}", "a: |\n  one\n  two\n");
    check_printed("{\"a\":\"one\\ntwo\"}", "a: |-\n  one\n  two\n");
    check_printed("{\"a\":\"one\\n\\n\",\"b\":1}", "a: |+\n  one\n\nb: 1\n");
    check_printed("{\"a\":\"#!/bin/sh\\necho $X\\n\"}", "a: |\n  #!/bin/sh\n  echo $X\n");
    check_printed("{\"a\":\"x \\ny\"}", "a: \"x \\ny\"\n");
}
END_TEST

START_TEST(a_text_that_ends_in_newlines_ends_the_document_too)
{
    check_printed("{\"a\":\"one\\n\\n\"}", "a: |+\n  one\n\n");
}
END_TEST

START_TEST(long_text_is_folded_at_80_columns)
{
    check_printed("{\"message\":\"aaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbb "
                  "ccccccccccccccccccccccccc ddddddddddddddddd eeeeeeee\"}",
                  "message: aaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbb "
                  "ccccccccccccccccccccccccc ddddddddddddddddd\n"
                  "  eeeeeeee\n");
}
END_TEST

START_TEST(keys_stand_in_natural_order)
{
    check_printed("{\"b\":1,\"a10\":1,\"a2\":1,\"a\":1,\"B\":1,\"a.b\":1,\"a-b\":1,"
                  "\"a01\":1,\"a1\":1,\"kiln.hpc/x\":1,\"kiln\":1}",
                  "B: 1\n"
                  "a: 1\n"
                  "a-b: 1\n"
                  "a.b: 1\n"
                  "a1: 1\n"
                  "a01: 1\n"
                  "a2: 1\n"
                  "a10: 1\n"
                  "b: 1\n"
                  "kiln: 1\n"
                  "kiln.hpc/x: 1\n");
}
END_TEST

START_TEST(numbers_keep_their_digits)
{
    check_printed("[1,1.10,18446744073709551615,1e400]",
                  "- 1\n- 1.10\n- 18446744073709551615\n- 1e400\n");
}
END_TEST

START_TEST(lists_of_lists_and_empty_things)
{
    check_printed("[[1,[2]],[],{},[{\"a\":[]}]]", "- - 1\n"
                                                  "  - - 2\n"
                                                  "- []\n"
                                                  "- {}\n"
                                                  "- - a: []\n");
}
END_TEST

SUITE("emit", an_object_is_printed_as_kubectl_does, strings_are_quoted_when_they_must_be,
      lines_are_printed_as_lines, a_text_that_ends_in_newlines_ends_the_document_too,
      long_text_is_folded_at_80_columns, keys_stand_in_natural_order, numbers_keep_their_digits,
      lists_of_lists_and_empty_things)
