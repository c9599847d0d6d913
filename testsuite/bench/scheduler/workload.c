/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/bench/scheduler/workload.h"

#include <stddef.h>

#include "lib/api/object/kind.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

#define MATCHES(color) "\"labelSelector\":{\"matchLabels\":{\"color\":\"" color "\"}}"
#define COLOR(color)   ",\"labels\":{\"color\":\"" color "\"}"
#define ZONE           "topology.kubernetes.io/zone"
#define HOST           "kubernetes.io/hostname"
#define NEAR(kind, color, key)                                                                    \
    ",\"affinity\":{\"" kind "\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{" MATCHES( \
        color) ",\"topologyKey\":\"" key "\"}]}}"
#define PREFER(kind, color, key)                                              \
    ",\"affinity\":{\"" kind                                                  \
    "\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":1," \
    "\"podAffinityTerm\":{" MATCHES(color) ",\"topologyKey\":\"" key "\"}}]}}"
#define SPREAD(when)                                                         \
    ",\"topologySpreadConstraints\":[{\"maxSkew\":5,\"topologyKey\":\"" ZONE \
    "\",\"whenUnsatisfiable\":\"" when "\"," MATCHES("blue") "}]"

static const struct pod_kind_of basic = {.cpu = "100m", .memory = "500Mi"};
static const struct pod_kind_of with_secret = {
    .cpu = "100m",
    .memory = "500Mi",
    .spec = ",\"volumes\":[{\"name\":\"secret\",\"secret\":{\"secretName\":"
            "\"secret\"}}]",
};
static const struct pod_kind_of by_node = {
    .cpu = "100m",
    .memory = "500Mi",
    .spec = ",\"affinity\":{\"nodeAffinity\":{"
            "\"requiredDuringSchedulingIgnoredDuringExecution\":{"
            "\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"" ZONE
            "\",\"operator\":\"In\",\"values\":[\"zone1\",\"zone2\"]}]}]}}}",
};
static const struct pod_kind_of exact = {
    .cpu = "4",
    .memory = "4Gi",
    .spec = ",\"placement\":{\"cpuPolicy\":\"exclusive\",\"numaPolicy\":"
            "\"single-numa-node\"}",
};
static const struct pod_kind_of spreading = {
    .labels = COLOR("blue"),
    .cpu = "100m",
    .memory = "500Mi",
    .spec = SPREAD("DoNotSchedule"),
};
static const struct pod_kind_of preferring_spread = {
    .labels = COLOR("blue"),
    .cpu = "100m",
    .memory = "500Mi",
    .spec = SPREAD("ScheduleAnyway"),
};
static const struct pod_kind_of apart = {
    .labels = COLOR("green"),
    .cpu = "100m",
    .memory = "500Mi",
    .spec = NEAR("podAntiAffinity", "green", HOST),
};
static const struct pod_kind_of together = {
    .labels = COLOR("blue"),
    .cpu = "100m",
    .memory = "500Mi",
    .spec = NEAR("podAffinity", "blue", ZONE),
};
static const struct pod_kind_of preferring_apart = {
    .labels = COLOR("yellow"),
    .cpu = "100m",
    .memory = "500Mi",
    .spec = PREFER("podAntiAffinity", "yellow", HOST),
};
static const struct pod_kind_of preferring_together = {
    .labels = COLOR("red"),
    .cpu = "100m",
    .memory = "500Mi",
    .spec = PREFER("podAffinity", "red", HOST),
};
const struct pod_kind_of huge = {.cpu = "4000", .memory = "500Mi"};
static const struct pod_kind_of low = {
    .cpu = "900m",
    .memory = "500Mi",
    .spec = ",\"terminationGracePeriodSeconds\":0",
};
const struct pod_kind_of high = {
    .cpu = "3000m",
    .memory = "500Mi",
    .spec = ",\"priority\":10",
};

const struct workload workloads[] = {
    {.name = "SchedulingBasic", .pods = &basic, .init = {&basic}, .init_percent_of_nodes = 20},
    {.name = "SchedulingNodeAffinity",
     .pods = &by_node,
     .init = {&by_node},
     .init_percent_of_nodes = 100},
    {.name = "SchedulingSecrets",
     .pods = &with_secret,
     .init = {&with_secret},
     .init_percent_of_nodes = 20},
    {.name = "NumaExact", .pods = &exact, .has_topology = true},
    {.name = "TopologySpreading",
     .pods = &spreading,
     .percent = 50,
     .init = {&basic},
     .init_percent_of_nodes = 100},
    {.name = "PreferredTopologySpreading",
     .pods = &preferring_spread,
     .percent = 50,
     .init = {&basic},
     .init_percent_of_nodes = 100},
    {.name = "SchedulingPodAntiAffinity",
     .pods = &apart,
     .percent_of_nodes = 40,
     .init = {&apart},
     .init_percent_of_nodes = 20},
    {.name = "SchedulingPodAffinity",
     .pods = &together,
     .percent = 50,
     .init = {&together},
     .init_percent_of_nodes = 100},
    {.name = "SchedulingPreferredPodAffinity",
     .pods = &preferring_together,
     .percent = 50,
     .init = {&preferring_together},
     .init_percent_of_nodes = 100},
    {.name = "SchedulingPreferredPodAntiAffinity",
     .pods = &preferring_apart,
     .percent = 50,
     .init = {&preferring_apart},
     .init_percent_of_nodes = 100},
    {.name = "MixedSchedulingBasePod",
     .pods = &basic,
     .percent = 50,
     .init = {&basic, &together, &apart, &preferring_together, &preferring_apart},
     .init_percent_of_nodes = 40},
    {.name = "Unschedulable", .pods = &basic, .has_unschedulable = true},
    {.name = "SchedulingWithMixedChurn", .pods = &basic, .has_churn = true},
    {.name = "PreemptionBasic",
     .pods = &high,
     .nodes_percent = 10,
     .percent_of_nodes = 100,
     .init = {&low},
     .init_percent_of_nodes = 400},
    {.name = "PreemptionAsync",
     .pods = &basic,
     .percent = 50,
     .init = {&low},
     .init_percent_of_nodes = 400,
     .has_preemptors = true},
    {.name = "Hopeless", .pods = &huge, .is_hopeless = true},
};
const unsigned n_workloads = ARRAY_SIZE(workloads);

static void
add_topology(struct strbuf *s)
{
    strbuf_add_text(s, ",\"topology\":{\"cpus\":\"0-255\",\"packages\":"
                       "[\"0-63,128-191\",\"64-127,192-255\"],\"cores\":[");
    for (unsigned c = 0; c < 128; c++)
        strbuf_printf(s, "%s\"%u,%u\"", c > 0 ? "," : "", c, c + 128);
    strbuf_add_text(s, "],\"numaNodes\":[");
    for (unsigned n = 0; n < 8; n++)
        strbuf_printf(s,
                      "%s{\"node\":%u,\"cpus\":\"%u-%u,%u-%u\",\"memory\":"
                      "\"64Gi\"}",
                      n > 0 ? "," : "", n, n * 16, n * 16 + 15, 128 + n * 16, 128 + n * 16 + 15);
    strbuf_add_text(s, "]}");
}

void
add_nodes(const struct stage *stage, const struct workload *w, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

        strbuf_printf(&s,
                      "{\"metadata\":{\"name\":\"node-%u\",\"labels\":{"
                      "\"kubernetes.io/hostname\":\"node-%u\","
                      "\"topology.kubernetes.io/zone\":\"zone%u\"}},\"status\":{"
                      "\"allocatable\":{\"cpu\":\"%s\",\"memory\":\"%s\",\"pods\":"
                      "\"110\"}",
                      i, i, i % 3 + 1, w->has_topology ? "256" : "4",
                      w->has_topology ? "512Gi" : "32Gi");
        if (w->has_topology)
            add_topology(&s);
        strbuf_add_text(&s, "}}");
        stage->put(stage->context, &node_kind, s.text);
    }
}

void
add_pods(const struct stage *stage, const struct pod_kind_of *kind, const char *prefix,
         unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

        strbuf_printf(&s,
                      "{\"metadata\":{\"name\":\"%s-%u\",\"namespace\":\"bench\"%s},"
                      "\"spec\":{\"schedulerName\":\"default-scheduler\","
                      "\"containers\":[{\"name\":\"pause\",\"image\":\"host\","
                      "\"resources\":{\"requests\":{\"cpu\":\"%s\",\"memory\":\"%s\"}}}]"
                      "%s}}",
                      prefix, i, kind->labels != NULL ? kind->labels : "", kind->cpu, kind->memory,
                      kind->spec != NULL ? kind->spec : "");
        stage->put(stage->context, &pod_kind, s.text);
    }
}

unsigned
workload_nodes(const struct workload *w, unsigned nodes)
{
    return w->nodes_percent > 0 ? nodes * w->nodes_percent / 100 : nodes;
}

unsigned
workload_pods(const struct workload *w, unsigned nodes, unsigned pods)
{
    if (w->percent_of_nodes > 0)
        return nodes * w->percent_of_nodes / 100;
    return w->percent > 0 ? pods * w->percent / 100 : pods;
}
