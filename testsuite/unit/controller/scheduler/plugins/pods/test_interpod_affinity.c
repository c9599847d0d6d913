/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of InterPodAffinity that recorded answers do not show. */
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

static void
add_node(struct world *w)
{
    fake_client_put(w->api, &node_kind,
                    "{\"metadata\":{\"name\":\"n1\",\"labels\":{"
                    "\"kubernetes.io/hostname\":\"n1\"}},\"status\":{"
                    "\"allocatable\":{\"cpu\":\"8\",\"memory\":\"64Gi\","
                    "\"pods\":\"110\"}}}");
}

/* A pod with a label, and with anti-affinity to pods with the label `apart`. */
static void
add_pod(struct world *w, const char *name, const char *color, const char *apart)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
                  "\"labels\":{\"color\":\"%s\"}},\"spec\":{\"containers\":[{"
                  "\"name\":\"c\",\"image\":\"host\"}]",
                  name, color);
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

START_TEST(a_repelled_pod_comes_when_those_that_repelled_it_go)
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

START_TEST(a_pod_that_repels_others_wakes_nobody_else)
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

/* Requires or prefers that no other pod of the color is on its node. */
static void
add_users_pod(struct world *w, const char *name, int owner, const char *rest)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"namespace\":\"default\",\"name\":\"%s\","
                  "\"labels\":{\"color\":\"red\"}%s,\"containers\":[{\"name\":"
                  "\"main\",\"image\":\"host\"}],\"securityContext\":{"
                  "\"runAsUser\":%d}}}",
                  name, rest, owner);

    fake_client_put(w->api, &pod_kind, text);
}

#define PLAIN "},\"spec\":{\"restartPolicy\":\"Never\""
#define APART                                                               \
    ",\"affinity\":{\"podAntiAffinity\":{"                                  \
    "\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":" \
    "\"kubernetes.io/hostname\",\"labelSelector\":{}}]}}"
#define ADMINISTRATORS ",\"annotations\":{\"kiln.hpc/repels\":\"all\"}"

START_TEST(a_pod_keeps_away_its_owners_pods_alone)
{
    struct world *w = world_new(NULL);

    add_node(w);
    add_users_pod(w, "lonely", 1000, PLAIN APART);
    world_settle(w);
    add_users_pod(w, "mine", 1000, PLAIN);
    add_users_pod(w, "theirs", 1001, PLAIN);
    add_users_pod(w, "picky", 1001, PLAIN APART);
    world_advance(w, 20000);

    ck_assert_str_eq(world_node_of(w, "mine"), "");
    ck_assert_str_eq(world_node_of(w, "theirs"), "n1");
    ck_assert_str_eq(world_node_of(w, "picky"), "");

    fake_client_remove(w->api, &pod_kind, "default", "lonely");
    world_advance(w, 20000);
    ck_assert_str_eq(world_node_of(w, "mine"), "n1");
    world_free(w);
}
END_TEST

START_TEST(one_that_repels_all_keeps_everybody_away)
{
    struct world *w = world_new(NULL);

    add_node(w);
    add_users_pod(w, "before", 1001, PLAIN);
    world_advance(w, 2000);
    ck_assert_str_eq(world_node_of(w, "before"), "n1");
    fake_client_remove(w->api, &pod_kind, "default", "before");
    add_users_pod(w, "guard", 0, ADMINISTRATORS PLAIN APART);
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "guard"), "n1");
    add_users_pod(w, "theirs", 1001, PLAIN);
    world_advance(w, 20000);

    ck_assert_str_eq(world_node_of(w, "theirs"), "");
    fake_client_remove(w->api, &pod_kind, "default", "guard");
    world_advance(w, 20000);
    ck_assert_str_eq(world_node_of(w, "theirs"), "n1");
    world_free(w);
}
END_TEST

SUITE("interpod_affinity", a_pod_keeps_away_its_owners_pods_alone,
      one_that_repels_all_keeps_everybody_away, a_repelled_pod_comes_when_those_that_repelled_it_go,
      a_pod_that_repels_others_wakes_nobody_else)
