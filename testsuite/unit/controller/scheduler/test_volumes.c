/* SPDX-License-Identifier: Apache-2.0 */
/* VolumeBinding through the real scheduler: the nodes of pods with claims, the
 * messages, and what is undone. The messages are kube-scheduler's.
 */
#include "lib/api/storage/persistent_volume.h"
#include "lib/api/storage/persistent_volume_claim.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

static void PRINTF(3, 4) put(struct world *w, const struct kind *kind, const char *format, ...)
{
    CLEANUP_FREE char *text = NULL;
    va_list args;

    va_start(args, format);
    text = xvasprintf(format, args);
    va_end(args);
    fake_client_put(w->api, kind, text);
}

static void
add_class(struct world *w, const char *name, const char *provisioner)
{
    put(w, &storage_class_kind,
        "{\"metadata\":{\"name\":\"%s\"},\"provisioner\":\"%s\","
        "\"volumeBindingMode\":\"WaitForFirstConsumer\"}",
        name, provisioner);
}

/* A node with that much scratch, "0" for none. */
static void
add_node(struct world *w, const char *name, const char *scratch)
{
    put(w, &node_kind,
        "{\"metadata\":{\"name\":\"%s\",\"labels\":{"
        "\"kubernetes.io/hostname\":\"%s\"}},\"status\":{\"allocatable\":{"
        "\"cpu\":\"8\",\"memory\":\"64Gi\",\"pods\":\"110\"},\"scratch\":{"
        "\"path\":\"/scratch\",\"capacity\":\"%s\"}}}",
        name, name, scratch);
}

static void
add_claim(struct world *w, const char *name, const char *class, const char *size, const char *more)
{
    put(w, &persistent_volume_claim_kind,
        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\",\"uid\":"
        "\"u-%s\"},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],"
        "\"storageClassName\":\"%s\",\"resources\":{\"requests\":{"
        "\"storage\":\"%s\"}}%s},\"status\":{\"phase\":\"Pending\"}}",
        name, name, class, size, more);
}

/* A local volume on that node. */
static void
add_volume(struct world *w, const char *name, const char *node, const char *size)
{
    put(w, &persistent_volume_kind,
        "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"capacity\":{\"storage\":"
        "\"%s\"},\"accessModes\":[\"ReadWriteOnce\"],\"storageClassName\":"
        "\"local\",\"local\":{\"path\":\"/d\"},\"nodeAffinity\":{\"required\":"
        "{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":"
        "\"kubernetes.io/hostname\",\"operator\":\"In\",\"values\":[\"%s\"]}"
        "]}]}}},\"status\":{\"phase\":\"Available\"}}",
        name, size, node);
}

static void
add_pod(struct world *w, const char *name, const char *claim)
{
    CLEANUP_FREE char *spec = xasprintf(",\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{"
                                        "\"claimName\":\"%s\"}}]",
                                        claim);

    world_add_pod(w, name, "1", "1Gi", spec);
}

static const struct persistent_volume_claim *
claim_of(const struct world *w, const char *name)
{
    return persistent_volume_claim_of(
        fake_client_find(w->api, &persistent_volume_claim_kind, "default", name));
}

static const struct persistent_volume *
volume_of(const struct world *w, const char *name)
{
    return persistent_volume_of(fake_client_find(w->api, &persistent_volume_kind, NULL, name));
}

/* Binds the claim completely, like the volume controller. */
static void
bind(struct world *w, const char *claim, const char *class, const char *volume)
{
    put(w, &persistent_volume_claim_kind,
        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\",\"uid\":"
        "\"u-%s\",\"annotations\":{\"pv.kubernetes.io/bind-completed\":"
        "\"yes\"}},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],"
        "\"storageClassName\":\"%s\",\"volumeName\":\"%s\",\"resources\":{"
        "\"requests\":{\"storage\":\"1Gi\"}}},\"status\":{\"phase\":"
        "\"Bound\"}}",
        claim, claim, class, volume);
}

/* Whether the pod has that message, without preemption's part. */
static bool
is_told(const struct world *w, const char *pod, const char *words)
{
    const struct pod_condition *c = pod_find_condition(world_pod(w, pod), "PodScheduled");
    const char *told = c != NULL && c->message != NULL ? c->message : "";
    const char *end = strstr(told, " preemption:");
    size_t n = end != NULL ? (size_t)(end - told) : strlen(told);

    if (n == strlen(words) && strncmp(told, words, n) == 0)
        return true;
    fprintf(stderr, "pod '%s' is told \"%s\"\n", pod, told);
    return false;
}

START_TEST(a_pod_goes_where_its_bound_volume_is)
{
    struct world *w = world_new(NULL);

    add_node(w, "n1", "0");
    add_node(w, "n2", "0");
    add_volume(w, "pv", "n2", "1Gi");
    bind(w, "data", "local", "pv");
    add_pod(w, "a", "data");
    world_settle(w);

    ck_assert_str_eq(world_node_of(w, "a"), "n2");
    world_free(w);
}
END_TEST

START_TEST(a_volume_out_of_reach_is_a_conflict)
{
    struct world *w = world_new(NULL);

    add_node(w, "n1", "0");
    add_volume(w, "pv", "n9", "1Gi");
    bind(w, "data", "local", "pv");
    add_pod(w, "a", "data");
    world_settle(w);

    ck_assert(is_told(w, "a",
                      "0/1 nodes are available: 1 node(s) had volume node "
                      "affinity conflict."));
    world_free(w);
}
END_TEST

START_TEST(a_claim_of_a_volume_that_is_gone_says_so)
{
    struct world *w = world_new(NULL);

    add_node(w, "n1", "0");
    bind(w, "data", "local", "pv");
    add_pod(w, "a", "data");
    world_settle(w);

    ck_assert(is_told(w, "a",
                      "0/1 nodes are available: persistentvolume \"pv\" not "
                      "found."));
    world_free(w);
}
END_TEST

START_TEST(a_claim_that_is_not_there_is_waited_for)
{
    struct world *w = world_new(NULL);

    add_node(w, "n1", "0");
    add_volume(w, "pv", "n1", "1Gi");
    add_pod(w, "a", "data");
    world_settle(w);
    ck_assert(is_told(w, "a",
                      "0/1 nodes are available: persistentvolumeclaim \"data\" "
                      "not found."));

    bind(w, "data", "local", "pv");
    world_settle(w);
    world_advance(w, 2000);
    ck_assert_str_eq(world_node_of(w, "a"), "n1");
    world_free(w);
}
END_TEST

START_TEST(an_immediate_claim_is_bound_by_others_first)
{
    struct world *w = world_new(NULL);

    add_node(w, "n1", "0");
    put(w, &storage_class_kind,
        "{\"metadata\":{\"name\":\"now\"},\"provisioner\":\"x.y/z\","
        "\"volumeBindingMode\":\"Immediate\"}");
    add_claim(w, "data", "now", "1Gi", "");
    add_pod(w, "a", "data");
    world_settle(w);

    ck_assert(is_told(w, "a",
                      "0/1 nodes are available: pod has unbound immediate "
                      "PersistentVolumeClaims."));
    world_free(w);
}
END_TEST

START_TEST(the_smallest_volume_that_suits_is_taken_and_waited_for)
{
    struct world *w = world_new(NULL);

    add_class(w, "local", "kubernetes.io/no-provisioner");
    add_node(w, "n1", "0");
    add_volume(w, "large", "n1", "9Gi");
    add_volume(w, "right", "n1", "2Gi");
    add_volume(w, "small", "n1", "512Mi");
    add_claim(w, "data", "local", "1Gi", "");
    add_pod(w, "a", "data");
    world_settle(w);

    ck_assert_ptr_nonnull(volume_of(w, "right")->spec.claim);
    ck_assert_str_eq(volume_of(w, "right")->spec.claim->uid, "u-data");
    ck_assert_ptr_null(volume_of(w, "large")->spec.claim);
    ck_assert_str_eq(world_node_of(w, "a"), "");

    bind(w, "data", "local", "right");
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "a"), "n1");
    world_free(w);
}
END_TEST

START_TEST(one_volume_is_not_given_to_two_claims)
{
    struct world *w = world_new(NULL);

    add_class(w, "local", "kubernetes.io/no-provisioner");
    add_node(w, "n1", "0");
    add_volume(w, "pv", "n1", "1Gi");
    add_claim(w, "one", "local", "1Gi", "");
    add_claim(w, "two", "local", "1Gi", "");
    add_pod(w, "a", "one");
    add_pod(w, "b", "two");
    world_settle(w);

    ck_assert_uint_eq(scheduler_count(w->scheduler).binding, 1);
    ck_assert(is_told(w, "b",
                      "0/1 nodes are available: 1 node(s) didn't find "
                      "available persistent volumes to bind."));
    world_free(w);
}
END_TEST

START_TEST(the_volume_of_a_claim_has_its_mode_labels_and_access)
{
    struct world *w = world_new(NULL);

    add_class(w, "local", "kubernetes.io/no-provisioner");
    add_node(w, "n1", "0");
    add_volume(w, "pv", "n1", "1Gi");
    add_claim(w, "data", "local", "1Gi", ",\"selector\":{\"matchLabels\":{\"disk\":\"fast\"}}");
    add_pod(w, "a", "data");
    world_settle(w);

    ck_assert(is_told(w, "a",
                      "0/1 nodes are available: 1 node(s) didn't find "
                      "available persistent volumes to bind."));
    ck_assert_ptr_null(volume_of(w, "pv")->spec.claim);
    world_free(w);
}
END_TEST

START_TEST(scratch_is_promised_once)
{
    struct world *w = world_new(NULL);

    add_class(w, "scratch", "kiln.hpc/node-local");
    add_node(w, "n1", "10Gi");
    add_claim(w, "one", "scratch", "6Gi", "");
    add_claim(w, "two", "scratch", "6Gi", "");
    add_pod(w, "a", "one");
    world_settle(w);
    add_pod(w, "b", "two");
    world_settle(w);

    ck_assert_str_eq(persistent_volume_claim_node(claim_of(w, "one")), "n1");
    ck_assert_ptr_null(persistent_volume_claim_node(claim_of(w, "two")));
    ck_assert(is_told(w, "b",
                      "0/1 nodes are available: 1 node(s) did not have enough "
                      "free storage."));

    /* Another node has enough. */
    add_node(w, "n2", "6Gi");
    world_advance(w, 2000);
    ck_assert_str_eq(persistent_volume_claim_node(claim_of(w, "two")), "n2");
    world_free(w);
}
END_TEST

START_TEST(scratch_is_free_again_when_the_volume_is_gone)
{
    struct world *w = world_new(NULL);

    add_class(w, "scratch", "kiln.hpc/node-local");
    add_node(w, "n1", "10Gi");
    put(w, &persistent_volume_kind,
        "{\"metadata\":{\"name\":\"pvc-old\",\"labels\":{\"kiln.hpc/node\":"
        "\"n1\"},\"annotations\":{\"pv.kubernetes.io/provisioned-by\":"
        "\"kiln.hpc/node-local\"}},\"spec\":{\"capacity\":{\"storage\":"
        "\"8Gi\"}},\"status\":{\"phase\":\"Released\"}}");
    add_claim(w, "data", "scratch", "4Gi", "");
    add_pod(w, "a", "data");
    world_settle(w);
    ck_assert(is_told(w, "a",
                      "0/1 nodes are available: 1 node(s) did not have enough "
                      "free storage."));

    fake_client_remove(w->api, &persistent_volume_kind, NULL, "pvc-old");
    world_advance(w, 2000);
    ck_assert_str_eq(persistent_volume_claim_node(claim_of(w, "data")), "n1");
    world_free(w);
}
END_TEST

START_TEST(a_volume_that_cannot_be_made_is_tried_again)
{
    struct world *w = world_new(NULL);

    add_class(w, "scratch", "kiln.hpc/node-local");
    add_node(w, "n1", "10Gi");
    add_claim(w, "data", "scratch", "6Gi", "");
    add_pod(w, "a", "data");
    world_settle(w);

    /* The node is removed from the claim, because provisioning failed. */
    add_claim(w, "data", "scratch", "6Gi", "");
    fake_client_run(w->api);
    scheduler_tick(w->scheduler);
    fake_client_run(w->api);
    ck_assert(is_told(w, "a", "binding volumes: provisioning failed for PVC \"data\""));

    world_advance(w, 2000);
    ck_assert_str_eq(persistent_volume_claim_node(claim_of(w, "data")), "n1");
    bind(w, "data", "scratch", "pvc-u-data");
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "a"), "n1");
    world_free(w);
}
END_TEST

START_TEST(a_volume_that_nobody_makes_is_given_up_in_time)
{
    struct world *w = world_new(NULL);

    add_class(w, "scratch", "kiln.hpc/node-local");
    add_node(w, "n1", "10Gi");
    add_claim(w, "data", "scratch", "6Gi", "");
    add_pod(w, "a", "data");
    world_settle(w);
    ck_assert_uint_eq(scheduler_count(w->scheduler).binding, 1);

    /* Other pods do not wait for it. */
    world_add_pod(w, "b", "1", "1Gi", "");
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "b"), "n1");

    fake_clock_advance(&w->time, INT64_C(601) * 1000000);
    scheduler_tick(w->scheduler);
    scheduler_tick(w->scheduler);
    fake_client_run(w->api);
    ck_assert(is_told(w, "a", "binding volumes: context deadline exceeded"));
    ck_assert_uint_eq(scheduler_count(w->scheduler).binding, 0);
    world_free(w);
}
END_TEST

START_TEST(a_pod_that_goes_while_its_volume_is_made_leaves_nothing)
{
    struct world *w = world_new(NULL);

    add_class(w, "scratch", "kiln.hpc/node-local");
    add_node(w, "n1", "10Gi");
    add_claim(w, "one", "scratch", "6Gi", "");
    add_claim(w, "two", "scratch", "6Gi", "");
    add_pod(w, "a", "one");
    world_settle(w);
    add_pod(w, "b", "two");
    world_settle(w);

    fake_client_remove(w->api, &pod_kind, "default", "a");
    fake_client_remove(w->api, &persistent_volume_claim_kind, "default", "one");
    world_settle(w);
    ck_assert_uint_eq(scheduler_count(w->scheduler).assumed, 0);
    world_advance(w, 2000);
    ck_assert_str_eq(persistent_volume_claim_node(claim_of(w, "two")), "n1");
    world_free(w);
}
END_TEST

START_TEST(the_claim_of_an_ephemeral_volume_is_waited_for_without_backoff)
{
    struct world *w = world_new(NULL);
    const struct object *pod;

    add_class(w, "scratch", "kiln.hpc/node-local");
    add_node(w, "n1", "10Gi");
    world_add_pod(w, "a", "1", "1Gi",
                  ",\"volumes\":[{\"name\":\"tmp\",\"ephemeral\":{"
                  "\"volumeClaimTemplate\":{\"spec\":{\"accessModes\":["
                  "\"ReadWriteOnce\"]}}}}]");
    world_settle(w);
    ck_assert(is_told(w, "a",
                      "0/1 nodes are available: waiting for ephemeral volume "
                      "controller to create the persistentvolumeclaim "
                      "\"a-tmp\"."));

    pod = fake_client_find(w->api, &pod_kind, "default", "a");
    put(w, &persistent_volume_claim_kind,
        "{\"metadata\":{\"name\":\"a-tmp\",\"namespace\":\"default\","
        "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Pod\","
        "\"name\":\"a\",\"uid\":\"%s\",\"controller\":true}]},\"spec\":{"
        "\"accessModes\":[\"ReadWriteOnce\"],\"storageClassName\":\"scratch\","
        "\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}",
        pod->meta->uid);
    world_settle(w);
    ck_assert_str_eq(persistent_volume_claim_node(claim_of(w, "a-tmp")), "n1");
    world_free(w);
}
END_TEST

START_TEST(a_claim_of_that_name_that_is_another_pods_is_refused)
{
    struct world *w = world_new(NULL);

    add_class(w, "scratch", "kiln.hpc/node-local");
    add_node(w, "n1", "10Gi");
    add_claim(w, "a-tmp", "scratch", "1Gi", "");
    world_add_pod(w, "a", "1", "1Gi",
                  ",\"volumes\":[{\"name\":\"tmp\",\"ephemeral\":{"
                  "\"volumeClaimTemplate\":{\"spec\":{\"accessModes\":["
                  "\"ReadWriteOnce\"]}}}}]");
    world_settle(w);

    ck_assert(is_told(w, "a",
                      "0/1 nodes are available: PVC default/a-tmp was not "
                      "created for pod default/a (pod is not owner)."));
    world_free(w);
}
END_TEST

START_TEST(two_pods_of_one_claim_go_to_one_node)
{
    struct world *w = world_new(NULL);

    add_class(w, "scratch", "kiln.hpc/node-local");
    add_node(w, "n1", "10Gi");
    add_node(w, "n2", "10Gi");
    add_claim(w, "data", "scratch", "6Gi", "");
    add_pod(w, "a", "data");
    add_pod(w, "b", "data");
    world_settle(w);
    ck_assert_uint_eq(scheduler_count(w->scheduler).binding, 2);

    bind(w, "data", "scratch", "pvc-u-data");
    put(w, &persistent_volume_kind,
        "{\"metadata\":{\"name\":\"pvc-u-data\"},\"spec\":{\"capacity\":{"
        "\"storage\":\"6Gi\"}},\"status\":{\"phase\":\"Bound\"}}");
    world_settle(w);
    ck_assert_str_ne(world_node_of(w, "a"), "");
    ck_assert_str_eq(world_node_of(w, "a"), world_node_of(w, "b"));
    world_free(w);
}
END_TEST

SUITE("volumes", a_pod_goes_where_its_bound_volume_is, a_volume_out_of_reach_is_a_conflict,
      a_claim_of_a_volume_that_is_gone_says_so, a_claim_that_is_not_there_is_waited_for,
      an_immediate_claim_is_bound_by_others_first,
      the_smallest_volume_that_suits_is_taken_and_waited_for, one_volume_is_not_given_to_two_claims,
      the_volume_of_a_claim_has_its_mode_labels_and_access, scratch_is_promised_once,
      scratch_is_free_again_when_the_volume_is_gone, a_volume_that_cannot_be_made_is_tried_again,
      a_volume_that_nobody_makes_is_given_up_in_time,
      a_pod_that_goes_while_its_volume_is_made_leaves_nothing,
      the_claim_of_an_ephemeral_volume_is_waited_for_without_backoff,
      a_claim_of_that_name_that_is_another_pods_is_refused, two_pods_of_one_claim_go_to_one_node)
