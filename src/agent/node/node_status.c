/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/node_status.h"

#include <inttypes.h>
#include <string.h>

#include "agent/hardware/machine.h"
#include "lib/api/node/node.h"
#include "lib/api/node/topology.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/version/version.h"
#include "lib/json/json.h"

/* Adds "k=v" as the label k with the value v. */
static void
add_label(struct arena *arena, struct json *labels, const char *text)
{
    const char *equals = strchr(text, '=');
    CLEANUP_FREE char *key = NULL;

    if (equals == NULL) {
        json_set_string(arena, labels, text, "");
        return;
    }
    key = xstrndup(text, (size_t)(equals - text));
    json_set_string(arena, labels, key, equals + 1);
}

static void
add_taint(struct arena *arena, struct json *taints, const char *key, const char *effect)
{
    struct json *t = json_object(arena);

    json_set_string(arena, t, "key", key);
    json_set_string(arena, t, "effect", effect);
    json_append(arena, taints, t);
}

static void
set_memory(struct arena *arena, struct json *list, const char *name, uint64_t bytes)
{
    char *text = arena_printf(arena, "%" PRIu64 "Ki", bytes / 1024);

    json_set_string(arena, list, name, text);
}

static uint64_t
memory_of(const struct topology *t)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < t->n_numa; i++)
        bytes += t->numa[i].memory_bytes;
    return bytes;
}

/* Adds "hugepages-2Mi" and so on, named as upstream names them. */
static void
add_hugepages(struct arena *arena, struct json *list, const struct topology *t)
{
    for (unsigned i = 0; i < t->n_numa; i++) {
        for (unsigned j = 0; j < t->numa[i].n_hugepages; j++) {
            uint64_t page = t->numa[i].hugepages[j].page_bytes;
            uint64_t total = 0;
            char *name = page >= UINT64_C(1) << 30
                             ? arena_printf(arena, "hugepages-%" PRIu64 "Gi", page >> 30)
                         : page >= UINT64_C(1) << 20
                             ? arena_printf(arena, "hugepages-%" PRIu64 "Mi", page >> 20)
                             : arena_printf(arena, "hugepages-%" PRIu64 "Ki", page >> 10);

            for (unsigned k = 0; k < t->n_numa; k++)
                for (unsigned l = 0; l < t->numa[k].n_hugepages; l++)
                    if (t->numa[k].hugepages[l].page_bytes == page)
                        total += page * t->numa[k].hugepages[l].count;
            set_memory(arena, list, name, total);
        }
    }
}

/* Devices are counted by type as extended resources: "kiln.hpc/gpu". */
static void
add_devices(struct arena *arena, struct json *list, const struct topology *t)
{
    for (unsigned i = 0; i < t->n_devices; i++) {
        char *name = arena_printf(arena, "kiln.hpc/%s", t->devices[i].type);
        const char *so_far = json_get_text(list, name);
        int64_t count = so_far != NULL ? strtoll(so_far, NULL, 10) : 0;

        json_set_string(arena, list, name, arena_printf(arena, "%" PRId64, count + 1));
    }
}

static struct json *
resources(struct arena *arena, const struct node_facts *f, bool allocatable)
{
    const struct topology *t = f->topology;
    struct json *list = json_object(arena);
    unsigned pus = bitset_count(&t->pus);
    uint64_t memory = memory_of(t);

    if (!allocatable) {
        pus += bitset_count(&t->reserved);
        memory += f->reserved_memory_bytes;
    }
    json_set_string(arena, list, "cpu", arena_printf(arena, "%u", pus));
    set_memory(arena, list, "memory", memory);
    json_set_string(arena, list, "pods", arena_printf(arena, "%" PRId64, f->max_pods));
    add_hugepages(arena, list, t);
    add_devices(arena, list, t);
    return list;
}

static void
add_condition(struct arena *arena, struct json *conditions, const char *type, bool status,
              const char *reason, const char *message, int64_t now_us)
{
    struct json *c = json_object(arena);
    char text[TIME_TEXT_SIZE];

    time_format(now_us, false, text);
    json_set_string(arena, c, "type", type);
    json_set_string(arena, c, "status", status ? "True" : "False");
    json_set_string(arena, c, "lastHeartbeatTime", text);
    json_set_string(arena, c, "lastTransitionTime", text);
    json_set_string(arena, c, "reason", reason);
    json_set_string(arena, c, "message", message);
    json_append(arena, conditions, c);
}

static bool
has_device_files(const struct topology *t)
{
    for (unsigned i = 0; i < t->n_devices; i++)
        if (t->devices[i].path != NULL)
            return true;
    return false;
}

/* Adds the condition only for a node that has device files. */
static void
add_devices_enforced(struct arena *arena, struct json *list, const struct node_facts *f,
                     int64_t now_us)
{
    bool enforced = f->can_guard_devices && !f->topology->is_virtual;
    const char *why = f->topology->is_virtual      ? "the topology is given "
                                                     "by configuration"
                      : f->devices_lacking != NULL ? f->devices_lacking
                                                   : "the agent has no cgroups";

    if (!has_device_files(f->topology))
        return;
    add_condition(arena, list, "DevicesEnforced", enforced,
                  enforced ? REASON_CGROUP_DEVICES : REASON_NO_DEVICE_CONTROL,
                  enforced ? "pods can open only the devices that they were given"
                           : arena_printf(arena,
                                          "pods know which devices they were given, but can "
                                          "open others: %s",
                                          why),
                  now_us);
}

/* Adds the condition only for a node that has huge pages. */
static void
add_hugepages_enforced(struct arena *arena, struct json *list, const struct node_facts *f,
                       int64_t now_us)
{
    bool enforced = f->can_limit_hugepages && !f->topology->is_virtual;
    bool any = false;

    for (unsigned i = 0; i < f->topology->n_numa; i++)
        any = any || f->topology->numa[i].n_hugepages > 0;
    if (!any)
        return;
    add_condition(arena, list, "HugepagesEnforced", enforced,
                  enforced ? REASON_CGROUP_HUGETLB : REASON_NO_HUGETLB_CONTROLLER,
                  enforced ? "pods can use only the huge pages that they were given"
                  : f->topology->is_virtual
                      ? "the topology is given by configuration: it does not describe "
                        "this machine's memory"
                      : "pods can use more huge pages than they were given, and so can "
                        "pods that asked for none: there is no hugetlb controller",
                  now_us);
}

/* Before the first result the status is Unknown, so that a restart of the agent
 * does not take away the taint of a node that has failed.
 */
static void
add_health(struct arena *arena, struct json *list, const struct node_facts *f, int64_t now_us)
{
    add_condition(arena, list, NODE_HEALTH_CHECK_FAILED, f->health_failure != NULL,
                  !f->is_health_known         ? REASON_NOT_CHECKED_YET
                  : f->health_failure != NULL ? REASON_HEALTH_CHECK_FAILED
                                              : REASON_HEALTHY,
                  !f->is_health_known         ? "the first health check has not ended yet"
                  : f->health_failure != NULL ? f->health_failure
                                              : "the site's health check succeeds",
                  now_us);
    if (!f->is_health_known)
        json_set_string(arena, json_at(list, json_count(list) - 1), "status", "Unknown");
}

static struct json *
conditions(struct arena *arena, const struct node_facts *f, int64_t now_us)
{
    struct json *list = json_array(arena);

    add_condition(arena, list, "Ready", true, REASON_AGENT_READY,
                  "kiln-agent is posting ready status", now_us);
    add_condition(arena, list, "MemoryEnforced", f->can_limit_memory,
                  f->can_limit_memory ? REASON_CGROUP_MEMORY : REASON_NO_MEMORY_CONTROLLER,
                  f->can_limit_memory ? "memory limits are enforced by cgroups"
                                      : "memory limits are not enforced on this node",
                  now_us);
    add_condition(arena, list, "VirtualTopology", f->topology->is_virtual,
                  f->topology->is_virtual ? REASON_TOPOLOGY_GIVEN : REASON_TOPOLOGY_DISCOVERED,
                  f->topology->is_virtual ? "the topology is given by --topology: allocations are "
                                            "recorded, but processes are not bound to them"
                                          : "processes are bound to the cores they are given",
                  now_us);
    add_hugepages_enforced(arena, list, f, now_us);
    add_devices_enforced(arena, list, f, now_us);
    add_condition(arena, list, NODE_CHECK_FAILED, f->check_reason != NULL,
                  f->check_reason != NULL ? f->check_reason : REASON_CAN_START_PODS,
                  f->check_reason != NULL ? f->check_words
                                          : "everything that pods need to "
                                            "start is present",
                  now_us);
    add_condition(arena, list, NODE_HARDWARE_MISSING, f->missing != NULL,
                  f->missing != NULL ? REASON_LESS_THAN_EXPECTED : REASON_AS_EXPECTED,
                  f->missing != NULL ? f->missing
                                     : "all hardware that this node ever had "
                                       "is present",
                  now_us);
    if (f->has_health_check)
        add_health(arena, list, f, now_us);
    if (f->has_hooks)
        add_condition(arena, list, NODE_HOOK_FAILED, f->hook_failure != NULL,
                      f->hook_failure != NULL ? REASON_HOOK_FAILED : REASON_HOOKS_SUCCEED,
                      f->hook_failure != NULL ? f->hook_failure
                                              : "prolog and epilog have not failed",
                      now_us);
    return list;
}

static void
add_address(struct arena *arena, struct json *list, const char *type, const char *address)
{
    struct json *a = json_object(arena);

    json_set_string(arena, a, "type", type);
    json_set_string(arena, a, "address", address);
    json_append(arena, list, a);
}

static struct json *
node_info(struct arena *arena, const struct machine *m)
{
    struct json *i = json_object(arena);

    json_set_string(arena, i, "machineID", m->machine_id);
    json_set_string(arena, i, "systemUUID", m->system_uuid);
    json_set_string(arena, i, "bootID", m->boot_id);
    json_set_string(arena, i, "kernelVersion", m->kernel_version);
    json_set_string(arena, i, "osImage", m->os_image);
    json_set(arena, i, "containerRuntimeVersion", json_stringf(arena, "kiln://%s", version_text()));
    json_set(arena, i, "kubeletVersion", json_stringf(arena, "v%s", version_text()));
    json_set_string(arena, i, "kubeProxyVersion", "");
    json_set_string(arena, i, "operatingSystem", "linux");
    json_set_string(arena, i, "architecture", m->architecture);
    return i;
}

/* A null in the merge patch removes the scratch that a former agent offered. */
static struct json *
scratch(struct arena *arena, const struct node_facts *f)
{
    struct json *s;

    if (f->scratch_dir == NULL)
        return json_null(arena);
    s = json_object(arena);
    json_set_string(arena, s, "path", f->scratch_dir);
    json_set_string(arena, s, "capacity",
                    arena_printf(arena, "%" PRId64 "Ki", f->scratch_bytes / 1024));
    json_set_string(arena, s, "quota", f->has_scratch_quota ? "project" : "none");
    return s;
}

/* Of upstream's form. */
static struct json *
endpoints(struct arena *arena, const struct node_facts *f)
{
    struct json *all = json_object(arena);
    struct json *own = json_object(arena);

    json_set_int(arena, own, "Port", f->step_port);
    json_set(arena, all, "kubeletEndpoint", own);
    if (f->step_socket != NULL)
        json_set_string(arena, all, "kilnStepSocket", f->step_socket);
    return all;
}

struct json *
node_status_status(struct arena *arena, const struct node_facts *f, int64_t now_us)
{
    struct json *s = json_object(arena);
    struct json *addresses = json_array(arena);
    struct json *features = json_array(arena);

    add_address(arena, addresses, "Hostname", f->machine->hostname);
    if (f->address != NULL)
        add_address(arena, addresses, "InternalIP", f->address);
    json_set(arena, s, "capacity", resources(arena, f, false));
    json_set(arena, s, "allocatable", resources(arena, f, true));
    json_set(arena, s, "conditions", conditions(arena, f, now_us));
    json_set(arena, s, "addresses", addresses);
    json_set(arena, s, "daemonEndpoints", endpoints(arena, f));
    json_set(arena, s, "nodeInfo", node_info(arena, f->machine));
    json_set(arena, s, "topology", topology_encode(f->topology, arena));
    json_set(arena, s, "scratch", scratch(arena, f));
    json_append(arena, features, json_string(arena, NODE_FEATURE_CHANGED_LIMIT));
    json_append(arena, features, json_string(arena, NODE_FEATURE_FREEZE));
    json_append(arena, features, json_string(arena, NODE_FEATURE_CHECKPOINT));
    json_append(arena, features, json_string(arena, NODE_FEATURE_SIGNAL));
    json_append(arena, features, json_string(arena, NODE_FEATURE_STEP_SIGNAL));
    if (f->lends_cores)
        json_append(arena, features, json_string(arena, NODE_FEATURE_YIELD));
    json_set(arena, s, "agentFeatures", features);
    return s;
}

struct json *
node_status_body(struct arena *arena, const struct node_facts *f, int64_t now_us)
{
    struct json *body = json_object(arena);
    struct json *meta = json_object(arena);
    struct json *labels = json_object(arena);
    struct json *taints = json_array(arena);

    json_set_string(arena, body, "apiVersion", node_kind.api_version);
    json_set_string(arena, body, "kind", node_kind.name);
    json_set(arena, body, "metadata", meta);
    json_set_string(arena, meta, "name", f->name);
    json_set(arena, meta, "labels", labels);
    json_set_string(arena, labels, LABEL_HOSTNAME, f->name);
    json_set_string(arena, labels, "kubernetes.io/os", "linux");
    json_set_string(arena, labels, "kubernetes.io/arch", f->machine->architecture);
    if (f->rootless)
        json_set_string(arena, labels, LABEL_ROOTLESS, arena_printf(arena, "%" PRIu32, f->uid));
    for (size_t i = 0; i < f->n_labels; i++)
        add_label(arena, labels, f->labels[i]);
    if (f->topology->is_virtual)
        add_taint(arena, taints, TAINT_VIRTUAL, "NoSchedule");
    if (taints->count > 0)
        json_set(arena, json_make_object(arena, body, "spec"), "taints", taints);
    json_set(arena, body, "status", node_status_status(arena, f, now_us));
    return body;
}
