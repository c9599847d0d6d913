/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that a quota has refused, and which of them are requeued, in what order. */
#include "controller/lifecycle/job/quota_waiters.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/skipped_waits.h"
#include "testsuite/lib/suite.h"

#define MANY 1000u

static struct fake_client *api; /* makes objects */
static struct loop *loop;
static struct quota_waiters *waiters;
static const struct object *quota; /* as last seen */
static struct strbuf woken;        /* the names of requeued jobs */
static unsigned n_woken;

static void
wake(const char *key, void *context)
{
    (void)context;
    strbuf_printf(&woken, "%s ", strchr(key, '/') + 1);
    n_woken++;
}

static int64_t
priority(const struct object *job, void *context)
{
    (void)context;
    return *job_of(job)->spec.template_.spec->priority;
}

static void
begin(void)
{
    api = fake_client_new();
    skip_waits();
    loop = loop_new();
    waiters = quota_waiters_new(loop, wake, priority, NULL);
    quota = NULL;
    strbuf_init(&woken);
    n_woken = 0;
}

static void
end(void)
{
    quota_waiters_free(waiters);
    object_unref(quota);
    fake_client_free(api);
    loop_free(loop);
    strbuf_fini(&woken);
}

struct wanted_job {
    const char *name;
    unsigned minute; /* of submission */
    int priority;
    int cpus;
    int parallelism; /* 0: 1 */
};

static const struct object *
make_job(const struct wanted_job *wanted, const char *cause)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    return fake_client_put(
        api, &job_kind,
        arena_printf(
            arena,
            "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"a\",\"creationTimestamp\":"
            "\"2026-01-01T%02u:%02u:00Z\"},\"spec\":{\"parallelism\":%d,\"completions\":%d,"
            "\"template\":{\"spec\":{\"priority\":%d,\"containers\":[{\"name\":\"m\"}]}}},"
            "\"status\":{%s}}",
            wanted->name, wanted->minute / 60, wanted->minute % 60,
            wanted->parallelism > 0 ? wanted->parallelism : 1,
            wanted->parallelism > 0 ? wanted->parallelism : 1, wanted->priority, cause));
}

/* The quota "q" refuses a pod of the job. Returns whether that is new. */
static bool
refuse(const struct wanted_job *wanted)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    bool is_new = false;

    ck_assert(quota_waiters_refuse(
        waiters, make_job(wanted, ""),
        arena_printf(arena,
                     "pods \"p\" is forbidden: exceeded quota: q, requested: requests.cpu=%d, "
                     "used: requests.cpu=10, limited: requests.cpu=10",
                     wanted->cpus),
        false, &is_new));
    return is_new;
}

static void
refuse_plain(const char *name, unsigned minute, int cpus)
{
    refuse(&(struct wanted_job){.name = name, .minute = minute, .cpus = cpus});
}

/* The jobs that are requeued when the quota is seen in this state. */
static const char *
see(const char *spec, int hard, int used)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct object *is = object_ref(fake_client_put(
        api, &resource_quota_kind,
        arena_printf(arena,
                     "{\"metadata\":{\"name\":\"q\",\"namespace\":\"a\"},\"spec\":{%s\"hard\":{"
                     "\"requests.cpu\":\"%d\"}},\"status\":{\"hard\":{\"requests.cpu\":\"%d\"},"
                     "\"used\":{\"requests.cpu\":\"%d\"}}}",
                     spec, hard, hard, used)));

    strbuf_truncate(&woken, 0);
    n_woken = 0;
    quota_waiters_see_quota(waiters, quota, is);
    object_unref(quota);
    quota = is;
    return woken.text != NULL ? woken.text : "";
}

static void
stop(void *arg)
{
    loop_stop(arg);
}

/* Until the timer of the waiters has run. */
static const char *
wait_a_moment(void)
{
    struct timer *timer = timer_new(loop, stop, loop);

    strbuf_truncate(&woken, 0);
    timer_start(timer, 400);
    loop_run(loop);
    timer_free(timer);
    return woken.text != NULL ? woken.text : "";
}

START_TEST(freed_cpus_wake_the_first_jobs_that_they_are_enough_for)
{
    begin();
    (void)see("", 10, 10);
    refuse_plain("c", 3, 1);
    refuse_plain("a", 1, 2);
    refuse_plain("b", 2, 4);
    refuse_plain("d", 4, 1);
    refuse_plain("e", 5, 1);

    ck_assert_str_eq(see("", 10, 10), "");
    ck_assert_str_eq(see("", 10, 6), "a c d ");
    end();
}
END_TEST

START_TEST(an_urgent_job_goes_before_fifteen_that_are_older)
{
    begin();
    (void)see("", 10, 10);
    for (unsigned i = 0; i < 15; i++) {
        char name[8];

        (void)snprintf(name, sizeof(name), "n%u", i);
        refuse_plain(name, i, 1);
    }
    refuse(&(struct wanted_job){.name = "urgent", .minute = 59, .priority = 1000, .cpus = 1});

    ck_assert_str_eq(see("", 10, 9), "urgent ");
    end();
}
END_TEST

START_TEST(a_job_is_held_back_until_it_is_its_turn)
{
    begin();
    (void)see("", 10, 10);
    refuse_plain("a", 1, 1);
    refuse_plain("b", 2, 1);
    ck_assert(quota_waiters_holds_back(waiters, "a/a", false));
    ck_assert(!quota_waiters_holds_back(waiters, "a/a", true));
    ck_assert(!quota_waiters_holds_back(waiters, "a/other", false));

    ck_assert_str_eq(see("", 10, 9), "a ");
    ck_assert(!quota_waiters_holds_back(waiters, "a/a", false));
    ck_assert(quota_waiters_holds_back(waiters, "a/b", false));
    end();
}
END_TEST

START_TEST(room_that_woke_a_job_is_not_promised_to_another)
{
    begin();
    (void)see("", 10, 10);
    refuse_plain("a", 1, 2);
    refuse_plain("b", 2, 2);
    ck_assert_str_eq(see("", 10, 8), "a ");

    ck_assert_str_eq(see("", 10, 8), "");
    ck_assert_str_eq(see("", 10, 6), "b ");
    end();
}
END_TEST

START_TEST(a_job_of_many_pods_gets_all_room_until_it_has_enough)
{
    begin();
    (void)see("", 10, 10);
    refuse(&(struct wanted_job){.name = "wide", .minute = 1, .cpus = 1, .parallelism = 8});
    refuse_plain("b", 2, 1);
    ck_assert_str_eq(see("", 10, 2), "wide ");

    strbuf_truncate(&woken, 0);
    quota_waiters_remove(waiters, "a/wide");
    ck_assert_str_eq(woken.text, "b ");
    end();
}
END_TEST

START_TEST(a_job_refused_again_keeps_its_place_silently)
{
    begin();
    (void)see("", 10, 10);
    refuse_plain("a", 1, 1);
    refuse_plain("b", 2, 1);
    ck_assert_str_eq(see("", 10, 9), "a ");
    ck_assert(!refuse(&(struct wanted_job){.name = "a", .minute = 1, .cpus = 1}));

    ck_assert_str_eq(see("", 10, 10), "");
    ck_assert_str_eq(see("", 10, 9), "a ");
    end();
}
END_TEST

START_TEST(a_refusal_that_the_known_room_contradicts_is_tried_again_a_moment_later)
{
    begin();
    (void)see("", 10, 5);
    refuse_plain("a", 1, 1);
    ck_assert_uint_eq(n_woken, 0);

    ck_assert_str_eq(wait_a_moment(), "a ");
    end();
}
END_TEST

START_TEST(a_job_that_no_quota_refused_does_not_wait_for_one)
{
    const struct wanted_job wanted = {.name = "a"};
    bool is_new;

    begin();
    ck_assert(!quota_waiters_refuse(waiters, make_job(&wanted, ""),
                                    "pods \"p\" is forbidden: Partition: it is closed", false,
                                    &is_new));
    ck_assert(!quota_waiters_holds_back(waiters, "a/a", false));
    end();
}
END_TEST

START_TEST(a_job_waits_until_its_quota_is_counted)
{
    const struct wanted_job wanted = {.name = "a"};
    bool is_new;

    begin();
    quota = object_ref(
        fake_client_put(api, &resource_quota_kind,
                        "{\"metadata\":{\"name\":\"q\",\"namespace\":\"a\"},\"spec\":{\"hard\":{"
                        "\"requests.cpu\":\"10\"}}}"));
    quota_waiters_see_quota(waiters, NULL, quota);
    ck_assert(quota_waiters_refuse(waiters, make_job(&wanted, ""),
                                   "status unknown for quota: q, resources: requests.cpu", false,
                                   &is_new));
    ck_assert_str_eq(wait_a_moment(), "");

    ck_assert_str_eq(see("", 10, 10), "a ");
    end();
}
END_TEST

START_TEST(at_most_sixty_four_try_at_a_time_and_one_more_for_each_that_is_through)
{
    begin();
    (void)see("", 5000, 5000);
    for (unsigned i = 0; i < MANY; i++) {
        char name[8];

        (void)snprintf(name, sizeof(name), "j%u", i);
        refuse_plain(name, i, 1);
    }
    (void)see("", 5000, 10);
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

START_TEST(a_quota_that_limits_other_pods_or_is_deleted_wakes_all)
{
    begin();
    (void)see("", 10, 10);
    for (unsigned i = 0; i < 100; i++) {
        char name[8];

        (void)snprintf(name, sizeof(name), "j%u", i);
        refuse_plain(name, i, 1);
    }
    (void)see("\"scopes\":[\"Terminating\"],", 10, 10);
    ck_assert_uint_eq(n_woken, 100);

    for (unsigned i = 0; i < 100; i++) {
        char name[8];

        (void)snprintf(name, sizeof(name), "j%u", i);
        refuse_plain(name, i, 1);
    }
    n_woken = 0;
    quota_waiters_see_quota(waiters, quota, NULL);
    ck_assert_uint_eq(n_woken, 100);
    end();
}
END_TEST

START_TEST(a_refusal_by_a_quota_that_is_gone_is_tried_again)
{
    begin();
    refuse_plain("a", 1, 1);

    ck_assert_str_eq(wait_a_moment(), "a ");
    end();
}
END_TEST

static void
check_place(const struct wanted_job *wanted, int place, int waiting)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *wait = quota_waiters_explain(waiters, make_job(wanted, ""), arena);

    ck_assert_str_eq(json_get_text(wait, "name"), "q");
    ck_assert_int_eq(json_get_int(wait, "place", 0), place);
    ck_assert_int_eq(json_get_int(wait, "waiting", 0), waiting);
}

START_TEST(a_job_that_becomes_urgent_gets_another_place_and_a_changed_one_is_tried)
{
    struct wanted_job c = {.name = "c", .minute = 3, .cpus = 1};

    begin();
    (void)see("", 10, 10);
    refuse_plain("a", 1, 1);
    refuse_plain("b", 2, 1);
    refuse(&c);
    check_place(&c, 3, 3);

    c.priority = 5;
    quota_waiters_see_job(waiters, make_job(&c, ""), false);
    check_place(&c, 1, 3);
    ck_assert_uint_eq(n_woken, 0);

    quota_waiters_see_job(waiters, make_job(&c, ""), true);
    ck_assert_uint_eq(n_woken, 1);
    end();
}
END_TEST

START_TEST(after_a_restart_jobs_are_tried_in_order_by_what_their_status_says)
{
    static const char cause[] =
        "\"cause\":{\"code\":\"AssocGrpCpuLimit\",\"message\":\"quota q: 10 CPUs used of 10\"}";
    static const char other[] = "\"cause\":{\"code\":\"Other\",\"message\":\"no partition\"}";

    begin();
    (void)see("", 10, 5);
    quota_waiters_recall(
        waiters, make_job(&(struct wanted_job){.name = "b", .minute = 2, .cpus = 1}, cause));
    quota_waiters_recall(
        waiters, make_job(&(struct wanted_job){.name = "a", .minute = 1, .cpus = 1}, cause));
    quota_waiters_recall(
        waiters, make_job(&(struct wanted_job){.name = "c", .minute = 0, .cpus = 1}, other));
    ck_assert(quota_waiters_holds_back(waiters, "a/b", false));
    ck_assert(!quota_waiters_holds_back(waiters, "a/c", false));

    ck_assert_str_eq(wait_a_moment(), "a b ");
    end();
}
END_TEST

SUITE("quota_waiters", freed_cpus_wake_the_first_jobs_that_they_are_enough_for,
      an_urgent_job_goes_before_fifteen_that_are_older, a_job_is_held_back_until_it_is_its_turn,
      room_that_woke_a_job_is_not_promised_to_another,
      a_job_of_many_pods_gets_all_room_until_it_has_enough,
      a_job_refused_again_keeps_its_place_silently,
      a_refusal_that_the_known_room_contradicts_is_tried_again_a_moment_later,
      a_job_that_no_quota_refused_does_not_wait_for_one, a_job_waits_until_its_quota_is_counted,
      at_most_sixty_four_try_at_a_time_and_one_more_for_each_that_is_through,
      a_quota_that_limits_other_pods_or_is_deleted_wakes_all,
      a_refusal_by_a_quota_that_is_gone_is_tried_again,
      a_job_that_becomes_urgent_gets_another_place_and_a_changed_one_is_tried,
      after_a_restart_jobs_are_tried_in_order_by_what_their_status_says)
