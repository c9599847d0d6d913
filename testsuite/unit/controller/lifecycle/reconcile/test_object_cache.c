/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/reconcile/object_cache.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/suite.h"

static struct fake_client *api;
static struct object_cache *cache;
static char told[256];
static unsigned synced;

static void
add_name(const struct object *object, void *context)
{
    char *out = context;

    strcat(out, object->meta->name);
    strcat(out, " ");
}

/* When a callback runs, the object cache already contains the change. */
static void
on_pod(const struct object *old_object, const struct object *new_object, void *context)
{
    const struct object *any = new_object != NULL ? new_object : old_object;

    (void)context;
    ck_assert_ptr_eq(object_cache_find(cache, &pod_kind, any->meta->namespace, any->meta->name),
                     new_object);
    strcat(told, old_object == NULL ? "+" : new_object == NULL ? "-" : "~");
    add_name(any, told);
}

static void
on_config_map(UNUSED const struct object *old_object, const struct object *new_object,
              UNUSED void *context)
{
    add_name(new_object, told);
}

static void
on_synced(void *context)
{
    (void)context;
    synced++;
}

static void
put_pod(const char *name, const char *job, const char *node)
{
    char text[512];

    snprintf(text, sizeof(text),
             "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
             "\"uid\":\"of-%s\",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":"
             "\"Job\",\"name\":\"j\",\"uid\":\"%s\",\"controller\":true}]},"
             "\"spec\":{%s%s%s\"containers\":[{\"name\":\"main\"}]}}",
             name, name, job, node != NULL ? "\"nodeName\":\"" : "", node != NULL ? node : "",
             node != NULL ? "\"," : "");
    fake_client_put(api, &pod_kind, text);
}

static const char *
owned(const char *uid)
{
    static char names[256];

    names[0] = '\0';
    object_cache_visit_owned(cache, uid, add_name, names);
    return names;
}

static const char *
on_node(const char *node)
{
    static char names[256];

    names[0] = '\0';
    object_cache_visit_on_node(cache, node, add_name, names);
    return names;
}

static void
begin(void)
{
    api = fake_client_new();
    cache = object_cache_new(fake_client_client(api));
    told[0] = '\0';
    synced = 0;
    object_cache_listen(cache, &pod_kind, on_pod, NULL);
    object_cache_listen(cache, &config_map_kind, on_config_map, NULL);
    object_cache_on_synced(cache, on_synced, NULL);
}

static void
end(void)
{
    object_cache_free(cache);
    fake_client_free(api);
}

START_TEST(a_pod_is_a_jobs_only_if_it_names_a_job)
{
    begin();
    object_cache_start(cache);
    fake_client_run(api);
    fake_client_put(api, &pod_kind,
                    "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\","
                    "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":"
                    "\"ReplicaSet\",\"name\":\"j\",\"uid\":\"u1\","
                    "\"controller\":true}]},\"spec\":{\"containers\":"
                    "[{\"name\":\"main\"}]}}");
    fake_client_run(api);

    ck_assert_str_eq(owned("u1"), "");
    end();
}
END_TEST

START_TEST(pods_are_found_by_their_owner_and_their_node)
{
    begin();
    object_cache_start(cache);
    fake_client_run(api); /* a list is delivered in no order, a watch is */
    put_pod("a", "u1", NULL);
    put_pod("b", "u2", "n1");
    fake_client_run(api);
    ck_assert_str_eq(owned("u1"), "a ");
    ck_assert_str_eq(on_node("n1"), "b ");

    put_pod("a", "u1", "n1"); /* bound */
    fake_client_remove(api, &pod_kind, "default", "b");
    fake_client_run(api);

    ck_assert_str_eq(on_node("n1"), "a ");
    ck_assert_str_eq(owned("u2"), "");
    ck_assert_str_eq(owned("nobody"), "");
    ck_assert_str_eq(told, "+a +b ~a -b ");
    end();
}
END_TEST

START_TEST(the_cache_has_synced_when_all_kinds_are_there)
{
    begin();
    put_pod("a", "u1", NULL);
    ck_assert(!object_cache_has_synced(cache));
    object_cache_start(cache);
    fake_client_run(api);

    ck_assert(object_cache_has_synced(cache));
    ck_assert_uint_eq(synced, 1);
    ck_assert_ptr_nonnull(object_cache_find(cache, &pod_kind, "default", "a"));
    ck_assert_ptr_null(object_cache_find(cache, &pod_kind, "other", "a"));
    end();
}
END_TEST

START_TEST(a_kind_that_a_loop_listens_to_is_cached)
{
    begin();
    fake_client_put(api, &config_map_kind,
                    "{\"metadata\":{\"name\":\"m\",\"namespace\":\"default\"}}");
    object_cache_start(cache);
    fake_client_run(api);

    ck_assert_str_eq(told, "m ");
    ck_assert_ptr_nonnull(object_cache_find_key(cache, &config_map_kind, "default/m"));
    ck_assert_ptr_null(object_cache_find_key(cache, &storage_class_kind, "m"));
    end();
}
END_TEST

SUITE("object cache", a_kind_that_a_loop_listens_to_is_cached,
      a_pod_is_a_jobs_only_if_it_names_a_job, pods_are_found_by_their_owner_and_their_node,
      the_cache_has_synced_when_all_kinds_are_there)
