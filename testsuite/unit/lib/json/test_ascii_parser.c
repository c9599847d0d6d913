/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/ascii_parser.h"

#include <check.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

static void
assert_same_tree(const char *text, size_t length)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *quick = json_parse_ascii(arena, text, length, SIZE_MAX);
    struct json *other = json_parse_by_events(arena, text, length, SIZE_MAX, NULL, NULL);

    ck_assert_msg(quick != NULL, "left to the other: %.*s", (int)length, text);
    ck_assert_msg(other != NULL, "refused by the other: %.*s", (int)length, text);
    ck_assert_msg(json_equals(quick, other), "another tree: %.*s", (int)length, text);
}

START_TEST(usual_text_becomes_the_tree_that_the_other_parser_makes)
{
    static const char *const texts[] = {
        "null",
        " true ",
        "\t\r\n false\n",
        "0",
        "-0.5e+10",
        "12345678901234567890.25E-3",
        "\"\"",
        "[]",
        "{}",
        " [ 1 , [ ] , { } , null ] ",
        "{\"a\" : {\"b\":[{\"c\":\"d\"}]} , \"e\":\"\"}",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "\"\\u0041\\u007f\\u000a\\u0000x\"",
        "\"a text of more than eight bytes, with a \\n and with a \\\\\"",
        "\"1234567\\n\"",
        "\"12345678\\n12345678\"",
        "\"\\\\\"",
        "\"~\x7f\"",
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        assert_same_tree(texts[i], strlen(texts[i]));
}
END_TEST

START_TEST(more_values_than_usual_become_a_tree)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    strbuf_add_char(&text, '[');
    for (int i = 0; i < 1000; i++)
        strbuf_printf(&text, "%s{\"a\":[%d]}", i > 0 ? "," : "", i);
    strbuf_add_char(&text, ']');
    assert_same_tree(text.text, text.length);
}
END_TEST

START_TEST(a_text_that_the_other_parser_must_judge_is_left_to_it)
{
    static const char *const texts[] = {
        "",
        " ",
        "{",
        "}",
        "[",
        "[1",
        "[1,",
        "[1,]",
        "[1 2]",
        "{\"a\":}",
        "{\"a\"}",
        "{\"a\":1,}",
        "{a:1}",
        "{\"a\":1,\"a\":2}",
        "{\"a\\u0000\":1}",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "+1",
        "nul",
        "nullx",
        "\"",
        "\"a",
        "\"a\\",
        "\"a\\\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\u00e9\"",
        "\"\xc3\xa9\"",
        "\"\x80\"",
        "\"a\nb\"",
        "\"12345678\tx\"",
        "1 2",
        "{} x",
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);

        ck_assert_msg(json_parse_ascii(arena, texts[i], strlen(texts[i]), SIZE_MAX) == NULL,
                      "taken: %s", texts[i]);
    }
}
END_TEST

/* The given length counts, not a NUL. */
START_TEST(nothing_behind_the_end_is_read)
{
    static const char text[] = "{\"name\":\"value\",\"n\":[12,true]}";

    for (size_t length = 0; length + 1 < sizeof(text) - 1; length++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        char *copy = arena_memdup(arena, text, length);

        ck_assert_msg(json_parse_ascii(arena, copy, length, SIZE_MAX) == NULL, "%zu bytes", length);
    }
    assert_same_tree("12345", 3);
}
END_TEST

START_TEST(nesting_ends_where_the_other_parser_ends_it)
{
    for (unsigned depth = JSON_MAX_DEPTH; depth <= JSON_MAX_DEPTH + 1; depth++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
        bool fits = depth <= JSON_MAX_DEPTH;

        for (unsigned i = 0; i < depth; i++)
            strbuf_add_char(&text, '[');
        for (unsigned i = 0; i < depth; i++)
            strbuf_add_char(&text, ']');
        ck_assert((json_parse_ascii(arena, text.text, text.length, SIZE_MAX) != NULL) == fits);
        ck_assert(
            (json_parse_by_events(arena, text.text, text.length, SIZE_MAX, NULL, NULL) != NULL)
            == fits);
    }
}
END_TEST

START_TEST(an_object_of_very_many_members_is_left_to_the_other)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    for (int i = 0; i < 1000; i++)
        strbuf_printf(&text, "%s\"%d\":0", i > 0 ? "," : "{", i);
    strbuf_add_char(&text, '}');

    ck_assert_ptr_null(json_parse_ascii(arena, text.text, text.length, SIZE_MAX));
    ck_assert_ptr_nonnull(json_parse(arena, text.text, text.length, NULL, NULL));
}
END_TEST

SUITE("quick", usual_text_becomes_the_tree_that_the_other_parser_makes,
      more_values_than_usual_become_a_tree, a_text_that_the_other_parser_must_judge_is_left_to_it,
      nothing_behind_the_end_is_read, nesting_ends_where_the_other_parser_ends_it,
      an_object_of_very_many_members_is_left_to_the_other)
