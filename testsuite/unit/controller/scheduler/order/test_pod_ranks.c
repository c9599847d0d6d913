/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/order/pod_ranks.h"

#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/plugins/plugin_registry.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

/* A pod of one CPU of that user, submitted now. */
static void
put_urgent_pod(struct world *w, const char *name, int user, int limit_s, int priority,
               const char *more)
{
    char now[TIME_TEXT_SIZE];
    CLEANUP_FREE char *text = NULL;

    time_format(w->time.real_us, false, now);
    text = xasprintf(
        "{\"metadata\":{\"namespace\":\"default\",\"name\":\"%s\","
        "\"creationTimestamp\":\"%s\"},\"spec\":{"
        "\"activeDeadlineSeconds\":%d,\"priority\":%d,"
        "\"securityContext\":{\"runAsUser\":%d},\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
        "\"cpu\":\"1\"}}}]}%s}",
        name, now, limit_s, priority, user, more);

    fake_client_put(w->api, &pod_kind, text);
}

static void
put_pod(struct world *w, const char *name, int user, int limit_s, const char *more)
{
    put_urgent_pod(w, name, user, limit_s, 0, more);
}

static bool
is_placed(const struct world *w, const char *name)
{
    return *world_node_of(w, name) != '\0';
}

/* The job runs for that long on n1, and is deleted. */
static void
run_job(struct world *w, const char *name, int user, int limit_s, int run_s)
{
    put_pod(w, name, user, limit_s, "");
    world_settle(w);
    ck_assert(is_placed(w, name));
    world_advance(w, run_s * INT64_C(1000));
    fake_client_remove(w->api, &pod_kind, "default", name);
    world_settle(w);
}

static const char *
first_of(struct world *w, const char *blocker, const char *a, const char *b)
{
    fake_client_remove(w->api, &pod_kind, "default", blocker);
    world_advance(w, 10000);
    return is_placed(w, a) ? a : is_placed(w, b) ? b : "none";
}

START_TEST(the_job_of_whom_the_jobs_were_short_goes_first)
{
    struct world *w = world_new(NULL);

    world_add_node(w, "n1", 1);
    run_job(w, "long", 1, 300, 300);
    run_job(w, "short", 2, 300, 20);
    put_pod(w, "blocker", 3, 400, "");
    world_settle(w);
    put_pod(w, "of-long", 1, 300, "");
    world_settle(w);
    put_pod(w, "of-short", 2, 300, "");
    world_settle(w);

    ck_assert_str_eq(first_of(w, "blocker", "of-long", "of-short"), "of-short");
    world_free(w);
}
END_TEST

START_TEST(of_equal_jobs_the_first_submitted_goes_first)
{
    struct world *w = world_new(NULL);

    world_add_node(w, "n1", 1);
    run_job(w, "short", 2, 300, 20);
    put_pod(w, "blocker", 3, 400, "");
    world_settle(w);
    put_pod(w, "a", 2, 300, "");
    world_settle(w);
    put_pod(w, "b", 2, 300, "");
    world_settle(w);

    ck_assert_str_eq(first_of(w, "blocker", "a", "b"), "a");
    ck_assert(!is_placed(w, "b"));
    world_free(w);
}
END_TEST

START_TEST(a_job_that_has_waited_too_long_goes_first)
{
    struct world *w = world_new(NULL);

    world_add_node(w, "n1", 1);
    run_job(w, "long", 1, 300, 300);
    run_job(w, "short", 2, 300, 20);
    put_pod(w, "blocker", 3, 30000, "");
    world_settle(w);
    put_pod(w, "of-long", 1, 300, "");
    world_advance(w, INT64_C(2000) * 1000);
    put_pod(w, "of-short", 2, 300, "");
    world_settle(w);

    ck_assert_str_eq(first_of(w, "blocker", "of-long", "of-short"), "of-long");
    world_free(w);
}
END_TEST

/* The later job is tried when there is no room for "long", the first one when
 * there is room again.
 */
START_TEST(of_equal_jobs_the_first_is_guarded_with_the_later_one)
{
    struct world *w = world_new(NULL);

    world_add_node(w, "n1", 1);
    put_pod(w, "blocker", 3, 400, "");
    world_settle(w);
    put_pod(w, "a", 2, 300, "");
    world_settle(w);
    put_urgent_pod(w, "urgent", 3, 30000, 5, "");
    fake_client_remove(w->api, &pod_kind, "default", "blocker");
    world_advance(w, 10000);
    ck_assert(is_placed(w, "urgent"));
    put_pod(w, "b", 2, 300, "");
    world_settle(w);

    ck_assert_str_eq(first_of(w, "urgent", "a", "b"), "a");
    ck_assert(!is_placed(w, "b"));
    world_free(w);
}
END_TEST

START_TEST(a_restart_learns_from_what_has_ended)
{
    struct world *w = world_new(NULL);

    put_pod(w, "past-long", 1, 300,
            ",\"status\":{\"phase\":\"Succeeded\",\"containerStatuses\":[{"
            "\"name\":\"c\",\"state\":{\"terminated\":{\"exitCode\":0,"
            "\"startedAt\":\"2023-12-31T00:00:00Z\",\"finishedAt\":"
            "\"2023-12-31T00:05:00Z\"}}}]}");
    put_pod(w, "past-short", 2, 300,
            ",\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[{"
            "\"name\":\"c\",\"state\":{\"terminated\":{\"exitCode\":1,"
            "\"startedAt\":\"2023-12-31T00:00:00Z\",\"finishedAt\":"
            "\"2023-12-31T00:00:07Z\"}}}]}");
    world_restart(w);
    world_add_node(w, "n1", 1);
    put_pod(w, "blocker", 3, 400, "");
    world_settle(w);
    put_pod(w, "of-long", 1, 300, "");
    world_settle(w);
    put_pod(w, "of-short", 2, 300, "");
    world_settle(w);

    ck_assert_str_eq(first_of(w, "blocker", "of-long", "of-short"), "of-short");
    world_free(w);
}
END_TEST

START_TEST(a_restart_does_not_count_what_stood_still)
{
    struct world *w = world_new(NULL);

    put_pod(w, "past-still", 1, 300,
            ",\"status\":{\"phase\":\"Succeeded\",\"frozenMicroseconds\":"
            "298000000,\"containerStatuses\":[{"
            "\"name\":\"c\",\"state\":{\"terminated\":{\"exitCode\":0,"
            "\"startedAt\":\"2023-12-31T00:00:00Z\",\"finishedAt\":"
            "\"2023-12-31T00:05:00Z\"}}}]}");
    put_pod(w, "past-longer", 2, 300,
            ",\"status\":{\"phase\":\"Succeeded\",\"containerStatuses\":[{"
            "\"name\":\"c\",\"state\":{\"terminated\":{\"exitCode\":0,"
            "\"startedAt\":\"2023-12-31T00:00:00Z\",\"finishedAt\":"
            "\"2023-12-31T00:01:40Z\"}}}]}");
    world_restart(w);
    world_add_node(w, "n1", 1);
    put_pod(w, "blocker", 3, 400, "");
    world_settle(w);
    put_pod(w, "of-longer", 2, 300, "");
    world_settle(w);
    put_pod(w, "of-still", 1, 300, "");
    world_settle(w);

    ck_assert_str_eq(first_of(w, "blocker", "of-longer", "of-still"), "of-still");
    world_free(w);
}
END_TEST

START_TEST(suspended_time_does_not_count_as_run_time)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct world *w = world_new(NULL);
    const struct json *answer;
    CLEANUP_FREE char *text = NULL;

    world_add_node(w, "n1", 1);
    put_pod(w, "still", 2, 300, "");
    world_settle(w);
    ck_assert(is_placed(w, "still"));
    world_advance(w, 100000);
    text = xasprintf("{\"metadata\":{\"namespace\":\"default\",\"name\":\"still\","
                     "\"uid\":\"%s\"},\"spec\":{\"nodeName\":\"n1\","
                     "\"activeDeadlineSeconds\":300,\"securityContext\":{\"runAsUser\":2},"
                     "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
                     "\"cpu\":\"1\"}}}]},\"status\":{\"phase\":\"Succeeded\","
                     "\"frozenMicroseconds\":80000000}}",
                     fake_client_find(w->api, &pod_kind, "default", "still")->meta->uid);
    fake_client_put(w->api, &pod_kind, text);
    world_settle(w);
    put_pod(w, "blocker", 3, 400, "");
    world_settle(w);
    put_pod(w, "waits", 2, 300, "");
    world_settle(w);

    answer = scheduler_explain(
        w->scheduler, fake_client_find(w->api, &pod_kind, "default", "waits"), false, arena);

    ck_assert_int_eq(json_get_int(json_get(answer, "order"), "predictedSeconds", -1), 20);
    world_free(w);
}
END_TEST

START_TEST(why_says_what_the_order_goes_by)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct world *w = world_new(NULL);
    const struct json *answer;

    world_add_node(w, "n1", 1);
    run_job(w, "short", 2, 300, 20);
    put_pod(w, "blocker", 3, 400, "");
    world_settle(w);
    put_pod(w, "waits", 2, 300, "");
    world_settle(w);

    answer = scheduler_explain(
        w->scheduler, fake_client_find(w->api, &pod_kind, "default", "waits"), false, arena);

    ck_assert_int_eq(json_get_int(json_get(answer, "order"), "predictedSeconds", -1), 20);
    ck_assert(!json_is_true(json_get_path(answer, "order.waitedTooLong")));
    world_free(w);
}
END_TEST

/* The same world, except for the sorting plugin. */
static struct world *
world_by(const char *args)
{
    static struct profile_plugin plugins[PROFILE_MAX_PLUGINS];
    static struct profile_settings profile = {
        .scheduler_name = "default-scheduler",
        .plugins = plugins,
        .percentage_of_nodes = 100,
    };
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct error err = {0};
    struct json *tree = args != NULL ? json_parse(arena, args, strlen(args), NULL, &err) : NULL;

    for (unsigned i = 0; i < n_default_profile; i++) {
        plugins[i] = default_profile[i];
        if (strcmp(plugins[i].plugin->name, "PredictedOrder") != 0)
            continue;
        plugins[i].args = tree;
        if (args == NULL)
            plugins[i].plugin = plugin_find("SubmissionOrder");
    }
    profile.n_plugins = n_default_profile;
    return world_new(&(struct scheduler_settings){
        .profiles = &profile,
        .n_profiles = 1,
    });
}

START_TEST(by_limits_history_does_not_matter)
{
    struct world *w = world_by("{\"by\":\"limit\"}");

    world_add_node(w, "n1", 1);
    run_job(w, "short", 2, 300, 20);
    put_pod(w, "blocker", 3, 400, "");
    world_settle(w);
    put_pod(w, "of-short", 2, 300, "");
    world_settle(w);
    put_pod(w, "shorter", 1, 299, "");
    world_settle(w);

    ck_assert_str_eq(first_of(w, "blocker", "shorter", "of-short"), "shorter");
    world_free(w);
}
END_TEST

START_TEST(by_submission_nothing_else_matters)
{
    struct world *w = world_by(NULL);

    world_add_node(w, "n1", 1);
    run_job(w, "short", 2, 300, 20);
    put_pod(w, "blocker", 3, 400, "");
    world_settle(w);
    put_pod(w, "first", 1, 300, "");
    world_settle(w);
    put_pod(w, "of-short", 2, 30, "");
    world_settle(w);

    ck_assert_str_eq(first_of(w, "blocker", "first", "of-short"), "first");
    world_free(w);
}
END_TEST

SUITE("pod_ranks", the_job_of_whom_the_jobs_were_short_goes_first,
      of_equal_jobs_the_first_submitted_goes_first, a_job_that_has_waited_too_long_goes_first,
      of_equal_jobs_the_first_is_guarded_with_the_later_one, a_restart_learns_from_what_has_ended,
      a_restart_does_not_count_what_stood_still, suspended_time_does_not_count_as_run_time,
      why_says_what_the_order_goes_by, by_limits_history_does_not_matter,
      by_submission_nothing_else_matters)
