/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/quota/quota_usage.h"

#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/policy/quota.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "testsuite/lib/suite.h"

static const struct object *
parse(const struct kind *kind, const char *text)
{
    const struct object *object = NULL;
    struct error err = {0};

    ck_assert_msg(object_parse(kind, text, strlen(text), &object, &err) == 0, "%s", err.text);
    return object;
}

static const struct object *
quota_of(const char *spec)
{
    CLEANUP_FREE char *text = xasprintf("{\"metadata\":{\"name\":\"q\",\"namespace\":\"a\"},"
                                        "\"spec\":%s}",
                                        spec);

    return parse(&resource_quota_kind, text);
}

static const struct object *
pod_of_phase(const char *uid, const char *phase, const char *more)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"p\",\"namespace\":\"a\",\"uid\":\"%s\""
                  "%s,\"containers\":[{\"name\":\"m\",\"resources\":{\"requests\":{"
                  "\"cpu\":\"2\",\"memory\":\"1Gi\"}}}]},\"status\":{\"phase\":\"%s\"}}",
                  uid, more, phase);

    return parse(&pod_kind, text);
}

#define PLAIN   "},\"spec\":{\"restartPolicy\":\"Never\""
#define LIMITED "},\"spec\":{\"activeDeadlineSeconds\":60"
#define LEAVING ",\"deletionTimestamp\":\"2020-01-01T00:00:00Z\"" PLAIN

static int64_t
sum(const struct quota_usage *usage, const char *name)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct quota_amounts amounts;

    quota_amounts_init(&amounts, arena);
    quota_usage_add_to(usage, &amounts);
    for (unsigned i = 0; i < amounts.count; i++)
        if (strcmp(amounts.items[i].name, name) == 0)
            return quantity_value(&amounts.items[i].amount);
    return 0;
}

START_TEST(pods_count_from_their_coming_to_their_end)
{
    const struct object *quota = quota_of("{\"hard\":{\"pods\":\"9\"}}");
    const struct object *waits = pod_of_phase("1", "Pending", PLAIN);
    const struct object *runs = pod_of_phase("1", "Running", PLAIN);
    const struct object *over = pod_of_phase("1", "Failed", PLAIN);
    struct quota_usage *usage = quota_usage_new(quota);

    ck_assert(quota_usage_change(usage, NULL, waits));
    ck_assert_int_eq(sum(usage, "pods"), 1);
    ck_assert_int_eq(sum(usage, "requests.cpu"), 2);
    ck_assert(!quota_usage_change(usage, waits, runs));
    ck_assert(quota_usage_change(usage, runs, over));
    ck_assert_int_eq(sum(usage, "pods"), 0);
    ck_assert_int_eq(sum(usage, "requests.cpu"), 0);
    ck_assert_int_eq(sum(usage, "count/pods"), 1);
    ck_assert(quota_usage_change(usage, over, NULL));
    ck_assert_int_eq(sum(usage, "count/pods"), 0);

    quota_usage_free(usage);
    object_unref(waits);
    object_unref(runs);
    object_unref(over);
    object_unref(quota);
}
END_TEST

START_TEST(one_that_should_have_gone_counts_until_it_has)
{
    const struct object *quota = quota_of("{\"hard\":{\"pods\":\"9\"}}");
    const struct object *leaves = pod_of_phase("1", "Running", LEAVING);
    struct quota_usage *usage = quota_usage_new(quota);

    quota_usage_change(usage, NULL, leaves);
    ck_assert_int_eq(sum(usage, "requests.memory"), INT64_C(1) << 30);
    quota_usage_change(usage, leaves, NULL);
    ck_assert_int_eq(sum(usage, "requests.memory"), 0);

    quota_usage_free(usage);
    object_unref(leaves);
    object_unref(quota);
}
END_TEST

START_TEST(a_scope_may_come_to_hold)
{
    const struct object *quota =
        quota_of("{\"hard\":{\"pods\":\"9\"},\"scopes\":[\"Terminating\"]}");
    const struct object *plain = pod_of_phase("1", "Running", PLAIN);
    const struct object *limited = pod_of_phase("1", "Running", LIMITED);
    const struct object *another = pod_of_phase("2", "Running", PLAIN);
    struct quota_usage *usage = quota_usage_new(quota);

    quota_usage_change(usage, NULL, plain);
    ck_assert_int_eq(sum(usage, "pods"), 0);
    ck_assert(quota_usage_change(usage, plain, limited));
    ck_assert_int_eq(sum(usage, "pods"), 1);

    /* Deleted and created again between two checks. */
    ck_assert(quota_usage_change(usage, limited, another));
    ck_assert_int_eq(sum(usage, "pods"), 0);

    quota_usage_free(usage);
    object_unref(plain);
    object_unref(limited);
    object_unref(another);
    object_unref(quota);
}
END_TEST

SUITE("quota usage", pods_count_from_their_coming_to_their_end,
      one_that_should_have_gone_counts_until_it_has, a_scope_may_come_to_hold)
