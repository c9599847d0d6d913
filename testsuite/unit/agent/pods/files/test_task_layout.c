/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/files/task_layout.h"

#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

static const struct object *
make_pod(const char *annotations)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"p\",\"namespace\":\"default\",\"annotations\":{%s}},"
                  "\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"host\"}]}}",
                  annotations);

    const struct object *pod = NULL;

    ck_assert_int_eq(object_parse(&pod_kind, text, strlen(text), &pod, NULL), 0);
    return pod;
}

START_TEST(tasks_are_divided_among_the_nodes)
{
    static const struct {
        const char *annotations, *list, *expected, *tasks, *hosts, *machines;
        unsigned own, before;
    } cases[] = {
        {"", NULL, "n2", "1", "n2 slots=1\n", "n2:1\n", 0, 0},
        {"\"kiln.hpc/tasks\":\"4\"", NULL, "n2", "4", "n2 slots=4\n", "n2:4\n", 0, 0},
        {"\"kiln.hpc/tasks\":\"8\"", "n[1-3]", "n[1-3]", "8(x3)",
         "n1 slots=8\nn2 slots=8\nn3 slots=8\n", "n1:8\nn2:8\nn3:8\n", 1, 8},
        {"\"kiln.hpc/tasks\":\"3\",\"kiln.hpc/total-tasks\":\"7\"", "n[1-3]", "n[1-3]", "3,2(x2)",
         "n1 slots=3\nn2 slots=2\nn3 slots=2\n", "n1:3\nn2:2\nn3:2\n", 1, 3},
        /* the number of tasks was changed; the total is a former one, or nonsense */
        {"\"kiln.hpc/tasks\":\"2\",\"kiln.hpc/total-tasks\":\"7\"", "n[1-2]", "n[1-2]", "2(x2)",
         "n1 slots=2\nn2 slots=2\n", "n1:2\nn2:2\n", 1, 2},
        {"\"kiln.hpc/tasks\":\"9\",\"kiln.hpc/total-tasks\":\"7\"", "n[1-2]", "n[1-2]", "9(x2)",
         "n1 slots=9\nn2 slots=9\n", "n1:9\nn2:9\n", 1, 9},
        {"\"kiln.hpc/tasks\":\"x\",\"kiln.hpc/total-tasks\":\"-1\"", "n2,n1", "n2,n1", "1(x2)",
         "n2 slots=1\nn1 slots=1\n", "n2:1\nn1:1\n", 0, 0},
        /* a list without this node, or none at all */
        {"", "m[1-2]", "n2", "1", "n2 slots=1\n", "n2:1\n", 0, 0},
        {"", "m[1", "n2", "1", "n2 slots=1\n", "n2:1\n", 0, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_STRBUF struct strbuf tasks = STRBUF_INIT;
        CLEANUP_STRBUF struct strbuf hosts = STRBUF_INIT;
        CLEANUP_STRBUF struct strbuf machines = STRBUF_INIT;
        const struct object *pod = make_pod(cases[i].annotations);
        struct task_layout nodes;

        task_layout_init(&nodes, arena, pod, cases[i].list, "n2");
        task_layout_format_tasks(&nodes, &tasks);
        task_layout_format_hostfile(&nodes, &hosts);
        ck_assert_str_eq(nodes.list, cases[i].expected);
        ck_assert_str_eq(tasks.text, cases[i].tasks);
        ck_assert_str_eq(hosts.text, cases[i].hosts);
        task_layout_format_machines(&nodes, &machines);
        ck_assert_str_eq(machines.text, cases[i].machines);
        ck_assert_uint_eq(nodes.own, cases[i].own);
        ck_assert_int_eq(task_layout_tasks_before(&nodes, nodes.own), cases[i].before);
        object_unref(pod);
    }
}
END_TEST

SUITE("the nodes of a job", tasks_are_divided_among_the_nodes)
