/* SPDX-License-Identifier: Apache-2.0 */
/* VolumeRestrictions through the real scheduler. */
#include "controller/scheduler/plugins/volume/claims.h"

#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

#define TAKEN                                                          \
    "node has pod using PersistentVolumeClaim with the same name and " \
    "ReadWriteOncePod access mode"

/* A claim that is bound to a volume without node affinity. */
static void
add_claim(struct world *w, const char *name, const char *mode)
{
    CLEANUP_FREE char *volume =
        xasprintf("{\"metadata\":{\"name\":\"pv-%s\"},\"spec\":{\"capacity\":{"
                  "\"storage\":\"1Gi\"},\"accessModes\":[\"%s\"]},\"status\":{"
                  "\"phase\":\"Bound\"}}",
                  name, mode);
    CLEANUP_FREE char *claim =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\",\"uid\":"
                  "\"u-%s\",\"annotations\":{\"pv.kubernetes.io/bind-completed\":"
                  "\"yes\"}},\"spec\":{\"accessModes\":[\"%s\"],\"volumeName\":\"pv-%s\","
                  "\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}},\"status\":{"
                  "\"phase\":\"Bound\"}}",
                  name, name, mode, name);

    fake_client_put(w->api, &persistent_volume_kind, volume);
    fake_client_put(w->api, &persistent_volume_claim_kind, claim);
}

static void
add_pod(struct world *w, const char *name, const char *claim, const char *more)
{
    CLEANUP_FREE char *spec = xasprintf(",\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{"
                                        "\"claimName\":\"%s\"}}]%s",
                                        claim, more);

    world_add_pod(w, name, "1", "1Gi", spec);
}

static bool
is_told(const struct world *w, const char *pod, const char *words)
{
    const struct pod_condition *c = pod_find_condition(world_pod(w, pod), "PodScheduled");

    return c != NULL && c->message != NULL && strstr(c->message, words) != NULL;
}

START_TEST(a_claim_for_one_pod_is_one_pods_at_a_time)
{
    struct world *w = world_new(NULL);

    world_add_node(w, "n1", 4);
    world_add_node(w, "n2", 4);
    add_claim(w, "c", "ReadWriteOncePod");
    add_pod(w, "a", "c", "");
    world_settle(w);
    add_pod(w, "b", "c", "");
    world_settle(w);

    ck_assert_str_ne(world_node_of(w, "a"), "");
    ck_assert_str_eq(world_node_of(w, "b"), "");
    ck_assert(is_told(w, "b", "0/2 nodes are available: 2 " TAKEN));
    fake_client_remove(w->api, &pod_kind, "default", "a");
    world_advance(w, 2000);
    ck_assert_str_ne(world_node_of(w, "b"), "");
    world_free(w);
}
END_TEST

START_TEST(one_that_is_on_its_way_has_it_already)
{
    struct world *w = world_new(NULL);

    world_add_node(w, "n1", 4);
    add_claim(w, "c", "ReadWriteOncePod");
    add_pod(w, "a", "c", "");
    add_pod(w, "b", "c", "");
    fake_client_run(w->api);
    /* the first pod is assumed, not bound yet */
    scheduler_work(w->scheduler, 2);
    world_settle(w);

    ck_assert_str_eq(world_node_of(w, "a"), "n1");
    ck_assert_str_eq(world_node_of(w, "b"), "");
    world_free(w);
}
END_TEST

START_TEST(one_that_has_ended_has_it_no_longer)
{
    struct world *w = world_new(NULL);

    world_add_node(w, "n1", 4);
    add_claim(w, "c", "ReadWriteOncePod");
    add_pod(w, "a", "c", "");
    world_settle(w);
    fake_client_put(w->api, &pod_kind,
                    "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\"},\"spec\":{"
                    "\"nodeName\":\"n1\",\"containers\":[{\"name\":\"main\"}],\"volumes\":["
                    "{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"c\"}}]},"
                    "\"status\":{\"phase\":\"Succeeded\"}}");
    world_settle(w);
    add_pod(w, "b", "c", "");
    world_settle(w);

    ck_assert_str_eq(world_node_of(w, "b"), "n1");
    world_free(w);
}
END_TEST

START_TEST(other_modes_are_for_many_pods)
{
    struct world *w = world_new(NULL);

    world_add_node(w, "n1", 4);
    add_claim(w, "c", "ReadWriteOnce");
    add_pod(w, "a", "c", "");
    add_pod(w, "b", "c", "");
    world_settle(w);

    ck_assert_str_eq(world_node_of(w, "a"), "n1");
    ck_assert_str_eq(world_node_of(w, "b"), "n1");
    world_free(w);
}
END_TEST

START_TEST(a_more_important_pod_takes_it_from_another)
{
    struct world *w = world_new(NULL);

    world_add_node(w, "n1", 4);
    add_claim(w, "c", "ReadWriteOncePod");
    add_pod(w, "low", "c", "");
    world_settle(w);
    add_pod(w, "high", "c", ",\"priority\":1000");
    world_settle(w);
    world_advance(w, 15000);

    ck_assert_ptr_null(fake_client_find(w->api, &pod_kind, "default", "low"));
    ck_assert_str_eq(world_node_of(w, "high"), "n1");
    world_free(w);
}
END_TEST

START_TEST(a_claim_that_is_not_there_is_named_and_waited_for)
{
    struct world *w = world_new(NULL);

    world_add_node(w, "n1", 4);
    add_pod(w, "a", "c", "");
    world_settle(w);
    ck_assert(is_told(w, "a", "persistentvolumeclaim \"c\" not found"));
    add_claim(w, "c", "ReadWriteOncePod");
    world_advance(w, 2000);

    ck_assert_str_eq(world_node_of(w, "a"), "n1");
    world_free(w);
}
END_TEST

SUITE("volume_restrictions", a_claim_for_one_pod_is_one_pods_at_a_time,
      one_that_is_on_its_way_has_it_already, one_that_has_ended_has_it_no_longer,
      other_modes_are_for_many_pods, a_more_important_pod_takes_it_from_another,
      a_claim_that_is_not_there_is_named_and_waited_for)
