/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin of our own, in a profile of the real scheduler: its calls at every
 * extension point.
 */
#include "testsuite/unit/controller/scheduler/example_plugin.h"

#include "controller/scheduler/plugins/plugin_registry.h"
#include "lib/base/metric.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

/* The default profile and one more line. */
static struct world *
world_with_plugin(struct metric_registry *metrics)
{
    static struct profile_plugin plugins[PROFILE_MAX_PLUGINS];
    static struct profile_settings profile = {
        .scheduler_name = "default-scheduler",
        .plugins = plugins,
        .percentage_of_nodes = 100,
    };

    for (unsigned i = 0; i < n_default_profile; i++)
        plugins[i] = default_profile[i];
    plugins[n_default_profile] = (struct profile_plugin){.plugin = &quiet_plugin, .weight = 100};
    profile.n_plugins = n_default_profile + 1;
    quiet_hours = (struct quiet_hours){0};
    return world_new(&(struct scheduler_settings){
        .profiles = &profile,
        .n_profiles = 1,
        .metrics = metrics,
        .without_forecast = true, /* a simulation would need a plugin of its own */
    });
}

static void
put_node(struct world *w, const char *name, const char *label)
{
    CLEANUP_FREE char *text = xasprintf("{\"metadata\":{\"name\":\"%s\",\"labels\":{\"%s\":\"\"}},"
                                        "\"status\":{\"allocatable\":{\"cpu\":\"8\",\"memory\":"
                                        "\"64Gi\",\"pods\":\"110\"}}}",
                                        name, label);

    fake_client_put(w->api, &node_kind, text);
}

static void
put_pod(struct world *w, const char *name, const char *label)
{
    CLEANUP_FREE char *text = xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
                                        "\"labels\":{\"%s\":\"\"}},\"spec\":{\"containers\":[{"
                                        "\"name\":\"main\",\"image\":\"host\"}]}}",
                                        name, label);

    fake_client_put(w->api, &pod_kind, text);
}

START_TEST(the_example_filters_and_says_why)
{
    struct world *w = world_with_plugin(NULL);
    const struct pod_condition *c;

    put_node(w, "n1", "quiet");
    put_pod(w, "a", "loud");
    world_settle(w);

    c = pod_find_condition(world_pod(w, "a"), "PodScheduled");
    ck_assert_ptr_nonnull(c);
    ck_assert_ptr_nonnull(strstr(c->message, "0/1 nodes are available: 1 node(s) are quiet now"));
    world_free(w);
}
END_TEST

START_TEST(an_awaited_event_wakes_the_pod)
{
    struct world *w = world_with_plugin(NULL);

    put_node(w, "n1", "quiet");
    put_pod(w, "a", "loud");
    world_settle(w);
    put_node(w, "n1", "lively");
    world_advance(w, 2000);

    ck_assert_str_eq(world_node_of(w, "a"), "n1");
    world_free(w);
}
END_TEST

START_TEST(its_score_counts_by_its_weight)
{
    struct world *w = world_with_plugin(NULL);

    put_node(w, "n1", "quiet");
    put_node(w, "n2", "lively");
    put_pod(w, "a", "x");
    world_settle(w);

    ck_assert_str_eq(world_node_of(w, "a"), "n2");
    world_free(w);
}
END_TEST

START_TEST(a_permit_that_is_refused_gives_the_node_back)
{
    struct world *w = world_with_plugin(NULL);

    quiet_hours.permit_answer = VERDICT_REJECT;
    put_node(w, "n1", "lively");
    put_pod(w, "a", "x");
    world_settle(w);

    ck_assert_str_eq(world_node_of(w, "a"), "");
    ck_assert_uint_eq(quiet_hours.reserves, 1);
    ck_assert_uint_eq(quiet_hours.unreserves, 1);
    ck_assert_uint_eq(scheduler_count(w->scheduler).assumed, 0);
    world_free(w);
}
END_TEST

START_TEST(a_permit_that_is_not_given_in_time_is_refused)
{
    CLEANUP(metric_registry_freep)
    struct metric_registry *metrics = metric_registry_new();
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct world *w = world_with_plugin(metrics);
    const struct pod_condition *c;

    quiet_hours.permit_answer = VERDICT_WAIT;
    put_node(w, "n1", "lively");
    put_pod(w, "a", "x");
    world_settle(w);
    ck_assert_uint_eq(scheduler_count(w->scheduler).assumed, 1);
    world_advance(w, 5001);

    c = pod_find_condition(world_pod(w, "a"), "PodScheduled");
    ck_assert_ptr_nonnull(c);
    ck_assert_str_eq(c->message, "timed out waiting on permit");
    ck_assert_uint_eq(quiet_hours.unreserves, 1);
    ck_assert_uint_eq(scheduler_count(w->scheduler).assumed, 0);
    metric_format(metrics, &text);
    ck_assert_ptr_nonnull(strstr(text.text, "scheduler_permit_wait_duration_seconds_count{result="
                                            "\"timeout\"} 1\n"));
    world_free(w);
}
END_TEST

static struct world *
world_with_one_in_permit(void)
{
    struct world *w = world_with_plugin(NULL);

    quiet_hours.permit_answer = VERDICT_WAIT;
    put_node(w, "n1", "lively");
    put_pod(w, "a", "x");
    world_settle(w);
    ck_assert_uint_eq(scheduler_count(w->scheduler).assumed, 1);
    ck_assert_uint_eq(quiet_hours.prebinds, 0);
    return w;
}

START_TEST(a_pod_that_is_allowed_goes_through_prebind_to_its_node)
{
    struct world *w = world_with_one_in_permit();
    struct handle *h = quiet_hours.handle;

    ck_assert(!h->allow(h->owner, quiet_hours.permitted, "NodeName"));
    ck_assert(!h->allow(h->owner, quiet_hours.permitted, "NoSuchPlugin"));
    ck_assert(h->allow(h->owner, quiet_hours.permitted, "QuietHours"));
    ck_assert_uint_eq(quiet_hours.prebinds, 1);
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "a"), "n1");
    world_free(w);
}
END_TEST

START_TEST(a_pod_that_is_rejected_gives_the_node_back)
{
    struct world *w = world_with_one_in_permit();
    struct handle *h = quiet_hours.handle;
    const struct pod_condition *c;

    ck_assert(h->reject(h->owner, quiet_hours.permitted, "QuietHours",
                        handle_reason(h, "the night has come")));
    quiet_hours.permit_answer = VERDICT_WAIT;
    world_settle(w);
    c = pod_find_condition(world_pod(w, "a"), "PodScheduled");
    ck_assert_ptr_nonnull(c);
    ck_assert_str_eq(c->message, "the night has come");
    ck_assert_uint_eq(quiet_hours.unreserves, 1);
    ck_assert_uint_eq(quiet_hours.prebinds, 0);
    world_free(w);
}
END_TEST

/* VolumeBinding is the first plugin of PreBind: no event may skip it. */
START_TEST(a_late_answer_does_not_end_the_wait_in_permit)
{
    struct world *w = world_with_one_in_permit();
    struct handle *h = quiet_hours.handle;
    struct assignment *a = container_of(quiet_hours.permitted_in, struct assignment, cycle);

    h->resume(h->owner, a, VERDICT_OK, STRING_ID_NONE);
    ck_assert_uint_eq(quiet_hours.prebinds, 0);
    ck_assert_uint_eq(scheduler_count(w->scheduler).assumed, 1);
    world_free(w);
}
END_TEST

static void
count_waiting(struct pod_view *pod, const char *node_name, void *context)
{
    unsigned *count = context;

    ck_assert_str_eq(node_name, "n1");
    ck_assert_str_eq(pod->name, "a");
    (*count)++;
}

/* Gang scheduling needs this: the last pod's permit sees all waiting pods. */
START_TEST(a_pod_in_permit_can_be_listed_and_allowed_once)
{
    struct world *w = world_with_one_in_permit();
    struct handle *h = quiet_hours.handle;
    unsigned count = 0;

    h->visit_waiting(h->owner, count_waiting, &count);
    ck_assert_uint_eq(count, 1);
    quiet_hours.prebind_answer = VERDICT_WAIT;
    ck_assert(h->allow(h->owner, quiet_hours.permitted, "QuietHours"));
    ck_assert(!h->allow(h->owner, quiet_hours.permitted, "QuietHours"));
    ck_assert(!h->reject(h->owner, quiet_hours.permitted, "QuietHours", STRING_ID_NONE));
    h->visit_waiting(h->owner, count_waiting, &count);
    ck_assert_uint_eq(count, 1);
    world_free(w);
}
END_TEST

START_TEST(a_pod_that_is_deleted_waits_no_longer)
{
    struct world *w = world_with_one_in_permit();
    struct handle *h = quiet_hours.handle;
    unsigned count = 0;

    fake_client_remove(w->api, &pod_kind, "default", "a");
    world_settle(w);
    h->visit_waiting(h->owner, count_waiting, &count);
    ck_assert_uint_eq(count, 0);
    ck_assert_uint_eq(scheduler_count(w->scheduler).assumed, 0);
    ck_assert_uint_eq(quiet_hours.unreserves, 1);
    world_free(w);
}
END_TEST

START_TEST(others_are_placed_while_one_waits_in_prebind)
{
    struct world *w = world_with_plugin(NULL);
    struct assignment *first;

    quiet_hours.prebind_answer = VERDICT_WAIT;
    put_node(w, "n1", "lively");
    put_pod(w, "a", "x");
    world_settle(w);
    first = quiet_hours.waiting;
    quiet_hours.prebind_answer = VERDICT_OK;
    put_pod(w, "b", "x");
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "a"), "");
    ck_assert_str_eq(world_node_of(w, "b"), "n1");
    quiet_hours.handle->resume(quiet_hours.handle->owner, first, VERDICT_OK, STRING_ID_NONE);
    world_settle(w);

    ck_assert_str_eq(world_node_of(w, "a"), "n1");
    world_free(w);
}
END_TEST

START_TEST(a_prebind_that_fails_gives_the_node_back_and_is_tried_again)
{
    struct world *w = world_with_plugin(NULL);

    quiet_hours.prebind_answer = VERDICT_ERROR;
    put_node(w, "n1", "lively");
    put_pod(w, "a", "x");
    world_settle(w);
    ck_assert_uint_eq(quiet_hours.unreserves, 1);
    quiet_hours.prebind_answer = VERDICT_OK;
    world_advance(w, 2000);

    ck_assert_str_eq(world_node_of(w, "a"), "n1");
    ck_assert_uint_eq(quiet_hours.prebinds, 2);
    world_free(w);
}
END_TEST

START_TEST(its_rejections_are_counted_under_its_name)
{
    CLEANUP(metric_registry_freep)
    struct metric_registry *metrics = metric_registry_new();
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct world *w = world_with_plugin(metrics);
    static const char *const wanted[] = {
        "scheduler_unschedulable_pods{plugin=\"QuietHours\",profile="
        "\"default-scheduler\"} 1\n",
        "scheduler_queue_incoming_pods_total{queue=\"active\",event=\"PodAdd\""
        "} 2\n",
        "scheduler_queue_incoming_pods_total{queue=\"unschedulable\",event="
        "\"ScheduleAttemptFailure\"} 1\n",
        "scheduler_schedule_attempts_total{result=\"scheduled\",profile="
        "\"default-scheduler\"} 1\n",
        "scheduler_schedule_attempts_total{result=\"unschedulable\",profile="
        "\"default-scheduler\"} 1\n",
        "scheduler_preemption_attempts_total 1\n",
        "scheduler_pending_pods{queue=\"unschedulable\"} 1\n",
        "scheduler_framework_extension_point_duration_seconds_count{extension_"
        "point=\"Filter\",status=\"Success\",profile=\"default-scheduler\"} "
        "2\n",
        "scheduler_framework_extension_point_duration_seconds_count{extension_"
        "point=\"Bind\",status=\"Success\",profile=\"default-scheduler\"} 1\n",
        "scheduler_framework_extension_point_duration_seconds_count{extension_"
        "point=\"PostFilter\",status=\"Unschedulable\",profile="
        "\"default-scheduler\"} 1\n",
        "scheduler_event_handling_duration_seconds_count{event=\"NodeAdd\"} "
        "1\n",
    };

    put_node(w, "n1", "quiet");
    put_pod(w, "a", "loud");
    put_pod(w, "b", "x");
    world_settle(w);

    metric_format(metrics, &text);
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
        ck_assert_msg(strstr(text.text, wanted[i]) != NULL, "'%s' is not in\n%s", wanted[i],
                      text.text);
    world_free(w);
}
END_TEST

SUITE("example plugin", the_example_filters_and_says_why, an_awaited_event_wakes_the_pod,
      its_score_counts_by_its_weight, a_permit_that_is_refused_gives_the_node_back,
      a_permit_that_is_not_given_in_time_is_refused,
      a_pod_that_is_allowed_goes_through_prebind_to_its_node,
      a_pod_that_is_rejected_gives_the_node_back, a_late_answer_does_not_end_the_wait_in_permit,
      a_pod_in_permit_can_be_listed_and_allowed_once, a_pod_that_is_deleted_waits_no_longer,
      others_are_placed_while_one_waits_in_prebind,
      a_prebind_that_fails_gives_the_node_back_and_is_tried_again,
      its_rejections_are_counted_under_its_name)
