/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/report/recorder.h"

#include <stdio.h>

#include "controller/scheduler/bind/dispatcher.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/string_ids.h"
#include "controller/scheduler/report/recorder_state.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/suite.h"

#define PER_SECOND 10

struct desk {
    struct fake_clock time;
    struct fake_client *api;
    struct string_ids *resources;
    struct dispatcher *dispatcher;
    struct recorder *recorder;
};

static struct desk *
desk_new(void)
{
    static const struct fake_clock clock = FAKE_CLOCK;
    struct desk *d = xnew(struct desk);

    d->time = clock;
    d->api = fake_client_new();
    d->resources = string_ids_new();
    d->dispatcher = dispatcher_new(&(struct dispatcher_settings){
        .client = fake_client_client(d->api),
        .clock = &d->time.clock,
    });
    d->recorder = recorder_new(&(struct recorder_settings){
        .dispatcher = d->dispatcher,
        .clock = &d->time.clock,
        .component = "default-scheduler",
        .writes_per_second = PER_SECOND,
    });
    return d;
}

static void
desk_free(struct desk *d)
{
    recorder_free(d->recorder);
    dispatcher_free(d->dispatcher);
    string_ids_free(d->resources);
    fake_client_free(d->api);
    free(d);
}

static struct pod_view *
add_pod(struct desk *d, const char *name)
{
    CLEANUP_FREE char *text = xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},"
                                        "\"spec\":{\"containers\":[{\"name\":\"main\"}]}}",
                                        name);

    return pod_view_new(fake_client_put(d->api, &pod_kind, text), d->resources);
}

static void
pass(struct desk *d, unsigned seconds)
{
    for (unsigned i = 0; i < seconds * 10; i++) {
        fake_clock_advance(&d->time, FAKE_SECOND / 10);
        recorder_flush(d->recorder);
        fake_client_run(d->api);
    }
}

/* The writes that are to be made or are not answered. */
static size_t
pending(const struct desk *d)
{
    const struct recorder *r = d->recorder;

    return r->n_dirty + r->n_single_events + r->in_flight;
}

static const struct pod_condition *
condition(const struct desk *d, const char *name)
{
    const struct object *pod = fake_client_find(d->api, &pod_kind, "default", name);

    return pod_find_condition(pod_of(pod), "PodScheduled");
}

static size_t
events(const struct desk *d)
{
    return fake_client_count(d->api, &event_kind);
}

START_TEST(a_pod_that_fails_has_an_event_and_a_condition)
{
    struct desk *d = desk_new();
    CLEANUP(pod_view_unrefp) struct pod_view *a = add_pod(d, "a");

    recorder_failed(d->recorder, a, "Unschedulable", "no room");
    pass(d, 2);

    ck_assert_uint_eq(events(d), 1);
    ck_assert_str_eq(condition(d, "a")->status, "False");
    ck_assert_str_eq(condition(d, "a")->reason, "Unschedulable");
    ck_assert_str_eq(condition(d, "a")->message, "no room");
    ck_assert_uint_eq(pending(d), 0);
    desk_free(d);
}
END_TEST

START_TEST(one_that_fails_a_thousand_times_has_one_event_and_few_writes)
{
    struct desk *d = desk_new();
    CLEANUP(pod_view_unrefp) struct pod_view *a = add_pod(d, "a");

    for (int i = 0; i < 1000; i++) {
        recorder_failed(d->recorder, a, "Unschedulable", "no room");
        fake_client_run(d->api);
    }
    pass(d, 5);

    ck_assert_uint_eq(events(d), 1);
    ck_assert_uint_le(fake_client_calls(d->api, CLIENT_STRATEGIC_PATCH, "status"), 2);
    desk_free(d);
}
END_TEST

START_TEST(a_gated_pod_has_a_condition_and_no_event)
{
    struct desk *d = desk_new();
    CLEANUP(pod_view_unrefp) struct pod_view *a = add_pod(d, "a");

    recorder_condition(d->recorder, a, "SchedulingGated", "gates");
    pass(d, 2);

    ck_assert_str_eq(condition(d, "a")->reason, "SchedulingGated");
    ck_assert_uint_eq(events(d), 0);
    desk_free(d);
}
END_TEST

START_TEST(a_pod_that_is_placed_before_its_turn_costs_nothing)
{
    struct desk *d = desk_new();
    CLEANUP(pod_view_unrefp) struct pod_view *a = add_pod(d, "a");

    dispatcher_hold(d->dispatcher, true);
    recorder_failed(d->recorder, a, "Unschedulable", "no room");
    recorder_forget(d->recorder, a);
    dispatcher_hold(d->dispatcher, false);
    pass(d, 2);

    ck_assert_ptr_null(condition(d, "a"));
    ck_assert_uint_eq(fake_client_calls(d->api, CLIENT_STRATEGIC_PATCH, "status"), 0);
    desk_free(d);
}
END_TEST

START_TEST(a_nomination_is_written_and_taken_back)
{
    struct desk *d = desk_new();
    CLEANUP(pod_view_unrefp) struct pod_view *a = add_pod(d, "a");
    const struct pod *pod;

    recorder_nominate(d->recorder, a, "n1");
    pass(d, 1);
    pod = pod_of(fake_client_find(d->api, &pod_kind, "default", "a"));
    ck_assert_str_eq(pod->status.nominated_node_name, "n1");
    recorder_nominate(d->recorder, a, "");
    pass(d, 1);

    pod = pod_of(fake_client_find(d->api, &pod_kind, "default", "a"));
    ck_assert_ptr_null(pod->status.nominated_node_name);
    desk_free(d);
}
END_TEST

START_TEST(writes_are_bounded_by_the_second_and_none_is_lost)
{
    struct desk *d = desk_new();
    size_t soon;

    for (int i = 0; i < 100; i++) {
        char name[16];
        struct pod_view *pod;

        snprintf(name, sizeof(name), "p%d", i);
        pod = add_pod(d, name);
        recorder_event(d->recorder, pod, "Normal", "Scheduled", name);
        pod_view_unref(pod);
    }
    pass(d, 1);
    soon = events(d);
    ck_assert_uint_lt(soon, 100);
    ck_assert_uint_gt(pending(d), 0);
    pass(d, 20);

    ck_assert_uint_eq(events(d), 100);
    ck_assert_uint_eq(pending(d), 0);
    desk_free(d);
}
END_TEST

SUITE("recorder", a_pod_that_fails_has_an_event_and_a_condition,
      one_that_fails_a_thousand_times_has_one_event_and_few_writes,
      a_gated_pod_has_a_condition_and_no_event, a_pod_that_is_placed_before_its_turn_costs_nothing,
      a_nomination_is_written_and_taken_back, writes_are_bounded_by_the_second_and_none_is_lost)
