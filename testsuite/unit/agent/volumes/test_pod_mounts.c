/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/volumes/pod_mounts.h"

#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/client/client.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/suite.h"

struct stage {
    struct fake_client *api;
    struct pod_mounts *pod_mounts;
    struct mount_list *list;
    char *words;
    unsigned answers;
};

static void
got(struct mount_list *list, const struct error *err, void *context)
{
    struct stage *t = context;

    t->answers++;
    t->list = list;
    t->words = err != NULL ? xstrdup(err->text) : NULL;
}

static void
begin(struct stage *t)
{
    t->api = fake_client_new();
    t->pod_mounts = pod_mounts_new(fake_client_client(t->api));
}

static void
end(struct stage *t)
{
    pod_mounts_free(t->pod_mounts);
    mount_list_free(t->list);
    free(t->words);
    fake_client_free(t->api);
}

static void
look(struct stage *t, const char *volumes, const char *mounts)
{
    CLEANUP_FREE char *text = xasprintf("{\"metadata\":{\"name\":\"p\",\"namespace\":\"default\","
                                        "\"uid\":\"p-1\"},"
                                        "\"spec\":{\"volumes\":[%s],\"containers\":[{\"name\":"
                                        "\"main\",\"volumeMounts\":[%s]}]}}",
                                        volumes, mounts);

    pod_mounts_get(t->pod_mounts, fake_client_put(t->api, &pod_kind, text), got, t);
}

/* Puts a bound claim, which a pod owns if it was made for that pod. */
static void
put_claim(struct stage *t, const char *name, const char *volume, const char *owners)
{
    CLEANUP_FREE char *text = xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
                                        "\"ownerReferences\":[%s],"
                                        "\"annotations\":{\"pv.kubernetes.io/bind-completed\":"
                                        "\"yes\"}},\"spec\":{\"volumeName\":\"%s\"}}",
                                        name, owners, volume);

    fake_client_put(t->api, &persistent_volume_claim_kind, text);
}

static void
put_volume(struct stage *t, const char *name, const char *source)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\"},\"spec\":{%s}}", name, source);

    fake_client_put(t->api, &persistent_volume_kind, text);
}

#define CLAIM "{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"c\"}}"
#define OF_POD(uid)                                                               \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"p\",\"controller\":true," \
    "\"uid\":\"" uid "\"}"
#define LOCAL "\"local\":{\"path\":\"/scratch/pvc-1\"}"

START_TEST(a_pod_without_volumes_has_its_answer_at_once)
{
    struct stage t = {0};

    begin(&t);
    look(&t, "", "");

    ck_assert_uint_eq(t.answers, 1);
    ck_assert_ptr_null(t.list);
    ck_assert_ptr_null(t.words);
    end(&t);
}
END_TEST

START_TEST(a_claim_is_where_its_volume_is)
{
    struct stage t = {0};

    begin(&t);
    put_claim(&t, "c", "pv", "");
    put_volume(&t, "pv", LOCAL);
    look(&t, CLAIM,
         "{\"name\":\"v\",\"mountPath\":\"/data\"},{\"name\":\"v\","
         "\"mountPath\":\"/also\",\"readOnly\":true}");
    fake_client_run(t.api);

    ck_assert_ptr_nonnull(t.list);
    ck_assert_uint_eq(t.list->count, 2);
    ck_assert_str_eq(t.list->items[0].source, "/scratch/pvc-1");
    ck_assert_str_eq(t.list->items[0].target, "/data");
    ck_assert(!t.list->items[0].read_only);
    ck_assert_str_eq(t.list->items[1].target, "/also");
    ck_assert(t.list->items[1].read_only);
    end(&t);
}
END_TEST

START_TEST(one_that_is_not_mounted_is_known_all_the_same)
{
    struct stage t = {0};

    begin(&t);
    put_claim(&t, "p-tmp", "pv", OF_POD("p-1"));
    put_volume(&t, "pv", "\"hostPath\":{\"path\":\"/lustre\"}");
    look(&t, "{\"name\":\"tmp\",\"ephemeral\":{\"volumeClaimTemplate\":{}}}", "");
    fake_client_run(t.api);

    ck_assert_ptr_nonnull(t.list);
    ck_assert_uint_eq(t.list->count, 1);
    ck_assert_str_eq(t.list->items[0].volume, "tmp");
    ck_assert_str_eq(t.list->items[0].source, "/lustre");
    ck_assert_ptr_null(t.list->items[0].target);
    end(&t);
}
END_TEST

START_TEST(a_claim_that_was_made_for_another_pod_is_refused)
{
    struct stage t = {0};

    begin(&t);
    put_claim(&t, "p-tmp", "pv", OF_POD("p-0"));
    put_volume(&t, "pv", LOCAL);
    look(&t, "{\"name\":\"tmp\",\"ephemeral\":{\"volumeClaimTemplate\":{}}}", "");
    fake_client_run(t.api);

    ck_assert_ptr_null(t.list);
    ck_assert_ptr_nonnull(strstr(t.words, "was not made for this pod"));
    end(&t);
}
END_TEST

START_TEST(an_error_names_the_volume)
{
    struct stage t = {0};

    begin(&t);
    look(&t, CLAIM, "");
    fake_client_run(t.api);
    ck_assert_ptr_nonnull(t.words);
    ck_assert_ptr_nonnull(strstr(t.words, "volume 'v': "));
    end(&t);

    t = (struct stage){0};
    begin(&t);
    put_claim(&t, "c", "pv", "");
    put_volume(&t, "pv", "\"nfs\":{\"server\":\"s\",\"path\":\"/p\"}");
    look(&t, CLAIM, "");
    fake_client_run(t.api);
    ck_assert_ptr_nonnull(t.words);
    ck_assert_ptr_nonnull(strstr(t.words, "not a directory of a node"));
    end(&t);
}
END_TEST

static void
stop(void *loop)
{
    loop_stop(loop);
}

START_TEST(an_api_that_is_away_for_a_while_is_asked_again)
{
    struct stage t = {0};
    struct loop *loop;
    struct timer *end_of_wait;

    begin(&t);
    loop = fake_client_client(t.api)->loop;
    end_of_wait = timer_new(loop, stop, loop);
    put_claim(&t, "c", "pv", "");
    put_volume(&t, "pv", LOCAL);
    fake_client_fail(t.api, CLIENT_GET, NULL, 503, "ServiceUnavailable");
    look(&t, CLAIM, "");
    fake_client_run(t.api);
    ck_assert_uint_eq(t.answers, 0);

    timer_start(end_of_wait, 1200);
    loop_run(loop);
    fake_client_run(t.api);
    ck_assert_uint_eq(t.answers, 1);
    ck_assert_ptr_nonnull(t.list);
    timer_free(end_of_wait);
    end(&t);
}
END_TEST

START_TEST(an_agent_that_stops_answers_all)
{
    struct stage t = {0};

    begin(&t);
    look(&t, CLAIM, "");
    end(&t);
    ck_assert_uint_eq(t.answers, 1);
}
END_TEST

SUITE("pod_mounts", a_pod_without_volumes_has_its_answer_at_once, a_claim_is_where_its_volume_is,
      one_that_is_not_mounted_is_known_all_the_same,
      a_claim_that_was_made_for_another_pod_is_refused, an_error_names_the_volume,
      an_api_that_is_away_for_a_while_is_asked_again, an_agent_that_stops_answers_all)
