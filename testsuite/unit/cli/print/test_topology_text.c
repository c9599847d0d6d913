/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/topology_text.h"

#include <check.h>
#include <string.h>

#include "lib/api/node/topology.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

static struct topology *
topology_of(const char *text)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct error err = {0};
    struct topology *topology = NULL;
    const struct json *wire = json_parse(arena, text, strlen(text), NULL, &err);

    ck_assert_msg(topology_decode(wire, &topology, &err) == 0, "%s", err.text);
    return topology;
}

START_TEST(each_core_shows_who_has_its_threads)
{
    CLEANUP(topology_freep)
    struct topology *topology =
        topology_of("{\"cpus\":\"0-15\",\"packages\":[\"0-3,8-11\",\"4-7,12-15\"],"
                    "\"l3\":[\"0-1,8-9\",\"2-3,10-11\",\"4-7,12-15\"],"
                    "\"cores\":[\"0,8\",\"1,9\",\"2,10\",\"3,11\",\"4,12\",\"5,13\","
                    "\"6,14\",\"7,15\"],\"numaNodes\":["
                    "{\"node\":0,\"cpus\":\"0-3,8-11\",\"memory\":\"4Gi\"},"
                    "{\"node\":1,\"cpus\":\"4-7,12-15\",\"memory\":\"4Gi\"}],"
                    "\"devices\":[{\"name\":\"gpu0\",\"type\":\"gpu\",\"node\":1},"
                    "{\"name\":\"gpu1\",\"type\":\"gpu\",\"node\":1}]}");
    static const char *const gpus[] = {"gpu1"};
    static const int64_t memory[] = {INT64_C(1) << 30, 0};
    struct topology_tenant tenants[2] = {0};
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    tenants[0].memory = memory;
    tenants[1].memory = memory;
    tenants[1].devices = gpus;
    tenants[1].n_devices = 1;
    bitset_add(&tenants[0].cpus, 0);
    bitset_add(&tenants[0].cpus, 8);
    bitset_add(&tenants[1].cpus, 2);
    bitset_add(&tenants[1].withheld, 10);
    topology_text_print(topology, tenants, 2, false, &out);

    ck_assert_str_eq(out.text, "package 0\n"
                               "  NUMA node 0   4Gi   2 of 4 cores free, 2Gi of memory\n"
                               "    L3   AA ..\n"
                               "    L3   B- ..\n"
                               "package 1\n"
                               "  NUMA node 1   4Gi   4 of 4 cores free\n"
                               "    L3   .. .. .. ..\n"
                               "    . gpu0 (gpu)\n"
                               "    B gpu1 (gpu)\n");
}
END_TEST

START_TEST(dies_shared_caches_and_kinds_of_memory_are_shown)
{
    CLEANUP(topology_freep)
    struct topology *topology =
        topology_of("{\"cpus\":\"0-7\",\"packages\":[\"0-7\"],"
                    "\"dies\":[\"0-3\",\"4-7\"],\"l2\":[\"0-1\",\"2-3\",\"4-5\",\"6-7\"],"
                    "\"numaNodes\":["
                    "{\"node\":0,\"cpus\":\"0-3\",\"memory\":\"4Gi\"},"
                    "{\"node\":1,\"cpus\":\"4-7\",\"memory\":\"4Gi\"},"
                    "{\"node\":2,\"kind\":\"HBM\",\"package\":0,\"memory\":\"1Gi\"}]}");
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    topology_text_print(topology, NULL, 0, false, &out);

    ck_assert_str_eq(out.text, "package 0\n"
                               "  die 0\n"
                               "    NUMA node 0   4Gi   4 of 4 cores free\n"
                               "           . .  . .\n"
                               "  die 1\n"
                               "    NUMA node 1   4Gi   4 of 4 cores free\n"
                               "           . .  . .\n"
                               "  NUMA node 2   1Gi HBM   memory only\n");
}
END_TEST

START_TEST(tenants_have_marks_as_long_as_there_are_letters)
{
    ck_assert_int_eq(topology_tenant_mark(0), 'A');
    ck_assert_int_eq(topology_tenant_mark(26), 'a');
    ck_assert_int_eq(topology_tenant_mark(61), '9');
    ck_assert_int_eq(topology_tenant_mark(62), '*');
    ck_assert_int_eq(topology_tenant_mark(100000), '*');
}
END_TEST

SUITE("topology_text", each_core_shows_who_has_its_threads,
      dies_shared_caches_and_kinds_of_memory_are_shown,
      tenants_have_marks_as_long_as_there_are_letters)
