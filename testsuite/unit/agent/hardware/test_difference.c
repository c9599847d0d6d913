/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/hardware/difference.h"

#include <check.h>

#include "agent/hardware/hardware.h"
#include "lib/api/node/topology.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

static struct topology *
discover(const char *given, const char *reserved)
{
    struct hardware_request request = {.given = given};
    struct topology *t = NULL;

    ck_assert_int_eq(cpuset_parse(reserved, &request.reserved, NULL), 0);
    ck_assert_int_eq(hardware_discover(&request, &t, NULL), 0);
    return t;
}

START_TEST(every_change_is_noticed_and_named)
{
    static const char base[] = "pack:2 [numa(memory=8GB)] l3:1 core:2 pu:2";
    static const struct {
        const char *given, *reserved, *says;
    } cases[] = {
        {"pack:1 [numa(memory=8GB)] l3:1 core:2 pu:2", "", "CPUs 4-7 are gone"},
        {"pack:1 [numa(memory=8GB)] l3:1 core:2 pu:2", "", "node 1 is gone"},
        {"pack:2 [numa(memory=8GB)] l3:1 core:3 pu:2", "", "8-11 are new"},
        {"pack:2 [numa(memory=4GB)] l3:1 core:2 pu:2", "", "instead of 7.45"},
        {"pack:2 [numa(memory=8GB)] l3:2 core:1 pu:2", "", "arranged differently"},
        {"pack:2 [numa(memory=8GB)] l3:1 core:4 pu:1", "", "arranged differently"},
        {base, "0-1", "CPUs 0-1 are gone"},
    };
    struct topology *was = discover(base, "");

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct topology *is = discover(cases[i].given, cases[i].reserved);
        CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;

        ck_assert(difference_find(was, is, &words));
        ck_assert_msg(strstr(words.text, cases[i].says), "%s", words.text);
        ck_assert(difference_find(is, was, NULL));
        topology_free(is);
    }
    topology_free(was);
}
END_TEST

START_TEST(the_same_machine_looked_at_twice_is_the_same)
{
    struct topology *was = NULL;
    struct topology *is = NULL;
    struct hardware_request request = {.given = "pack:2 [numa] l3:2 core:2 pu:2"};

    ck_assert_int_eq(hardware_discover(&request, &was, NULL), 0);
    ck_assert_int_eq(hardware_discover(&request, &is, NULL), 0);

    ck_assert(!difference_find(was, is, NULL));
    topology_free(was);
    topology_free(is);
}
END_TEST

SUITE("difference", every_change_is_noticed_and_named, the_same_machine_looked_at_twice_is_the_same)
