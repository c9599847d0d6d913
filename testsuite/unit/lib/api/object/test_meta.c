/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object/meta.h"

#include "lib/api/object/object.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"
#include "testsuite/lib/tree.h"

START_TEST(the_controller_is_the_owner_that_says_so)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(object_unrefp)
    const struct object *o =
        object_new(&pod_kind, object_tree_of(arena, &pod_kind,
                                             "{'metadata':{'name':'p','ownerReferences':["
                                             "{'name':'a','uid':'1'},"
                                             "{'name':'b','uid':'2','controller':true}]}}"));
    struct meta none = {0};

    ck_assert_str_eq(meta_controller(o->meta)->name, "b");
    ck_assert_ptr_null(meta_controller(&none));
}
END_TEST

START_TEST(a_reference_is_matched_by_version_kind_and_uid)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    static const struct {
        const char *reference;
        bool is_the_job;
    } cases[] = {
        {"'apiVersion':'batch/v1','kind':'Job','uid':'u'", true},
        {"'apiVersion':'batch/v1','kind':'Job','uid':'v'", false},
        {"'apiVersion':'batch/v1','kind':'Job'", false},
        {"'apiVersion':'v1','kind':'Job','uid':'u'", false},
        {"'apiVersion':'apps/v1','kind':'ReplicaSet','uid':'u'", false},
        {"'apiVersion':'batch/v1','kind':'CronJob','uid':'u'", false},
        {"'kind':'Job','uid':'u'", false},
    };
    CLEANUP(object_unrefp)
    const struct object *job = object_new(
        &job_kind, object_tree_of(arena, &job_kind, "{'metadata':{'name':'j','uid':'u'}}"));

    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(object_unrefp)
        const struct object *o =
            object_new(&pod_kind, object_tree_of(arena, &pod_kind,
                                                 arena_printf(arena,
                                                              "{'metadata':{'name':'p',"
                                                              "'ownerReferences':[{'name':'j',%s,"
                                                              "'controller':true}]}}",
                                                              cases[i].reference)));

        ck_assert_int_eq(meta_is_controlled_by(o->meta, job), cases[i].is_the_job);
    }
}
END_TEST

START_TEST(metadata_that_no_client_may_change_is_put_back)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *old = tree(arena, "{'metadata':{'name':'n','uid':'u','generation':3,"
                                   "'creationTimestamp':'2024-01-01T00:00:00Z',"
                                   "'deletionTimestamp':'2024-01-02T00:00:00Z',"
                                   "'deletionGracePeriodSeconds':30}}");
    struct json *v = tree(arena, "{'metadata':{'name':'n','generation':9,"
                                 "'creationTimestamp':'2025-01-01T00:00:00Z'}}");

    meta_prepare(arena, v, old);

    ck_assert(json_equals(v, old));
}
END_TEST

START_TEST(metadata_is_checked_in_every_kind)
{
    for (unsigned i = 0; i < n_kinds; i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct json *v = object_tree_of(arena, kinds[i],
                                        "{'metadata':{'name':'x','namespace':"
                                        "'a','labels':{'a b':'c'}}}");
        struct json *involved = json_object(arena);
        const char *words;

        /* For events, this check is first. */
        json_set_string(arena, involved, "namespace", "a");
        if (kinds[i] == &event_kind)
            json_set(arena, v, "involvedObject", involved);
        if (kinds[i] == &events_event_kind)
            json_set(arena, v, "regarding", involved);

        if ((kinds[i]->flags & KIND_NAMESPACED) == 0)
            json_remove(json_get(v, "metadata"), "namespace");
        if (kinds[i]->prepare != NULL)
            kinds[i]->prepare(arena, v, NULL);
        words = complaints(arena, kinds[i]->validate, v, NULL);
        ck_assert_msg(strncmp(words, "metadata.labels FieldValueInvalid", 33) == 0, "%s: %s",
                      kinds[i]->name, words);
    }
}
END_TEST

START_TEST(owners_finalizers_and_names_have_rules)
{
    static const struct {
        const char *meta, *complaint;
    } cases[] = {
        {"'name':'p','namespace':'a'", ""},
        {"'namespace':'a'", "metadata.name FieldValueRequired"},
        {"'name':'p'", "metadata.namespace FieldValueRequired"},
        {"'name':'p','namespace':'a','finalizers':['x']",
         "metadata.finalizers[0] FieldValueInvalid"},
        {"'name':'p','namespace':'a','finalizers':['orphan',"
         "'foregroundDeletion']",
         "metadata.finalizers FieldValueInvalid"},
        {"'name':'p','namespace':'a','ownerReferences':[{'apiVersion':'v1',"
         "'kind':'Job','name':'j','uid':''}]",
         "metadata.ownerReferences.uid FieldValueInvalid"},
        {"'name':'p','namespace':'a','annotations':{'A/':'x'}",
         "metadata.annotations FieldValueInvalid, "
         "metadata.annotations FieldValueInvalid"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct json *v = object_tree_of(arena, &config_map_kind,
                                        arena_printf(arena, "{'metadata':{%s}}", cases[i].meta));

        ck_assert_str_eq(complaints(arena, config_map_kind.validate, v, NULL), cases[i].complaint);
    }
}
END_TEST

SUITE("meta", the_controller_is_the_owner_that_says_so,
      a_reference_is_matched_by_version_kind_and_uid,
      metadata_that_no_client_may_change_is_put_back, metadata_is_checked_in_every_kind,
      owners_finalizers_and_names_have_rules)
