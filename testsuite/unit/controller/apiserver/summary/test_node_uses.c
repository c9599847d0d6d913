/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/summary/node_uses.h"

#include <check.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "testsuite/lib/suite.h"

/* A pod on that node, or on none (""), with an allocation, or without one
 * (NULL).
 */
static const struct object *
make_pod(const char *node, const char *phase, const char *cpus)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *allocation = cpus != NULL
                                 ? arena_printf(arena,
                                                ",\"allocation\":{\"cpus\":\"%s\",\"withheld\":"
                                                "\"9\",\"memory\":[{\"node\":0,\"bytes\":\"1Gi\"}"
                                                "],\"devices\":[\"gpu0\",\"nic0\"]}",
                                                cpus)
                                 : "";
    const char *text =
        arena_printf(arena,
                     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
                     "\"a\",\"namespace\":\"b\"},\"spec\":{\"nodeName\":\"%s\","
                     "\"containers\":[{\"name\":\"main\"}]},\"status\":{\"phase\":\"%s\"%s}"
                     "}",
                     node, phase, allocation);
    struct json *tree = json_parse(arena, text, strlen(text), NULL, NULL);

    ck_assert_ptr_nonnull(tree);
    ck_assert_int_eq(record_normalize(pod_kind.record, arena, tree, NULL, NULL), 0);
    return object_new(&pod_kind, tree);
}

static void
check_use(const struct node_uses *uses, const char *node, struct node_use wanted)
{
    struct node_use use = node_uses_get(uses, node);

    ck_assert_int_eq(use.pods, wanted.pods);
    ck_assert_int_eq(use.cpus, wanted.cpus);
    ck_assert_int_eq(use.memory_bytes, wanted.memory_bytes);
    ck_assert_int_eq(use.gpus, wanted.gpus);
}

#define GIB       (INT64_C(1) << 30)
#define USE_OF(n) ((struct node_use){.pods = 1, .cpus = n, .memory_bytes = GIB, .gpus = 1})
#define NOTHING   ((struct node_use){0})

START_TEST(a_pod_counts_from_its_binding_to_its_end)
{
    CLEANUP(node_uses_freep) struct node_uses *uses = node_uses_new();
    CLEANUP(object_unrefp)
    const struct object *waits = make_pod("", "Pending", NULL);
    CLEANUP(object_unrefp)
    const struct object *bound = make_pod("n1", "Pending", "0-3");
    CLEANUP(object_unrefp)
    const struct object *runs = make_pod("n1", "Running", "0-3");
    CLEANUP(object_unrefp)
    const struct object *ended = make_pod("n1", "Succeeded", "0-3");

    node_uses_moved(uses, NULL, waits);
    check_use(uses, "n1", NOTHING);
    node_uses_moved(uses, waits, bound);
    check_use(uses, "n1", USE_OF(5));
    node_uses_moved(uses, bound, runs);
    check_use(uses, "n1", USE_OF(5));
    node_uses_moved(uses, runs, ended);
    check_use(uses, "n1", NOTHING);
    node_uses_moved(uses, ended, NULL);
    check_use(uses, "n1", NOTHING);
}
END_TEST

START_TEST(a_pod_that_goes_or_is_taken_back_holds_nothing)
{
    CLEANUP(node_uses_freep) struct node_uses *uses = node_uses_new();
    CLEANUP(object_unrefp)
    const struct object *waits = make_pod("", "Pending", NULL);
    CLEANUP(object_unrefp)
    const struct object *runs = make_pod("n1", "Running", "0-3");
    CLEANUP(object_unrefp)
    const struct object *bare = make_pod("n2", "Running", NULL);

    node_uses_moved(uses, waits, runs);
    node_uses_moved(uses, runs, waits); /* the disk was full */
    check_use(uses, "n1", NOTHING);
    node_uses_moved(uses, NULL, runs);
    node_uses_moved(uses, NULL, bare);
    check_use(uses, "n2", (struct node_use){.pods = 1});
    node_uses_moved(uses, runs, NULL);
    check_use(uses, "n1", NOTHING);
    check_use(uses, "n2", (struct node_use){.pods = 1});
}
END_TEST

START_TEST(an_allocation_that_changes_is_counted_anew)
{
    CLEANUP(node_uses_freep) struct node_uses *uses = node_uses_new();
    CLEANUP(object_unrefp)
    const struct object *small = make_pod("n1", "Running", "0-3");
    CLEANUP(object_unrefp)
    const struct object *large = make_pod("n1", "Running", "0-7");

    node_uses_moved(uses, NULL, small);
    node_uses_moved(uses, NULL, small);
    node_uses_moved(uses, small, large);

    check_use(uses, "n1",
              (struct node_use){.pods = 2, .cpus = 14, .memory_bytes = 2 * GIB, .gpus = 2});
}
END_TEST

SUITE("node_uses", a_pod_counts_from_its_binding_to_its_end,
      a_pod_that_goes_or_is_taken_back_holds_nothing, an_allocation_that_changes_is_counted_anew)
