/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of PodTopologySpread that recorded answers do not show. */
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

/* A pod with that many constraints, each for another label. */
static void
add_spread_pod(struct world *w, const char *name, unsigned count)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

    strbuf_add_text(&s, ",\"topologySpreadConstraints\":[");
    for (unsigned i = 0; i < count; i++)
        strbuf_printf(&s,
                      "%s{\"maxSkew\":1,\"topologyKey\":\"l%u\","
                      "\"whenUnsatisfiable\":\"DoNotSchedule\","
                      "\"labelSelector\":{}}",
                      i > 0 ? "," : "", i);
    strbuf_add_char(&s, ']');
    world_add_pod(w, name, "1", "1Gi", s.text);
}

static void
add_labelled_node(struct world *w, unsigned labels)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

    strbuf_add_text(&s, "{\"metadata\":{\"name\":\"n1\",\"labels\":{");
    for (unsigned i = 0; i < labels; i++)
        strbuf_printf(&s, "%s\"l%u\":\"x\"", i > 0 ? "," : "", i);
    strbuf_add_text(&s, "}},\"status\":{\"allocatable\":{\"cpu\":\"8\","
                        "\"memory\":\"64Gi\",\"pods\":\"110\"}}}");
    fake_client_put(w->api, &node_kind, s.text);
}

START_TEST(sixteen_constraints_are_kept_and_more_are_refused_in_words)
{
    struct world *w = world_new(NULL);
    const struct pod_condition *c;

    add_labelled_node(w, 17);
    add_spread_pod(w, "sixteen", 16);
    add_spread_pod(w, "seventeen", 17);
    world_settle(w);

    ck_assert_str_eq(world_node_of(w, "sixteen"), "n1");
    ck_assert_str_eq(world_node_of(w, "seventeen"), "");
    c = pod_find_condition(world_pod(w, "seventeen"), "PodScheduled");
    ck_assert_ptr_nonnull(c);
    ck_assert_ptr_nonnull(strstr(c->message, "more than 16 topology spread constraints"));
    world_free(w);
}
END_TEST

SUITE("topology_spread", sixteen_constraints_are_kept_and_more_are_refused_in_words)
