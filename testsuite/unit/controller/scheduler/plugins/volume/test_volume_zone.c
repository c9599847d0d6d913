/* SPDX-License-Identifier: Apache-2.0 */
/* VolumeZone through the real scheduler. */
#include "controller/scheduler/plugins/volume/claims.h"

#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

#define ZONE     "topology.kubernetes.io/zone"
#define REGION   "topology.kubernetes.io/region"
#define OLD_ZONE "failure-domain.beta.kubernetes.io/zone"
#define NOWHERE  "1 node(s) had no available volume zone"

static void
add_node(struct world *w, const char *label, const char *value)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"n1\",\"labels\":{\"%s\":\"%s\"}},\"status\":{"
                  "\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"110\"}}}",
                  label, value);

    fake_client_put(w->api, &node_kind, text);
}

static void
add_volume(struct world *w, const char *label, const char *value)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"pv\",\"labels\":{\"%s\":\"%s\"}},\"spec\":{"
                  "\"capacity\":{\"storage\":\"1Gi\"},\"accessModes\":[\"ReadWriteOnce\"]"
                  "},\"status\":{\"phase\":\"Bound\"}}",
                  label, value);

    fake_client_put(w->api, &persistent_volume_kind, text);
}

/* Adds the claim, and a pod that uses it. */
static void
add_claim(struct world *w)
{
    fake_client_put(w->api, &persistent_volume_claim_kind,
                    "{\"metadata\":{\"name\":\"c\",\"namespace\":\"default\","
                    "\"annotations\":{\"pv.kubernetes.io/bind-completed\":\"yes\"}},"
                    "\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"volumeName\":\"pv\","
                    "\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}},\"status\":{"
                    "\"phase\":\"Bound\"}}");
    world_add_pod(w, "a", "1", "1Gi",
                  ",\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{"
                  "\"claimName\":\"c\"}}]");
}

static const struct {
    const char *node_label, *node_value;
    const char *volume_label, *volume_value;
    bool fits;
} rows[] = {
    {ZONE, "a", ZONE, "a", true},
    {ZONE, "a", ZONE, "b", false},
    {ZONE, "a", ZONE, "b__a", true},
    {ZONE, "a", ZONE, "b__ a ", true},
    {ZONE, "a", ZONE, "aa__ab", false},
    {ZONE, "a", ZONE, "b__", true},   /* an empty zone restricts nothing */
    {ZONE, "a", REGION, "r", false},  /* a node with zones, and no region */
    {"disk", "ssd", ZONE, "b", true}, /* a node without zones */
    {ZONE, "a", OLD_ZONE, "a", true},
    {ZONE, "a", OLD_ZONE, "b", false},
    {OLD_ZONE, "a", ZONE, "a", false},
    {ZONE, "a", "disk", "ssd", true},
};

START_TEST(a_volume_of_a_zone_is_for_its_nodes)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct world *w = world_new(NULL);
        const struct pod_condition *c;

        add_node(w, rows[i].node_label, rows[i].node_value);
        add_volume(w, rows[i].volume_label, rows[i].volume_value);
        add_claim(w);
        world_settle(w);

        ck_assert_msg((*world_node_of(w, "a") != '\0') == rows[i].fits, "row %zu", i);
        c = pod_find_condition(world_pod(w, "a"), "PodScheduled");
        if (!rows[i].fits)
            ck_assert_msg(strstr(c->message, NOWHERE) != NULL, "%s", c->message);
        world_free(w);
    }
}
END_TEST

START_TEST(other_labels_of_the_volume_or_the_node_help)
{
    for (int change = 0; change < 2; change++) {
        struct world *w = world_new(NULL);

        add_node(w, ZONE, "a");
        add_volume(w, ZONE, "b");
        add_claim(w);
        world_settle(w);
        ck_assert_str_eq(world_node_of(w, "a"), "");
        if (change == 0)
            add_volume(w, ZONE, "a");
        else
            add_node(w, ZONE, "b");
        world_advance(w, 2000);

        ck_assert_str_eq(world_node_of(w, "a"), "n1");
        world_free(w);
    }
}
END_TEST

SUITE("volume_zone", a_volume_of_a_zone_is_for_its_nodes,
      other_labels_of_the_volume_or_the_node_help)
