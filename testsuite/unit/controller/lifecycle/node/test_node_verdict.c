/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/node/node_verdict.h"

#include <check.h>
#include <string.h>

#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

#define READY(status) "\"conditions\":[{\"type\":\"Ready\",\"status\":\"" status "\"}]"
#define HOOK_FAILED(status)                                     \
    "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}," \
    "{\"type\":\"HookFailed\",\"status\":\"" status "\"}]"
#define MENDED                                       \
    "\"taints\":[{\"key\":\"kiln.hpc/hook-failed\"," \
    "\"effect\":\"NoSchedule\"}]"
#define UNREACHABLE                                                           \
    "\"taints\":[{\"key\":\"node.kubernetes.io/unreachable\","                \
    "\"effect\":\"NoSchedule\"},{\"key\":\"node.kubernetes.io/unreachable\"," \
    "\"effect\":\"NoExecute\"}]"
#define FENCED                                                    \
    "\"taints\":[{\"key\":\"node.kubernetes.io/out-of-service\"," \
    "\"effect\":\"NoExecute\"}]"

static const struct object *
make(const struct kind *kind, const char *spec, const char *status)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const struct object *object = NULL;
    struct error err = {0};

    strbuf_printf(&text,
                  "{\"apiVersion\":\"v1\",\"kind\":\"%s\",\"metadata\":"
                  "{\"name\":\"x\"},\"spec\":{%s},\"status\":{%s}}",
                  kind->name, spec, status);
    ck_assert_msg(object_parse(kind, text.text, text.length, &object, &err) == 0, "%s", err.text);
    return object;
}

START_TEST(a_silent_node_becomes_unknown_once)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct object *ready = make(&node_kind, "", READY("True"));
    const struct object *unknown = make(&node_kind, "", READY("Unknown"));
    struct json *patch = node_verdict_status(arena, node_of(ready), true, 1);
    const struct json *list = json_get_path(patch, "status.conditions");

    ck_assert_uint_eq(json_count(list), 1);
    ck_assert_str_eq(json_get_text(json_at(list, 0), "status"), "Unknown");
    ck_assert_ptr_null(node_verdict_status(arena, node_of(unknown), true, 1));
    ck_assert_ptr_null(node_verdict_status(arena, node_of(ready), false, 1));
    object_unref(ready);
    object_unref(unknown);
}
END_TEST

START_TEST(taints_are_there_exactly_when_they_should_be)
{
    static const struct {
        const char *spec, *status;
        bool silent;
        int taints; /* after the patch; -1: no patch */
    } cases[] = {
        {"", READY("True"), false, -1},
        {"", READY("True"), true, 2},
        {"", READY("False"), false, 2},
        {"", HOOK_FAILED("True"), false, 1},
        {"", HOOK_FAILED("False"), false, -1},
        {MENDED, HOOK_FAILED("False"), false, 0},
        {"", "", false, 2},
        {UNREACHABLE, READY("Unknown"), true, -1},
        {UNREACHABLE, READY("True"), false, 0},
        {FENCED, READY("True"), false, -1},
        {FENCED, READY("True"), true, 3},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        const struct object *node = make(&node_kind, cases[i].spec, cases[i].status);
        struct json *patch = node_verdict_taints(arena, node_of(node), cases[i].silent, 1);

        if (cases[i].taints < 0)
            ck_assert_ptr_null(patch);
        else
            ck_assert_int_eq((int)json_count(json_get_path(patch, "spec.taints")), cases[i].taints);
        object_unref(node);
    }
}
END_TEST

START_TEST(pods_of_a_silent_node_are_unknown_and_of_a_fenced_one_failed)
{
    static const struct {
        const char *node, *phase;
        bool silent;
        const char *wanted; /* NULL: unchanged */
    } cases[] = {
        {"", "Running", true, "Unknown"},    {"", "Running", false, NULL},
        {"", "Unknown", true, NULL},         {"", "Pending", true, NULL},
        {"", "Succeeded", true, NULL},       {FENCED, "Running", true, "Failed"},
        {FENCED, "Unknown", true, "Failed"}, {FENCED, "Pending", false, "Failed"},
        {FENCED, "Failed", true, NULL},      {NULL, "Running", false, "Failed"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_STRBUF struct strbuf status = STRBUF_INIT;
        const struct object *node = cases[i].node ? make(&node_kind, cases[i].node, "") : NULL;
        const struct object *pod;
        struct json *patch;

        strbuf_printf(&status, "\"phase\":\"%s\"", cases[i].phase);
        pod = make(&pod_kind, "\"containers\":[]", status.text);
        patch = node_verdict_pod(arena, node ? node_of(node) : NULL, pod_of(pod),
                                 cases[i].silent ? 40000000 : 0, 1);
        if (cases[i].wanted == NULL)
            ck_assert_ptr_null(patch);
        else
            ck_assert_str_eq(json_path_text(patch, "status.phase"), cases[i].wanted);
        object_unref(node);
        object_unref(pod);
    }
}
END_TEST

START_TEST(a_pod_that_fences_itself_is_lost_some_time_after)
{
    static const struct {
        const char *spec;
        int64_t silent_s;
        int64_t left_s; /* -1: never */
        const char *phase;
    } cases[] = {
        {"\"execution\":{\"fenceAfterSeconds\":60}", 0, -1, NULL},
        {"\"execution\":{\"fenceAfterSeconds\":60}", 40, 30, "Unknown"},
        {"\"execution\":{\"fenceAfterSeconds\":60}", 60, 10, "Unknown"},
        {"\"execution\":{\"fenceAfterSeconds\":60}", 70, 0, "Failed"},
        {"\"execution\":{}", 7000, -1, "Unknown"},
    };
    const struct object *node = make(&node_kind, "", "");

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        const struct object *pod = make(&pod_kind, cases[i].spec, "\"phase\":\"Running\"");
        int64_t silent_us = cases[i].silent_s * 1000000;
        int64_t left_us = node_verdict_fence_left_us(pod_of(pod), silent_us);
        struct json *patch = node_verdict_pod(arena, node_of(node), pod_of(pod), silent_us, 1);

        ck_assert_int_eq(left_us, cases[i].left_s < 0 ? -1 : cases[i].left_s * 1000000);
        if (cases[i].phase == NULL)
            ck_assert_ptr_null(patch);
        else
            ck_assert_str_eq(json_path_text(patch, "status.phase"), cases[i].phase);
        object_unref(pod);
    }
    object_unref(node);
}
END_TEST

START_TEST(nothing_is_left_of_pods_on_a_fenced_node)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *left = "\"remnants\":{\"u\":{\"namespace\":\"default\","
                       "\"name\":\"a\"}}";
    const struct object *fenced = make(&node_kind, FENCED, left);
    const struct object *other = make(&node_kind, UNREACHABLE, left);
    struct json *patch = node_verdict_remnants(arena, node_of(fenced));

    ck_assert(json_is(json_get_path(patch, "status.remnants.u"), JSON_NULL));
    ck_assert_ptr_null(node_verdict_remnants(arena, node_of(other)));
    object_unref(fenced);
    object_unref(other);
}
END_TEST

SUITE("node_verdict", a_silent_node_becomes_unknown_once,
      taints_are_there_exactly_when_they_should_be,
      pods_of_a_silent_node_are_unknown_and_of_a_fenced_one_failed,
      a_pod_that_fences_itself_is_lost_some_time_after, nothing_is_left_of_pods_on_a_fenced_node)
