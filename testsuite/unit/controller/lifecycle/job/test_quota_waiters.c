/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that a quota has refused, and how many of them are requeued. */
#include "controller/lifecycle/job/quota_waiters.h"

#include <check.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/suite.h"

#define EXCEEDED "pods \"p\" is forbidden: exceeded quota: q, requested: pods=1"
#define MANY     1000u

static struct fake_client *api; /* makes objects */
static struct quota_waiters *waiters;
static struct strbuf woken; /* the names of requeued jobs */
static unsigned n_woken;

static void
wake(const char *key, void *context)
{
    (void)context;
    strbuf_printf(&woken, "%s ", strchr(key, '/') + 1);
    n_woken++;
}

static void
begin(void)
{
    api = fake_client_new();
    waiters = quota_waiters_new(wake, NULL);
    strbuf_init(&woken);
    n_woken = 0;
}

static void
end(void)
{
    quota_waiters_free(waiters);
    fake_client_free(api);
    strbuf_fini(&woken);
}

/* The nth job of a namespace, submitted in minute n. */
static void
refuse(const char *namespace, unsigned n, const char *words)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    quota_waiters_refuse(
        waiters,
        fake_client_put(api, &job_kind,
                        arena_printf(arena,
                                     "{\"metadata\":{\"name\":\"j%u\",\"namespace\":"
                                     "\"%s\",\"creationTimestamp\":\"2026-01-01T"
                                     "%02u:%02u:00Z\"},\"spec\":{\"template\":{\"spec\":"
                                     "{\"containers\":[{\"name\":\"m\"}]}}}}",
                                     n, namespace, n / 60, n % 60)),
        words);
}

static const struct object *
make_quota(const char *namespace, int pods, int used)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    return object_ref(fake_client_put(api, &resource_quota_kind,
                                      arena_printf(arena,
                                                   "{\"metadata\":{\"name\":\"q\","
                                                   "\"namespace\":\"%s\"},\"status\":{"
                                                   "\"hard\":{\"pods\":\"%d\"},\"used\":"
                                                   "{\"cpu\":\"1500m\",\"pods\":\"%d\"}}}",
                                                   namespace, pods, used)));
}

/* The jobs that are requeued when the usage changes from `was` to `is` pods. */
static const char *
change(const char *namespace, int hard, int was, int is)
{
    const struct object *old_quota = make_quota(namespace, 10, was);
    const struct object *new_quota = make_quota(namespace, hard, is);

    strbuf_truncate(&woken, 0);
    n_woken = 0;
    quota_waiters_see_quota(waiters, old_quota, new_quota);
    object_unref(old_quota);
    object_unref(new_quota);
    return woken.text;
}

START_TEST(room_wakes_in_the_order_of_submission)
{
    begin();
    refuse("a", 2, EXCEEDED);
    refuse("a", 0, EXCEEDED);
    refuse("a", 1, EXCEEDED);
    refuse("b", 3, EXCEEDED);

    ck_assert_str_eq(change("a", 10, 8, 9), "");
    ck_assert_str_eq(change("a", 10, 9, 9), "");
    ck_assert_str_eq(change("c", 10, 9, 8), "");
    ck_assert_str_eq(change("a", 10, 10, 9), "j0 j1 j2 ");
    ck_assert_str_eq(change("b", 10, 10, 9), "j3 ");
    end();
}
END_TEST

START_TEST(who_is_refused_again_keeps_the_place)
{
    begin();
    for (unsigned i = 0; i < 3; i++)
        refuse("a", i, EXCEEDED);
    (void)change("a", 10, 10, 9);
    refuse("a", 1, EXCEEDED);
    quota_waiters_remove(waiters, "a/j0");
    refuse("a", 2, EXCEEDED);

    ck_assert_str_eq(change("a", 10, 10, 9), "j1 j2 ");
    end();
}
END_TEST

START_TEST(what_a_quota_has_not_refused_does_not_wait_for_one)
{
    begin();
    refuse("a", 0, "pods \"p\" is forbidden: Partition: it is closed");

    ck_assert_str_eq(change("a", 10, 10, 9), "");
    ck_assert_str_eq(change("a", 11, 10, 10), "");
    end();
}
END_TEST

START_TEST(room_wakes_a_few_of_many_and_one_more_for_each_that_takes_some)
{
    begin();
    for (unsigned i = 0; i < MANY; i++)
        refuse("a", i, EXCEEDED);
    (void)change("a", 10, 10, 9);
    ck_assert_uint_eq(n_woken, 64);

    for (unsigned i = 0; i < MANY - 64; i++) {
        char key[32];

        (void)snprintf(key, sizeof(key), "a/j%u", i);
        quota_waiters_remove(waiters, key);
        ck_assert_uint_eq(n_woken, 65 + i);
    }
    ck_assert_str_eq(strrchr(woken.text, 'j'), "j999 ");
    end();
}
END_TEST

START_TEST(a_quota_that_is_another_wakes_all)
{
    begin();
    for (unsigned i = 0; i < MANY; i++)
        refuse("a", i, EXCEEDED);

    (void)change("a", 11, 10, 10);
    ck_assert_uint_eq(n_woken, MANY);
    end();
}
END_TEST

START_TEST(a_quota_that_goes_wakes_all)
{
    const struct object *quota;

    begin();
    quota = make_quota("a", 1, 1);
    refuse("a", 0, EXCEEDED);
    quota_waiters_see_quota(waiters, NULL, quota);
    ck_assert_uint_eq(n_woken, 0);

    quota_waiters_see_quota(waiters, quota, NULL);
    ck_assert_uint_eq(n_woken, 1);
    object_unref(quota);
    end();
}
END_TEST

SUITE("quota_waiters", room_wakes_in_the_order_of_submission, who_is_refused_again_keeps_the_place,
      what_a_quota_has_not_refused_does_not_wait_for_one,
      room_wakes_a_few_of_many_and_one_more_for_each_that_takes_some,
      a_quota_that_is_another_wakes_all, a_quota_that_goes_wakes_all)
