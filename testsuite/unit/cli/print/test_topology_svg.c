/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/topology_svg.h"

#include <check.h>
#include <string.h>

#include "cli/print/topology_text.h"
#include "lib/api/node/topology.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

/* Two packages, a NUMA node with only memory, a device on NUMA node 1 and one
 * on no node.
 */
static struct topology *
machine(void)
{
    static const char text[] = "{\"cpus\":\"0-15\",\"reserved\":\"16\",\"packages\":["
                               "\"0-3,8-11\",\"4-7,12-15\"],\"l3\":[\"0-3,8-11\",\"4-7,12-15\"],"
                               "\"cores\":[\"0,8\",\"1,9\",\"2,10\",\"3,11\",\"4,12\",\"5,13\","
                               "\"6,14\",\"7,15\"],\"numaNodes\":["
                               "{\"node\":0,\"cpus\":\"0-3,8-11\",\"memory\":\"4Gi\"},"
                               "{\"node\":1,\"cpus\":\"4-7,12-15\",\"memory\":\"4Gi\"},"
                               "{\"node\":2,\"cpus\":\"\",\"memory\":\"16Gi\"}],"
                               "\"devices\":[{\"name\":\"gpu0\",\"type\":\"gpu\",\"node\":1,"
                               "\"model\":\"A <b> & c\"},{\"name\":\"nic0\",\"type\":\"nic\"}]}";
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct error err = {0};
    struct topology *topology = NULL;
    const struct json *wire = json_parse(arena, text, strlen(text), NULL, &err);

    ck_assert_msg(topology_decode(wire, &topology, &err) == 0, "%s", err.text);
    return topology;
}

static unsigned
count(const struct strbuf *text, const char *word)
{
    unsigned n = 0;

    for (const char *p = text->text; (p = strstr(p, word)) != NULL; p++)
        n++;
    return n;
}

START_TEST(every_core_has_its_rectangle_in_its_box)
{
    CLEANUP(topology_freep) struct topology *t = machine();
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    topology_svg_print(t, "node x", NULL, 0, &out);

    ck_assert_uint_eq(count(&out, "class=\"core\""), 8);
    ck_assert_uint_eq(count(&out, "class=\"l3\""), 2);
    ck_assert_uint_eq(count(&out, "class=\"numa\""), 3);
    ck_assert_uint_eq(count(&out, "class=\"package\""), 2);
    ck_assert_uint_eq(count(&out, "<title>CPU "), 16);
    ck_assert_uint_eq(count(&out, "memory only"), 1);
    ck_assert_uint_eq(count(&out, ">gpu0<"), 1);
    ck_assert_uint_eq(count(&out, ">nic0<"), 1);
}
END_TEST

START_TEST(tenants_colour_what_they_have)
{
    static const char *const devices[] = {"gpu0"};
    CLEANUP(topology_freep) struct topology *t = machine();
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct topology_tenant tenants[2] = {
        {.label = "a/job-1", .devices = devices, .n_devices = 1},
        {.label = "b/job-2"},
    };

    bitset_add(&tenants[0].cpus, 0);
    bitset_add(&tenants[0].cpus, 8);
    bitset_add(&tenants[1].cpus, 2);
    bitset_add(&tenants[1].withheld, 10);
    topology_svg_print(t, "node x", tenants, 2, &out);

    ck_assert_uint_eq(count(&out, ": a/job-1</title>"), 2);
    ck_assert_uint_eq(count(&out, ": b/job-2</title>"), 1);
    ck_assert_uint_eq(count(&out, ": b/job-2 (idle)</title>"), 1);
    ck_assert_uint_eq(count(&out, ": free</title>"), 12);
    ck_assert_uint_eq(count(&out, "<title>given: "), 1);
    ck_assert_uint_eq(count(&out, "<title>free: "), 1);
}
END_TEST

START_TEST(memory_is_a_bar_of_who_has_it)
{
    static const int64_t mine[] = {INT64_C(1) << 30, 0, 0};
    static const int64_t too_much[] = {INT64_C(1) << 40, 1, 0};
    CLEANUP(topology_freep) struct topology *t = machine();
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const struct topology_tenant tenants[] = {
        {.label = "a/job-1", .memory = mine},
        {.label = "b/job-2", .memory = too_much},
    };

    topology_svg_print(t, "node x", tenants, 2, &out);

    ck_assert_uint_eq(count(&out, "class=\"memory\""), t->n_numa);
    ck_assert_uint_eq(count(&out, "<title>1Gi of memory: a/job-1</title>"), 1);
    ck_assert_uint_eq(count(&out, " of memory: b/job-2</title>"), 2);
    ck_assert_uint_eq(count(&out, ", 0B free<"), 1);
}
END_TEST

START_TEST(names_cannot_break_the_picture)
{
    CLEANUP(topology_freep) struct topology *t = machine();
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct topology_tenant tenant = {.label = "\"x\"><script>"};

    bitset_add(&tenant.cpus, 0);
    topology_svg_print(t, "a & <b>", &tenant, 1, &out);

    ck_assert_uint_eq(count(&out, "<script>"), 0);
    ck_assert_uint_eq(count(&out, "&quot;x&quot;&gt;&lt;script&gt;"), 2);
    ck_assert_uint_eq(count(&out, "a &amp; &lt;b&gt;"), 1);
    ck_assert_uint_eq(count(&out, "A &lt;b&gt; &amp; c"), 1);
}
END_TEST

SUITE("topology_svg", every_core_has_its_rectangle_in_its_box, tenants_colour_what_they_have,
      memory_is_a_bar_of_who_has_it, names_cannot_break_the_picture)
