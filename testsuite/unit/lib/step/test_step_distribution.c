/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/step_distribution.h"

#include <errno.h>
#include <string.h>

#include "lib/base/error.h"
#include "testsuite/lib/suite.h"

START_TEST(words_are_read_for_nodes_sockets_and_cores)
{
    static const struct {
        const char *text;
        struct step_distribution expected;
    } cases[] = {
        {NULL, {0}},
        {"*", {0}},
        {"block", {.nodes = STEP_ORDER_BLOCK}},
        {"cyclic:cyclic", {.nodes = STEP_ORDER_CYCLIC, .sockets = STEP_ORDER_CYCLIC}},
        {"*:fcyclic:block", {.sockets = STEP_ORDER_FCYCLIC, .cores = STEP_ORDER_BLOCK}},
        {"plane=4", {.nodes = STEP_ORDER_PLANE, .plane = 4}},
        {"Block,NoPack", {.nodes = STEP_ORDER_BLOCK, .spreads = true}},
        {"block:block,Pack",
         {.nodes = STEP_ORDER_BLOCK, .sockets = STEP_ORDER_BLOCK, .packs = true}},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct step_distribution d;

        ck_assert_int_eq(step_distribution_parse(cases[i].text, &d, NULL), 0);
        ck_assert_int_eq(d.nodes, cases[i].expected.nodes);
        ck_assert_int_eq(d.sockets, cases[i].expected.sockets);
        ck_assert_int_eq(d.cores, cases[i].expected.cores);
        ck_assert_uint_eq(d.plane, cases[i].expected.plane);
        ck_assert(d.packs == cases[i].expected.packs && d.spreads == cases[i].expected.spreads);
    }
}
END_TEST

START_TEST(others_are_refused_with_what_there_is)
{
    static const struct {
        const char *text, *expected;
        int code;
    } cases[] = {
        {"", "'' is no distribution over nodes", -EINVAL},
        {"fcyclic", "over nodes: use block, cyclic or plane=SIZE", -EINVAL},
        {"block:plane=2", "over sockets", -EINVAL},
        {"block:block:x", "over cores", -EINVAL},
        {"block:block:block:block", "at most three", -EINVAL},
        {"plane=", "plane=: the size", -EINVAL},
        {"plane=0", "from 1 to", -EINVAL},
        {"plane=99999999999999999999", "from 1 to", -EINVAL},
        {"arbitrary", "list of hosts", -ENOTSUP},
        {"block,tight", "only Pack or NoPack", -EINVAL},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct step_distribution d;
        struct error error = {0};

        ck_assert_int_eq(step_distribution_parse(cases[i].text, &d, &error), cases[i].code);
        ck_assert_msg(strstr(error.text, cases[i].expected) != NULL, "%s: %s", cases[i].text,
                      error.text);
    }
}
END_TEST

SUITE("step_distribution", words_are_read_for_nodes_sockets_and_cores,
      others_are_refused_with_what_there_is)
