/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/text_patch.h"

#include <check.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/merge.h"
#include "lib/json/record.h"
#include "testsuite/lib/suite.h"

/* Contains everything that may mislead a scanner. */
static const char pod[] = "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"7\","
                          "\"labels\":{\"nodeName\":\"x\"},\"annotations\":{\"a\":\"}],\\\"\\\\\","
                          "\"b\":\"{\\\"resourceVersion\\\":\\\"7\\\"}\",\"c\":\"\"}},\"spec\":{"
                          "\"activeDeadlineSeconds\":60,\"hostNetwork\":true,\"containers\":[{"
                          "\"name\":\"main\",\"command\":[\"[\",\"}\"],\"resources\":{}}]},"
                          "\"status\":{\"phase\":\"Pending\",\"qosClass\":\"BestEffort\"}}";

static struct json *
parse(struct arena *arena, const char *text)
{
    struct json *tree = json_parse(arena, text, strlen(text), NULL, NULL);

    ck_assert_ptr_nonnull(tree);
    return tree;
}

static const char *
print_normal(struct arena *arena, struct json *tree)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    ck_assert_int_eq(record_normalize(pod_kind.record, arena, tree, NULL, NULL), 0);
    json_print(tree, &text);
    return arena_strdup(arena, text.text);
}

START_TEST(a_patched_text_is_that_of_the_merged_tree)
{
    static const char *const patches[] = {
        "{}",
        "{\"metadata\":{\"resourceVersion\":\"1234567\"}}",
        "{\"metadata\":{\"resourceVersion\":\"8\"},\"spec\":{\"nodeName\":"
        "\"n1\"},\"status\":{\"conditions\":[{\"type\":\"PodScheduled\","
        "\"status\":\"True\",\"lastProbeTime\":null,"
        "\"lastTransitionTime\":null}],\"allocation\":{\"cpus\":\"0-3\"}}}",
        "{\"spec\":{\"activeDeadlineSeconds\":3600}}",
        "{\"spec\":{\"nodeName\":\"n\\\"1\"}}",
        "{\"metadata\":{\"generateName\":\"first\",\"finalizers\":[\"b/c\"]}}",
        "{\"status\":{\"phase\":\"Running\"}}",
        "{\"spec\":{\"containers\":[{\"name\":\"other\",\"resources\":{}}]}}",
    };
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *text = print_normal(arena, parse(arena, pod));

    for (size_t i = 0; i < ARRAY_SIZE(patches); i++) {
        const struct json *patch = parse(arena, patches[i]);
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
        const char *merged = print_normal(arena, json_merge(arena, parse(arena, text), patch));

        ck_assert_msg(text_patch(pod_kind.record, text, patch, &out), "%s", patches[i]);
        ck_assert_str_eq(out.text, merged);
    }
}
END_TEST

START_TEST(an_impossible_patch_is_refused)
{
    static const char *const patches[] = {
        "{\"status\":{\"phase\":null}}",
        "{\"status\":{\"reason\":null}}",
        "{\"spec\":{\"unheardOf\":1}}",
        "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", /* a map, not a struct */
        "[]",
    };
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *text = print_normal(arena, parse(arena, pod));

    for (size_t i = 0; i < ARRAY_SIZE(patches); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

        ck_assert_msg(!text_patch(pod_kind.record, text, parse(arena, patches[i]), &out), "%s",
                      patches[i]);
    }
}
END_TEST

SUITE("text_patch", a_patched_text_is_that_of_the_merged_tree, an_impossible_patch_is_refused)
