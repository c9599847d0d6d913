/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/node_status.h"

#include <check.h>
#include <string.h>

#include "agent/hardware/machine.h"
#include "lib/api/node/topology.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

#define GI (UINT64_C(1) << 30)

static struct arena *arena;
static struct topology topology;
static struct topology_numa numa[2];
static struct topology_pu pus[8];
static struct topology_device devices[3];
static char hostname[] = "host", empty[] = "", boot[] = "b1";
static char gpu[] = "gpu", nic[] = "nic", path[] = "/dev/nvidia0";
static char device[] = "device0";
static struct machine machine = {
    .hostname = hostname,
    .boot_id = boot,
    .machine_id = empty,
    .system_uuid = empty,
    .kernel_version = empty,
    .os_image = empty,
    .architecture = empty,
};
static struct node_facts facts;

/* Two NUMA nodes of 4 GiB and 4 CPUs; one CPU and 1 GiB are reserved. */
static void
begin(void)
{
    arena = arena_new(0);
    memset(&topology, 0, sizeof(topology));
    numa[0] = (struct topology_numa){.memory_bytes = 4 * GI};
    numa[1] = (struct topology_numa){.os_index = 1, .memory_bytes = 3 * GI};
    topology.numa = numa;
    topology.n_numa = 2;
    topology.pu = pus;
    topology.n_pu = 8;
    for (unsigned i = 0; i < 7; i++)
        bitset_add(&topology.pus, i);
    bitset_add(&topology.reserved, 7);
    facts = (struct node_facts){
        .name = "n1",
        .machine = &machine,
        .topology = &topology,
        .reserved_memory_bytes = GI,
        .max_pods = 100,
        .can_limit_memory = true,
    };
}

static void
end(void)
{
    arena_free(arena);
}

static const char *
amount(const char *list, const char *name)
{
    const struct json *status = node_status_status(arena, &facts, 1000000);

    return json_get_text(json_get(status, list), name);
}

static const struct json *
condition(const char *type)
{
    const struct json *list = json_get(node_status_status(arena, &facts, 1000000), "conditions");

    for (uint32_t i = 0; i < json_count(list); i++)
        if (strcmp(json_get_text(json_at(list, i), "type"), type) == 0)
            return json_at(list, i);
    return NULL;
}

static const char *
status_of(const char *type)
{
    return json_get_text(condition(type), "status");
}

START_TEST(reserved_resources_are_capacity_and_not_allocatable)
{
    begin();
    ck_assert_str_eq(amount("capacity", "cpu"), "8");
    ck_assert_str_eq(amount("allocatable", "cpu"), "7");
    ck_assert_str_eq(amount("capacity", "memory"), "8388608Ki");
    ck_assert_str_eq(amount("allocatable", "memory"), "7340032Ki");
    ck_assert_str_eq(amount("allocatable", "pods"), "100");
    end();
}
END_TEST

START_TEST(huge_pages_are_summed_by_their_size)
{
    begin();
    numa[0].hugepages[0] = (struct topology_hugepages){.page_bytes = 2 << 20, .count = 8};
    numa[0].hugepages[1] = (struct topology_hugepages){.page_bytes = GI, .count = 1};
    numa[0].n_hugepages = 2;
    numa[1].hugepages[0] = numa[0].hugepages[0];
    numa[1].n_hugepages = 1;

    ck_assert_str_eq(amount("allocatable", "hugepages-2Mi"), "32768Ki");
    ck_assert_str_eq(amount("allocatable", "hugepages-1Gi"), "1048576Ki");
    end();
}
END_TEST

START_TEST(devices_are_counted_by_their_type)
{
    begin();
    devices[0] = (struct topology_device){.name = device, .type = gpu, .path = path};
    devices[1] = (struct topology_device){.name = device, .type = nic};
    devices[2] = (struct topology_device){.name = device, .type = gpu};
    topology.devices = devices;
    topology.n_devices = 3;

    ck_assert_str_eq(amount("allocatable", "kiln.hpc/gpu"), "2");
    ck_assert_str_eq(amount("allocatable", "kiln.hpc/nic"), "1");
    end();
}
END_TEST

START_TEST(a_limit_that_is_not_enforced_is_reported)
{
    begin();
    ck_assert_str_eq(status_of("Ready"), "True");
    ck_assert_str_eq(status_of("MemoryEnforced"), "True");
    ck_assert_ptr_null(condition("DevicesEnforced")); /* no devices */
    facts.can_limit_memory = false;
    ck_assert_str_eq(status_of("MemoryEnforced"), "False");

    devices[0] = (struct topology_device){.name = device, .type = gpu, .path = path};
    topology.devices = devices;
    topology.n_devices = 1;
    facts.devices_lacking = "the kernel is too old";
    ck_assert_str_eq(status_of("DevicesEnforced"), "False");
    ck_assert_ptr_nonnull(
        strstr(json_get_text(condition("DevicesEnforced"), "message"), "the kernel is too old"));
    facts.can_guard_devices = true;
    ck_assert_str_eq(status_of("DevicesEnforced"), "True");

    ck_assert_ptr_null(condition("HugepagesEnforced")); /* no huge pages */
    numa[1].hugepages[0] = (struct topology_hugepages){.page_bytes = GI, .count = 1};
    numa[1].n_hugepages = 1;
    ck_assert_str_eq(status_of("HugepagesEnforced"), "False");
    facts.can_limit_hugepages = true;
    ck_assert_str_eq(status_of("HugepagesEnforced"), "True");
    end();
}
END_TEST

START_TEST(a_given_topology_keeps_ordinary_jobs_away)
{
    begin();
    const struct json *real = node_status_body(arena, &facts, 1000000);

    ck_assert_ptr_null(json_get_path(real, "spec.taints"));
    ck_assert_str_eq(status_of("VirtualTopology"), "False");

    topology.is_virtual = true;
    const struct json *virtual = node_status_body(arena, &facts, 1000000);
    const struct json *taint = json_at(json_get_path(virtual, "spec.taints"), 0);

    ck_assert_str_eq(json_get_text(taint, "key"), "kiln.hpc/virtual");
    ck_assert_str_eq(json_get_text(taint, "effect"), "NoSchedule");
    ck_assert_str_eq(status_of("VirtualTopology"), "True");
    end();
}
END_TEST

START_TEST(labels_are_those_that_were_configured_and_its_own)
{
    static const char *const labels[] = {"kiln.hpc/partition=long", "feature.kiln.hpc/ib", "a=b=c"};
    const struct json *map;

    begin();
    facts.labels = labels;
    facts.n_labels = 3;
    facts.rootless = true;
    facts.uid = 1001;
    map = json_get_path(node_status_body(arena, &facts, 1), "metadata.labels");

    ck_assert_str_eq(json_get_text(map, "kubernetes.io/hostname"), "n1");
    ck_assert_str_eq(json_get_text(map, "kiln.hpc/partition"), "long");
    ck_assert_str_eq(json_get_text(map, "feature.kiln.hpc/ib"), "");
    ck_assert_str_eq(json_get_text(map, "a"), "b=c");
    ck_assert_str_eq(json_get_text(map, "kiln.hpc/rootless-uid"), "1001");
    end();
}
END_TEST

START_TEST(the_port_of_steps_is_told)
{
    const struct json *port;

    begin();
    facts.step_port = 6822;
    port = json_get_path(node_status_status(arena, &facts, 1), "daemonEndpoints.kubeletEndpoint");
    ck_assert_int_eq(json_get_int(port, "Port", 0), 6822);
    end();
}
END_TEST

SUITE("node_status", the_port_of_steps_is_told, reserved_resources_are_capacity_and_not_allocatable,
      huge_pages_are_summed_by_their_size, devices_are_counted_by_their_type,
      a_limit_that_is_not_enforced_is_reported, a_given_topology_keeps_ordinary_jobs_away,
      labels_are_those_that_were_configured_and_its_own)
