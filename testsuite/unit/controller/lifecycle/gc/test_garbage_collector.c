/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/gc/garbage_collector.h"

#include <check.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/skipped_waits.h"
#include "testsuite/lib/suite.h"

static struct fake_client *api;
static struct loop *loop;
static struct timer *end_of_turn;
static struct object_cache *cache;
static struct garbage_collector *collector;
static struct arena *arena;

static void
stop(void *context)
{
    (void)context;
    loop_stop(loop);
}

static void
settle(void)
{
    for (int i = 0; i < 10; i++) {
        fake_client_run(api);
        timer_start(end_of_turn, 1);
        loop_run(loop);
    }
    fake_client_run(api);
}

static void
begin(void)
{
    arena = arena_new(0);
    api = fake_client_new();
    skip_waits();
    loop = loop_new();
    end_of_turn = timer_new(loop, stop, NULL);
    cache = object_cache_new(fake_client_client(api));
    collector = garbage_collector_new(loop, fake_client_client(api), cache);
    object_cache_start(cache);
    settle();
}

static void
end(void)
{
    garbage_collector_free(collector);
    object_cache_free(cache);
    timer_free(end_of_turn);
    loop_free(loop);
    fake_client_free(api);
    arena_free(arena);
}

static void
put_job(const char *uid, const char *metadata)
{
    fake_client_put(api, &job_kind,
                    arena_printf(arena,
                                 "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
                                 "\"metadata\":{\"name\":\"j\",\"namespace\":\"default\","
                                 "\"uid\":\"%s\"%s},\"spec\":{\"template\":{\"spec\":"
                                 "{\"securityContext\":{\"runAsUser\":1000},"
                                 "\"containers\":[{\"name\":\"main\"}]}}}}",
                                 uid, metadata));
}

static void
put_pod(const char *name, const char *owner_kind, const char *owner_uid)
{
    fake_client_put(api, &pod_kind,
                    arena_printf(arena,
                                 "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":"
                                 "{\"name\":\"%s\",\"namespace\":\"default\","
                                 "\"ownerReferences\":[{\"apiVersion\":\"batch/v1\","
                                 "\"kind\":\"%s\",\"name\":\"j\",\"uid\":\"%s\","
                                 "\"controller\":true}]},\"spec\":{\"containers\":"
                                 "[{\"name\":\"main\"}]}}",
                                 name, owner_kind, owner_uid));
}

/* A pod of a user that is being deleted and never ends, before a job of user
 * 1000.
 */
static void
put_stubborn_pod(const char *name, unsigned uid)
{
    fake_client_put(api, &pod_kind,
                    arena_printf(arena,
                                 "{\"metadata\":{\"name\":\"%s\","
                                 "\"namespace\":\"default\",\"deletionTimestamp\":"
                                 "\"2024-01-01T00:00:00Z\",\"ownerReferences\":"
                                 "[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
                                 "\"name\":\"j\",\"uid\":\"u1\","
                                 "\"blockOwnerDeletion\":true}]},\"spec\":"
                                 "{\"securityContext\":{\"runAsUser\":%u},"
                                 "\"containers\":[{\"name\":\"main\"}]}}",
                                 name, uid));
}

static const struct object *
find(const struct kind *kind, const char *name)
{
    return fake_client_find(api, kind, "default", name);
}

static unsigned
finalizers_of_job(void)
{
    return find(&job_kind, "j")->meta->finalizers.count;
}

static bool
is_uid_of_set(UNUSED const struct kind *kind, UNUSED const char *namespace, UNUSED const char *name,
              const char *uid, UNUSED void *context)
{
    return strcmp(uid, "damaged") == 0;
}

static void
put_dependent(const char *name, const char *owner_uid)
{
    fake_client_put(api, &config_map_kind,
                    arena_printf(arena,
                                 "{\"metadata\":{\"name\":\"%s\",\"namespace\":"
                                 "\"default\",\"ownerReferences\":[{\"apiVersion\":\"v1\","
                                 "\"kind\":\"ConfigMap\",\"name\":\"owner\","
                                 "\"uid\":\"%s\"}]}}",
                                 name, owner_uid));
}

START_TEST(dependents_of_an_unreadable_object_stay)
{
    begin();
    object_cache_ask_damaged(cache, is_uid_of_set, NULL);

    put_dependent("of-damaged", "damaged");
    put_dependent("of-none", "gone");
    settle();

    ck_assert_ptr_nonnull(find(&config_map_kind, "of-damaged"));
    ck_assert_ptr_null(find(&config_map_kind, "of-none"));
    end();
}
END_TEST

static void
put_free_pod(const char *name, const char *uid)
{
    fake_client_put(api, &pod_kind,
                    arena_printf(arena,
                                 "{\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\","
                                 "\"namespace\":\"default\"},\"spec\":{\"containers\":"
                                 "[{\"name\":\"main\"}]}}",
                                 name, uid));
}

static void
put_claim(const char *name, const char *pod, const char *pod_uid)
{
    fake_client_put(api, &persistent_volume_claim_kind,
                    arena_printf(arena,
                                 "{\"metadata\":{\"name\":\"%s\",\"namespace\":"
                                 "\"default\",\"ownerReferences\":[{\"apiVersion\":\"v1\","
                                 "\"kind\":\"Pod\",\"name\":\"%s\",\"uid\":\"%s\","
                                 "\"controller\":true}]},\"spec\":{\"accessModes\":"
                                 "[\"ReadWriteOnce\"],\"resources\":{\"requests\":"
                                 "{\"storage\":\"1Mi\"}}}}",
                                 name, pod, pod_uid));
}

START_TEST(dependents_of_a_pod_go_with_it_though_nobody_saw_it_end)
{
    begin();
    put_free_pod("goes", "p1");
    put_free_pod("stays", "p2");
    put_claim("of-goes", "goes", "p1");
    put_claim("also-of-goes", "goes", "p1");
    put_claim("of-stays", "stays", "p2");
    settle();

    fake_client_remove(api, &pod_kind, "default", "goes");
    settle();

    ck_assert_ptr_null(find(&persistent_volume_claim_kind, "of-goes"));
    ck_assert_ptr_null(find(&persistent_volume_claim_kind, "also-of-goes"));
    ck_assert_ptr_nonnull(find(&persistent_volume_claim_kind, "of-stays"));
    end();
}
END_TEST

/* Of any kind, and a pod that is not a Job's alone. */
START_TEST(dependents_of_a_group_or_a_job_go_with_it)
{
    begin();
    put_job("u1", "");
    fake_client_put(api, &pod_group_kind,
                    "{\"metadata\":{\"name\":\"g\",\"namespace\":\"default\",\"uid\":\"u2\","
                    "\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":"
                    "\"j\",\"uid\":\"u1\",\"controller\":true}]},\"spec\":{\"schedulingPolicy\":{"
                    "\"gang\":{\"minCount\":2}}}}");
    fake_client_put(api, &pod_kind,
                    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"default\",\"ownerReferences\":[{"
                    "\"apiVersion\":\"scheduling.k8s.io/v1beta1\",\"kind\":\"PodGroup\",\"name\":"
                    "\"g\",\"uid\":\"u2\"}]},\"spec\":{\"containers\":[{\"name\":\"main\"}]}}");
    settle();
    ck_assert_ptr_nonnull(find(&pod_group_kind, "g"));
    ck_assert_ptr_nonnull(find(&pod_kind, "p"));

    fake_client_remove(api, &job_kind, "default", "j");
    settle();
    settle();
    ck_assert_ptr_null(find(&pod_group_kind, "g"));
    ck_assert_ptr_null(find(&pod_kind, "p"));
    end();
}
END_TEST

START_TEST(in_the_foreground_the_job_goes_when_its_pods_have)
{
    begin();
    put_job("u1", "");
    put_pod("of-job", "Job", "u1");
    settle();

    put_job("u1", ",\"deletionTimestamp\":\"2024-01-01T00:00:00Z\","
                  "\"finalizers\":[\"foregroundDeletion\",\"example.net/mine\"]");
    for (int i = 0; i < 300 && finalizers_of_job() != 1; i++)
        settle();

    ck_assert_ptr_null(find(&pod_kind, "of-job"));

    const struct object *job = find(&job_kind, "j");

    ck_assert_ptr_nonnull(job);
    ck_assert_uint_eq(job->meta->finalizers.count, 1);
    ck_assert_str_eq(job->meta->finalizers.items[0], "example.net/mine");
    end();
}
END_TEST

START_TEST(another_users_dependent_holds_no_deletion)
{
    begin();
    put_job("u1", "");
    put_stubborn_pod("of-another", 2000);
    settle();

    put_job("u1", ",\"deletionTimestamp\":\"2024-01-01T00:00:00Z\","
                  "\"finalizers\":[\"foregroundDeletion\",\"example.net/mine\"]");
    for (int i = 0; i < 300 && finalizers_of_job() != 1; i++)
        settle();

    ck_assert_uint_eq(finalizers_of_job(), 1);
    end();
}
END_TEST

START_TEST(pods_whose_job_is_gone_go_too)
{
    begin();
    put_job("u1", "");
    put_pod("of-job", "Job", "u1");
    put_pod("of-another", "Job", "u0");
    put_pod("of-a-set", "ReplicaSet", "u0");
    settle();

    ck_assert_ptr_nonnull(find(&pod_kind, "of-job"));
    ck_assert_ptr_null(find(&pod_kind, "of-another"));
    ck_assert_ptr_nonnull(find(&pod_kind, "of-a-set"));

    fake_client_remove(api, &job_kind, "default", "j");
    settle();
    ck_assert_ptr_null(find(&pod_kind, "of-job"));
    ck_assert_ptr_nonnull(find(&pod_kind, "of-a-set"));
    end();
}
END_TEST

static bool
is_job_j(const struct kind *kind, UNUSED const char *namespace, const char *name,
         UNUSED const char *uid, UNUSED void *context)
{
    return kind == &job_kind && strcmp(name, "j") == 0;
}

START_TEST(pods_of_a_job_that_cannot_be_read_stay)
{
    begin();
    object_cache_ask_damaged(cache, is_job_j, NULL);

    put_pod("of-damaged", "Job", "u0");
    settle();

    ck_assert_ptr_nonnull(find(&pod_kind, "of-damaged"));
    end();
}
END_TEST

START_TEST(a_delete_that_fails_is_tried_again)
{
    begin();
    fake_client_fail(api, CLIENT_DELETE, NULL, 503, "ServiceUnavailable");
    put_pod("of-another", "Job", "u0");

    for (int i = 0; i < 100 && find(&pod_kind, "of-another") != NULL; i++)
        settle();

    ck_assert_ptr_null(find(&pod_kind, "of-another"));
    ck_assert_uint_ge(fake_client_calls(api, CLIENT_DELETE, NULL), 2);
    end();
}
END_TEST

SUITE("garbage collector", dependents_of_a_group_or_a_job_go_with_it,
      dependents_of_an_unreadable_object_stay,
      dependents_of_a_pod_go_with_it_though_nobody_saw_it_end,
      another_users_dependent_holds_no_deletion, in_the_foreground_the_job_goes_when_its_pods_have,
      pods_whose_job_is_gone_go_too, pods_of_a_job_that_cannot_be_read_stay,
      a_delete_that_fails_is_tried_again)
