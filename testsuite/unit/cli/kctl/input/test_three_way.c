/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/input/three_way.h"

#include <check.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

static struct json *
parse(struct arena *arena, const char *text)
{
    struct json *value = json_parse(arena, text, strlen(text), NULL, NULL);

    ck_assert_msg(value != NULL, "%s", text);
    return value;
}

/* An object that was applied as `before` and is now `spec`. */
static struct json *
applied(struct arena *arena, const char *before, const char *spec)
{
    struct json *object = parse(arena, before);
    struct json *current = three_way_annotated(arena, object);

    json_set(arena, current, "spec", parse(arena, spec));
    return current;
}

/* Compares the patch without the annotation, which every patch contains. */
static void
assert_patch(const char *before, const char *current, const char *now, const char *patch)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct json *result =
        three_way_patch(arena, applied(arena, before, current), parse(arena, now));

    if (result != NULL)
        json_remove(result, "metadata");
    if (json_count(result) > 0)
        json_print(result, &text);
    ck_assert_str_eq(text.text, patch);
}

START_TEST(an_object_that_equals_the_file_needs_no_patch)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *file = parse(arena, "{\"spec\":{\"a\":1}}");
    struct json *current = three_way_annotated(arena, file);

    json_set_int(arena, json_get(current, "spec"), "default", 7);

    ck_assert_ptr_null(three_way_patch(arena, current, file));
}
END_TEST

START_TEST(a_member_that_the_file_changes_is_set)
{
    assert_patch("{\"spec\":{\"a\":1}}", "{\"a\":1,\"default\":7}", "{\"spec\":{\"a\":2}}",
                 "{\"spec\":{\"a\":2}}");
}
END_TEST

START_TEST(a_member_that_the_file_no_longer_names_is_removed)
{
    assert_patch("{\"spec\":{\"a\":1,\"b\":{\"c\":1,\"d\":2}}}",
                 "{\"a\":1,\"b\":{\"c\":1,\"d\":2}}", "{\"spec\":{\"a\":1,\"b\":{\"d\":2}}}",
                 "{\"spec\":{\"b\":{\"c\":null}}}");
}
END_TEST

START_TEST(a_field_that_others_have_set_stays)
{
    assert_patch("{\"spec\":{\"a\":1}}", "{\"a\":1,\"theirs\":{\"x\":1}}", "{\"spec\":{\"a\":1}}",
                 "");
}
END_TEST

START_TEST(a_field_that_others_have_removed_needs_no_removal)
{
    assert_patch("{\"spec\":{\"a\":1,\"b\":2}}", "{\"a\":1}", "{\"spec\":{\"a\":1}}", "");
}
END_TEST

START_TEST(lists_are_replaced_as_a_whole)
{
    assert_patch("{\"spec\":{\"l\":[1,2]}}", "{\"l\":[1,2]}", "{\"spec\":{\"l\":[1]}}",
                 "{\"spec\":{\"l\":[1]}}");
}
END_TEST

START_TEST(an_object_takes_the_place_of_a_scalar_and_back)
{
    assert_patch("{\"spec\":{\"a\":1}}", "{\"a\":1}", "{\"spec\":{\"a\":{\"b\":1}}}",
                 "{\"spec\":{\"a\":{\"b\":1}}}");
    assert_patch("{\"spec\":{\"a\":{\"b\":1}}}", "{\"a\":{\"b\":1}}", "{\"spec\":{\"a\":1}}",
                 "{\"spec\":{\"a\":1}}");
}
END_TEST

START_TEST(an_object_that_was_never_applied_is_only_added_to)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *current = parse(arena, "{\"spec\":{\"a\":1,\"b\":2}}");
    struct json *patch = three_way_patch(arena, current, parse(arena, "{\"spec\":{\"a\":3}}"));
    const struct json *spec = json_get(patch, "spec");

    ck_assert_int_eq(json_get_int(spec, "a", 0), 3);
    ck_assert_uint_eq(json_count(spec), 1);
}
END_TEST

START_TEST(an_annotation_that_is_no_json_is_taken_for_none)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *current = parse(arena, "{\"metadata\":{\"annotations\":{\"" THREE_WAY_ANNOTATION
                                        "\":\"{nonsense\"}},\"spec\":{\"a\":1,\"b\":2}}");
    struct json *patch = three_way_patch(arena, current, parse(arena, "{\"spec\":{\"a\":1}}"));

    ck_assert_ptr_null(json_get(patch, "spec"));
}
END_TEST

SUITE("three_way", an_object_that_equals_the_file_needs_no_patch,
      a_member_that_the_file_changes_is_set, a_member_that_the_file_no_longer_names_is_removed,
      a_field_that_others_have_set_stays, a_field_that_others_have_removed_needs_no_removal,
      lists_are_replaced_as_a_whole, an_object_takes_the_place_of_a_scalar_and_back,
      an_object_that_was_never_applied_is_only_added_to,
      an_annotation_that_is_no_json_is_taken_for_none)
