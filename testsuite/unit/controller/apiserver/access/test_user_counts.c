/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/access/user_counts.h"

#include <check.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/random.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/suite.h"

#define ALICE 2001
#define BOB   2002

#define OWNED_BY_JOB                                                       \
    ",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\"," \
    "\"name\":\"j\",\"uid\":\"00000000-0000-4000-8000-000000000001\","     \
    "\"controller\":true}]"

static const struct object *
pod_of_user(uid_t uid, const char *meta, const char *phase)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct object *object = NULL;
    struct error err = {0};
    const char *text =
        arena_printf(arena,
                     "{\"metadata\":{\"name\":\"p\",\"namespace\":\"default\","
                     "\"resourceVersion\":\"7\"%s},\"spec\":{\"containers\":[],"
                     "\"securityContext\":{\"runAsUser\":%u}},\"status\":{\"phase\":\"%s\"}}",
                     meta, (unsigned)uid, phase);

    if (object_parse(&pod_kind, text, strlen(text), &object, &err) < 0)
        ck_abort_msg("%s", err.text);
    return object;
}

START_TEST(an_object_counts_for_its_user_until_it_goes)
{
    struct fake_clock time = FAKE_CLOCK;
    struct user_counts *counts = user_counts_new(&time.clock);
    const struct object *pod = pod_of_user(ALICE, "", "Pending");

    user_counts_moved(counts, NULL, pod);
    ck_assert_int_eq(user_counts_get(counts, ALICE).objects, 1);
    ck_assert_int_eq(user_counts_get(counts, ALICE).bytes, pod->length);
    ck_assert_int_eq(user_counts_get(counts, BOB).objects, 0);
    user_counts_moved(counts, pod, NULL);
    ck_assert_int_eq(user_counts_get(counts, ALICE).objects, 0);
    ck_assert_int_eq(user_counts_get(counts, ALICE).bytes, 0);

    object_unref(pod);
    user_counts_free(counts);
}
END_TEST

START_TEST(finished_jobs_and_pods_of_jobs_count_as_bytes_alone)
{
    struct fake_clock time = FAKE_CLOCK;
    struct user_counts *counts = user_counts_new(&time.clock);
    const struct object *runs = pod_of_user(ALICE, "", "Running");
    const struct object *ended = pod_of_user(ALICE, "", "Succeeded");
    const struct object *made = pod_of_user(ALICE, OWNED_BY_JOB, "Running");

    user_counts_moved(counts, NULL, runs);
    user_counts_moved(counts, runs, ended);
    user_counts_moved(counts, NULL, made);
    ck_assert_int_eq(user_counts_get(counts, ALICE).objects, 0);
    ck_assert_int_eq(user_counts_get(counts, ALICE).bytes,
                     (int64_t)(ended->length + object_bytes(made)));

    object_unref(runs);
    object_unref(ended);
    object_unref(made);
    user_counts_free(counts);
}
END_TEST

/* For additions and removals in any order, the counts equal those of a scan. */
START_TEST(counts_never_drift)
{
    enum { PLACES = 40, MOVES = 20000 };
    static const char *const phases[] = {"Pending", "Running", "Failed"};
    struct fake_clock time = FAKE_CLOCK;
    struct user_counts *counts = user_counts_new(&time.clock);
    struct user_counts *scan = user_counts_new(&time.clock);
    const struct object *there[PLACES] = {NULL};
    const struct object *all[2 * 2 * 3];
    struct random_source random = {.state = 1};

    for (unsigned i = 0; i < 12; i++)
        all[i] = pod_of_user(ALICE + i % 2, i / 2 % 2 == 0 ? "" : OWNED_BY_JOB, phases[i / 4]);
    for (unsigned i = 0; i < MOVES; i++) {
        unsigned place = (unsigned)random_below(&random, PLACES);
        unsigned which = (unsigned)random_below(&random, 13);
        const struct object *next = which < 12 ? all[which] : NULL;

        user_counts_moved(counts, there[place], next);
        there[place] = next;
    }
    for (unsigned i = 0; i < PLACES; i++)
        user_counts_moved(scan, NULL, there[i]);
    for (unsigned i = 0; i < 2; i++) {
        struct user_count has = user_counts_get(counts, ALICE + i);
        struct user_count sum = user_counts_get(scan, ALICE + i);

        ck_assert_int_eq(has.objects, sum.objects);
        ck_assert_int_eq(has.bytes, sum.bytes);
        ck_assert_int_eq(has.pods, sum.pods);
    }

    for (unsigned i = 0; i < 12; i++)
        object_unref(all[i]);
    user_counts_free(scan);
    user_counts_free(counts);
}
END_TEST

START_TEST(streams_are_counted_by_kind)
{
    struct fake_clock time = FAKE_CLOCK;
    struct user_counts *counts = user_counts_new(&time.clock);

    user_counts_begin_stream(counts, ALICE, USER_WATCH);
    user_counts_begin_stream(counts, ALICE, USER_WATCH);
    user_counts_begin_stream(counts, ALICE, USER_LOG_READER);
    user_counts_end_stream(counts, ALICE, USER_WATCH);
    ck_assert_int_eq(user_counts_get(counts, ALICE).streams[USER_WATCH], 1);
    ck_assert_int_eq(user_counts_get(counts, ALICE).streams[USER_LOG_READER], 1);
    user_counts_free(counts);
}
END_TEST

static unsigned
take_all(struct user_counts *counts, uid_t uid, int64_t per_second)
{
    unsigned n = 0;

    while (n < 10000 && user_counts_take(counts, uid, USER_REQUEST, per_second))
        n++;
    return n;
}

START_TEST(requests_come_at_the_rate_and_twice_that_after_a_rest)
{
    struct fake_clock time = FAKE_CLOCK;
    struct user_counts *counts = user_counts_new(&time.clock);

    ck_assert_uint_eq(take_all(counts, ALICE, 100), 200);
    ck_assert_uint_eq(take_all(counts, BOB, 100), 200);
    time.monotonic_us += 1000000;
    ck_assert_uint_eq(take_all(counts, ALICE, 100), 100);
    time.monotonic_us += 3600 * INT64_C(1000000);
    ck_assert_uint_eq(take_all(counts, ALICE, 100), 200);
    user_counts_free(counts);
}
END_TEST

/* A large site, or a hostile user database, may have so many users. */
START_TEST(users_who_have_gone_are_forgotten)
{
    struct fake_clock time = FAKE_CLOCK;
    struct user_counts *counts = user_counts_new(&time.clock);

    user_counts_begin_stream(counts, ALICE, USER_WATCH);
    for (uid_t uid = 100000; uid < 150000; uid++) {
        time.monotonic_us += 100000;
        (void)user_counts_take(counts, uid, USER_REQUEST, 10);
    }
    ck_assert_int_eq(user_counts_get(counts, ALICE).streams[USER_WATCH], 1);
    user_counts_free(counts);
}
END_TEST

SUITE("user_counts", an_object_counts_for_its_user_until_it_goes,
      finished_jobs_and_pods_of_jobs_count_as_bytes_alone, counts_never_drift,
      streams_are_counted_by_kind, requests_come_at_the_rate_and_twice_that_after_a_rest,
      users_who_have_gone_are_forgotten)
