/* SPDX-License-Identifier: Apache-2.0 */
/* Claims and volumes through the real controllers: volume_controller,
 * storage_protection and ephemeral_claims over the volume cache.
 */
#include "controller/lifecycle/storage/volume_controller.h"

#include <stdarg.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "controller/lifecycle/storage/ephemeral_claims.h"
#include "controller/lifecycle/storage/storage_protection.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/storage/persistent_volume.h"
#include "lib/api/storage/persistent_volume_claim.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/skipped_waits.h"
#include "testsuite/lib/suite.h"

static struct fake_client *api;
static struct fake_clock time_;
static struct loop *loop;
static struct timer *end_of_turn;
static struct object_cache *cache;
static struct volume_controller *control;
static struct storage_protection *guard;
static struct ephemeral_claims *ephemeral;

static void
stop(void *context)
{
    (void)context;
    loop_stop(loop);
}

static void
settle(void)
{
    for (int i = 0; i < 15; i++) {
        fake_client_run(api);
        timer_start(end_of_turn, 1);
        loop_run(loop);
    }
    fake_client_run(api);
}

static void PRINTF(2, 3) put(const struct kind *kind, const char *format, ...)
{
    CLEANUP_FREE char *text = NULL;
    va_list args;

    va_start(args, format);
    text = xvasprintf(format, args);
    va_end(args);
    fake_client_put(api, kind, text);
}

static void
put_class(const char *name, const char *provisioner, const char *mode)
{
    put(&storage_class_kind,
        "{\"metadata\":{\"name\":\"%s\"},\"provisioner\":\"%s\","
        "\"volumeBindingMode\":\"%s\"}",
        name, provisioner, mode);
}

static void
put_node(const char *name, const char *scratch)
{
    put(&node_kind,
        "{\"metadata\":{\"name\":\"%s\",\"labels\":{"
        "\"kubernetes.io/hostname\":\"%s\"}},\"status\":{\"scratch\":{"
        "\"path\":\"/scratch\",\"capacity\":\"%s\"},\"conditions\":[{"
        "\"type\":\"Ready\",\"status\":\"True\"}]}}",
        name, name, scratch);
}

static void
begin(void)
{
    static const struct fake_clock clock = FAKE_CLOCK;
    struct client *client;

    time_ = clock;
    api = fake_client_new();
    client = fake_client_client(api);
    skip_waits();
    loop = loop_new();
    end_of_turn = timer_new(loop, stop, NULL);
    put_class("local", "kubernetes.io/no-provisioner", "Immediate");
    put_class("now", "kiln.hpc/node-local", "Immediate");
    put_class("scratch", "kiln.hpc/node-local", "WaitForFirstConsumer");
    put_node("n1", "10Gi");
    cache = object_cache_new(client);
    guard = storage_protection_new(loop, client, cache);
    control = volume_controller_new(&(struct volume_controller_settings){
        .loop = loop,
        .client = client,
        .cache = cache,
        .clock = &time_.clock,
    });
    ephemeral = ephemeral_claims_new(loop, client, cache);
    object_cache_start(cache);
    settle();
}

static void
end(void)
{
    ephemeral_claims_free(ephemeral);
    volume_controller_free(control);
    storage_protection_free(guard);
    object_cache_free(cache);
    timer_free(end_of_turn);
    loop_free(loop);
    fake_client_free(api);
}

/* `more` has further members of the metadata, each after a comma. */
static void
put_claim(const char *name, const char *class, const char *size, const char *more)
{
    put(&persistent_volume_claim_kind,
        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\",\"uid\":"
        "\"u-%s\"%s},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],"
        "\"storageClassName\":\"%s\",\"resources\":{\"requests\":{"
        "\"storage\":\"%s\"}}},\"status\":{\"phase\":\"Pending\"}}",
        name, name, more, class, size);
}

static void
put_volume(const char *name, const char *size, const char *more)
{
    put(&persistent_volume_kind,
        "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"capacity\":{"
        "\"storage\":\"%s\"},\"accessModes\":[\"ReadWriteOnce\"],"
        "\"storageClassName\":\"local\",\"local\":{\"path\":\"/d\"}%s},"
        "\"status\":{\"phase\":\"Pending\"}}",
        name, size, more);
}

static const struct object *
find(const struct kind *kind, const char *namespace, const char *name)
{
    return fake_client_find(api, kind, namespace, name);
}

static bool
has_claim(const char *name)
{
    return find(&persistent_volume_claim_kind, "default", name) != NULL;
}

static bool
has_volume(const char *name)
{
    return find(&persistent_volume_kind, NULL, name) != NULL;
}

static const struct object *
must_find(const struct kind *kind, const char *namespace, const char *name)
{
    const struct object *o = find(kind, namespace, name);

    if (o == NULL) {
        fprintf(stderr, "'%s' is not there\n", name);
        abort();
    }
    return o;
}

static const struct persistent_volume_claim *
claim(const char *name)
{
    return persistent_volume_claim_of(must_find(&persistent_volume_claim_kind, "default", name));
}

static const struct persistent_volume *
volume(const char *name)
{
    return persistent_volume_of(must_find(&persistent_volume_kind, NULL, name));
}

/* Stores the agent's report about a volume. */
static void
agent_says(const char *name, const char *status)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct json *tree =
        object_tree(fake_client_find(api, &persistent_volume_kind, NULL, name), arena);

    json_set(arena, tree, "status", json_parse(arena, status, strlen(status), NULL, NULL));
    json_print(tree, &text);
    fake_client_put(api, &persistent_volume_kind, text.text);
}

#define CHOSEN                                                         \
    ",\"annotations\":{\"volume.kubernetes.io/selected-node\":\"n1\"," \
    "\"kiln.hpc/uid\":\"1000\"}"

START_TEST(a_volume_that_is_nobodys_is_available)
{
    begin();
    put_volume("pv", "1Gi", "");
    settle();

    ck_assert_str_eq(volume("pv")->status.phase, "Available");
    end();
}
END_TEST

START_TEST(a_claim_gets_the_smallest_volume_that_suits_and_keeps_it)
{
    begin();
    put_volume("large", "9Gi", "");
    put_volume("right", "2Gi", "");
    put_volume("small", "512Mi", "");
    settle();
    put_claim("data", "local", "1Gi", "");
    settle();

    ck_assert(persistent_volume_claim_is_bound(claim("data")));
    ck_assert_str_eq(claim("data")->spec.volume_name, "right");
    ck_assert_str_eq(claim("data")->status.phase, "Bound");
    ck_assert_str_eq(volume("right")->status.phase, "Bound");
    ck_assert_str_eq(volume("right")->spec.claim->uid, "u-data");
    ck_assert_str_eq(volume("large")->status.phase, "Available");
    end();
}
END_TEST

START_TEST(a_claim_waits_for_a_volume_to_come)
{
    begin();
    put_claim("data", "local", "1Gi", "");
    settle();
    ck_assert_str_eq(claim("data")->status.phase, "Pending");

    put_volume("pv", "1Gi", "");
    settle();
    ck_assert_str_eq(claim("data")->status.phase, "Bound");
    end();
}
END_TEST

START_TEST(a_volume_that_was_set_aside_is_its_claims)
{
    begin();
    put_volume("aside", "9Gi", ",\"claimRef\":{\"namespace\":\"default\",\"name\":\"data\"}");
    put_volume("better", "1Gi", "");
    settle();
    put_claim("other", "local", "5Gi", "");
    put_claim("data", "local", "1Gi", "");
    settle();

    ck_assert_str_eq(claim("data")->spec.volume_name, "aside");
    ck_assert_str_eq(claim("other")->status.phase, "Pending");
    end();
}
END_TEST

START_TEST(a_released_volume_is_kept_where_the_policy_says_so)
{
    begin();
    put_volume("pv", "1Gi", ",\"persistentVolumeReclaimPolicy\":\"Retain\"");
    settle();
    put_claim("data", "local", "1Gi", "");
    settle();
    fake_client_remove(api, &persistent_volume_claim_kind, "default", "data");
    settle();

    ck_assert_str_eq(volume("pv")->status.phase, "Released");
    /* A claim of the same name is another claim. */
    put(&persistent_volume_claim_kind,
        "{\"metadata\":{\"name\":\"data\",\"namespace\":\"default\",\"uid\":"
        "\"another\"},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],"
        "\"storageClassName\":\"local\",\"resources\":{\"requests\":{"
        "\"storage\":\"1Gi\"}}}}");
    settle();
    ck_assert_str_eq(volume("pv")->status.phase, "Released");
    ck_assert(!persistent_volume_claim_is_bound(claim("data")));
    end();
}
END_TEST

START_TEST(a_claim_whose_volume_is_gone_is_lost)
{
    begin();
    put_volume("pv", "1Gi", "");
    settle();
    put_claim("data", "local", "1Gi", "");
    settle();
    fake_client_remove(api, &persistent_volume_kind, NULL, "pv");
    settle();

    ck_assert_str_eq(claim("data")->status.phase, "Lost");
    end();
}
END_TEST

START_TEST(a_claim_that_waits_for_a_pod_gets_nothing_before)
{
    begin();
    put_claim("data", "scratch", "1Gi", "");
    settle();

    ck_assert_uint_eq(fake_client_count(api, &persistent_volume_kind), 0);
    ck_assert_str_eq(claim("data")->status.phase, "Pending");
    end();
}
END_TEST

START_TEST(an_agent_is_asked_and_what_it_makes_is_bound)
{
    const struct persistent_volume *v;

    begin();
    put_claim("data", "scratch", "1Gi", CHOSEN);
    settle();
    v = volume("pvc-u-data");
    ck_assert_str_eq(v->spec.local_path, "/scratch/pvc-u-data");
    ck_assert_str_eq(persistent_volume_scratch_node(v), "n1");
    ck_assert_str_eq(string_map_find(&v->meta.annotations, "kiln.hpc/uid"), "1000");
    ck_assert(meta_has_finalizer(&v->meta, FINALIZER_SCRATCH));
    ck_assert(!persistent_volume_claim_is_bound(claim("data")));

    agent_says("pvc-u-data", "{\"phase\":\"Available\"}");
    settle();
    ck_assert(persistent_volume_claim_is_bound(claim("data")));
    ck_assert_str_eq(volume("pvc-u-data")->status.phase, "Bound");
    end();
}
END_TEST

START_TEST(an_agent_that_cannot_frees_the_claim_for_another_node)
{
    begin();
    put_claim("data", "scratch", "1Gi", CHOSEN);
    settle();
    agent_says("pvc-u-data", "{\"phase\":\"Failed\",\"message\":\"the disk is full\"}");
    settle();

    ck_assert_ptr_null(persistent_volume_claim_node(claim("data")));
    ck_assert(!has_volume("pvc-u-data") || volume("pvc-u-data")->meta.deleted_at_us != 0);
    end();
}
END_TEST

START_TEST(a_claim_that_waits_for_no_pod_gets_scratch_of_the_emptiest_node)
{
    begin();
    put_node("n2", "20Gi");
    settle();
    put_claim("data", "now", "15Gi", "");
    settle();

    ck_assert(has_volume("pvc-u-data"));
    ck_assert_str_eq(persistent_volume_scratch_node(volume("pvc-u-data")), "n2");
    end();
}
END_TEST

/* A user's node could get the volumes of all by offering much scratch. */
START_TEST(the_node_of_a_user_gets_only_volumes_of_that_user)
{
    static const char *const of_1000 = ",\"annotations\":{\"kiln.hpc/uid\":\"1000\"}";

    begin();
    put_node("n2", "20Gi");
    put(&node_kind,
        "{\"metadata\":{\"name\":\"n3-ann\"%s},\"status\":{\"scratch\":{\"path\":\"/scratch\","
        "\"capacity\":\"1Ei\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
        of_1000);
    settle();
    put_claim("data", "now", "15Gi", "");
    put_claim("hers", "now", "15Gi", of_1000);
    settle();

    ck_assert_str_eq(persistent_volume_scratch_node(volume("pvc-u-data")), "n2");
    ck_assert_str_eq(persistent_volume_scratch_node(volume("pvc-u-hers")), "n3-ann");
    end();
}
END_TEST

/* A volume that is being deleted, with the given reason in its status. */
static void
put_deleted(const char *node, const char *reason)
{
    put(&persistent_volume_kind,
        "{\"metadata\":{\"name\":\"pvc-u-data\",\"labels\":{"
        "\"kiln.hpc/node\":\"%s\"},\"annotations\":{"
        "\"pv.kubernetes.io/provisioned-by\":\"kiln.hpc/node-local\"},"
        "\"deletionTimestamp\":\"2024-01-01T00:00:00Z\",\"finalizers\":["
        "\"kiln.hpc/node-local\"]},\"spec\":{\"claimRef\":{\"namespace\":"
        "\"default\",\"name\":\"data\",\"uid\":\"u-data\"}},\"status\":{"
        "\"phase\":\"Released\"%s}}",
        node, reason);
}

static bool
is_let_go(void)
{
    return !has_volume("pvc-u-data")
           || !meta_has_finalizer(&volume("pvc-u-data")->meta, FINALIZER_SCRATCH);
}

START_TEST(scratch_is_deleted_with_its_claim)
{
    begin();
    put_claim("data", "scratch", "1Gi", CHOSEN);
    settle();
    agent_says("pvc-u-data", "{\"phase\":\"Available\"}");
    settle();
    ck_assert(has_volume("pvc-u-data"));
    fake_client_remove(api, &persistent_volume_claim_kind, "default", "data");
    settle();

    ck_assert(!has_volume("pvc-u-data"));
    end();
}
END_TEST

START_TEST(scratch_is_let_go_when_the_agent_has_removed_it)
{
    begin();
    put_deleted("n1", "");
    settle();
    ck_assert(!is_let_go());

    put_deleted("n1", ",\"reason\":\"Removed\"");
    settle();
    ck_assert(is_let_go());
    end();
}
END_TEST

START_TEST(scratch_of_a_node_that_is_gone_is_let_go_too)
{
    begin();
    put_deleted("n1", "");
    settle();
    ck_assert(!is_let_go());

    fake_client_remove(api, &node_kind, NULL, "n1");
    settle();
    ck_assert(is_let_go());
    end();
}
END_TEST

static void
put_pod(const char *phase)
{
    put(&pod_kind,
        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"default\",\"uid\":"
        "\"u-p\",\"annotations\":{\"kiln.hpc/user\":\"ada\"}},\"spec\":{"
        "\"securityContext\":{\"runAsUser\":1000,\"runAsGroup\":100},"
        "\"containers\":[{\"name\":\"main\"}],\"volumes\":[{\"name\":\"tmp\","
        "\"ephemeral\":{\"volumeClaimTemplate\":{\"metadata\":{\"labels\":{"
        "\"a\":\"b\"}},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],"
        "\"storageClassName\":\"scratch\",\"resources\":{\"requests\":{"
        "\"storage\":\"1Gi\"}}}}}}]},\"status\":{\"phase\":\"%s\"}}",
        phase);
}

START_TEST(a_pod_with_a_template_gets_a_claim_that_is_its_users)
{
    const struct persistent_volume_claim *c;

    begin();
    put_pod("Pending");
    settle();

    c = claim("p-tmp");
    ck_assert_str_eq(meta_controller(&c->meta)->uid, "u-p");
    ck_assert_str_eq(string_map_find(&c->meta.annotations, "kiln.hpc/uid"), "1000");
    ck_assert_str_eq(string_map_find(&c->meta.annotations, "kiln.hpc/gid"), "100");
    ck_assert_str_eq(string_map_find(&c->meta.labels, "a"), "b");
    end();
}
END_TEST

START_TEST(a_pod_that_has_ended_keeps_no_scratch)
{
    begin();
    put_pod("Running");
    settle();
    ck_assert(has_claim("p-tmp"));
    put_pod("Succeeded");
    settle();

    ck_assert(!has_claim("p-tmp") || claim("p-tmp")->meta.deleted_at_us != 0);
    end();
}
END_TEST

START_TEST(a_claim_that_is_in_use_stays_until_it_is_not)
{
    begin();
    put_pod("Running");
    put_claim("p-tmp", "scratch", "1Gi",
              ",\"finalizers\":[\"kubernetes.io/pvc-protection\"],"
              "\"deletionTimestamp\":\"2024-01-01T00:00:00Z\"");
    settle();
    ck_assert(has_claim("p-tmp"));
    ck_assert(meta_has_finalizer(&claim("p-tmp")->meta, "kubernetes.io/pvc-protection"));

    put_pod("Failed");
    settle();
    ck_assert(!has_claim("p-tmp")
              || !meta_has_finalizer(&claim("p-tmp")->meta, "kubernetes.io/pvc-protection"));
    end();
}
END_TEST

SUITE("volume_controller", a_volume_that_is_nobodys_is_available,
      a_claim_gets_the_smallest_volume_that_suits_and_keeps_it, a_claim_waits_for_a_volume_to_come,
      a_volume_that_was_set_aside_is_its_claims, a_released_volume_is_kept_where_the_policy_says_so,
      a_claim_whose_volume_is_gone_is_lost, a_claim_that_waits_for_a_pod_gets_nothing_before,
      an_agent_is_asked_and_what_it_makes_is_bound,
      an_agent_that_cannot_frees_the_claim_for_another_node,
      a_claim_that_waits_for_no_pod_gets_scratch_of_the_emptiest_node,
      the_node_of_a_user_gets_only_volumes_of_that_user, scratch_is_deleted_with_its_claim,
      scratch_is_let_go_when_the_agent_has_removed_it, scratch_of_a_node_that_is_gone_is_let_go_too,
      a_pod_with_a_template_gets_a_claim_that_is_its_users, a_pod_that_has_ended_keeps_no_scratch,
      a_claim_that_is_in_use_stays_until_it_is_not)
