/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/outlook/outlook.h"

#include <check.h>
#include <string.h>

#include "cli/outlook/survey.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

#define NOW INT64_C(1700000000000000) /* 2023-11-14T22:13:20Z */

static struct arena *arena;
static const struct object *nodes[8], *pods[8];
static struct survey survey;

static const struct object *
parse(const struct kind *kind, const char *text)
{
    const struct object *object = NULL;
    struct error err = {0};

    ck_assert_msg(object_parse(kind, text, strlen(text), &object, &err) == 0,
                  "%s: %s",
                  text,
                  err.text);
    return object;
}

static void
begin(void)
{
    arena = arena_new(0);
    survey = (struct survey){.nodes = nodes, .pods = pods};
}

static void
end(void)
{
    for (unsigned i = 0; i < survey.n_nodes; i++)
        object_unref(nodes[i]);
    for (unsigned i = 0; i < survey.n_pods; i++)
        object_unref(pods[i]);
    arena_free(arena);
}

/* A node that is ready, with further members of spec and status. */
static void
given_node(const char *name,
           const char *cpus,
           const char *spec,
           const char *status)
{
    nodes[survey.n_nodes++] =
        parse(&node_kind,
              arena_printf(arena,
                           "{\"apiVersion\":\"v1\",\"kind\":\"Node\","
                           "\"metadata\":{\"name\":\"%s\",\"labels\":"
                           "{\"zone\":\"%s\"}},\"spec\":{%s},\"status\":"
                           "{\"conditions\":[{\"type\":\"Ready\",\"status\":"
                           "\"True\"}],\"allocatable\":{\"cpu\":\"%s\","
                           "\"memory\":\"8Gi\"}%s}}",
                           name,
                           name,
                           spec,
                           cpus,
                           status));
}

/* A pod on that node, or waiting, that began to run now. */
static void
given_pod(const char *node, const char *cpus, const char *limit)
{
    const unsigned at = survey.n_pods++;

    pods[at] =
        parse(&pod_kind,
              arena_printf(arena,
                           "{\"apiVersion\":\"v1\",\"kind\":\"Pod\","
                           "\"metadata\":{\"name\":\"p%u\"},\"spec\":{%s"
                           "\"nodeName\":\"%s\",\"containers\":[{\"name\":"
                           "\"main\",\"resources\":{\"requests\":{\"cpu\":"
                           "\"%s\"}}}]},\"status\":{\"phase\":\"Running\","
                           "\"startTime\":\"2023-11-14T22:13:20Z\"}}",
                           at,
                           limit,
                           node,
                           cpus));
}

/* What is said of a job with those requests and members of the pod's spec. */
static void
is_said(const char *requests, const char *spec, const char *wanted)
{
    const char *text = arena_printf(
        arena,
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":"
        "\"j\"},\"spec\":{\"template\":{\"spec\":{%s\"containers\":[{\"name\":"
        "\"main\",\"resources\":{\"requests\":{%s}}}]}}}}",
        spec,
        requests);
    CLEANUP(outlook_freep)
    struct outlook *outlook =
        survey_outlook(&survey,
                       json_parse(arena, text, strlen(text), NULL, NULL),
                       NOW);
    CLEANUP_STRBUF struct strbuf said = STRBUF_INIT;

    ck_assert_ptr_nonnull(outlook);
    outlook_format(outlook, &said);
    ck_assert_str_eq(said.text, wanted);
}

START_TEST(a_job_that_fits_could_start_now)
{
    begin();
    given_node("n1", "4", "", "");
    given_node("n2", "8", "", "");
    given_pod("n1", "3", "");

    is_said("\"cpu\":\"2\"",
            "",
            "it could start now, on n2 (1 of 2 nodes have room)");
    given_pod("", "1", "");
    is_said("\"cpu\":\"1\"",
            "",
            "it could start now, on n1 (2 of 2 nodes have room); 1 pod waits "
            "too, and may go first");
    end();
}
END_TEST

START_TEST(what_is_too_large_for_all_never_runs)
{
    begin();
    given_node("n1", "4", "", "");
    given_node("n2", "8", "", "");

    is_said("\"cpu\":\"10\"",
            "",
            "no node can ever run it; the nearest, n2, has 8 CPUs of the 10 "
            "needed");
    is_said("\"memory\":\"9Gi\"",
            "",
            "no node can ever run it; the nearest, n1, has 8Gi of memory of "
            "the 9Gi needed");
    is_said("\"kiln.hpc/gpu\":\"1\"",
            "",
            "no node can ever run it; the nearest, n1, has no kiln.hpc/gpu of "
            "the 1 needed");
    is_said("\"cpu\":\"1\"",
            "\"nodeSelector\":{\"zone\":\"z\"},",
            "no node can ever run it; the nearest, n1, is not zone=z");
    is_said("\"cpu\":\"9\"",
            "\"nodeSelector\":{\"zone\":\"n2\"},",
            "no node can ever run it; the nearest, n2, has 8 CPUs of the 9 "
            "needed");
    end();
}
END_TEST

START_TEST(whole_cores_cost_their_threads)
{
    static const char topology[] =
        ",\"topology\":{\"cpus\":\"0-3\",\"packages\":[\"0-3\"],\"cores\":"
        "[\"0,2\",\"1,3\"],\"numaNodes\":[{\"node\":0,\"cpus\":\"0-3\","
        "\"memory\":\"8Gi\"}]}";

    begin();
    given_node("n1", "4", "", topology);

    is_said("\"cpu\":\"3\"",
            "\"placement\":{\"cpuPolicy\":\"exclusive\"},",
            "it could start now, on n1 (1 of 1 nodes have room)");
    is_said("\"cpu\":\"3\"",
            "\"placement\":{\"cpuPolicy\":\"exclusive\",\"threadsPerCore\":1},",
            "no node can ever run it; the nearest, n1, has 2 CPUs, 1 of each "
            "core, of the 3 needed");
    end();
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
#define EXACT(more) "\"placement\":{\"cpuPolicy\":\"exclusive\"" more "},"

/* On n1, with an allocation, until so many seconds from now. */
static void
given_allocated(const char *allocation, unsigned seconds)
{
    const unsigned at = survey.n_pods++;

    pods[at] = parse(
        &pod_kind,
        arena_printf(arena,
                     "{\"metadata\":{\"name\":\"p%u\"},\"spec\":{\"nodeName\":"
                     "\"n1\",\"activeDeadlineSeconds\":%u,\"containers\":[{"
                     "\"name\":\"main\",\"resources\":{\"requests\":{\"cpu\":"
                     "\"1\"}}}]},\"status\":{\"phase\":\"Running\","
                     "\"startTime\":\"2023-11-14T22:13:20Z\",\"allocation\":{"
                     "%s}}}",
                     at,
                     seconds,
                     allocation));
}

START_TEST(what_is_free_but_scattered_is_not_room)
{
    begin();
    given_node("n1", "8", "", FOUR_NUMA);
    given_allocated("\"cpus\":\"0\"", 600);
    given_allocated("\"cpus\":\"2\"", 60);
    given_allocated("\"cpus\":\"4\"", 300);
    given_allocated("\"cpus\":\"6\"", 900);

    is_said("\"cpu\":\"2\"",
            EXACT(",\"numaPolicy\":\"single-numa-node\""),
            "it could start at 2023-11-14T22:14:20Z at the earliest, on n1, "
            "which has 4 CPUs free, at most 1 in one NUMA node");
    is_said("\"cpu\":\"4\"",
            EXACT(",\"numaPolicy\":\"restricted\""),
            "it could start at 2023-11-14T22:18:20Z at the earliest, on n1, "
            "which has 4 CPUs free, at most 2 in 2 NUMA nodes");
    is_said("\"cpu\":\"4\"",
            EXACT(""),
            "it could start now, on n1 (1 of 1 nodes have room)");
    end();
}
END_TEST

START_TEST(cores_of_each_socket_are_counted)
{
    begin();
    given_node("n1", "8", "", FOUR_NUMA);
    given_allocated("\"cpus\":\"0-2\"", 60);

    is_said("\"cpu\":\"4\"",
            EXACT(",\"coresPerSocket\":2"),
            "it could start at 2023-11-14T22:14:20Z at the earliest, on n1, "
            "which has 5 CPUs free, 3 with so many cores of each socket");
    is_said("\"cpu\":\"3\"",
            EXACT(",\"coresPerSocket\":2"),
            "it could start now, on n1 (1 of 1 nodes have room)");
    end();
}
END_TEST

START_TEST(a_device_that_is_taken_is_not_there)
{
    begin();
    given_node("n1",
               "8",
               "",
               ",\"allocatable\":{\"cpu\":\"8\",\"memory\":\"8Gi\","
               "\"kiln.hpc/gpu\":\"1\"}" FOUR_NUMA);
    is_said("\"cpu\":\"2\",\"kiln.hpc/gpu\":\"1\"",
            EXACT(""),
            "it could start now, on n1 (1 of 1 nodes have room)");
    is_said("\"cpu\":\"2\",\"kiln.hpc/gpu\":\"1\"",
            EXACT(",\"gpuType\":\"h100\""),
            "no node can ever run it; the nearest, n1, has 8 CPUs; no gpu "
            "(h100)");

    given_allocated("\"cpus\":\"7\",\"devices\":[\"gpu0\"]", 60);
    is_said("\"cpu\":\"2\",\"kiln.hpc/gpu\":\"1\"",
            EXACT(""),
            "it could start at 2023-11-14T22:14:20Z at the earliest, on n1, "
            "which has 7 CPUs free; no gpu free");
    end();
}
END_TEST

START_TEST(what_a_forgotten_pod_left_is_not_free)
{
    begin();
    given_node("n1",
               "8",
               "",
               ",\"remnants\":{\"u-1\":{\"namespace\":\"a\",\"name\":\"p\","
               "\"requests\":{\"cpu\":\"8\"},\"allocation\":{\"cpus\":"
               "\"0-7\"}}}" FOUR_NUMA);

    is_said("\"cpu\":\"1\"",
            EXACT(""),
            "no node has room, and what runs there has no time limit; the "
            "nearest, n1, has no CPUs free");
    end();
}
END_TEST

START_TEST(other_resources_are_counted_down)
{
    begin();
    given_node("n1",
               "8",
               "",
               ",\"allocatable\":{\"cpu\":\"8\",\"memory\":\"8Gi\","
               "\"site.org/licence\":\"2\",\"pods\":\"2\"}");
    pods[survey.n_pods++] = parse(
        &pod_kind,
        "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"n1\","
        "\"containers\":[{\"name\":\"main\",\"resources\":{\"requests\":{"
        "\"site.org/licence\":\"1\"}}}]},\"status\":{\"phase\":\"Running\"}}");

    is_said("\"site.org/licence\":\"2\"",
            "",
            "no node has room, and what runs there has no time limit; the "
            "nearest, n1, lacks 1 free site.org/licence");
    is_said("\"site.org/licence\":\"1\"",
            "",
            "it could start now, on n1 (1 of 1 nodes have room)");
    given_pod("n1", "1", "");
    is_said("\"cpu\":\"1\"",
            "",
            "no node has room, and what runs there has no time limit; the "
            "nearest, n1, has as many pods as it takes");
    end();
}
END_TEST

START_TEST(a_full_node_has_room_when_enough_has_ended)
{
    begin();
    given_node("n1", "4", "", "");
    given_pod("n1", "2", "\"activeDeadlineSeconds\":600,");
    given_pod("n1", "2", "\"activeDeadlineSeconds\":60,");

    is_said("\"cpu\":\"2\"",
            "",
            "it could start at 2023-11-14T22:14:20Z at the earliest, on n1, "
            "which lacks 2 free CPUs");
    is_said("\"cpu\":\"3\"",
            "",
            "it could start at 2023-11-14T22:23:20Z at the earliest, on n1, "
            "which lacks 3 free CPUs");
    is_said("\"cpu\":\"1\"",
            "\"placement\":{\"wholeNode\":true},",
            "it could start at 2023-11-14T22:23:20Z at the earliest, on n1, "
            "which lacks 1 free CPU");
    end();
}
END_TEST

START_TEST(without_time_limits_nobody_knows)
{
    begin();
    given_node("n1", "4", "", "");
    given_pod("n1", "4", "");

    is_said("\"cpu\":\"2\"",
            "",
            "no node has room, and what runs there has no time limit; the "
            "nearest, n1, lacks 2 free CPUs");
    end();
}
END_TEST

START_TEST(nodes_that_are_closed_are_told)
{
    static const struct {
        const char *spec, *wanted;
    } cases[] = {
        {"\"unschedulable\":true",
         "no node that could run it is open: n1 is cordoned"},
        {"\"taints\":[{\"key\":\"k\",\"effect\":\"NoSchedule\"}]",
         "no node that could run it is open: n1 has the taint k"},
        {"\"taints\":[{\"key\":\"k\",\"effect\":\"PreferNoSchedule\"}]",
         "it could start now, on n1 (1 of 1 nodes have room)"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        begin();
        given_node("n1", "4", cases[i].spec, "");
        is_said("\"cpu\":\"1\"", "", cases[i].wanted);
        end();
    }
}
END_TEST

START_TEST(a_cluster_without_nodes_says_so)
{
    begin();

    is_said("\"cpu\":\"1\"", "", "there are no nodes");
    end();
}
END_TEST

START_TEST(scratch_that_volumes_have_is_not_there)
{
    static const char tmp[] =
        "\"volumes\":[{\"name\":\"tmp\",\"ephemeral\":{"
        "\"volumeClaimTemplate\":{\"spec\":{\"storageClassName\":"
        "\"node-local\",\"resources\":{\"requests\":{\"storage\":"
        "\"6Gi\"}}}}}}],";
    const struct object *volumes[1];

    begin();
    given_node("n1",
               "4",
               "",
               ",\"scratch\":{\"path\":\"/s\",\"capacity\":\"10Gi\"}");
    is_said("\"cpu\":\"1\"",
            tmp,
            "it could start now, on n1 (1 of 1 nodes have room)");

    volumes[0] =
        parse(&persistent_volume_kind,
              "{\"metadata\":{\"name\":\"pvc-1\",\"labels\":{\"kiln.hpc/node\":"
              "\"n1\"},\"annotations\":{\"pv.kubernetes.io/provisioned-by\":"
              "\"kiln.hpc/node-local\"}},\"spec\":{\"capacity\":{\"storage\":"
              "\"5Gi\"}}}");
    survey.volumes = volumes;
    survey.n_volumes = 1;
    is_said("\"cpu\":\"1\"",
            tmp,
            "no node has room, and what runs there has no time limit; the "
            "nearest, n1, lacks 1Gi of free scratch");
    object_unref(volumes[0]);
    end();
}
END_TEST

SUITE("outlook",
      a_job_that_fits_could_start_now,
      what_is_too_large_for_all_never_runs,
      whole_cores_cost_their_threads,
      what_is_free_but_scattered_is_not_room,
      cores_of_each_socket_are_counted,
      a_device_that_is_taken_is_not_there,
      what_a_forgotten_pod_left_is_not_free,
      other_resources_are_counted_down,
      a_full_node_has_room_when_enough_has_ended,
      without_time_limits_nobody_knows,
      nodes_that_are_closed_are_told,
      a_cluster_without_nodes_says_so,
      scratch_that_volumes_have_is_not_there)
