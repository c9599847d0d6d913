/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/step_grant.h"

#include <errno.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

static int
decode(struct arena *arena, const char *text, struct step_grant *grant)
{
    return step_grant_decode(arena, text, strlen(text), grant, NULL);
}

START_TEST(kiln_step_gets_what_the_manager_has_given)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    unsigned first[] = {0, 1, 2, 7}, second[] = {3};
    struct step_layout_node nodes[] = {
        {.name = "n1", .n_tasks = 4, .tasks = first},
        {.name = "n2", .n_tasks = 1, .tasks = second},
    };
    struct step_grant grant = {
        .step_id = 12,
        .node = 1,
        .is_bound = true,
        .layout = {.n_tasks = 5, .n_nodes = 2, .cpus_per_task = 3, .nodes = nodes},
    };
    struct step_grant got;

    bitset_add(&nodes[0].cpus, 5);
    bitset_add(&nodes[0].cpus, 6);
    bitset_add(&nodes[1].gpus, 1);
    step_grant_encode(&grant, &text);

    ck_assert_int_eq(decode(arena, text.text, &got), 0);
    ck_assert_int_eq(got.step_id, 12);
    ck_assert_uint_eq(got.node, 1);
    ck_assert(got.is_bound);
    ck_assert_uint_eq(got.layout.n_tasks, 5);
    ck_assert_uint_eq(got.layout.cpus_per_task, 3);
    ck_assert_uint_eq(got.layout.n_nodes, 2);
    ck_assert_str_eq(got.layout.nodes[0].name, "n1");
    ck_assert_uint_eq(got.layout.nodes[0].n_tasks, 4);
    ck_assert_mem_eq(got.layout.nodes[0].tasks, first, sizeof(first));
    ck_assert(bitset_equals(&got.layout.nodes[0].cpus, &nodes[0].cpus));
    ck_assert(bitset_equals(&got.layout.nodes[1].gpus, &nodes[1].gpus));
    ck_assert_uint_eq(got.layout.nodes[1].tasks[0], 3);
}
END_TEST

START_TEST(a_malformed_grant_is_refused)
{
    static const char *const bad[] = {
        "",
        "{",
        "[]",
        "{\"nodes\":[]}",
        "{\"node\":1,\"nodes\":[{\"name\":\"n1\"}]}",
        "{\"node\":-1,\"nodes\":[{\"name\":\"n1\"}]}",
        "{\"nodes\":[{\"name\":\"n1\",\"tasks\":\"3-1\"}]}",
        "{\"nodes\":[{\"name\":\"n1\",\"tasks\":\"1,,2\"}]}",
        "{\"nodes\":[{\"name\":\"n1\",\"tasks\":\"0-99999999999\"}]}",
        "{\"nodes\":[{\"name\":\"n1\",\"cpus\":\"x\"}]}",
        "{\"nodes\":[{\"name\":\"n1\"}],\"tasks\":-5}",
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct step_grant grant;

        ck_assert_msg(decode(arena, bad[i], &grant) == -EBADMSG, "%s", bad[i]);
    }
}
END_TEST

SUITE("step_grant", kiln_step_gets_what_the_manager_has_given, a_malformed_grant_is_refused)
