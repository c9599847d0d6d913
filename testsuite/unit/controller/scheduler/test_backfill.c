/* SPDX-License-Identifier: Apache-2.0 */
/* Reservations and who may pass them, through the real scheduler. */
#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/plugins/plugin_registry.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/state/cache.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

static unsigned
group_by_labels(const struct object *pod, const char **ret_name, void *context)
{
    const struct string_map *labels = &pod_of(pod)->meta.labels;
    const char *members = string_map_find(labels, "members");

    (void)context;
    *ret_name = string_map_find(labels, "group");
    return *ret_name != NULL && members != NULL
               ? (unsigned)strtoul(members, NULL, 10)
               : 0;
}

/* Backfill with so many reservations. */
static struct world *
backfill_new(const char *args, bool without_sharing)
{
    static struct profile_plugin plugins[PROFILE_MAX_PLUGINS];
    static struct arena *arena;
    static struct profile_settings profile = {
        .scheduler_name = "default-scheduler",
        .plugins = plugins,
        .percentage_of_nodes = 100,
    };
    struct error err = {0};

    if (arena == NULL)
        arena = arena_new(1024);
    for (unsigned i = 0; i < n_default_profile; i++) {
        plugins[i] = default_profile[i];
        if (args != NULL
            && strcmp(default_profile[i].plugin->name, "Backfill") == 0)
            plugins[i].args = json_parse(arena, args, strlen(args), NULL, &err);
    }
    profile.n_plugins = n_default_profile;
    return world_new(&(struct scheduler_settings){
        .profiles = &profile,
        .n_profiles = 1,
        .group_of = group_by_labels,
        .without_sharing = without_sharing,
        .initial_backoff_us = 1000,
        .max_backoff_us = 1000,
    });
}

/* Seconds since the test began. */
static int64_t
now(const struct world *w)
{
    return (w->time.real_us - FAKE_BEGIN) / FAKE_SECOND;
}

struct job {
    const char *name;
    unsigned cpus;
    int64_t limit; /* seconds; 0: none */
    const char *node;
    int64_t start; /* it runs since then */
    const char *group;
    unsigned members;
    const char *spec;
};

static void
put(struct world *w, struct job job)
{
    struct strbuf s = STRBUF_INIT;
    static unsigned n_jobs;
    char time[TIME_TEXT_SIZE];

    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
                  "\"annotations\":{\"kiln.hpc/job-id\":\"%u\"}",
                  job.name,
                  ++n_jobs);
    if (job.group != NULL)
        strbuf_printf(&s,
                      ",\"labels\":{\"group\":\"%s\",\"members\":\"%u\"}",
                      job.group,
                      job.members);
    strbuf_printf(&s,
                  "},\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":"
                  "\"host\",\"resources\":{\"requests\":{\"cpu\":\"%u\"}}}]%s",
                  job.cpus,
                  job.spec != NULL ? job.spec : "");
    if (job.limit > 0)
        strbuf_printf(&s,
                      ",\"activeDeadlineSeconds\":%lld",
                      (long long)job.limit);
    if (job.node != NULL) {
        time_format(FAKE_BEGIN + job.start * FAKE_SECOND, false, time);
        strbuf_printf(&s,
                      ",\"nodeName\":\"%s\"},\"status\":{\"phase\":\"Running\","
                      "\"startTime\":\"%s\"}}",
                      job.node,
                      time);
    } else {
        strbuf_add_text(&s, "}}");
    }
    fake_client_put(w->api, &pod_kind, s.text);
    strbuf_fini(&s);
}

#define JOB(job_name, n_cpus, seconds, ...)                               \
    (struct job)                                                          \
    {                                                                     \
        .name = job_name, .cpus = n_cpus, .limit = seconds, ##__VA_ARGS__ \
    }
#define PUT(w, ...) put(w, JOB(__VA_ARGS__))

static void
end(struct world *w, const char *name)
{
    fake_client_remove(w->api, &pod_kind, "default", name);
}

static void
advance(struct world *w, int64_t seconds)
{
    world_advance(w, seconds * 1000);
    world_advance(w, 10);
    world_advance(w, 10);
    fake_clock_advance(&w->time, -20000);
}

/* What has just been bound runs since now. */
static void
begin(struct world *w, struct job job)
{
    job.node = xstrdup(world_node_of(w, job.name));
    ck_assert_str_ne(job.node, "");
    job.start = now(w);
    put(w, job);
    free((void *)(uintptr_t)job.node);
    world_settle(w);
}

static void
check_node(const struct world *w, const char *name, const char *node)
{
    if (strcmp(world_node_of(w, name), node) != 0)
        ck_abort_msg("'%s' is on '%s', not on '%s', at %lld",
                     name,
                     world_node_of(w, name),
                     node,
                     (long long)now(w));
}

/* Seconds from the beginning; -1: it has no reservation. */
static int64_t
reserved_at(const struct world *w, const char *key)
{
    const struct reservation *r =
        timeline_find(w->scheduler->handle.timeline, key);

    return r != NULL && r->places != NULL
               ? (r->from_us - FAKE_BEGIN) / FAKE_SECOND
               : -1;
}

static const char *
reserved_node(const struct world *w, const char *key)
{
    const struct reservation *r =
        timeline_find(w->scheduler->handle.timeline, key);

    return r != NULL && r->places != NULL ? r->places[0].node->name : "";
}

/* One node of 8 CPUs: a and b have it up to 100, "wide" needs all of it. */
static struct world *
world_with_wide(void)
{
    struct world *w = backfill_new(NULL, false);

    world_add_node(w, "n1", 8);
    PUT(w, "a", 4, 100, .node = "n1");
    PUT(w, "b", 4, 100, .node = "n1");
    world_settle(w);
    PUT(w, "wide", 8, 50);
    world_settle(w);
    ck_assert_int_eq(reserved_at(w, "default/wide"), 100);
    return w;
}

/* --- One pod --------------------------------------------------------------- */

START_TEST(a_wide_pod_is_passed_by_those_that_do_not_delay_it)
{
    struct world *w = world_with_wide();

    advance(w, 50);
    end(w, "a");
    PUT(w, "long", 4, 51);
    PUT(w, "endless", 1, 0);
    PUT(w, "short", 2, 50);
    advance(w, 0);
    check_node(w, "long", "");
    check_node(w, "endless", "");
    check_node(w, "short", "n1");
    begin(w, JOB("short", 2, 50));

    advance(w, 49);
    end(w, "short");
    advance(w, 1);
    end(w, "b");
    advance(w, 0);
    check_node(w, "wide", "n1");
    check_node(w, "long", "");
    world_free(w);
}
END_TEST

START_TEST(those_who_are_before_it_in_the_order_take_its_room)
{
    struct world *w = world_with_wide();

    PUT(w, "first", 4, 1000, .spec = ",\"priority\":5");
    advance(w, 10);
    end(w, "a");
    advance(w, 0);
    check_node(w, "first", "n1");
    ck_assert_int_eq(reserved_at(w, "default/wide"), 1010);
    world_free(w);
}
END_TEST

START_TEST(a_job_that_ends_early_moves_the_reservation)
{
    struct world *w = world_with_wide();

    PUT(w, "b", 4, 300, .node = "n1"); /* its limit was changed */
    advance(w, 0);
    ck_assert_int_eq(reserved_at(w, "default/wide"), 300);
    advance(w, 20);
    end(w, "b");
    advance(w, 0);
    ck_assert_int_eq(reserved_at(w, "default/wide"), 100);
    end(w, "a");
    advance(w, 0);
    check_node(w, "wide", "n1");
    ck_assert_int_eq(reserved_at(w, "default/wide"), -1);
    world_free(w);
}
END_TEST

START_TEST(a_reservation_that_ends_wakes_those_it_kept_out)
{
    struct world *w = world_with_wide();

    end(w, "a");
    PUT(w, "long", 4, 500);
    advance(w, 0);
    check_node(w, "long", "");
    end(w, "wide");
    advance(w, 0);
    check_node(w, "long", "n1");
    world_free(w);
}
END_TEST

START_TEST(a_job_past_its_end_is_taken_to_end_within_the_grace)
{
    struct world *w = world_with_wide();

    end(w, "a");
    PUT(w, "short", 4, 20);
    PUT(w, "long", 4, 40);
    advance(w, 105);
    ck_assert_int_eq(reserved_at(w, "default/wide"), 135);
    check_node(w, "short", "n1");
    check_node(w, "long", "");
    world_free(w);
}
END_TEST

START_TEST(where_nobody_has_an_end_there_is_no_reservation_and_others_go_on)
{
    struct world *w = backfill_new(NULL, false);

    world_add_node(w, "n1", 8);
    PUT(w, "a", 4, 0, .node = "n1");
    PUT(w, "wide", 8, 50);
    PUT(w, "small", 4, 50);
    advance(w, 0);
    ck_assert_int_eq(reserved_at(w, "default/wide"), -1);
    check_node(w, "small", "n1");
    world_free(w);
}
END_TEST

START_TEST(the_head_that_can_never_start_leaves_the_reservation_to_the_next)
{
    struct world *w = backfill_new(NULL, false);

    world_add_node(w, "n1", 8);
    PUT(w, "a", 4, 100, .node = "n1");
    PUT(w, "huge", 64, 50);
    PUT(w, "elsewhere", 1, 50, .spec = ",\"nodeSelector\":{\"x\":\"y\"}");
    PUT(w, "wide", 8, 50);
    PUT(w, "next", 8, 50);
    advance(w, 0);
    ck_assert_int_eq(reserved_at(w, "default/wide"), 100);
    end(w, "wide");
    advance(w, 0);
    world_free(w);
}
END_TEST

START_TEST(a_reserved_node_that_goes_moves_the_reservation)
{
    struct world *w = world_with_wide();

    world_add_node(w, "n2", 8);
    PUT(w, "c", 8, 500, .node = "n2");
    advance(w, 0);
    ck_assert_str_eq(reserved_node(w, "default/wide"), "n1");
    fake_client_remove(w->api, &node_kind, NULL, "n1");
    advance(w, 0);
    ck_assert_str_eq(reserved_node(w, "default/wide"), "n2");
    ck_assert_int_eq(reserved_at(w, "default/wide"), 500);
    fake_client_remove(w->api, &node_kind, NULL, "n2");
    advance(w, 0);
    ck_assert_int_eq(reserved_at(w, "default/wide"), -1);
    world_free(w);
}
END_TEST

START_TEST(a_node_that_joins_is_the_heads)
{
    struct world *w = world_with_wide();

    PUT(w, "long", 2, 500);
    advance(w, 10);
    world_add_node(w, "n2", 8);
    advance(w, 0);
    check_node(w, "wide", "n2");
    world_free(w);
}
END_TEST

START_TEST(a_clock_that_jumps_moves_the_reservation_and_starts_nobody)
{
    struct world *w = world_with_wide();

    PUT(w, "long", 4, 1000);
    w->time.real_us += 3600 * FAKE_SECOND;
    advance(w, 1);
    ck_assert_int_eq(reserved_at(w, "default/wide"), 3600 + 1 + 30);
    check_node(w, "wide", "");
    check_node(w, "long", "");
    w->time.real_us -= 7200 * FAKE_SECOND;
    advance(w, 1);
    ck_assert_int_eq(reserved_at(w, "default/wide"), 100);
    end(w, "a");
    end(w, "b");
    advance(w, 0);
    check_node(w, "wide", "n1");
    world_free(w);
}
END_TEST

START_TEST(a_scheduler_that_starts_anew_reserves_the_same)
{
    struct world *w = world_with_wide();

    PUT(w, "long", 4, 500);
    end(w, "a");
    advance(w, 0);
    world_restart(w);
    advance(w, 0);
    ck_assert_int_eq(reserved_at(w, "default/wide"), 100);
    check_node(w, "long", "");
    world_free(w);
}
END_TEST

/* Two NUMA nodes of four cores: "a" has one up to 100, "b" two cores of the
 * other. The head needs a whole one.
 */
START_TEST(shapes_count_not_amounts)
{
    struct world *w = backfill_new(NULL, false);

    world_add_numa_node(w, "n1", 2, 4);
    world_add_pod(w,
                  "a",
                  "8",
                  "1Gi",
                  SINGLE_NUMA ",\"activeDeadlineSeconds\":100");
    world_add_pod(w,
                  "b",
                  "4",
                  "1Gi",
                  SINGLE_NUMA ",\"activeDeadlineSeconds\":1000");
    world_settle(w);
    check_node(w, "b", "n1");
    world_add_pod(w,
                  "head",
                  "8",
                  "1Gi",
                  SINGLE_NUMA ",\"activeDeadlineSeconds\":50");
    world_settle(w);
    ck_assert_int_eq(reserved_at(w, "default/head"), 100);
    /* Beside b it delays nobody, whatever it takes. */
    world_add_pod(w,
                  "beside",
                  "4",
                  "1Gi",
                  SINGLE_NUMA ",\"activeDeadlineSeconds\":5000");
    world_settle(w);
    check_node(w, "beside", "n1");
    end(w, "a");
    world_settle(w);
    world_advance(w, 1000);
    check_node(w, "head", "n1");
    world_free(w);
}
END_TEST

/* --- Groups ---------------------------------------------------------------- */

/* Nodes n1 to n4 of one CPU. */
static struct world *
world_of_small_nodes(const char *args)
{
    struct world *w = backfill_new(args, false);

    for (unsigned i = 1; i <= 4; i++) {
        CLEANUP_FREE char *name = xasprintf("n%u", i);

        world_add_node(w, name, 1);
    }
    world_settle(w);
    return w;
}

static void
put_group(struct world *w, const char *name, unsigned count, int64_t limit)
{
    for (unsigned i = 0; i < count; i++) {
        CLEANUP_FREE char *member = xasprintf("%s%u", name, i);

        PUT(w, member, 1, limit, .group = name, .members = count);
    }
}

START_TEST(a_group_is_reserved_all_its_nodes)
{
    struct world *w = world_of_small_nodes(NULL);

    PUT(w, "a", 1, 100, .node = "n1");
    PUT(w, "b", 1, 200, .node = "n2");
    PUT(w, "c", 1, 300, .node = "n3");
    put_group(w, "g", 3, 50);
    advance(w, 0);
    ck_assert_int_eq(reserved_at(w, "@default/g"), 200);

    /* n4 is the group's from 200 on. */
    PUT(w, "long", 1, 201);
    PUT(w, "short", 1, 200);
    advance(w, 0);
    check_node(w, "long", "");
    check_node(w, "short", "n4");
    world_free(w);
}
END_TEST

START_TEST(what_is_free_beyond_a_group_is_taken_by_long_ones)
{
    struct world *w = world_of_small_nodes(NULL);

    PUT(w, "a", 1, 100, .node = "n1");
    PUT(w, "b", 1, 100, .node = "n2");
    put_group(w, "g", 3, 50); /* n1, n2 and one of n3 and n4 */
    PUT(w, "long", 1, 500);
    PUT(w, "longer", 1, 600);
    advance(w, 0);
    ck_assert_str_ne(world_node_of(w, "long"), "");
    check_node(w, "longer", "");
    end(w, "a");
    end(w, "b");
    advance(w, 0);
    ck_assert_str_ne(world_node_of(w, "g0"), "");
    ck_assert_str_ne(world_node_of(w, "g2"), "");
    world_free(w);
}
END_TEST

/* One that ends in time takes the node that is not reserved; a long one may
 * have the other all the same.
 */
START_TEST(a_short_one_exchanges_its_node_with_the_group)
{
    struct world *w = world_of_small_nodes(NULL);

    PUT(w, "a", 1, 100, .node = "n1");
    PUT(w, "b", 1, 100, .node = "n2");
    put_group(w, "g", 3, 50);
    PUT(w, "short", 1, 80);
    advance(w, 0);
    ck_assert_str_ne(world_node_of(w, "short"), "");
    PUT(w, "long", 1, 500);
    advance(w, 0);
    ck_assert_str_ne(world_node_of(w, "long"), "");
    ck_assert_int_eq(reserved_at(w, "@default/g"), 100);
    world_free(w);
}
END_TEST

START_TEST(a_group_without_one_of_its_members_loses_its_reservation)
{
    struct world *w = world_of_small_nodes(NULL);

    for (unsigned i = 1; i <= 3; i++) {
        CLEANUP_FREE char *name = xasprintf("n%u", i);

        PUT(w, name, 1, 100, .node = name);
    }
    put_group(w, "g", 3, 50);
    PUT(w, "long", 1, 500);
    advance(w, 0);
    ck_assert_int_eq(reserved_at(w, "@default/g"), 100);
    ck_assert_str_ne(world_node_of(w, "long"), "");
    end(w, "g1");
    advance(w, 0);
    ck_assert_int_eq(reserved_at(w, "@default/g"), -1);
    world_free(w);
}
END_TEST

/* --- Several reservations -------------------------------------------------- */

START_TEST(a_second_reservation_is_planned_around_the_first)
{
    struct world *w = world_of_small_nodes("{\"reservations\":3}");

    for (unsigned i = 1; i <= 4; i++) {
        CLEANUP_FREE char *name = xasprintf("n%u", i);

        PUT(w, name, 1, 100 * i, .node = name);
    }
    put_group(w, "g", 3, 1000); /* n1, n2 and n3 from 300 to 1300 */
    put_group(w, "h", 2, 100);  /* n1 and n2 are free for it at 200 */
    PUT(w, "one", 1, 900);      /* n4 at 400 */
    advance(w, 0);
    ck_assert_int_eq(reserved_at(w, "@default/g"), 300);
    ck_assert_int_eq(reserved_at(w, "@default/h"), 200);
    ck_assert_int_eq(reserved_at(w, "default/one"), 400);
    world_free(w);
}
END_TEST

START_TEST(the_number_of_reservations_is_at_least_one)
{
    struct error err = {0};
    struct profile *p = NULL;
    CLEANUP(arena_freep) struct arena *arena = arena_new(1024);
    struct profile_plugin plugin = {.plugin = plugin_find("Backfill")};
    struct handle handle = {.reasons = string_ids_new()};

    plugin.args = json_parse(arena, "{\"reservations\":0}", 18, NULL, &err);
    ck_assert_int_lt(
        profile_new(&(struct profile_settings){.scheduler_name = "x",
                                               .plugins = &plugin,
                                               .n_plugins = 1,
                                               .handle = &handle},
                    &p,
                    &err),
        0);
    ck_assert_str_eq(err.text,
                     "profile 'x': plugin 'Backfill': reservations: 0 is not "
                     "between 1 and 1000");
    string_ids_free(handle.reasons);
}
END_TEST

SUITE("backfill",
      a_wide_pod_is_passed_by_those_that_do_not_delay_it,
      those_who_are_before_it_in_the_order_take_its_room,
      a_job_that_ends_early_moves_the_reservation,
      a_reservation_that_ends_wakes_those_it_kept_out,
      a_job_past_its_end_is_taken_to_end_within_the_grace,
      where_nobody_has_an_end_there_is_no_reservation_and_others_go_on,
      the_head_that_can_never_start_leaves_the_reservation_to_the_next,
      a_reserved_node_that_goes_moves_the_reservation,
      a_node_that_joins_is_the_heads,
      a_clock_that_jumps_moves_the_reservation_and_starts_nobody,
      a_scheduler_that_starts_anew_reserves_the_same,
      shapes_count_not_amounts,
      a_group_is_reserved_all_its_nodes,
      what_is_free_beyond_a_group_is_taken_by_long_ones,
      a_short_one_exchanges_its_node_with_the_group,
      a_group_without_one_of_its_members_loses_its_reservation,
      a_second_reservation_is_planned_around_the_first,
      the_number_of_reservations_is_at_least_one)
