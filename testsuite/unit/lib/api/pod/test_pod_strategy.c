/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/pod/pod_strategy.h"

#include "testsuite/lib/suite.h"
#include "testsuite/lib/tree.h"

#define META "'metadata':{'name':'p','namespace':'a','resourceVersion':'1'}"

static struct json *
pod(struct arena *arena, const char *spec)
{
    return object_tree_of(arena, &pod_kind,
                          arena_printf(arena,
                                       "{" META ",'spec':{'containers':[{"
                                       "'name':'c','image':'host'}]%s}}",
                                       spec));
}

START_TEST(quality_of_service_follows_requests_and_limits)
{
    static const struct {
        const char *resources, *class;
    } cases[] = {
        {"{}", "BestEffort"},
        {"{'requests':{'cpu':'1'}}", "Burstable"},
        {"{'limits':{'cpu':'1','memory':'1Gi'}}", "Guaranteed"},
        {"{'limits':{'cpu':'1'}}", "Burstable"},
        {"{'requests':{'cpu':'1'},'limits':{'cpu':'2','memory':'1Gi'}}", "Burstable"},
        {"{'requests':{'example.com/x':'1'}}", "BestEffort"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct json *v = object_tree_of(arena, &pod_kind,
                                        arena_printf(arena,
                                                     "{" META ",'spec':{'containers':[{'name':'c',"
                                                     "'resources':%s}]}}",
                                                     cases[i].resources));

        pod_prepare(arena, v, NULL);
        ck_assert_str_eq(json_path_text(v, "status.qosClass"), cases[i].class);
    }
}
END_TEST

START_TEST(a_status_without_its_class_keeps_the_one_there_is)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *old = tree(arena, "{'status':{'qosClass':'Guaranteed'}}");
    struct json *silent = tree(arena, "{'status':{'phase':'Running'}}");
    struct json *other = tree(arena, "{'status':{'qosClass':'Burstable'}}");

    pod_prepare_status(arena, silent, old);
    pod_prepare_status(arena, other, old);

    ck_assert_str_eq(printed(arena, silent),
                     "{'status':{'phase':'Running','qosClass':'Guaranteed'}}");
    ck_assert_str_eq(json_path_text(other, "status.qosClass"), "Burstable");
}
END_TEST

START_TEST(a_status_from_a_client_is_dropped_at_creation)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *v = pod(arena, ",'schedulingGates':[{'name':'a.b/c'}]");

    json_set(arena, v, "status", tree(arena, "{'phase':'Running','allocation':{'cpus':'0'}}"));
    pod_prepare(arena, v, NULL);

    ck_assert_str_eq(json_path_text(v, "status.phase"), "Pending");
    ck_assert_ptr_null(json_get_path(v, "status.allocation"));
    ck_assert_str_eq(json_get_text(json_at(json_get_path(v, "status.conditions"), 0), "reason"),
                     "SchedulingGated");
}
END_TEST

START_TEST(another_placement_is_refused)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *old = pod(arena, ",'placement':{'numaPolicy':'restricted'}");
    struct json *v = pod(arena, ",'placement':{'numaPolicy':'none'}");

    pod_prepare(arena, v, old);

    ck_assert_str_eq(complaints(arena, pod_validate, v, old), "spec FieldValueForbidden");
}
END_TEST

START_TEST(an_allocation_stays_as_the_binding_made_it)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *old = pod(arena, ",'nodeName':'n1'");
    struct json *v = pod(arena, ",'nodeName':'n1'");

    json_set(arena, old, "status", tree(arena, "{'allocation':{'cpus':'0-3'}}"));
    json_set(arena, v, "status", tree(arena, "{'allocation':{'cpus':'0-4'}}"));

    ck_assert_str_eq(complaints(arena, pod_validate_status, v, old),
                     "status.allocation FieldValueInvalid");
    json_set(arena, v, "status", json_dup(arena, json_get(old, "status")));
    ck_assert_str_eq(complaints(arena, pod_validate_status, v, old), "");
}
END_TEST

START_TEST(the_unix_side_of_a_pod_is_looked_at)
{
    static const struct {
        const char *spec, *complaint;
    } cases[] = {
        {",'execution':{'umask':'0077'}", ""},
        {",'execution':{'umask':'0o77'}", "spec.execution.umask FieldValueInvalid"},
        {",'execution':{'openMode':'w'}", "spec.execution.openMode FieldValueNotSupported"},
        {",'execution':{'limits':[{'name':'nofile','soft':'x'}]}",
         "spec.execution.limits[0].soft FieldValueInvalid"},
        {",'execution':{'limits':[{'name':'files'}]}",
         "spec.execution.limits[0].name FieldValueNotSupported"},
        {",'execution':{'limits':[{'name':'core','hard':'unlimited'}]}", ""},
        {",'execution':{'signal':{'name':'USR1','secondsBefore':60}}", ""},
        {",'execution':{'signal':{'secondsBefore':60}}",
         "spec.execution.signal.name FieldValueRequired"},
        {",'execution':{'signal':{'name':'kill me','secondsBefore':-1}}",
         "spec.execution.signal.name FieldValueInvalid, "
         "spec.execution.signal.secondsBefore FieldValueInvalid"},
        {",'placement':{'numaPolicy':'all'}", "spec.placement.numaPolicy FieldValueNotSupported"},
        {",'placement':{'threadsPerCore':-1}", "spec.placement.threadsPerCore FieldValueInvalid"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);

        ck_assert_str_eq(complaints(arena, pod_validate, pod(arena, cases[i].spec), NULL),
                         cases[i].complaint);
    }
}
END_TEST

START_TEST(keys_of_labels_become_requirements)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *v = pod(arena, ",'affinity':{'podAntiAffinity':{"
                                "'requiredDuringSchedulingIgnoredDuringExecution':[{"
                                "'labelSelector':{},'topologyKey':'rack',"
                                "'matchLabelKeys':['app','none'],'mismatchLabelKeys':['tier']"
                                "}]}}");

    json_set(arena, json_get(v, "metadata"), "labels", tree(arena, "{'app':'x','tier':'y'}"));
    pod_prepare(arena, v, NULL);

    ck_assert_ptr_nonnull(strstr(printed(arena, json_get_path(v, "spec.affinity")),
                                 "'matchExpressions':[{'key':'app','operator':'In','values':['x']},"
                                 "{'key':'tier','operator':'NotIn','values':['y']}]"));
}
END_TEST

SUITE("pod_strategy", quality_of_service_follows_requests_and_limits,
      a_status_without_its_class_keeps_the_one_there_is,
      a_status_from_a_client_is_dropped_at_creation, another_placement_is_refused,
      an_allocation_stays_as_the_binding_made_it, the_unix_side_of_a_pod_is_looked_at,
      keys_of_labels_become_requirements)
