/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job/pods_to_remove.h"

#include <check.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/error.h"
#include "testsuite/lib/suite.h"

#define N 7

static const struct object *
parse(const struct kind *kind, const char *text)
{
    const struct object *object = NULL;
    struct error err = {0};

    ck_assert_msg(object_parse(kind, text, strlen(text), &object, &err) == 0, "%s: %s", text,
                  err.text);
    return object;
}

#define POD(metadata, spec, status)                                          \
    "{\"metadata\":{\"namespace\":\"default\"," metadata "},\"spec\":{" spec \
    "\"containers\":[{\"name\":\"main\"}]},\"status\":{" status "}}"
#define MADE(time) ",\"creationTimestamp\":\"2024-01-01T00:00:0" time "Z\""
#define PLACED     "\"nodeName\":\"n1\","
#define RUNNING    "\"phase\":\"Running\""
#define READY      RUNNING ",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]"

START_TEST(those_that_lose_least_go_first)
{
    /* In the order of removal. */
    static const char *const ordered[N] = {
        POD("\"name\":\"j-0\",\"annotations\":{\"kiln.hpc/surplus\":"
            "\"true\"}",
            PLACED, READY),
        POD("\"name\":\"j-9\"", PLACED, READY),
        POD("\"name\":\"j-1\"" MADE("1"), "", ""),
        POD("\"name\":\"j-2\"" MADE("1"), PLACED, "\"phase\":\"Pending\""),
        POD("\"name\":\"j-3\"" MADE("1"), PLACED, RUNNING),
        POD("\"name\":\"j-5\"" MADE("2"), PLACED, READY),
        POD("\"name\":\"j-4\"" MADE("1"), PLACED, READY),
    };
    const struct object *wanted[N], *pods[N];
    const struct object *job =
        parse(&job_kind, "{\"metadata\":{\"name\":\"j\",\"namespace\":\"default\"},"
                         "\"spec\":{\"completionMode\":\"Indexed\",\"completions\":9,"
                         "\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\"}]}"
                         "}}}");

    for (size_t turn = 0; turn < N; turn++) {
        for (size_t i = 0; i < N; i++) {
            wanted[i] = parse(&pod_kind, ordered[i]);
            pods[(i * 3 + turn) % N] = wanted[i];
        }

        pods_to_remove_sort(job_of(job), pods, N);

        for (size_t i = 0; i < N; i++) {
            ck_assert_str_eq(pods[i]->meta->name, wanted[i]->meta->name);
            object_unref(wanted[i]);
        }
    }
    object_unref(job);
}
END_TEST

SUITE("pods to remove", those_that_lose_least_go_first)
