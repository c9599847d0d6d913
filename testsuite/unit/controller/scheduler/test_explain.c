/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/explain/start_estimate.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

#define LIMIT_300 ",\"activeDeadlineSeconds\":300"
#define LIMIT_600 ",\"activeDeadlineSeconds\":600"

/* The answer for a pod of the API, or for a similar one that does not exist. */
static const struct json *
explain(struct world *w, struct arena *arena, const char *name)
{
    return scheduler_explain(w->scheduler, fake_client_find(w->api, &pod_kind, "default", name),
                             false, arena);
}

static const struct json *
explain_new(struct world *w, struct arena *arena, const char *cpu, const char *s)
{
    struct world other = {.api = fake_client_new()};
    const struct json *why;

    world_add_pod(&other, "new", cpu, "1Gi", s);
    why = scheduler_explain(w->scheduler, fake_client_find(other.api, &pod_kind, "default", "new"),
                            true, arena);
    fake_client_free(other.api);
    return why;
}

static bool
says(const struct json *why, const char *words)
{
    const char *message = json_path_text(why, "start.message");

    if (message != NULL && strstr(message, words) != NULL)
        return true;
    printf("# %s\n", message != NULL ? message : "no message");
    return false;
}

#define ck_chance(why, chance) ck_assert_str_eq(json_path_text(why, "start.chance"), chance)

START_TEST(a_pod_that_fits_could_start_now)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct world *w = world_new(NULL);
    const struct json *why;

    world_add_node(w, "n1", 4);
    world_settle(w);
    why = explain_new(w, arena, "2", "");

    ck_chance(why, "Now");
    ck_assert(says(why, "now, on n1 (1 of 1 nodes have room)"));
    ck_assert_uint_eq(scheduler_count(w->scheduler).attempts, 0);
    world_free(w);
}
END_TEST

START_TEST(a_pod_that_is_too_large_for_all_never_runs)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct world *w = world_new(NULL);
    const struct json *why;

    world_add_node(w, "n1", 4);
    world_add_node(w, "n2", 8);
    world_settle(w);
    why = explain_new(w, arena, "64", "");

    ck_chance(why, "Never");
    ck_assert(says(why, "the nearest, n2, has 8 CPUs of the 64 needed"));
    ck_assert_str_eq(json_path_text(why, "cause.code"), "InsufficientCPU");
    world_free(w);
}
END_TEST

START_TEST(nodes_that_a_pod_does_not_ask_for_never_do)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct world *w = world_new(NULL);
    const struct json *why;

    world_add_node(w, "n1", 4);
    world_settle(w);
    why = explain_new(w, arena, "1", ",\"nodeSelector\":{\"a/b\":\"c\"}");

    ck_chance(why, "Never");
    ck_assert(says(why, "n1, is not a/b=c"));
    world_free(w);
}
END_TEST

START_TEST(a_full_node_has_room_when_enough_has_ended)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct world *w = world_new(NULL);
    const struct json *why;

    world_add_node(w, "n1", 4);
    world_add_node(w, "n2", 4);
    world_settle(w);
    world_add_pod(w, "a", "3", "1Gi", LIMIT_600);
    world_settle(w);
    world_add_pod(w, "b", "3", "1Gi", LIMIT_300);
    world_settle(w);
    world_add_pod(w, "c", "4", "1Gi", "");
    world_settle(w);
    why = explain(w, arena, "c");

    ck_assert_str_eq(json_get_text(why, "queue"), "Unschedulable");
    ck_chance(why, "Later");
    ck_assert_str_eq(json_path_text(why, "start.node"), world_node_of(w, "b"));
    ck_assert(json_path_text(why, "start.from") != NULL);
    ck_assert(says(why, "which lacks 3 free CPUs"));
    world_free(w);
}
END_TEST

START_TEST(an_answer_without_a_forecast_says_what_it_leaves_out)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct world *w = world_new(&(struct scheduler_settings){.without_forecast = true});

    world_add_node(w, "n1", 4);
    world_add_pod(w, "a", "3", "1Gi", "");
    world_settle(w);
    ck_assert(!says(explain_new(w, arena, "4", ""), "leaves out"));

    world_add_pod(w, "b", "4", "1Gi", "");
    world_settle(w);
    ck_assert(says(explain_new(w, arena, "4", ""),
                   "; that leaves out 1 waiting job, which may go first"));
    world_free(w);
}
END_TEST

START_TEST(without_time_limits_an_end_is_assumed)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct world *w = world_new(NULL);
    const struct json *why;

    world_add_node(w, "n1", 4);
    world_add_pod(w, "a", "3", "1Gi", "");
    world_settle(w);
    why = explain_new(w, arena, "4", "");

    ck_chance(why, "Later");
    ck_assert(json_is_true(json_get_path(why, "start.assumed")));
    ck_assert_str_eq(json_path_text(why, "start.from"), "2024-01-02T00:00:00Z");
    ck_assert(says(why, "if jobs without a time limit end by"));
    world_free(w);
}
END_TEST

START_TEST(free_but_scattered_cores_are_no_room)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct world *w = world_new(NULL);
    const struct json *why;

    world_add_numa_node(w, "n1", 2, 4);
    world_add_pod(w, "a", "4", "1Gi", SINGLE_NUMA LIMIT_300);
    world_settle(w);
    world_add_pod(w, "b", "6", "1Gi", SINGLE_NUMA LIMIT_600);
    world_settle(w);
    why = explain_new(w, arena, "6", SINGLE_NUMA);

    ck_chance(why, "Later");
    ck_assert(says(why, "n1, which has "));
    why = explain_new(w, arena, "10", SINGLE_NUMA);
    ck_chance(why, "Never");
    world_free(w);
}
END_TEST

START_TEST(nodes_that_are_closed_are_told)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct world *w = world_new(NULL);
    const struct json *why;

    fake_client_put(w->api, &node_kind,
                    "{\"metadata\":{\"name\":\"n1\"},\"spec\":{\"taints\":[{"
                    "\"key\":\"a/b\",\"effect\":\"NoSchedule\"}]},\"status\":"
                    "{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}],"
                    "\"allocatable\":{\"cpu\":\"4\",\"memory\":\"4Gi\","
                    "\"pods\":\"9\"}}}");
    world_settle(w);
    why = explain_new(w, arena, "1", "");

    ck_chance(why, "Blocked");
    ck_assert(says(why, "n1 has the taint a/b"));
    world_free(w);
}
END_TEST

START_TEST(a_closed_node_that_a_pod_does_not_ask_for_never_does)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct world *w = world_new(NULL);
    const struct json *why;

    fake_client_put(w->api, &node_kind,
                    "{\"metadata\":{\"name\":\"n1\"},\"spec\":{\"taints\":[{"
                    "\"key\":\"a/b\",\"effect\":\"NoSchedule\"}]},\"status\":"
                    "{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}],"
                    "\"allocatable\":{\"cpu\":\"4\",\"memory\":\"4Gi\","
                    "\"pods\":\"9\"}}}");
    world_settle(w);
    why = explain_new(w, arena, "1", ",\"nodeSelector\":{\"zone\":\"typo\"}");

    ck_chance(why, "Never");
    ck_assert(says(why, "n1, is not zone=typo"));
    world_free(w);
}
END_TEST

static void
add_labelled_node(struct world *w, const char *name, const char *cpus, const char *zone)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    strbuf_printf(&text,
                  "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"zone\":\"%s\"}},\"status\":{"
                  "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}],\"allocatable\":{"
                  "\"cpu\":\"%s\",\"memory\":\"4Gi\",\"pods\":\"9\"}}}",
                  name, zone, cpus);
    fake_client_put(w->api, &node_kind, text.text);
}

/* The larger node is of another partition. */
START_TEST(the_nearest_nodes_are_those_of_the_pods_partition)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct world *w = world_new(NULL);
    const struct json *why, *nearest;

    fake_client_put(w->api, &partition_kind,
                    "{\"metadata\":{\"name\":\"east\"},\"spec\":{\"selector\":{\"matchLabels\":{"
                    "\"zone\":\"east\"}}}}");
    add_labelled_node(w, "large", "64", "west");
    add_labelled_node(w, "small", "4", "east");
    world_settle(w);
    why = explain_new(w, arena, "8", ",\"placement\":{\"partition\":\"east\"}");
    nearest = json_get(why, "nearest");

    ck_chance(why, "Never");
    ck_assert(says(why, "the nearest, small, has 4 CPUs of the 8 needed"));
    ck_assert_uint_eq(json_count(nearest), 1);
    ck_assert_str_eq(json_get_text(json_at(nearest, 0), "node"), "small");
    world_free(w);
}
END_TEST

START_TEST(a_cluster_without_nodes_says_so)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct world *w = world_new(NULL);
    const struct json *why = explain_new(w, arena, "1", "");

    ck_assert_str_eq(json_path_text(why, "cause.code"), "NoNodes");
    ck_assert(says(why, "there are no nodes"));
    world_free(w);
}
END_TEST

START_TEST(gated_pods_name_their_gates)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct world *w = world_new(NULL);
    const struct json *why;

    world_add_node(w, "n1", 4);
    world_add_pod(w, "g", "1", "1Gi", ",\"schedulingGates\":[{\"name\":\"example.com/wait\"}]");
    world_settle(w);
    why = explain(w, arena, "g");

    ck_assert_str_eq(json_get_text(why, "queue"), "Gated");
    ck_assert_str_eq(json_path_text(why, "cause.code"), "SchedulingGated");
    world_free(w);
}
END_TEST

START_TEST(nothing_changes_by_a_question)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct world *w = world_new(NULL);
    struct scheduler_counts before, after;

    world_add_numa_node(w, "n1", 2, 4);
    world_add_pod(w, "a", "8", "1Gi", SINGLE_NUMA LIMIT_300);
    world_settle(w);
    world_add_pod(w, "b", "16", "1Gi", EXCLUSIVE);
    world_settle(w);
    before = scheduler_count(w->scheduler);
    (void)explain(w, arena, "b");
    (void)explain_new(w, arena, "12", EXCLUSIVE);
    world_settle(w);
    after = scheduler_count(w->scheduler);

    ck_assert(memcmp(&before, &after, sizeof(before)) == 0);
    fake_client_remove(w->api, &pod_kind, "default", "a");
    world_advance(w, 20000);
    ck_assert_str_eq(world_node_of(w, "b"), "n1");
    world_free(w);
}
END_TEST

/* Ties are broken at random, and a question must not consume random numbers of
 * a later decision.
 */
START_TEST(questions_leave_the_dice_alone)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct world *asked = world_new(NULL);
    struct world *quiet = world_new(NULL);

    for (unsigned i = 0; i < 16; i++) {
        CLEANUP_FREE char *node = xasprintf("n%u", i);

        world_add_numa_node(asked, node, 2, 4);
        world_add_numa_node(quiet, node, 2, 4);
    }
    for (unsigned i = 0; i < 12; i++) {
        CLEANUP_FREE char *pod = xasprintf("p%u", i);

        for (unsigned n = 0; n < i % 4; n++)
            (void)explain_new(asked, arena, "2", LIMIT_300);
        world_add_pod(asked, pod, "8", "1Gi", LIMIT_300);
        world_add_pod(quiet, pod, "8", "1Gi", LIMIT_300);
        world_settle(asked);
        world_settle(quiet);
        ck_assert_str_eq(world_node_of(asked, pod), world_node_of(quiet, pod));
    }
    world_free(asked);
    world_free(quiet);
}
END_TEST

/* Two packages of two NUMA nodes of two cores each; a GPU on the first. */
#define FOUR_NUMA                                                      \
    ",\"topology\":{\"cpus\":\"0-7\",\"packages\":[\"0-3\",\"4-7\"],"  \
    "\"numaNodes\":[{\"node\":0,\"cpus\":\"0-1\",\"memory\":\"2Gi\"}," \
    "{\"node\":1,\"cpus\":\"2-3\",\"memory\":\"2Gi\"},"                \
    "{\"node\":2,\"cpus\":\"4-5\",\"memory\":\"2Gi\"},"                \
    "{\"node\":3,\"cpus\":\"6-7\",\"memory\":\"2Gi\"}],\"devices\":["  \
    "{\"name\":\"gpu0\",\"type\":\"gpu\",\"model\":\"A100\",\"node\":0}]}"
#define EXACT(more) ",\"placement\":{\"cpuPolicy\":\"exclusive\"" more "}"

/* A node n1, with further amounts and members of its status. */
static void
add_node(struct world *w, const char *cpus, const char *amounts, const char *status)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"n1\"},\"status\":{\"allocatable\":{"
                  "\"cpu\":\"%s\",\"memory\":\"8Gi\",\"pods\":\"2\"%s}%s}}",
                  cpus, amounts, status);

    fake_client_put(w->api, &node_kind, text);
    world_settle(w);
}

static const struct object *
make_pod(struct fake_client *api, const char *name, const char *requests, const char *spec)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},"
                  "\"spec\":{\"containers\":[{\"name\":\"main\",\"resources\":"
                  "{\"requests\":{%s}}}]%s}}",
                  name, requests, spec);

    return fake_client_put(api, &pod_kind, text);
}

static const struct json *
explain_asking(struct world *w, struct arena *arena, const char *requests, const char *spec)
{
    struct fake_client *other = fake_client_new();
    const struct json *why =
        scheduler_explain(w->scheduler, make_pod(other, "new", requests, spec), true, arena);

    fake_client_free(other);
    return why;
}

START_TEST(whole_cores_cost_their_threads)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct world *w = world_new(NULL);
    const struct json *why;

    add_node(w, "4", "",
             ",\"topology\":{\"cpus\":\"0-3\",\"packages\":[\"0-3\"],"
             "\"cores\":[\"0,2\",\"1,3\"],\"numaNodes\":[{\"node\":0,"
             "\"cpus\":\"0-3\",\"memory\":\"8Gi\"}]}");

    why = explain_asking(w, arena, "\"cpu\":\"3\"", EXACT(""));
    ck_chance(why, "Now");
    why = explain_asking(w, arena, "\"cpu\":\"3\"", EXACT(",\"threadsPerCore\":1"));
    ck_chance(why, "Never");
    ck_assert(says(why, "no node can ever run it; the nearest, n1, has 2 CPUs"));
    world_free(w);
}
END_TEST

START_TEST(cores_of_each_socket_are_counted)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct world *w = world_new(NULL);
    const struct json *why;

    add_node(w, "8", "", FOUR_NUMA);
    make_pod(w->api, "a", "\"cpu\":\"3\"", EXACT("") LIMIT_300);
    world_settle(w);

    why = explain_asking(w, arena, "\"cpu\":\"4\"", EXACT(",\"coresPerSocket\":2"));
    ck_chance(why, "Later");
    ck_assert(json_path_text(why, "start.from") != NULL);
    ck_assert(says(why, "n1, which has 5 CPUs free"));
    why = explain_asking(w, arena, "\"cpu\":\"3\"", EXACT(",\"coresPerSocket\":2"));
    ck_chance(why, "Now");
    world_free(w);
}
END_TEST

START_TEST(a_device_that_is_taken_is_not_there)
{
    static const char one[] = "\"cpu\":\"2\",\"kiln.hpc/gpu\":\"1\"";
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct world *w = world_new(NULL);
    const struct json *why;

    add_node(w, "8", ",\"kiln.hpc/gpu\":\"1\"", FOUR_NUMA);
    why = explain_asking(w, arena, one, EXACT(""));
    ck_chance(why, "Now");
    why = explain_asking(w, arena, one, EXACT(",\"gpuType\":\"h100\""));
    ck_chance(why, "Never");
    ck_assert(says(why, "no gpu (h100)"));

    make_pod(w->api, "a", one, EXACT("") LIMIT_300);
    world_settle(w);
    why = explain_asking(w, arena, one, EXACT(""));
    ck_chance(why, "Later");
    ck_assert(json_path_text(why, "start.from") != NULL);
    ck_assert(says(why, "gpu"));
    world_free(w);
}
END_TEST

/* The pod was deleted by force while its node was unreachable. */
START_TEST(resources_that_a_forgotten_pod_left_are_not_free)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct world *w = world_new(NULL);
    const struct json *why;

    add_node(w, "8", "",
             ",\"remnants\":{\"u-1\":{\"namespace\":\"a\",\"name\":\"p\","
             "\"requests\":{\"cpu\":\"8\"},\"allocation\":{\"cpus\":"
             "\"0-7\"}}}" FOUR_NUMA);
    why = explain_asking(w, arena, "\"cpu\":\"1\"", EXACT(""));

    ck_chance(why, "Later");
    ck_assert_ptr_null(json_path_text(why, "start.from"));
    ck_assert(says(why, "no node has room, and the end of the jobs there is "
                        "unknown; the nearest, n1"));
    world_free(w);
}
END_TEST

START_TEST(other_resources_are_counted_down)
{
    static const char two[] = "\"site.org/licence\":\"2\"";
    static const char one[] = "\"site.org/licence\":\"1\"";
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct world *w = world_new(NULL);
    const struct json *why;

    add_node(w, "8", ",\"site.org/licence\":\"2\"", "");
    make_pod(w->api, "a", one, "");
    world_settle(w);

    why = explain_asking(w, arena, two, "");
    ck_chance(why, "Later");
    ck_assert(says(why, "lacks 1 free site.org/licence"));
    ck_chance(explain_asking(w, arena, one, ""), "Now");
    make_pod(w->api, "b", "\"cpu\":\"1\"", "");
    world_settle(w);
    why = explain_asking(w, arena, "\"cpu\":\"1\"", "");
    ck_chance(why, "Later");
    ck_assert(says(why, "has its maximum number of pods"));
    world_free(w);
}
END_TEST

static const struct json *
explain_job(struct world *w, struct arena *arena, const char *text)
{
    struct fake_client *other = fake_client_new();
    const struct json *why =
        scheduler_explain(w->scheduler, fake_client_put(other, &job_kind, text), false, arena);

    fake_client_free(other);
    return why;
}

START_TEST(one_answer_is_for_all_pods_of_a_job)
{
    static const char job[] = "{\"metadata\":{\"name\":\"job-7\",\"namespace\":\"default\",\"uid\":"
                              "\"u7\"},\"spec\":{\"template\":{\"spec\":{\"containers\":[]%s}}}}";
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_FREE char *mine = xasprintf(job, "");
    CLEANUP_FREE char *others = xasprintf(job, ",\"schedulerName\":\"nobody\"");
    struct world *w = world_new(NULL);
    const struct json *why;

    world_add_node(w, "n1", 4);
    world_settle(w);
    why = explain_job(w, arena, mine);
    ck_assert_ptr_null(json_get(why, "state"));
    ck_assert_str_eq(json_path_text(explain_job(w, arena, others), "cause.code"), "NoScheduler");
    for (unsigned i = 0; i < 20; i++) {
        CLEANUP_FREE char *text =
            xasprintf("{\"metadata\":{\"name\":\"job-7-%u\",\"namespace\":\"default\","
                      "\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":"
                      "\"Job\",\"name\":\"job-7\",\"uid\":\"u7\",\"controller\":true}]"
                      "},\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{"
                      "\"requests\":{\"cpu\":\"4\"}}}]}}",
                      i);

        fake_client_put(w->api, &pod_kind, text);
    }
    world_settle(w);
    why = explain_job(w, arena, mine);

    ck_assert_str_eq(json_get_text(why, "state"), "Waiting");
    ck_assert_int_eq(json_get_int(json_get(why, "pods"), "waiting", -1), 19);
    ck_assert_str_eq(json_get_text(why, "pod"), "job-7-1");
    ck_assert_int_eq(json_get_int(json_get(why, "waiting"), "before", -1), 0);
    ck_assert_str_eq(json_path_text(why, "cause.code"), "InsufficientCPU");
    world_free(w);
}
END_TEST

START_TEST(an_answer_tells_how_many_are_before)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct world *w = world_new(NULL);

    world_add_node(w, "n1", 4);
    world_settle(w);
    world_add_pod(w, "a", "4", "1Gi", "");
    world_settle(w);
    world_add_pod(w, "b", "4", "1Gi", "");
    world_settle(w);
    world_add_pod(w, "c", "3", "1Gi",
                  ",\"priority\":5,\"preemptionPolicy\":"
                  "\"Never\"");
    world_settle(w);
    world_add_pod(w, "d", "2", "1Gi", "");
    world_settle(w);

    ck_assert(says(explain(w, arena, "b"), ", after the pod before it in the queue"));
    ck_assert(says(explain(w, arena, "d"), ", after the 2 pods before it in the queue"));
    /* Its place in the order is not known yet, but the forecast knows its turn. */
    ck_assert_ptr_nonnull(strstr(json_path_text(explain_new(w, arena, "4", ""), "start.message"),
                                 ", after those before it"));
    ck_assert_ptr_null(
        strstr(json_path_text(explain(w, arena, "c"), "start.message"), "before it"));
    world_free(w);
}
END_TEST

/* Every end releases enough amounts, but no suitable cores. */
START_TEST(the_work_and_the_text_of_an_answer_are_bounded)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct world *w = world_new(NULL);
    const struct json *why;
    char name[32];

    for (unsigned i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "n%u", i);
        world_add_numa_node(w, name, 2, 4);
    }
    world_settle(w);
    for (unsigned i = 0; i < 1200; i++) {
        snprintf(name, sizeof(name), "p%u", i);
        world_add_pod(w, name, "4", "1Gi", i % 4 == 0 ? SINGLE_NUMA LIMIT_300 : SINGLE_NUMA);
    }
    world_settle(w);
    why = explain_new(w, arena, "8", SINGLE_NUMA);

    ck_assert_int_le(json_get_int(json_get(why, "start"), "trials", -1), ESTIMATE_TRIALS + 8);
    ck_assert_int_le(json_get_int(json_get(why, "start"), "ends", -1), ESTIMATE_ENDS);
    json_print(why, &text);
    ck_assert_uint_le(text.length, 65536);
    world_free(w);
}
END_TEST

SUITE("scheduler/explain", a_pod_that_fits_could_start_now,
      a_pod_that_is_too_large_for_all_never_runs, nodes_that_a_pod_does_not_ask_for_never_do,
      a_full_node_has_room_when_enough_has_ended, without_time_limits_an_end_is_assumed,
      an_answer_without_a_forecast_says_what_it_leaves_out, free_but_scattered_cores_are_no_room,
      nodes_that_are_closed_are_told, a_closed_node_that_a_pod_does_not_ask_for_never_does,
      the_nearest_nodes_are_those_of_the_pods_partition, a_cluster_without_nodes_says_so,
      gated_pods_name_their_gates, nothing_changes_by_a_question, questions_leave_the_dice_alone,
      whole_cores_cost_their_threads, cores_of_each_socket_are_counted,
      a_device_that_is_taken_is_not_there, resources_that_a_forgotten_pod_left_are_not_free,
      other_resources_are_counted_down, one_answer_is_for_all_pods_of_a_job,
      an_answer_tells_how_many_are_before, the_work_and_the_text_of_an_answer_are_bounded)
