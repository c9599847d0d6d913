/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/job_reason.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

#define LIMIT_300       ",\"activeDeadlineSeconds\":300"
#define PARTITION(name) ",\"nodeSelector\":{\"kiln.hpc/partition\":\"" name "\"}"
#define ON_NODE(name)                                                      \
    ",\"affinity\":{\"nodeAffinity\":{"                                    \
    "\"requiredDuringSchedulingIgnoredDuringExecution\":{"                 \
    "\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":\"metadata.name\"," \
    "\"operator\":\"In\",\"values\":[\"" name "\"]}]}]}}}"

/* A node with further members of its metadata and its spec. */
static void
add_node(struct world *w, const char *name, unsigned cpus, const char *meta, const char *spec)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"%s\"%s},\"spec\":{%s},\"status\":"
                  "{\"allocatable\":{\"cpu\":\"%u\",\"memory\":\"64Gi\","
                  "\"pods\":\"110\"}}}",
                  name, meta, spec, cpus);
    fake_client_put(w->api, &node_kind, s.text);
}

#define TAINT              "\"taints\":[{\"key\":\"kiln.hpc/virtual\",\"effect\":\"NoSchedule\"}]"
#define CORDON             "\"unschedulable\":true"
#define IN_PARTITION(name) ",\"labels\":{\"kiln.hpc/partition\":\"" name "\"}"

static void
assert_cause(const struct world *w, const char *pod, const char *code, const char *message)
{
    const struct pod_cause *cause = world_pod(w, pod)->status.cause;

    ck_assert_msg(cause != NULL, "pod '%s' has no cause", pod);
    ck_assert_str_eq(cause->message, message);
    ck_assert_str_eq(cause->code, code);
}

static void
assert_cause_of(struct world *w, const char *cpu, const char *memory, const char *spec,
                const char *code, const char *message)
{
    world_add_pod(w, "x", cpu, memory, spec);
    world_advance(w, 1000);
    assert_cause(w, "x", code, message);
    fake_client_remove(w->api, &pod_kind, "default", "x");
    world_advance(w, 1000);
}

START_TEST(nodes_and_partitions_that_are_not_there_are_named)
{
    struct world *w = world_new(NULL);

    add_node(w, "n1", 4, IN_PARTITION("cpu"), "");
    assert_cause_of(w, "1", "1Gi", ON_NODE("n99"), "BadConstraints", "no node n99");
    assert_cause_of(w, "1", "1Gi", PARTITION("gpux"), "BadConstraints", "no partition gpux");
    assert_cause_of(w, "1", "1Gi", ",\"nodeSelector\":{\"a/b\":\"c\"}", "BadConstraints",
                    "no node has a/b=c");
    world_free(w);
}
END_TEST

START_TEST(a_partition_that_came_and_went_is_not_there)
{
    struct world *w = world_new(NULL);

    add_node(w, "n1", 4, "", "");
    add_node(w, "n2", 4, IN_PARTITION("gpu"), "");
    assert_cause_of(w, "8", "1Gi", PARTITION("gpu"), "BadConstraints",
                    "no node of partition gpu has 8 CPUs");
    fake_client_remove(w->api, &node_kind, NULL, "n2");
    world_settle(w);
    assert_cause_of(w, "8", "1Gi", PARTITION("gpu"), "BadConstraints", "no partition gpu");
    world_free(w);
}
END_TEST

/* A node that has enough, but that the pod does not ask for, or that has too
 * little of something else.
 */
START_TEST(an_absent_resource_is_reported_of_the_requested_nodes)
{
    struct world *w = world_new(NULL);

    add_node(w, "n1", 64, IN_PARTITION("big"), "");
    add_node(w, "n2", 4, IN_PARTITION("gpu"), "");
    assert_cause_of(w, "40", "1Gi", PARTITION("gpu"), "BadConstraints",
                    "no node of partition gpu has 40 CPUs");
    assert_cause_of(w, "80", "1Gi", PARTITION("big"), "BadConstraints",
                    "no node of partition big has 80 CPUs");
    fake_client_put(w->api, &node_kind,
                    "{\"metadata\":{\"name\":\"n3\"},\"status\":{\"allocatable\":{\"cpu\":\"8\","
                    "\"memory\":\"1Ti\",\"pods\":\"110\"}}}");
    world_settle(w);
    assert_cause_of(w, "40", "500Gi", "", "BadConstraints",
                    "no node has 40 CPUs and 500 GiB of memory together");
    assert_cause_of(w, "80", "500Gi", "", "BadConstraints", "no node has 80 CPUs");
    assert_cause_of(w, "40", "1Gi", ON_NODE("n2"), "BadConstraints",
                    "node n2 does not have 40 CPUs");
    world_free(w);
}
END_TEST

#define ONE_THREAD ",\"placement\":{\"cpuPolicy\":\"exclusive\",\"threadsPerCore\":1}"

/* 8 CPUs on four cores, in two NUMA nodes. */
static void
add_threaded_node(struct world *w, const char *spec)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"n1\"},\"spec\":{%s},\"status\":{\"allocatable\":{"
                  "\"cpu\":\"8\",\"memory\":\"64Gi\",\"pods\":\"110\"},\"topology\":{"
                  "\"cpus\":\"0-7\",\"packages\":[\"0-7\"],\"cores\":[\"0,4\",\"1,5\","
                  "\"2,6\",\"3,7\"],\"numaNodes\":[{\"node\":0,\"cpus\":\"0-1,4-5\","
                  "\"memory\":\"32Gi\"},{\"node\":1,\"cpus\":\"2-3,6-7\",\"memory\":"
                  "\"32Gi\"}]}}}",
                  spec);
    fake_client_put(w->api, &node_kind, s.text);
    world_settle(w);
}

START_TEST(cores_that_no_node_has_are_told_as_cores)
{
    static const char words[] = "no node has 6 CPUs on whole cores in one NUMA node, 1Gi of memory";
    static const char threads[] = "no node has 6 CPUs on whole cores, 1 of each, 1Gi of memory";
    struct world *w = world_new(NULL);

    add_threaded_node(w, "");
    assert_cause_of(w, "6", "1Gi", SINGLE_NUMA, "BadConstraints", words);
    assert_cause_of(w, "6", "1Gi", ONE_THREAD, "BadConstraints", threads);
    add_threaded_node(w, TAINT);
    assert_cause_of(w, "6", "1Gi", ONE_THREAD, "BadConstraints", threads);
    assert_cause_of(w, "4", "1Gi", ONE_THREAD, "ReqNodeNotAvail", "node n1 is closed (virtual)");
    world_free(w);
}
END_TEST

START_TEST(a_taken_node_is_waited_for_until_about_its_end)
{
    struct world *w = world_new(NULL);
    const struct pod_cause *cause;

    add_node(w, "real", 4, "", "");
    add_node(w, "v1", 64, "", TAINT);
    add_node(w, "v2", 64, "", TAINT);
    world_add_pod(w, "a", "3", "1Gi", LIMIT_300);
    world_settle(w);
    world_add_pod(w, "b", "2", "1Gi", "");
    world_advance(w, 1000);
    world_advance(w, 2000); /* then there is a forecast with it */

    assert_cause(w, "b", "Resources", "waits for 2 CPUs on real");
    cause = world_pod(w, "b")->status.cause;
    ck_assert_int_gt(cause->from_us, w->time.clock.real_us(&w->time.clock));
    ck_assert_int_le(cause->from_us, w->time.clock.real_us(&w->time.clock) + 300000000);
    assert_cause_of(w, "1", "64Gi", "", "Resources", "waits for 64 GiB of memory on real");
    world_free(w);
}
END_TEST

START_TEST(closed_nodes_are_counted_when_they_could_do)
{
    struct world *w = world_new(NULL);

    add_node(w, "real", 4, "", "");
    add_node(w, "v1", 64, "", TAINT);
    add_node(w, "v2", 64, "", TAINT);
    assert_cause_of(w, "8", "1Gi", "", "ReqNodeNotAvail", "2 of 3 nodes are closed (virtual)");
    assert_cause_of(w, "128", "1Gi", "", "BadConstraints", "no node has 128 CPUs");
    assert_cause_of(w, "1", "1Gi", ON_NODE("v1"), "ReqNodeNotAvail", "node v1 is closed (virtual)");
    world_free(w);
}
END_TEST

START_TEST(a_closed_partition_is_down)
{
    struct world *w = world_new(NULL);

    add_node(w, "n1", 4, "", "");
    add_node(w, "g1", 4, IN_PARTITION("gpu"), CORDON);
    add_node(w, "g2", 4, IN_PARTITION("gpu"), CORDON);
    add_node(w, "g3", 4, "", CORDON);
    assert_cause_of(w, "1", "1Gi", PARTITION("gpu"), "PartitionDown",
                    "the 2 nodes of partition gpu are closed (cordoned)");
    world_free(w);
}
END_TEST

START_TEST(several_taken_nodes_are_not_named)
{
    struct world *w = world_new(NULL);

    add_node(w, "n1", 4, "", "");
    add_node(w, "n2", 4, "", "");
    add_node(w, "n3", 2, "", "");
    for (unsigned i = 0; i < 2; i++) {
        CLEANUP_FREE char *name = xasprintf("a%u", i);

        world_add_pod(w, name, "4", "1Gi", "");
        world_settle(w);
    }
    assert_cause_of(w, "3", "1Gi", "", "Resources", "waits for 3 CPUs");
    world_free(w);
}
END_TEST

START_TEST(gates_and_empty_clusters_are_told)
{
    struct world *w = world_new(NULL);

    assert_cause_of(w, "1", "1Gi", "", "ReqNodeNotAvail", "the cluster has no nodes");
    assert_cause_of(w, "1", "1Gi", ",\"schedulingGates\":[{\"name\":\"example.com/wait\"}]",
                    "SchedulingGated", "waits for scheduling gate example.com/wait");
    world_free(w);
}
END_TEST

START_TEST(a_victim_reads_whose_job_took_its_place)
{
    struct world *w = world_new(NULL);
    const struct pod *victim;

    add_node(w, "real", 4, "", "");
    world_add_pod(w, "low", "4", "1Gi", ",\"priority\":1");
    world_settle(w);
    fake_client_put(w->api, &pod_kind,
                    "{\"metadata\":{\"name\":\"high\",\"namespace\":\"default\","
                    "\"annotations\":{\"kiln.hpc/job-id\":\"51\",\"kiln.hpc/user\":\"u2\"}},"
                    "\"spec\":{\"priority\":9,\"containers\":[{\"name\":\"main\","
                    "\"resources\":{\"requests\":{\"cpu\":\"4\"}}}]}}");
    world_advance(w, 1000);
    assert_cause(w, "high", "Resources", "other jobs leave real for it");
    if (fake_client_find(w->api, &pod_kind, "default", "low") != NULL) {
        victim = world_pod(w, "low");
        ck_assert_ptr_nonnull(victim->status.cause);
        ck_assert_str_eq(victim->status.cause->code, "Preempted");
        ck_assert_str_eq(victim->status.cause->message, "preempted by job 51 of u2");
    }
    world_free(w);
}
END_TEST

/* Pods of one shape fail repeatedly: the same cause is not written twice. */
START_TEST(the_same_cause_is_written_once)
{
    struct world *w = world_new(NULL);
    unsigned before;

    add_node(w, "real", 4, "", "");
    world_add_pod(w, "a", "3", "1Gi", LIMIT_300);
    world_settle(w);
    world_add_pod(w, "b", "2", "1Gi", "");
    world_advance(w, 1000);
    world_advance(w, 2000);
    before = fake_client_calls(w->api, CLIENT_STRATEGIC_PATCH, "status");
    for (unsigned i = 0; i < 10; i++) {
        add_node(w, "v1", 1 + i % 2, "", TAINT);
        world_advance(w, 3000);
    }
    ck_assert_uint_eq(fake_client_calls(w->api, CLIENT_STRATEGIC_PATCH, "status"),
                      before + 1); /* the condition, which has two nodes now */
    world_free(w);
}
END_TEST

SUITE("scheduler/wait_report", nodes_and_partitions_that_are_not_there_are_named,
      a_partition_that_came_and_went_is_not_there,
      an_absent_resource_is_reported_of_the_requested_nodes,
      cores_that_no_node_has_are_told_as_cores, a_taken_node_is_waited_for_until_about_its_end,
      closed_nodes_are_counted_when_they_could_do, a_closed_partition_is_down,
      several_taken_nodes_are_not_named, gates_and_empty_clusters_are_told,
      a_victim_reads_whose_job_took_its_place, the_same_cause_is_written_once)
