/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/job_array_summary.h"

#include <check.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

static const struct object *
make(const struct kind *kind, const char *text)
{
    const struct object *object = NULL;

    ck_assert_int_eq(object_parse(kind, text, strlen(text), &object, NULL), 0);
    return object;
}

static const struct object *
make_pod(struct arena *arena, int task, const char *node, const char *phase)
{
    return make(&pod_kind, arena_printf(arena,
                                        "{\"metadata\":{\"name\":\"p\",\"annotations\":{"
                                        "\"kiln.hpc/array-task\":\"%d\"}},\"spec\":{%s"
                                        "\"containers\":[]},\"status\":{\"phase\":"
                                        "\"%s\"}}",
                                        task, node, phase));
}

START_TEST(tasks_wait_are_held_or_run)
{
    static const char on[] = "\"nodeName\":\"n1\",";
    static const struct {
        const char *status, *waiting;
    } cases[] = {
        {"", "1042_[5,8-9]"},
        {",\"status\":{\"array\":{\"waiting\":\"8-9\"}}", "1042_[5,8-9]"},
        {",\"status\":{\"array\":{\"waiting\":\"1-2,6-8,...\"}}", "1042_[5,8,...]"},
        {",\"status\":{\"array\":{\"cancelled\":1}}", "1042_5"},
        {",\"status\":{\"attempts\":9}", "1042_5"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP(object_unrefp)
        const struct object *job =
            make(&job_kind, arena_printf(arena,
                                         "{\"metadata\":{\"name\":\"j\"},\"spec\":{"
                                         "\"array\":{\"tasks\":\"1-9\",\"held\":\"6\","
                                         "\"cancelled\":\"7\"},\"template\":{\"spec\":{"
                                         "\"containers\":[]}}}%s}",
                                         cases[i].status));
        const struct object *pods[] = {
            make_pod(arena, 3, on, "Running"),   make_pod(arena, 1, on, "Pending"),
            make_pod(arena, 5, "", "Pending"),   make_pod(arena, 4, on, "Failed"),
            make_pod(arena, 2, on, "Succeeded"), make_pod(arena, 2, on, "Failed"),
        };
        struct job_array_summary s = {0};

        for (size_t p = 0; p < ARRAY_SIZE(pods); p++)
            job_array_summary_add(&s, arena, pods[p]);
        job_array_summary_finish(&s, arena, job_of(job));

        ck_assert_str_eq(job_array_summary_waiting_text(arena, 1042, &s, 20), cases[i].waiting);
        ck_assert_uint_eq(s.n_running, 2);
        ck_assert_int_eq(s.running[0].id, 1);
        ck_assert_int_eq(s.running[1].id, 3);
        ck_assert_ptr_eq(s.first_waiting, pod_of(pods[2]));
        for (size_t p = 0; p < ARRAY_SIZE(pods); p++)
            object_unref(pods[p]);
    }
}
END_TEST

START_TEST(a_long_list_is_cut_at_a_comma)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct task_list list;

    ck_assert_int_eq(task_list_parse(arena, "1,3-4,70-800:7,1000,2000", &list, NULL), 0);

    ck_assert_str_eq(job_array_summary_text(arena, 7, &list, 8), "7_[1,3-4,...]");
    ck_assert_str_eq(job_array_summary_text(arena, 7, &list, 99), "7_[1,3-4,70-798:7,1000,2000]");
}
END_TEST

SUITE("job_array_summary", tasks_wait_are_held_or_run, a_long_list_is_cut_at_a_comma)
