/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/pod/pod_sums.h"

#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

#define CONTAINER(more) "{\"name\":\"x\",\"image\":\"host\"" more "}"
#define ASKS(list, cpu) ",\"resources\":{\"" list "\":{\"cpu\":\"" cpu "\"}}"
#define SIDECAR         ",\"restartPolicy\":\"Always\""

static const struct {
    const char *spec;
    int64_t requests, limits; /* thousandths of a CPU */
} rows[] = {
    {"\"containers\":[" CONTAINER("") "]", 0, 0},
    {"\"containers\":[" CONTAINER(ASKS("requests", "1")) "," CONTAINER(
         ASKS("requests", "250m")) "]",
     1250, 0},
    {"\"containers\":[" CONTAINER(ASKS("limits", "2")) "]", 0, 2000},
    /* Init containers run one after another, before the rest. */
    {"\"initContainers\":[" CONTAINER(ASKS("requests", "3")) "," CONTAINER(
         ASKS("requests", "2")) "],\"containers\":[" CONTAINER(ASKS("requests", "1")) "]",
     3000, 0},
    /* A sidecar keeps running beside the containers after it. */
    {"\"initContainers\":[" CONTAINER(SIDECAR ASKS("requests", "1")) "," CONTAINER(
         ASKS("requests", "3")) "],\"containers\":[" CONTAINER(ASKS("requests", "2")) "]",
     4000, 0},
    {"\"initContainers\":[" CONTAINER(ASKS("requests", "3")) "," CONTAINER(
         SIDECAR ASKS("requests", "1")) "],\"containers\":[" CONTAINER(ASKS("requests", "2")) "]",
     3000, 0},
    /* The overhead is always requested, and limited where the rest is. */
    {"\"overhead\":{\"cpu\":\"100m\"},\"containers\":[" CONTAINER(ASKS("requests", "1")) "]", 1100,
     0},
    {"\"overhead\":{\"cpu\":\"100m\"},\"containers\":[" CONTAINER(ASKS("limits", "1")) "]", 100,
     1100},
};

static const struct object *
make_pod(const char *spec)
{
    struct arena *arena = arena_new(0);
    char *text = xasprintf("{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\"},"
                           "\"spec\":{%s}}",
                           spec);
    const struct object *pod;

    pod = object_new(&pod_kind, json_parse(arena, text, strlen(text), NULL, NULL));
    arena_free(arena);
    free(text);
    return pod;
}

START_TEST(a_pod_asks_for_the_most_that_any_moment_needs)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct object *pod = make_pod(rows[i].spec);
        struct pod_sums requests = {0}, limits = {0};

        pod_sums_add_requests(&requests, &pod_of(pod)->spec, NULL);
        pod_sums_add_limits(&limits, &pod_of(pod)->spec);

        ck_assert_msg(pod_sum_milli(pod_sums_find(&requests, "cpu")) == rows[i].requests,
                      "requests of row %zu", i);
        ck_assert_msg(pod_sum_milli(pod_sums_find(&limits, "cpu")) == rows[i].limits,
                      "limits of row %zu", i);
        pod_sums_fini(&requests);
        pod_sums_fini(&limits);
        object_unref(pod);
    }
}
END_TEST

START_TEST(an_absent_value_is_the_default)
{
    const struct pod_sums_defaults defaults = {100, 200};
    const struct object *pod =
        make_pod("\"containers\":[" CONTAINER(ASKS("requests", "1")) "," CONTAINER("") "]");
    struct pod_sums sums = {0};

    pod_sums_add_requests(&sums, &pod_of(pod)->spec, &defaults);

    ck_assert_int_eq(pod_sum_milli(pod_sums_find(&sums, "cpu")), 1100);
    ck_assert_int_eq(pod_sum_value(pod_sums_find(&sums, "memory")), 400);
    ck_assert_ptr_null(pod_sums_find(&sums, "example.com/gpu"));
    pod_sums_fini(&sums);
    object_unref(pod);
}
END_TEST

SUITE("pod_sums", a_pod_asks_for_the_most_that_any_moment_needs, an_absent_value_is_the_default)
