/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/yaml/yaml.h"

#include <errno.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

static void
check_read(const char *yaml, const char *json)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct json *value = NULL;
    struct error err = {0};
    int r = yaml_parse(arena, yaml, strlen(yaml), &value, &err);

    ck_assert_msg(r == 0, "%s\n%s", yaml, err.text);
    json_print(value, &out);
    ck_assert_str_eq(out.text, json);
}

static void
check_refused(const char *yaml, const char *words)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *value = NULL;
    struct error err = {0};

    ck_assert_int_eq(yaml_parse(arena, yaml, strlen(yaml), &value, &err), -EINVAL);
    ck_assert_str_eq(err.text, words);
}

START_TEST(a_manifest_is_read)
{
    check_read("apiVersion: v1\n"
               "kind: Pod\n"
               "metadata:\n"
               "  name: p # the name\n"
               "spec:\n"
               "  containers:\n"
               "  - name: c\n"
               "    args: [a, \"1\", 2, '3', !!str 4]\n"
               "    command:\n"
               "    - sh\n"
               "    - -c\n"
               "    - |\n"
               "      echo a\n"
               "      echo b\n"
               "  priority: 010\n"
               "  enabled: yes\n"
               "  none:\n",
               "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{"
               "\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\","
               "\"args\":[\"a\",\"1\",2,\"3\",\"4\"],\"command\":[\"sh\","
               "\"-c\",\"echo a\\necho b\\n\"]}],\"priority\":8,"
               "\"enabled\":true,\"none\":null}}");
}
END_TEST

START_TEST(keys_of_other_types_become_their_text)
{
    check_read("1: a\nyes: b\n1.5: c\n0x10: d\n",
               "{\"1\":\"a\",\"true\":\"b\",\"1.5\":\"c\",\"16\":\"d\"}");
}
END_TEST

START_TEST(times_stay_strings)
{
    check_read("a: 2024-01-02T03:04:05Z\nb: 2024-01-02\n",
               "{\"a\":\"2024-01-02T03:04:05Z\",\"b\":\"2024-01-02\"}");
}
END_TEST

START_TEST(aliases_copy_and_merges_fill_in)
{
    check_read("base: &b {x: 1, y: [1]}\n"
               "copy: *b\n"
               "merged:\n"
               "  z: 3\n"
               "  <<: *b\n"
               "  x: 2\n",
               "{\"base\":{\"x\":1,\"true\":[1]},"
               "\"copy\":{\"x\":1,\"true\":[1]},"
               "\"merged\":{\"z\":3,\"x\":2,\"true\":[1]}}");
    check_read("- &a {p: 1, q: 1}\n"
               "- &b {q: 2, r: 2}\n"
               "- <<: [*a, *b]\n",
               "[{\"p\":1,\"q\":1},{\"q\":2,\"r\":2},"
               "{\"p\":1,\"q\":1,\"r\":2}]");
    check_read("\"<<\": 1\n", "{\"<<\":1}");
}
END_TEST

START_TEST(an_edited_copy_leaves_its_anchor_alone)
{
    static const char text[] = "a: &x {k: 1}\nb: *x\n";
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *value = NULL;

    ck_assert_int_eq(yaml_parse(arena, text, sizeof(text) - 1, &value, NULL), 0);
    json_set_int(arena, json_get(value, "b"), "k", 2);

    ck_assert_int_eq(json_get_int(json_get(value, "a"), "k", 0), 1);
}
END_TEST

START_TEST(json_is_read_as_json)
{
    check_read("{\"a\":\"\\ud83d\\ude00\",\n\t\"b\":1e2}",
               "{\"a\":\"\xf0\x9f\x98\x80\",\"b\":1e2}");
    check_read(" [1, 2]", "[1,2]");
    check_read("{a: 1, b: [x]}", "{\"a\":1,\"b\":[\"x\"]}");
}
END_TEST

START_TEST(a_number_beyond_any_double_is_a_string_also_in_json)
{
    check_read("a: 7E7739\n", "{\"a\":\"7E7739\"}");
    check_read("[7E7739]", "[\"7E7739\"]");
    check_read("{\"a\":{\"b\":[-1e999,1e99]}}", "{\"a\":{\"b\":[\"-1e999\",1e+99]}}");
}
END_TEST

START_TEST(nothing_is_null)
{
    check_read("", "null");
    check_read("# only words\n", "null");
    check_read("---\n...\n", "null");
}
END_TEST

START_TEST(mistakes_name_their_line)
{
    check_refused("a: 1\nb: 2\na: 3\n", "line 3, column 1: the key 'a' is given twice");
    check_refused("a:\n  b: 1\n c: 2\n", "line 3, column 2: did not find expected key");
    check_refused("a:\n\tb: 1\n", "line 2, column 1: indented with a tab, but YAML requires "
                                  "spaces");
    check_refused("a: *x\n", "line 1, column 4: an alias without an anchor");
    check_refused("a: &x [*x]\n", "line 1, column 8: an alias inside its own anchor");
    check_refused("? [a]\n: 1\n", "line 1, column 3: a key must be a scalar");
    check_refused("~: 1\n", "line 1, column 1: this cannot be a key");
    check_refused("\"a\\0\": 1\n", "line 1, column 1: this cannot be a key");
    check_refused("a: .inf\n", "line 1, column 4: this number is not valid in JSON");
    check_refused("a: !secret x\n", "line 1, column 4: this tag does not match its value");
    check_refused("a: !!int x\n", "line 1, column 4: this tag does not match its value");
    check_refused("a: !!set {x}\n", "line 1, column 4: this tag does not match its value");
    check_refused("<<: 1\n", "line 1, column 1: '<<' requires mappings");
    check_refused("<<: [{a: 1}, 2]\n", "line 1, column 1: '<<' requires mappings");
    check_refused("a: 1\n---\nb: 1\n", "more than one document");
    check_refused("a: \xff\n", "byte 3: invalid leading UTF-8 octet");
    check_refused("{\"a\":1,\"a\":2}", "line 1, column 8: the key 'a' is given twice");
}
END_TEST

START_TEST(many_members_are_told_apart)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    for (int i = 0; i < 1000; i++)
        strbuf_printf(&text, "k%d: %d\n", i, i);
    strbuf_add_text(&text, "k7: 1\n");

    check_refused(text.text, "line 1001, column 1: the key 'k7' is given twice");
}
END_TEST

START_TEST(nine_lines_cannot_become_gigabytes)
{
    check_refused("a: &a [x,x,x,x,x,x,x,x,x,x]\n"
                  "b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
                  "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
                  "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
                  "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"
                  "f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n"
                  "g: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]\n",
                  "line 6, column 8: aliases expand to too much data");
}
END_TEST

START_TEST(deep_nesting_is_refused)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    for (int i = 0; i < 100000; i++)
        strbuf_add_char(&text, '[');
    check_refused(text.text, "line 1, column 257: nested too deeply");

    strbuf_truncate(&text, 0);
    strbuf_add_text(&text, "a0: &a0 1\n");
    for (int i = 1; i <= 300; i++)
        strbuf_printf(&text, "a%d: &a%d [*a%d]\n", i, i, i - 1);
    check_refused(text.text, "line 256, column 14: nested too deeply");
}
END_TEST

START_TEST(documents_come_one_by_one)
{
    static const char text[] = "a: 1\n---\n# nothing\n---\n- b\n...\n";
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(yaml_reader_freep)
    struct yaml_reader *reader = yaml_reader_new(text, sizeof(text) - 1);
    struct json *value = NULL;

    ck_assert_int_eq(yaml_reader_next(reader, arena, &value, NULL, NULL), 1);
    ck_assert_int_eq(json_get_int(value, "a", 0), 1);
    ck_assert_int_eq(yaml_reader_next(reader, arena, &value, NULL, NULL), 1);
    ck_assert(json_is(value, JSON_NULL));
    ck_assert_int_eq(yaml_reader_next(reader, arena, &value, NULL, NULL), 1);
    ck_assert_str_eq(json_text(json_at(value, 0)), "b");
    ck_assert_int_eq(yaml_reader_next(reader, arena, &value, NULL, NULL), 0);
    ck_assert_int_eq(yaml_reader_next(reader, arena, &value, NULL, NULL), 0);
}
END_TEST

START_TEST(a_mistake_ends_the_documents)
{
    static const char text[] = "a: 1\n---\na: [\n";
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(yaml_reader_freep)
    struct yaml_reader *reader = yaml_reader_new(text, sizeof(text) - 1);
    struct json *value = NULL;
    struct error err = {0};

    ck_assert_int_eq(yaml_reader_next(reader, arena, &value, NULL, &err), 1);
    ck_assert_int_eq(yaml_reader_next(reader, arena, &value, NULL, &err), -EINVAL);
    ck_assert_int_eq(yaml_reader_next(reader, arena, &value, NULL, &err), 0);
}
END_TEST

START_TEST(values_know_the_line_of_their_key)
{
    static const char text[] = "a:\n"
                               "  b: 1\n"
                               "  c:\n"
                               "  - x\n"
                               "  - z: 2\n";
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(yaml_reader_freep)
    struct yaml_reader *reader = yaml_reader_new(text, sizeof(text) - 1);
    struct json *value = NULL;
    const struct json *list;

    ck_assert_int_eq(yaml_reader_next(reader, arena, &value, NULL, NULL), 1);

    list = json_get_path(value, "a.c");
    ck_assert_uint_eq(yaml_reader_line(reader, value), 1);
    ck_assert_uint_eq(yaml_reader_line(reader, json_get(value, "a")), 1);
    ck_assert_uint_eq(yaml_reader_line(reader, json_get_path(value, "a.b")), 2);
    ck_assert_uint_eq(yaml_reader_line(reader, list), 3);
    ck_assert_uint_eq(yaml_reader_line(reader, json_at(list, 0)), 4);
    ck_assert_uint_eq(yaml_reader_line(reader, json_get(json_at(list, 1), "z")), 5);
    ck_assert_uint_eq(yaml_reader_line(reader, NULL), 0);
}
END_TEST

START_TEST(duplicates_can_be_noted_instead)
{
    static const char text[] = "a:\n- x: 1\n  x: 2\nb: 1\nb: 2\n";
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(yaml_reader_freep)
    struct yaml_reader *reader = yaml_reader_new(text, sizeof(text) - 1);
    struct json_notes notes = {0};
    struct json *value = NULL;

    ck_assert_int_eq(yaml_reader_next(reader, arena, &value, &notes, NULL), 1);

    ck_assert_uint_eq(notes.n_duplicates, 2);
    ck_assert_str_eq(notes.duplicates[0], "a[0].x");
    ck_assert_str_eq(notes.duplicates[1], "b");
    ck_assert_int_eq(json_get_int(value, "b", 0), 2);
}
END_TEST

START_TEST(a_printed_tree_reads_back_the_same)
{
    static const char json[] =
        "{\"a\":[\"\",\"yes\",\"1\",\"a: b\",\" \",\"#\",\"\\n\",\"a\\n\\nb\","
        "\"a\\r\\nb\",\"\\u0001\",\"\\u2028\",\"\\ud83d\\ude00\",\"0o7\","
        "\"2024-01-01\",\"-\",\"- -\",\"|\",\">\",\"%x\",\"@\",\"`\",\"!\","
        "\"&\",\"*\",\"?\",\"? x\",\":\",\"a:\",\"---\",\"...\",\"a #b\","
        "\"\\t\",\"<<\",\"=\",\"[]\",\"{\",\",\",\"'\",\"\\\"\",\"\\\\\"],"
        "\"true\":null,\"1.5\":{},\"\":[],\"b\":[1,-2.5,true]}";
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct json *before = json_parse(arena, json, sizeof(json) - 1, NULL, NULL);
    struct json *after = NULL;
    struct error err = {0};

    yaml_print(before, &text);
    ck_assert_msg(yaml_parse(arena, text.text, text.length, &after, &err) == 0, "%s\n%s", err.text,
                  text.text);

    ck_assert_msg(json_equals(before, after), "%s", text.text);
}
END_TEST

SUITE("yaml", a_manifest_is_read, keys_of_other_types_become_their_text, times_stay_strings,
      aliases_copy_and_merges_fill_in, an_edited_copy_leaves_its_anchor_alone, json_is_read_as_json,
      a_number_beyond_any_double_is_a_string_also_in_json, nothing_is_null,
      mistakes_name_their_line, many_members_are_told_apart, nine_lines_cannot_become_gigabytes,
      deep_nesting_is_refused, documents_come_one_by_one, a_mistake_ends_the_documents,
      values_know_the_line_of_their_key, duplicates_can_be_noted_instead,
      a_printed_tree_reads_back_the_same)
