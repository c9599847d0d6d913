/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/objects/managed_fields.h"

#include "lib/api/object/kind.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "testsuite/lib/suite.h"
#include "testsuite/lib/tree.h"

#define MAP "'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'m'}"

static struct json *
applied(struct arena *arena, const struct json *live, const char *configuration, const char *name,
        bool force, struct manager_conflicts *conflicts)
{
    const struct field_manager who = {name, "", true};
    struct json *made = managed_fields_apply(arena, &config_map_kind, live,
                                             tree(arena, configuration), &who, force, 0, conflicts);

    if (made != NULL)
        record_normalize(config_map_kind.record, arena, made, NULL, NULL);
    return made;
}

/* Returns "me:Apply{...} you:Update{...}". */
static const char *
owners(struct arena *arena, const struct json *object)
{
    const struct json *list = json_get_path(object, "metadata.managedFields");
    const char *text = "";

    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *e = json_at(list, i);

        text =
            arena_printf(arena, "%s%s%s:%s%s", text, i > 0 ? " " : "", json_get_text(e, "manager"),
                         json_get_text(e, "operation"), printed(arena, json_get(e, "fieldsV1")));
    }
    return text;
}

START_TEST(a_manager_that_applies_owns_the_fields)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct manager_conflicts conflicts;
    struct json *made =
        applied(arena, NULL, "{" MAP ",'data':{'a':'1','b':'2'}}", "me", false, &conflicts);

    ck_assert_str_eq(owners(arena, made), "me:Apply{'f:data':{'f:a':{},'f:b':{}}}");
}
END_TEST

START_TEST(a_field_of_another_changes_by_force_alone)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *other = "{" MAP ",'data':{'a':'9'}}";
    struct manager_conflicts conflicts;
    struct json *live =
        applied(arena, NULL, "{" MAP ",'data':{'a':'1','b':'2'}}", "me", false, &conflicts);
    struct json *made;

    ck_assert_ptr_null(applied(arena, live, other, "you", false, &conflicts));
    ck_assert_uint_eq(conflicts.count, 1);
    ck_assert_str_eq(conflicts.items[0].manager, "\"me\"");
    ck_assert_str_eq(conflicts.items[0].path, ".data.a");

    made = applied(arena, live, other, "you", true, &conflicts);
    ck_assert_str_eq(owners(arena, made), "me:Apply{'f:data':{'f:b':{}}} "
                                          "you:Apply{'f:data':{'f:a':{}}}");
    ck_assert_str_eq(printed(arena, json_get(made, "data")), "{'a':'9','b':'2'}");
}
END_TEST

START_TEST(a_field_no_longer_applied_goes_unless_it_is_shared)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct manager_conflicts conflicts;
    struct json *made =
        applied(arena, NULL, "{" MAP ",'data':{'a':'1','b':'2'}}", "me", false, &conflicts);

    made = applied(arena, made, "{" MAP ",'data':{'a':'1'}}", "you", false, &conflicts);
    made = applied(arena, made, "{" MAP "}", "me", false, &conflicts);

    ck_assert_str_eq(printed(arena, json_get(made, "data")), "{'a':'1'}");
    ck_assert_str_eq(owners(arena, made), "you:Apply{'f:data':{'f:a':{}}}");
}
END_TEST

START_TEST(an_object_that_nobody_followed_was_made_before)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct manager_conflicts conflicts;
    struct json *live = tree(arena, "{" MAP ",'data':{'a':'1'}}");

    record_normalize(config_map_kind.record, arena, live, NULL, NULL);
    ck_assert_ptr_null(applied(arena, live, "{" MAP ",'data':{'a':'2'}}", "me", false, &conflicts));
    ck_assert_str_eq(conflicts.items[0].manager, "\"before-first-apply\" using v1");
}
END_TEST

START_TEST(a_manager_that_changes_a_field_owns_it)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct field_manager maker = {"maker", "", false};
    const struct field_manager changer = {"changer", "", false};
    struct json *live = tree(arena, "{" MAP ",'data':{'a':'1','b':'2'}}");
    struct json *is;

    managed_fields_note(arena, &config_map_kind, NULL, live, &maker, true, 0);
    is = json_dup(arena, live);
    json_set_string(arena, json_get(is, "data"), "a", "3");
    managed_fields_note(arena, &config_map_kind, live, is, &changer, true, 0);

    ck_assert_str_eq(owners(arena, live), "maker:Update{'f:data':{'.':{},'f:a':{},'f:b':{}}}");
    ck_assert_str_eq(owners(arena, is), "changer:Update{'f:data':{'f:a':{}}} "
                                        "maker:Update{'f:data':{'.':{},'f:b':{}}}");
}
END_TEST

START_TEST(objects_that_kiln_makes_are_not_followed)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct field_manager maker = {"unknown", "", false};
    struct json *made = tree(arena, "{" MAP ",'data':{'a':'1'}}");

    managed_fields_note(arena, &config_map_kind, NULL, made, &maker, false, 0);

    ck_assert_str_eq(owners(arena, made), "");
}
END_TEST

START_TEST(writers_beyond_ten_become_one)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *live = tree(arena, "{" MAP ",'data':{'k':'0'}}");
    struct field_manager who = {"w0", "", false};

    managed_fields_note(arena, &config_map_kind, NULL, live, &who, true, 0);
    for (int i = 1; i < 30; i++) {
        struct json *is = json_dup(arena, live);

        who.name = arena_printf(arena, "w%d", i);
        json_set_string(arena, json_get(is, "data"), who.name, "x");
        managed_fields_note(arena, &config_map_kind, live, is, &who, true, i * (int64_t)1000000);
        live = is;
    }

    ck_assert_uint_eq(json_count(json_get_path(live, "metadata.managedFields")), 10);
    ck_assert_ptr_nonnull(strstr(owners(arena, live), "ancient-changes"));
}
END_TEST

SUITE("managed_fields", a_manager_that_applies_owns_the_fields,
      a_field_of_another_changes_by_force_alone, a_field_no_longer_applied_goes_unless_it_is_shared,
      an_object_that_nobody_followed_was_made_before, a_manager_that_changes_a_field_owns_it,
      objects_that_kiln_makes_are_not_followed, writers_beyond_ten_become_one)
