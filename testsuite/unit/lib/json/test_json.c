/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/json.h"

#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/decimal.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

static struct json *
parse(struct arena *arena, const char *text, struct json_notes *notes)
{
    struct error err = {0};

    return json_parse(arena, text, strlen(text), notes, &err);
}

START_TEST(text_that_is_no_json_is_refused)
{
    static const char *const bad[] = {
        "{\"a\\u0000b\":1}",
        "",
        " ",
        "{",
        "}",
        "{\"a\":}",
        "[1,]",
        "01",
        "nul",
        "\"\\x\"",
        "\"\x80\"",
        "1 2",
        "{} x",
        "{\"a\" 1}",
        "[\"\\u12\"]",
        "'a'",
        "// x\n1",
        "\"a\nb\"",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct error err = {0};

        ck_assert_msg(json_parse(arena, bad[i], strlen(bad[i]), NULL, &err) == NULL, "accepted: %s",
                      bad[i]);
        ck_assert_int_ne(err.code, 0);
        ck_assert(err.text[0] != '\0');
    }
}
END_TEST

START_TEST(a_parsed_text_prints_the_same)
{
    static const char *const same[] = {
        "null",
        "[1,-2.50,1e400,12345678901234567890]",
        "{\"a\":{\"b\":[true,false,null,\"\"]},\"c\":{}}",
        "\"quote \\\" back \\\\ tab \\t nul \\u0000 \xc3\xa9\"",
    };

    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
        struct json *v = parse(arena, same[i], NULL);

        ck_assert_ptr_nonnull(v);
        json_print(v, &out);
        ck_assert_str_eq(out.text, same[i]);
    }
}
END_TEST

START_TEST(a_member_given_twice_is_noted_and_the_last_one_counts)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json_notes notes;
    struct json *v = parse(arena, "{\"a\":[{\"b\":1},{\"b\":1,\"b\":2}],\"a\":[]}", &notes);

    ck_assert_uint_eq(notes.n_duplicates, 2);
    ck_assert_str_eq(notes.duplicates[0], "a[1].b");
    ck_assert_str_eq(notes.duplicates[1], "a");
    ck_assert_uint_eq(json_count(json_get(v, "a")), 0);
}
END_TEST

START_TEST(duplicates_are_found_among_many_members)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct json_notes notes;
    struct json *v;

    strbuf_add_char(&text, '{');
    for (int i = 0; i < 1000; i++)
        strbuf_printf(&text, "\"k%d\":%d,", i, i);
    strbuf_add_text(&text, "\"k7\":\"last\"}");

    v = parse(arena, text.text, &notes);

    ck_assert_uint_eq(notes.n_duplicates, 1);
    ck_assert_str_eq(notes.duplicates[0], "k7");
    ck_assert_uint_eq(v->count, 1000);
    ck_assert_str_eq(json_get_text(v, "k7"), "last");
}
END_TEST

START_TEST(nesting_has_a_bound)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    char deep[JSON_MAX_DEPTH * 2 + 3];

    memset(deep, '[', JSON_MAX_DEPTH + 1);
    memset(deep + JSON_MAX_DEPTH + 1, ']', JSON_MAX_DEPTH + 1);
    deep[JSON_MAX_DEPTH * 2 + 2] = '\0';

    ck_assert_ptr_null(parse(arena, deep, NULL));
    deep[JSON_MAX_DEPTH * 2 + 1] = '\0';
    ck_assert_ptr_nonnull(parse(arena, deep + 1, NULL));
}
END_TEST

START_TEST(equality_is_of_content)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {
        {"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true},
        {"1", "1.0", true},
        {"1", "2", false},
        {"[1,2]", "[2,1]", false},
        {"{\"a\":1}", "{\"a\":1,\"b\":2}", false},
        {"\"1\"", "1", false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);

        ck_assert_int_eq(
            json_equals(parse(arena, cases[i].a, NULL), parse(arena, cases[i].b, NULL)),
            cases[i].equal);
    }
}
END_TEST

START_TEST(members_can_be_set_removed_and_reached_by_path)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *v = json_object(arena);

    json_set_string(arena, json_make_object(arena, v, "spec"), "nodeName", "n1");
    json_set_int(arena, v, "x", 7);

    ck_assert_str_eq(json_path_text(v, "spec.nodeName"), "n1");
    ck_assert_ptr_null(json_path_text(v, "spec.nodeName.more"));
    ck_assert(json_remove(v, "spec"));
    ck_assert(!json_remove(v, "spec"));
    ck_assert_int_eq(json_get_int(v, "x", 0), 7);
}
END_TEST

START_TEST(a_path_names_whole_members)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *v = parse(arena,
                           "{\"a\":{\"bc\":\"1\",\"b\":\"2\",\"c.d\":\"3\",\"c\":"
                           "{\"d\":\"4\"}},\"ab\":\"5\"}",
                           NULL);

    ck_assert_str_eq(json_path_text(v, "a.b"), "2");
    ck_assert_str_eq(json_path_text(v, "a.bc"), "1");
    ck_assert_str_eq(json_path_text(v, "a.c.d"), "4");
    ck_assert_str_eq(json_path_text(v, "ab"), "5");
    ck_assert_ptr_null(json_get_path(v, "a.bcd"));
    ck_assert_ptr_null(json_get_path(v, "a."));
    ck_assert_ptr_null(json_get_path(v, "b"));
    ck_assert_ptr_null(json_get(v, "abc"));
    ck_assert_ptr_null(json_get(v, ""));
}
END_TEST

/* Several bytes are checked together, so each length and position is tried. */
START_TEST(a_character_that_needs_an_escape_gets_one_everywhere)
{
    static const char bytes[] = {'"', '\\', '\n', '\x01', '\x1f', ' ', '\x7f'};

    for (size_t length = 0; length < 20; length++)
        for (size_t at = 0; at < length; at++)
            for (size_t i = 0; i < sizeof(bytes); i++) {
                CLEANUP(arena_freep) struct arena *arena = arena_new(0);
                CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
                char value[20];
                struct json *v;

                memset(value, 'x', length);
                value[at] = bytes[i];
                json_print_string(value, length, &text);
                ck_assert((text.length == length + 2) == (i >= 5));
                v = parse(arena, text.text, NULL);
                ck_assert_ptr_nonnull(v);
                ck_assert_uint_eq(v->count, length);
                ck_assert_mem_eq(v->text, value, length);
            }
}
END_TEST

START_TEST(integers_are_written_and_read_to_their_last_digit)
{
    static const int64_t numbers[] = {
        0,         7,         -1, 10, INT64_C(999999999999999999), INT64_C(1000000000000000000),
        INT64_MAX, INT64_MIN,
    };
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    char room[DECIMAL_SIZE];
    int64_t n;

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        struct json *v = json_int(arena, numbers[i]);
        char text[32];

        snprintf(text, sizeof(text), "%" PRId64, numbers[i]);
        ck_assert_str_eq(v->text, text);
        ck_assert_uint_eq(v->count, strlen(text));
        ck_assert_int_eq(json_to_int(v, &n), 0);
        ck_assert(n == numbers[i]);
    }
    ck_assert_str_eq(decimal_of_unsigned(UINT64_MAX, room), "18446744073709551615");
    ck_assert_int_eq(json_to_int(json_number(arena, "9223372036854775808"), &n), -ERANGE);
    ck_assert_int_eq(json_to_int(json_number(arena, "1.5"), &n), -EINVAL);
    ck_assert_int_eq(json_to_int(json_number(arena, "1e3"), &n), -EINVAL);
}
END_TEST

SUITE("json", text_that_is_no_json_is_refused, a_parsed_text_prints_the_same,
      a_member_given_twice_is_noted_and_the_last_one_counts,
      duplicates_are_found_among_many_members, nesting_has_a_bound, equality_is_of_content,
      members_can_be_set_removed_and_reached_by_path, a_path_names_whole_members,
      a_character_that_needs_an_escape_gets_one_everywhere,
      integers_are_written_and_read_to_their_last_digit)
