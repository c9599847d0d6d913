/* SPDX-License-Identifier: Apache-2.0 */
/* The forecast starts of waiting pods, through the real scheduler. */
#include "controller/scheduler/forecast_input.h"
#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/plugins/plugin_registry.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/queue/queued_group.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/start_simulation.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

static void
group_by_labels(const struct object *pod, struct group_terms *ret_terms, void *context)
{
    (void)context;
    ret_terms->name = string_map_find(&pod_of(pod)->meta.labels, "group");
    ret_terms->wanted = ret_terms->name != NULL ? 2 : 0;
}

/* A thread that has not come to its work yet. */
struct aside {
    void (*work)(void *arg), (*done)(void *arg);
    void *arg;
};

static void
put_aside(void (*work)(void *arg), void (*done)(void *arg), void *arg, void *context)
{
    struct aside *a = context;

    *a = (struct aside){work, done, arg};
}

/* Pods start in the order of submission, whatever is predicted. */
static struct world *
forecast_make(struct aside *aside, void (*group_of)(const struct object *pod,
                                                    struct group_terms *ret_terms, void *context))
{
    static struct profile_plugin plugins[PROFILE_MAX_PLUGINS];
    static struct profile_settings profile = {
        .scheduler_name = "default-scheduler",
        .plugins = plugins,
        .percentage_of_nodes = 100,
    };

    for (unsigned i = 0; i < n_default_profile; i++) {
        plugins[i] = default_profile[i];
        if (plugins[i].plugin->less != NULL)
            plugins[i].plugin = plugin_find("SubmissionOrder");
    }
    profile.n_plugins = n_default_profile;
    return world_new(&(struct scheduler_settings){
        .profiles = &profile,
        .n_profiles = 1,
        .group_of = group_of,
        .initial_backoff_us = 1000,
        .max_backoff_us = 1000,
        .run_aside = aside != NULL ? put_aside : NULL,
        .aside_context = aside,
    });
}

static struct world *
forecast_new_aside(struct aside *aside)
{
    return forecast_make(aside, group_by_labels);
}

static struct world *
forecast_new(void)
{
    return forecast_new_aside(NULL);
}

/* Groups are PodGroups. */
static struct world *
forecast_new_of_gangs(void)
{
    return forecast_make(NULL, NULL);
}

/* Submits a pod with that many CPUs and seconds (0: no limit). */
static void
submit(struct world *w, const char *name, const char *meta, unsigned cpus, unsigned limit_s,
       const char *spec)
{
    static unsigned n_jobs;
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
                  "\"annotations\":{\"kiln.hpc/job-id\":\"%u\"}%s},"
                  "\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":"
                  "\"host\",\"resources\":{\"requests\":{\"cpu\":\"%u\"}}}]%s",
                  name, ++n_jobs, meta, cpus, spec);
    if (limit_s > 0)
        strbuf_printf(&s, ",\"activeDeadlineSeconds\":%u", limit_s);
    strbuf_add_text(&s, "}}");
    fake_client_put(w->api, &pod_kind, s.text);
    world_settle(w);
}

static int64_t
from_now_s(const struct world *w, int64_t at_us)
{
    return at_us > 0 ? (at_us - w->time.real_us) / 1000000 : -1;
}

/* The forecast in its cause; -1: none. */
static int64_t
told_s(const struct world *w, const char *name)
{
    const struct pod_cause *cause = world_pod(w, name)->status.cause;

    return cause != NULL ? from_now_s(w, cause->from_us) : -1;
}

/* A forecast is exact to a thirty-second, and was made some seconds ago. */
#define ASSERT_NEAR(got, wanted_s)                            \
    do {                                                      \
        int64_t got_s = (got), least_s = (wanted_s);          \
        ck_assert_int_ge(got_s, least_s - least_s / 32 - 10); \
        ck_assert_int_le(got_s, least_s + least_s / 16 + 10); \
    } while (0)

START_TEST(each_of_those_that_wait_is_told_its_own_turn)
{
    struct world *w = forecast_new();
    char name[16];

    world_add_node(w, "n1", 1);
    for (unsigned i = 0; i < 10; i++) {
        snprintf(name, sizeof(name), "p%u", i);
        submit(w, name, "", 1, 600, "");
    }
    world_advance(w, 3000);

    for (unsigned i = 1; i < 10; i++) {
        snprintf(name, sizeof(name), "p%u", i);
        ASSERT_NEAR(told_s(w, name), 600 * i);
    }
    world_free(w);
}
END_TEST

START_TEST(a_short_one_is_told_the_gap_that_it_fits_into)
{
    struct world *w = forecast_new();

    world_add_node(w, "n1", 2);
    submit(w, "runs", "", 1, 3600, "");
    submit(w, "wide", "", 2, 3600, "");
    submit(w, "gap", "", 1, 1800, "");
    submit(w, "gap2", "", 1, 1700, "");
    submit(w, "behind", "", 1, 1800, "");
    world_advance(w, 3000);

    ck_assert_str_eq(world_node_of(w, "gap"), "n1");
    ASSERT_NEAR(told_s(w, "wide"), 3600);
    ASSERT_NEAR(told_s(w, "gap2"), 1800);
    ASSERT_NEAR(told_s(w, "behind"), 7200);
    world_free(w);
}
END_TEST

START_TEST(a_pod_that_can_never_start_takes_nobodys_turn)
{
    struct world *w = forecast_new();

    world_add_node(w, "n1", 1);
    submit(w, "runs", "", 1, 600, "");
    submit(w, "large", "", 99, 6000, "");
    submit(w, "elsewhere", "", 1, 6000, ",\"nodeSelector\":{\"a\":\"b\"}");
    submit(w, "gated", "", 1, 6000, ",\"schedulingGates\":[{\"name\":\"g\"}]");
    submit(w, "next", "", 1, 600, "");
    submit(w, "last", "", 1, 600, "");
    world_advance(w, 3000);

    ck_assert_int_eq(told_s(w, "large"), -1);
    ck_assert_int_eq(told_s(w, "elsewhere"), -1);
    ASSERT_NEAR(told_s(w, "next"), 600);
    ASSERT_NEAR(told_s(w, "last"), 1200);
    world_free(w);
}
END_TEST

/* Partition "iN" has the node "nN", of one CPU. */
static void
add_partition(struct world *w, unsigned i)
{
    char text[256];

    snprintf(text, sizeof(text),
             "{\"metadata\":{\"name\":\"i%u\"},\"spec\":{\"selector\":"
             "{\"matchLabels\":{\"kind\":\"i%u\"}}}}",
             i, i);
    fake_client_put(w->api, &partition_kind, text);
    snprintf(text, sizeof(text),
             "{\"metadata\":{\"name\":\"n%u\",\"labels\":{\"kind\":\"i%u\"}"
             "},\"status\":{\"allocatable\":{\"cpu\":\"1\",\"memory\":"
             "\"64Gi\",\"pods\":\"110\"}}}",
             i, i);
    fake_client_put(w->api, &node_kind, text);
}

static void
submit_to(struct world *w, const char *name, unsigned partition)
{
    char spec[64];

    snprintf(spec, sizeof(spec), ",\"placement\":{\"partition\":\"i%u\"}", partition);
    submit(w, name, "", 1, 600, spec);
}

START_TEST(a_queue_of_one_partition_is_none_of_another)
{
    struct world *w = forecast_new();
    char name[16];

    for (unsigned i = 0; i < 2; i++)
        add_partition(w, i);
    for (unsigned i = 0; i < 12; i++) {
        snprintf(name, sizeof(name), "p%u", i);
        submit_to(w, name, i >= 10);
    }
    world_advance(w, 3000);
    world_advance(w, 3000);

    ASSERT_NEAR(told_s(w, "p9"), 5400);
    ASSERT_NEAR(told_s(w, "p11"), 600);
    world_free(w);
}
END_TEST

/* Only a limited number of partitions is distinguished at a time. */
START_TEST(partitions_that_nobody_waits_in_any_more_leave_their_place)
{
    struct world *w = forecast_new();
    char name[16];

    for (unsigned i = 0; i < 20; i++)
        add_partition(w, i);
    for (unsigned i = 0; i < 38; i++) {
        snprintf(name, sizeof(name), "a%u", i);
        submit_to(w, name, i / 2);
    }
    world_advance(w, 3000);
    world_advance(w, 3000);
    for (unsigned i = 0; i < 38; i++) {
        snprintf(name, sizeof(name), "a%u", i);
        fake_client_remove(w->api, &pod_kind, "default", name);
    }
    for (unsigned i = 0; i < 10; i++) {
        snprintf(name, sizeof(name), "b%u", i);
        submit_to(w, name, 19);
    }
    for (unsigned i = 0; i < 4; i++)
        world_advance(w, 3000);

    ASSERT_NEAR(told_s(w, "b9"), 5400);
    world_free(w);
}
END_TEST

START_TEST(a_group_is_told_when_all_of_it_start)
{
    struct world *w = forecast_new();

    world_add_node(w, "n1", 1);
    world_add_node(w, "n2", 1);
    submit(w, "runs", "", 1, 600, "");
    submit(w, "first0", ",\"labels\":{\"group\":\"first\"}", 1, 600, "");
    submit(w, "first1", ",\"labels\":{\"group\":\"first\"}", 1, 600, "");
    submit(w, "second0", ",\"labels\":{\"group\":\"second\"}", 1, 600, "");
    submit(w, "second1", ",\"labels\":{\"group\":\"second\"}", 1, 600, "");
    world_advance(w, 3000);

    ASSERT_NEAR(told_s(w, "first0"), 600);
    ASSERT_NEAR(told_s(w, "second0"), 1200);
    ASSERT_NEAR(told_s(w, "second1"), 1200);
    world_free(w);
}
END_TEST

static void
put_gang(struct world *w, unsigned least, const char *spec)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"g\",\"namespace\":\"default\"},\"spec\":{"
                  "\"schedulingPolicy\":{\"gang\":{\"minCount\":%u}}%s}}",
                  least, spec);

    fake_client_put(w->api, &pod_group_kind, text);
}

#define OF_GANG ",\"schedulingGroup\":{\"podGroupName\":\"g\"}"

static void
submit_member(struct world *w, const char *name, unsigned limit_s)
{
    submit(w, name, "", 1, limit_s, OF_GANG);
}

/* A pod of the gang that has a node already. */
static void
put_member(struct world *w, const char *name, const char *node, const char *phase, unsigned limit_s)
{
    char now[TIME_TEXT_SIZE];

    time_format(w->time.real_us, false, now);
    CLEANUP_FREE char *text = xasprintf(
        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},\"spec\":{\"nodeName\":\"%s\","
        "\"activeDeadlineSeconds\":%u,\"containers\":[{\"name\":\"main\",\"image\":\"host\","
        "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]" OF_GANG "},"
        "\"status\":{\"phase\":\"%s\",\"startTime\":\"%s\"}}",
        name, node, limit_s, phase, now);

    fake_client_put(w->api, &pod_kind, text);
    world_settle(w);
}

START_TEST(a_member_that_has_succeeded_counts_in_the_forecast)
{
    struct world *w = forecast_new_of_gangs();

    world_add_node(w, "n1", 1);
    world_add_node(w, "n2", 1);
    submit(w, "runs", "", 1, 600, "");
    put_gang(w, 3, "");
    put_member(w, "m0", "n1", "Succeeded", 600);
    submit_member(w, "m1", 600);
    submit_member(w, "m2", 600);
    world_advance(w, 3000);

    ASSERT_NEAR(told_s(w, "m1"), 600);
    ASSERT_NEAR(told_s(w, "m2"), 600);
    world_free(w);
}
END_TEST

/* It ends before the others have room, and has succeeded then. */
START_TEST(a_member_that_runs_counts_in_the_forecast_when_it_has_ended)
{
    struct world *w = forecast_new_of_gangs();

    world_add_node(w, "n1", 1);
    world_add_node(w, "n2", 1);
    put_gang(w, 3, "");
    put_member(w, "m0", "n1", "Running", 300);
    submit(w, "runs", "", 1, 600, "");
    submit_member(w, "m1", 600);
    submit_member(w, "m2", 600);
    world_advance(w, 3000);

    ASSERT_NEAR(told_s(w, "m1"), 600);
    ASSERT_NEAR(told_s(w, "m2"), 600);
    world_free(w);
}
END_TEST

/* n1 has room, but not for another pod of the gang. */
START_TEST(a_member_beyond_the_least_is_told_when_another_node_has_room)
{
    struct world *w = forecast_new_of_gangs();

    world_add_node(w, "n1", 2);
    put_gang(w, 1, ",\"onePerNode\":true");
    put_member(w, "m0", "n1", "Running", 3600);
    world_add_node(w, "n2", 1);
    put_member(w, "m1", "n2", "Running", 600);
    submit_member(w, "m2", 600);
    world_advance(w, 3000);

    ASSERT_NEAR(told_s(w, "m2"), 600);
    world_free(w);
}
END_TEST

/* It ends, and its node is open to the next one. */
START_TEST(a_member_is_told_when_another_leaves_the_only_node)
{
    struct world *w = forecast_new_of_gangs();

    world_add_node(w, "n1", 2);
    put_gang(w, 1, ",\"onePerNode\":true");
    put_member(w, "m0", "n1", "Running", 600);
    submit_member(w, "m1", 600);
    submit_member(w, "m2", 600);
    world_advance(w, 3000);

    ASSERT_NEAR(told_s(w, "m1"), 600);
    ASSERT_NEAR(told_s(w, "m2"), 1200);
    world_free(w);
}
END_TEST

/* Twice its number of CPUs overflows. */
static void
submit_monster(struct world *w, const char *name)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
                  "\"labels\":{\"group\":\"monster\"}},\"spec\":{"
                  "\"activeDeadlineSeconds\":600,\"containers\":[{\"name\":"
                  "\"main\",\"image\":\"host\",\"resources\":{\"requests\":"
                  "{\"cpu\":\"5000000000000000\"}}}]}}",
                  name);
    fake_client_put(w->api, &pod_kind, s.text);
    world_settle(w);
}

START_TEST(a_group_that_asks_for_more_than_can_be_counted_gives_nobody_room)
{
    struct world *w = forecast_new();

    world_add_node(w, "n1", 1);
    submit(w, "runs", "", 1, 600, "");
    submit_monster(w, "monster0");
    submit_monster(w, "monster1");
    submit(w, "next", "", 1, 600, "");
    submit(w, "last", "", 1, 600, "");
    world_advance(w, 3000);

    ck_assert_int_eq(told_s(w, "monster0"), -1);
    ASSERT_NEAR(told_s(w, "next"), 600);
    ASSERT_NEAR(told_s(w, "last"), 1200);
    world_free(w);
}
END_TEST

START_TEST(turns_follow_what_ends_before_its_limit)
{
    struct world *w = forecast_new();

    world_add_node(w, "n1", 1);
    submit(w, "p0", "", 1, 3600, "");
    submit(w, "p1", "", 1, 3600, "");
    submit(w, "p2", "", 1, 3600, "");
    world_advance(w, 3000);
    ASSERT_NEAR(told_s(w, "p2"), 7200);
    fake_client_remove(w->api, &pod_kind, "default", "p0");
    world_advance(w, 1000);
    world_advance(w, 3000);

    ck_assert_str_eq(world_node_of(w, "p1"), "n1");
    ASSERT_NEAR(told_s(w, "p2"), 3600);
    world_free(w);
}
END_TEST

/* The question is asked before the submission, and after. */
START_TEST(why_says_the_turn_and_what_would_be_alone)
{
    struct world *w = forecast_new();
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *answer;
    int64_t from_us;

    world_add_node(w, "n1", 1);
    submit(w, "p0", "", 1, 600, "");
    submit(w, "p1", "", 1, 600, "");
    submit(w, "p2", "", 1, 600, "");
    submit(w, "p3", "", 1, 600, "");
    world_advance(w, 3000);
    answer = scheduler_explain(w->scheduler, fake_client_find(w->api, &pod_kind, "default", "p3"),
                               false, arena);

    ck_assert_int_eq(time_parse(json_path_text(answer, "start.from"), &from_us), 0);
    ASSERT_NEAR(from_now_s(w, from_us), 1800);
    ck_assert_int_eq(time_parse(json_path_text(answer, "start.earliest"), &from_us), 0);
    ASSERT_NEAR(from_now_s(w, from_us), 1200);
    ck_assert_ptr_nonnull(
        strstr(json_path_text(answer, "start.outlook"),
               ", after the 2 pods before it in the queue; without them it could at "));
    world_free(w);
}
END_TEST

/* Jobs of this user take a tenth of their limits. */
static void
run_short(struct world *w, unsigned count)
{
    char name[16];

    for (unsigned i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "short%u", i);
        submit(w, name, "", 1, 1000, "");
        world_advance(w, 100000);
        fake_client_remove(w->api, &pod_kind, "default", name);
        world_advance(w, 1000);
    }
}

/* By what earlier jobs took, p1 is told a tenth of the limit, and p2 two. */
START_TEST(starts_are_told_by_predictions_and_by_limits)
{
    struct world *w = world_new(NULL);
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *answer;
    int64_t from_us;

    world_add_node(w, "n1", 1);
    run_short(w, 20);
    submit(w, "p0", "", 1, 1000, "");
    submit(w, "p1", "", 1, 1000, "");
    submit(w, "p2", "", 1, 1000, "");
    world_advance(w, 3000);

    ASSERT_NEAR(told_s(w, "p1"), 100);
    ASSERT_NEAR(told_s(w, "p2"), 200);
    answer = scheduler_explain(w->scheduler, fake_client_find(w->api, &pod_kind, "default", "p2"),
                               false, arena);
    ck_assert_int_eq(time_parse(json_path_text(answer, "start.byLimits"), &from_us), 0);
    ASSERT_NEAR(from_now_s(w, from_us), 2000);
    ck_assert_ptr_nonnull(
        strstr(json_path_text(answer, "start.message"), "if all jobs use up their time limits"));
    world_free(w);
}
END_TEST

/* A wide job has a reservation, so a job that would delay it starts after it. */
START_TEST(those_that_would_delay_the_first_are_told_a_time_after_it)
{
    struct world *w = forecast_new();

    world_add_node(w, "n1", 4);
    world_add_node(w, "n2", 4);
    submit(w, "a", "", 3, 600, "");
    submit(w, "b", "", 3, 1200, "");
    submit(w, "wide", "", 4, 600, ""); /* 2 CPUs are free, but on two nodes */
    submit(w, "long", "", 2, 3000, "");
    submit(w, "brief", "", 1, 500, "");
    world_advance(w, 3000);

    ck_assert_str_ne(world_node_of(w, "brief"), "");
    ASSERT_NEAR(told_s(w, "wide"), 600);
    ASSERT_NEAR(told_s(w, "long"), 1200);
    world_free(w);
}
END_TEST

/* As when the controller ends, or loses its lead, during a simulation. */
START_TEST(a_simulation_outlives_its_scheduler)
{
    struct aside aside = {0};
    struct world *w = forecast_new_aside(&aside);

    world_add_node(w, "n1", 1);
    submit(w, "runs", "", 1, 600, "");
    submit(w, "waits", "", 1, 600, "");
    world_advance(w, 3000);
    ck_assert_ptr_nonnull(aside.work);
    world_close(w);

    aside.work(aside.arg);
    aside.done(aside.arg);
    fake_client_free(w->api);
    free(w);
}
END_TEST

/* The time that passes while the thread waits for a processor. */
static int64_t
starved_monotonic_us(struct clock *c)
{
    struct fake_clock *time = container_of(c, struct fake_clock, clock);

    fake_clock_advance(time, 2 * FAKE_SECOND);
    return time->monotonic_us;
}

/* A twentieth is of what it costs, not of how long a busy machine lets it wait. */
START_TEST(a_forecast_that_waited_for_a_processor_does_not_delay_the_next)
{
    struct aside aside = {0};
    struct world *w = forecast_new_aside(&aside);
    struct aside first;

    world_add_node(w, "n1", 1);
    submit(w, "runs", "", 1, 600, "");
    submit(w, "waits", "", 1, 600, "");
    world_advance(w, 3000);
    ck_assert_ptr_nonnull(aside.work);
    first = aside;
    aside = (struct aside){0};
    w->time.clock.monotonic_us = starved_monotonic_us;
    first.work(first.arg);
    w->time.clock.monotonic_us = fake_clock_monotonic_us;
    first.done(first.arg);

    submit(w, "next", "", 1, 600, "");
    world_advance(w, 3000);
    ck_assert_ptr_nonnull(aside.work);
    aside.work(aside.arg);
    aside.done(aside.arg);
    world_settle(w);
    ck_assert_int_gt(told_s(w, "next"), 0);
    world_free(w);
}
END_TEST

static bool
has_pod(const struct forecast_input *in, const char *name, const struct object *object)
{
    for (size_t i = 0; i < forecast_input_count(in); i++)
        if (strcmp(forecast_input_pod(in, i)->name, name) == 0)
            return object == NULL || forecast_input_pod(in, i)->object == object;
    return false;
}

static struct forecast_parts
parts_of(struct scheduler *s)
{
    return (struct forecast_parts){
        .settings = &s->settings,
        .profiles = s->kept_profiles,
        .is_timed = true,
        .handle = &s->handle,
        .queue = s->queue,
        .cache = s->cache,
        .snapshot = &s->snapshot,
        .recorder = s->recorder,
        .pod_ranks = s->pod_ranks,
        .pod_groups = s->pod_groups,
        .objects = s->objects,
    };
}

/* The queue is visited in parts, between which pods come, change and go. */
START_TEST(pods_may_change_while_they_are_collected)
{
    struct aside aside = {0};
    struct world *w = forecast_new_aside(&aside);
    const struct forecast_parts parts = parts_of(w->scheduler);
    struct forecast_input *in;
    const struct object *updated;
    char name[16];

    world_add_node(w, "n1", 1);
    submit(w, "runs", "", 1, 600, "");
    for (unsigned i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "p%u", i);
        submit(w, name, i == 2 ? ",\"uid\":\"u2\"" : "", 1, 600, "");
    }
    in = forecast_input_new(&parts, 1000, NULL);
    ck_assert_uint_eq(forecast_input_count(in), 0);
    ck_assert(forecast_input_collect(in));
    ck_assert_uint_gt(forecast_input_count(in), 0);
    ck_assert_uint_lt(forecast_input_count(in), 100);

    fake_client_remove(w->api, &pod_kind, "default", "p0");
    fake_client_remove(w->api, &pod_kind, "default", "p1");
    fake_client_remove(w->api, &pod_kind, "default", "p90");
    submit(w, "late", "", 1, 600, "");
    submit(w, "p2", ",\"uid\":\"u2\"", 1, 1200, ""); /* and is behind the others */
    updated = fake_client_find(w->api, &pod_kind, "default", "p2");
    while (forecast_input_collect(in))
        ;

    ck_assert_uint_eq(forecast_input_count(in), 100); /* with those that were seen and are gone */
    ck_assert(has_pod(in, "p2", updated));
    ck_assert(has_pod(in, "late", NULL) && has_pod(in, "p99", NULL));
    ck_assert(!has_pod(in, "p90", NULL));
    ck_assert(forecast_input_run(in, INT64_MAX / 2, NULL));
    for (size_t i = 0; i < forecast_input_count(in); i++) {
        const char *pod = forecast_input_pod(in, i)->name;
        const bool is_gone = strcmp(pod, "p0") == 0 || strcmp(pod, "p1") == 0;

        ck_assert_int_eq(forecast_input_start(in, FORECAST_BY_LIMITS, i).at_us == 0, is_gone);
    }
    forecast_input_free(in);

    in = forecast_input_new(&parts, 50, NULL);
    while (forecast_input_collect(in))
        ;
    ck_assert(forecast_input_is_full(in));
    ck_assert_uint_eq(forecast_input_count(in), 50);
    forecast_input_free(in);
    in = forecast_input_new(&parts, 50, NULL); /* and it may end at any time */
    ck_assert(forecast_input_collect(in));
    forecast_input_free(in);
    aside.work(aside.arg);
    aside.done(aside.arg);
    world_free(w);
}
END_TEST

SUITE("scheduler/start_forecast", pods_may_change_while_they_are_collected,
      starts_are_told_by_predictions_and_by_limits,
      those_that_would_delay_the_first_are_told_a_time_after_it,
      each_of_those_that_wait_is_told_its_own_turn, a_short_one_is_told_the_gap_that_it_fits_into,
      a_pod_that_can_never_start_takes_nobodys_turn, a_queue_of_one_partition_is_none_of_another,
      partitions_that_nobody_waits_in_any_more_leave_their_place,
      a_group_is_told_when_all_of_it_start, a_member_that_has_succeeded_counts_in_the_forecast,
      a_member_that_runs_counts_in_the_forecast_when_it_has_ended,
      a_member_beyond_the_least_is_told_when_another_node_has_room,
      a_member_is_told_when_another_leaves_the_only_node,
      a_group_that_asks_for_more_than_can_be_counted_gives_nobody_room,
      turns_follow_what_ends_before_its_limit, why_says_the_turn_and_what_would_be_alone,
      a_simulation_outlives_its_scheduler,
      a_forecast_that_waited_for_a_processor_does_not_delay_the_next)
