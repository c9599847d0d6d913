/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/node/topology.h"

#include <check.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

static struct json *
parse(struct arena *arena, const char *text)
{
    struct json *v = json_parse(arena, text, strlen(text), NULL, NULL);

    ck_assert_ptr_nonnull(v);
    return v;
}

START_TEST(a_topology_goes_to_json_and_back)
{
    static const char text[] = "{\"version\":1,\"cpus\":\"0-7\",\"reserved\":\"8\","
                               "\"isolated\":\"9\",\"offline\":\"10-11\",\"virtual\":true,"
                               "\"packages\":[\"0-1,4-5\",\"2-3,6-7\"],"
                               "\"dies\":[\"0,4\",\"1,5\",\"2-3,6-7\"],\"clusters\":[\"2-3,6-7\"],"
                               "\"l3\":[\"0-1,4-5\"],\"l2\":[\"0-1,4-5\",\"2-3,6-7\"],"
                               "\"cores\":[\"0,4\",\"1,5\",\"2,6\",\"3,7\"],"
                               "\"kinds\":[{\"cpus\":\"3,7\",\"kind\":1}],"
                               "\"numaNodes\":[{\"node\":0,\"cpus\":\"0-1,4-5\",\"memory\":\"4Gi\","
                               "\"distances\":[10,21,30],\"hugepages\":{\"2Mi\":\"512\"}},"
                               "{\"node\":1,\"cpus\":\"2-3,6-7\",\"memory\":\"1000\","
                               "\"distances\":[21,10,30]},"
                               "{\"node\":4,\"kind\":\"HBM\",\"package\":1,\"memory\":\"16Ti\","
                               "\"distances\":[30,30,10]}],"
                               "\"devices\":[{\"name\":\"gpu0\",\"type\":\"gpu\","
                               "\"path\":\"/dev/x\",\"node\":1}]}";
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(topology_freep) struct topology *t = NULL;
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct error err = {0};

    ck_assert_msg(topology_decode(parse(arena, text), &t, &err) == 0, "%s", err.text);
    json_print(topology_encode(t, arena), &out);

    ck_assert_str_eq(out.text, text);
    ck_assert_uint_eq(t->pu[6].core, 2);
    ck_assert_uint_eq(t->pu[6].package, 1);
    ck_assert_uint_eq(t->pu[6].numa, 1);
    ck_assert_uint_eq(t->pu[6].l3, TOPOLOGY_NONE);
    ck_assert_uint_eq(t->pu[7].kind, 1);
    ck_assert_uint_eq(t->numa[1].package, 1);
    ck_assert_uint_eq(t->pu[5].l2, 0);
    ck_assert_uint_eq(t->numa[0].kind, TOPOLOGY_MEMORY_PLAIN);
    ck_assert_uint_eq(t->numa[2].kind, TOPOLOGY_MEMORY_HBM);
    ck_assert_uint_eq(t->numa[2].package, 1);
    ck_assert_uint_eq(t->devices[0].numa, 1);
}
END_TEST

START_TEST(without_cores_every_pu_is_one)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(topology_freep) struct topology *t = NULL;

    ck_assert_int_eq(topology_decode(parse(arena, "{\"cpus\":\"0-3\",\"packages\":[\"0-3\"],"
                                                  "\"numaNodes\":[{\"node\":0,\"cpus\":\"0-3\","
                                                  "\"memory\":\"1Gi\"}]}"),
                                     &t, NULL),
                     0);

    ck_assert_uint_eq(t->n_cores, 4);
    ck_assert_uint_eq(t->pu[3].core, 3);
}
END_TEST

/* Old agents wrote neither a version nor dies, L2 caches and so on. */
START_TEST(a_topology_of_before_is_read)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(topology_freep) struct topology *t = NULL;

    ck_assert_int_eq(topology_decode(parse(arena, "{\"cpus\":\"0-3\",\"packages\":[\"0-3\"],"
                                                  "\"numaNodes\":[{\"node\":0,\"cpus\":\"0-3\","
                                                  "\"memory\":\"1Gi\"},{\"node\":1,"
                                                  "\"memory\":\"1Gi\"}]}"),
                                     &t, NULL),
                     0);

    ck_assert_uint_eq(t->n_dies + t->n_clusters + t->n_l2, 0);
    ck_assert_uint_eq(t->pu[0].l2, TOPOLOGY_NONE);
    ck_assert_uint_eq(t->numa[1].package, TOPOLOGY_NONE);
    ck_assert(bitset_is_empty(&t->isolated) && bitset_is_empty(&t->offline));
}
END_TEST

START_TEST(an_l2_cache_of_each_core_is_one_word)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(topology_freep) struct topology *t = NULL;
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    static const char text[] = "{\"version\":1,\"cpus\":\"0-3\",\"packages\":[\"0-3\"],"
                               "\"l2\":\"cores\",\"cores\":[\"0,2\",\"1,3\"],"
                               "\"numaNodes\":[{\"node\":0,\"cpus\":\"0-3\",\"memory\":\"1Gi\"}]}";

    ck_assert_int_eq(topology_decode(parse(arena, text), &t, NULL), 0);
    json_print(topology_encode(t, arena), &out);

    ck_assert_str_eq(out.text, text);
    ck_assert_uint_eq(t->n_l2, 2);
    ck_assert_uint_eq(t->pu[3].l2, 1);
}
END_TEST

START_TEST(a_node_of_256_pus_stays_under_4_kib)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    CLEANUP(topology_freep) struct topology *t = NULL;

    strbuf_add_text(&text, "{\"cpus\":\"0-255\",\"packages\":[\"0-63,128-191\","
                           "\"64-127,192-255\"],\"l3\":[");
    for (unsigned i = 0; i < 16; i++)
        strbuf_printf(&text, "%s\"%u-%u,%u-%u\"", i ? "," : "", i * 8, i * 8 + 7, i * 8 + 128,
                      i * 8 + 135);
    strbuf_add_text(&text, "],\"l2\":\"cores\",\"cores\":[");
    for (unsigned i = 0; i < 128; i++)
        strbuf_printf(&text, "%s\"%u,%u\"", i ? "," : "", i, i + 128);
    strbuf_add_text(&text, "],\"numaNodes\":[");
    for (unsigned i = 0; i < 8; i++)
        strbuf_printf(&text,
                      "%s{\"node\":%u,\"cpus\":\"%u-%u,%u-%u\","
                      "\"memory\":\"97844723712\",\"distances\":"
                      "[10,12,12,12,32,32,32,32]}",
                      i ? "," : "", i, i * 16, i * 16 + 15, i * 16 + 128, i * 16 + 143);
    strbuf_add_text(&text, "]}");

    ck_assert_int_eq(topology_decode(parse(arena, text.text), &t, NULL), 0);
    json_print(topology_encode(t, arena), &out);

    ck_assert_uint_lt(out.length, 4096);
}
END_TEST

START_TEST(a_topology_that_contradicts_itself_is_refused)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"{}", "not a list"},
        {"{\"cpus\":\"\"}", "no CPUs"},
        {"{\"cpus\":\"0-\"}", "not a list"},
        {"{\"cpus\":\"0\",\"packages\":[\"0\"]}", "NUMA nodes"},
        {"{\"cpus\":\"0-1\",\"packages\":[\"0\"],\"numaNodes\":[{\"cpus\":"
         "\"0-1\"}]}",
         "CPU 1 is in no package"},
        {"{\"cpus\":\"0-1\",\"packages\":[\"0-1\"],\"numaNodes\":[{\"cpus\":"
         "\"0-1\"},{\"node\":1,\"cpus\":\"1\"}]}",
         "CPU 1 is in two NUMA nodes"},
        {"{\"cpus\":\"0-1\",\"packages\":[\"0-1\"],\"cores\":[\"0-1\",\"1\"],"
         "\"numaNodes\":[{\"cpus\":\"0-1\"}]}",
         "CPU 1 is in two cores"},
        {"{\"version\":2,\"cpus\":\"0\"}", "unknown version 2"},
        {"{\"cpus\":\"0\",\"packages\":[\"0\"],\"l2\":\"packages\"}", "neither a list nor 'cores'"},
        {"{\"cpus\":\"0\",\"packages\":[\"0\"],\"numaNodes\":[{\"cpus\":"
         "\"0\"}],\"devices\":[{\"name\":\"x\"}]}",
         "devices[0]"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP(topology_freep) struct topology *t = NULL;
        struct error err = {0};

        ck_assert_int_lt(topology_decode(parse(arena, cases[i].text), &t, &err), 0);
        ck_assert_ptr_null(t);
        ck_assert_msg(strstr(err.text, cases[i].words) != NULL, "%s: %s", cases[i].text, err.text);
    }
}
END_TEST

SUITE("topology_wire", a_topology_goes_to_json_and_back, without_cores_every_pu_is_one,
      a_topology_of_before_is_read, an_l2_cache_of_each_core_is_one_word,
      a_node_of_256_pus_stays_under_4_kib, a_topology_that_contradicts_itself_is_refused)
