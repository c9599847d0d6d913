/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/request/options.h"

#include <check.h>

#include "controller/apiserver/request/reply.h"
#include "controller/apiserver/request/routes.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

static bool
parse_nodes(struct options *options, struct arena *arena, const char *list, struct reply *reply)
{
    const struct parameter parameter = {"kiln.hpc/node", list};
    const struct route route = {.verb = VERB_LIST, .kind = &job_kind};

    reply_init(reply, arena);
    return options_parse(options, arena, &route, &parameter, 1, NULL, reply);
}

START_TEST(a_node_that_is_named_often_is_looked_up_once)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    struct options options;
    struct reply reply;

    strbuf_add_text(&list, "n2,n[1-3]");
    for (int i = 0; i < 4000; i++)
        strbuf_add_text(&list, ",n2");
    ck_assert(parse_nodes(&options, arena, list.text, &reply));
    ck_assert_uint_eq(options.n_nodes, 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert_str_eq(options.nodes[i], ((const char *[]){"n1", "n2", "n3"})[i]);
}
END_TEST

START_TEST(more_nodes_than_a_list_may_have_are_refused)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct options options;
    struct reply reply;

    ck_assert(!parse_nodes(&options, arena, "n[1-999999999]", &reply));
    ck_assert_int_eq(reply.code, 400);
}
END_TEST

SUITE("options", a_node_that_is_named_often_is_looked_up_once,
      more_nodes_than_a_list_may_have_are_refused)
