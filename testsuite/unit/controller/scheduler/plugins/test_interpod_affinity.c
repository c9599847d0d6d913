/* SPDX-License-Identifier: Apache-2.0 */
/* What recorded answers do not show of InterPodAffinity. */
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

static void
add_node(struct world *w)
{
    fake_client_put(w->api,
                    &node_kind,
                    "{\"metadata\":{\"name\":\"n1\",\"labels\":{"
                    "\"kubernetes.io/hostname\":\"n1\"}},\"status\":{"
                    "\"allocatable\":{\"cpu\":\"8\",\"memory\":\"64Gi\","
                    "\"pods\":\"110\"}}}");
}

/* With a label, and apart from those that have one. */
static void
add_pod(struct world *w, const char *name, const char *color, const char *apart)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
                  "\"labels\":{\"color\":\"%s\"}},\"spec\":{\"containers\":[{"
                  "\"name\":\"c\",\"image\":\"host\"}]",
                  name,
                  color);
    if (apart != NULL)
        strbuf_printf(&s,
                      ",\"affinity\":{\"podAntiAffinity\":{"
                      "\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
                      "\"topologyKey\":\"kubernetes.io/hostname\","
                      "\"labelSelector\":{\"matchLabels\":{\"color\":\"%s\"}}"
                      "}]}}",
                      apart);
    strbuf_add_text(&s, "}}");
    fake_client_put(w->api, &pod_kind, s.text);
}

START_TEST(who_is_kept_away_comes_when_those_that_kept_it_away_go)
{
    struct world *w = world_new(NULL);

    add_node(w);
    add_pod(w, "lonely", "red", "blue");
    add_pod(w, "shy", "red", "blue");
    world_settle(w);
    add_pod(w, "blue", "blue", NULL);
    add_pod(w, "bluish", "blue", "green");
    world_settle(w);
    world_advance(w, 60000);
    ck_assert_str_eq(world_node_of(w, "blue"), "");

    fake_client_remove(w->api, &pod_kind, "default", "lonely");
    world_advance(w, 20000);
    ck_assert_str_eq(world_node_of(w, "blue"), "");
    fake_client_remove(w->api, &pod_kind, "default", "shy");
    world_advance(w, 100);
    world_advance(w, 20000);

    ck_assert_str_eq(world_node_of(w, "blue"), "n1");
    ck_assert_str_eq(world_node_of(w, "bluish"), "n1");
    world_free(w);
}
END_TEST

START_TEST(who_keeps_others_away_wakes_no_one_else)
{
    struct world *w = world_new(NULL);
    uint64_t attempts;

    add_node(w);
    add_pod(w, "lonely", "red", "blue");
    add_pod(w, "other", "red", "green");
    world_settle(w);
    add_pod(w, "blue", "blue", NULL);
    world_settle(w);
    world_advance(w, 20000);
    attempts = scheduler_count(w->scheduler).attempts;

    fake_client_remove(w->api, &pod_kind, "default", "other");
    world_advance(w, 20000);

    ck_assert_uint_eq(scheduler_count(w->scheduler).attempts, attempts);
    world_free(w);
}
END_TEST

SUITE("interpod_affinity",
      who_is_kept_away_comes_when_those_that_kept_it_away_go,
      who_keeps_others_away_wakes_no_one_else)
