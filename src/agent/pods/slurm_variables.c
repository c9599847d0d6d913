/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/slurm_variables.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/pods/agent_context.h"
#include "agent/pods/files/task_layout.h"
#include "agent/pods/pod_order.h"
#include "agent/pods/variables.h"
#include "agent/shepherd/prepared_job.h"
#include "lib/api/node/allocation.h"
#include "lib/api/node/topology.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/cpuset.h"
#include "lib/api/value/quantity.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

/* Copies under another name, also of variables that only ksub sets. */
static const struct {
    const char *ours, *theirs;
} renamed[] = {
    {"KILN_JOB_ID", "SLURM_JOB_ID"},
    {"KILN_JOB_ID", "SLURM_JOBID"},
    {"KILN_JOB_NAME", "SLURM_JOB_NAME"},
    {"KILN_JOB_USER", "SLURM_JOB_USER"},
    {"KILN_JOB_ACCOUNT", "SLURM_JOB_ACCOUNT"},
    {"KILN_SUBMIT_DIR", "SLURM_SUBMIT_DIR"},
    {"KILN_SUBMIT_HOST", "SLURM_SUBMIT_HOST"},
    {"KILN_JOB_PARTITION", "SLURM_JOB_PARTITION"},
    {"KILN_CPUS_PER_TASK", "SLURM_CPUS_PER_TASK"},
    {"KILN_MEM_PER_CPU_MB", "SLURM_MEM_PER_CPU"},
    {"KILN_NODE_NAME", "SLURMD_NODENAME"},
};

static bool
is_asked_for(const struct object *pod)
{
    const char *words = string_map_find(&pod->meta->annotations, ANNOTATION_VARIABLES);

    return words != NULL && strcmp(words, "slurm") == 0;
}

/* For a pod that shares CPUs, the requested CPUs, rounded up. */
static int64_t
count_cpus(const struct pod *pod)
{
    const struct allocation *a = pod->status.allocation;
    const struct resources *res = &pod->spec.containers.items[0].resources;
    const char *asked = string_map_find(&res->requests, "cpu");
    struct bitset cpus = {0};
    int64_t milli = asked != NULL ? quantity_text_milli(asked) : 0;

    if (a != NULL && a->cpus != NULL && cpuset_parse(a->cpus, &cpus, NULL) == 0)
        return bitset_count(&cpus);
    return milli > 1000 ? (milli + 999) / 1000 : 1;
}

/* Lists the pod's GPUs by their index among the node's GPUs. */
static void
add_gpus(struct variables *v, const struct pod_order_input *in)
{
    const struct allocation *a = pod_of(in->pod)->status.allocation;
    const struct topology *t = in->topology;
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    unsigned place = 0, count = 0;

    for (unsigned i = 0; t != NULL && i < t->n_devices; i++) {
        if (strcmp(t->devices[i].type, "gpu") != 0)
            continue;
        for (unsigned j = 0; a != NULL && j < a->devices.count; j++)
            if (strcmp(a->devices.items[j], t->devices[i].name) == 0)
                strbuf_printf(&list, "%s%u", count++ > 0 ? "," : "", place);
        place++;
    }
    if (count == 0)
        return;
    variables_set(v, "SLURM_JOB_GPUS", list.text);
    variables_set_number(v, "SLURM_GPUS_ON_NODE", count);
}

/* "8", or "8(x4)" on four nodes. */
static void
set_for_nodes(struct variables *v, const char *name, int64_t value, int64_t nodes)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (nodes < 2) {
        variables_set_number(v, name, value);
        return;
    }
    strbuf_printf(&text, "%lld(x%lld)", (long long)value, (long long)nodes);
    variables_set(v, name, text.text);
}

static int64_t
find_number(const struct variables *v, const char *name, int64_t otherwise)
{
    const char *text = variables_find(v, name);

    return text != NULL ? strtoll(text, NULL, 10) : otherwise;
}

/* The rank of the first task on this node. */
static int64_t
count_tasks_before(const struct variables *v, const struct pod_order_input *in)
{
    const int64_t number = find_number(v, "KILN_NODEID", 0);
    struct task_layout nodes;

    if (in->nodes == NULL)
        return number * find_number(v, "KILN_NTASKS_PER_NODE", 1);
    task_layout_init(&nodes, v->arena, in->pod, in->nodes, in->agent->node);
    return task_layout_tasks_before(&nodes, nodes.own);
}

/* "block1.rack7.n3" and "switch.switch.node"; "n3" and "node" without a topology. */
static void
add_topology(struct variables *v, const struct pod_order_input *in)
{
    const char *domains = string_map_find(&in->pod->meta->annotations, ANNOTATION_TOPOLOGY);
    CLEANUP_STRBUF struct strbuf address = STRBUF_INIT, pattern = STRBUF_INIT;

    for (const char *at = domains; at != NULL && *at != '\0';) {
        const size_t length = strcspn(at, "/");

        strbuf_printf(&address, "%.*s.", (int)length, at);
        strbuf_add_text(&pattern, "switch.");
        at += length + (at[length] == '/');
    }
    strbuf_add_text(&address, in->agent->node);
    strbuf_add_text(&pattern, "node");
    variables_set(v, "SLURM_TOPOLOGY_ADDR", arena_strdup(v->arena, address.text));
    variables_set(v, "SLURM_TOPOLOGY_ADDR_PATTERN", arena_strdup(v->arena, pattern.text));
}

/* The script is the first process on its node. Open MPI takes the job's id for a
 * sign that there is srun.
 */
static void
add_nodes(struct variables *v, const struct pod_order_input *in)
{
    const int64_t nodes = find_number(v, "KILN_NNODES", 1);
    const int64_t first = count_tasks_before(v, in);
    const char *list = variables_find(v, "KILN_JOB_NODELIST");
    const char *tasks = variables_find(v, "KILN_TASKS_PER_NODE");

    add_topology(v, in);
    variables_set_number(v, "SLURM_NNODES", nodes);
    variables_set_number(v, "SLURM_JOB_NUM_NODES", nodes);
    variables_set_number(v, "SLURM_NODEID", find_number(v, "KILN_NODEID", 0));
    variables_set_number(v, "SLURM_PROCID", first);
    variables_set_number(v, "SLURM_GTIDS", first);
    variables_set(v, "SLURM_LOCALID", "0");
    if (tasks != NULL)
        variables_set(v, "SLURM_TASKS_PER_NODE", tasks);
    else if (nodes > 1)
        set_for_nodes(v, "SLURM_TASKS_PER_NODE", find_number(v, "KILN_NTASKS_PER_NODE", 1), nodes);
    set_for_nodes(v, "SLURM_JOB_CPUS_PER_NODE", count_cpus(pod_of(in->pod)), nodes);
    if (list != NULL) {
        variables_set(v, "SLURM_JOB_NODELIST", list);
        variables_set(v, "SLURM_NODELIST", list);
    }
    if (variables_find(v, "OMPI_MCA_plm") == NULL)
        variables_set(v, "OMPI_MCA_plm", "rsh");
}

/* ksub sets these if they were asked for; the numbers may have been changed
 * since (kctl update).
 */
static void
add_tasks(struct variables *v, const struct object *pod)
{
    const char *tasks = variables_find(v, "KILN_NTASKS");
    const char *per_node = variables_find(v, "KILN_NTASKS_PER_NODE");

    if (tasks == NULL
        || (variables_find(v, "SLURM_NTASKS") == NULL
            && string_map_find(&pod->meta->annotations, ANNOTATION_TASKS) == NULL))
        return;
    variables_set(v, "SLURM_NTASKS", tasks);
    variables_set(v, "SLURM_NPROCS", tasks);
    if (variables_find(v, "SLURM_NTASKS_PER_NODE") != NULL)
        variables_set(v, "SLURM_NTASKS_PER_NODE", per_node != NULL ? per_node : tasks);
}

/* Programs of Slurm refuse to run with both of these. */
static void
add_memory(struct variables *v)
{
    const char *memory = variables_find(v, "KILN_MEM_MB");

    if (memory != NULL && variables_find(v, "KILN_MEM_PER_CPU_MB") == NULL
        && variables_find(v, "SLURM_MEM_PER_GPU") == NULL)
        variables_set(v, "SLURM_MEM_PER_NODE", memory);
}

/* The priority class is what a QOS is here; a job without one has Slurm's
 * default.
 */
static void
add_classes(struct variables *v, const struct pod_spec *spec)
{
    const struct placement *p = spec->placement;

    variables_set(v, "SLURM_JOB_QOS",
                  spec->priority_class_name != NULL ? spec->priority_class_name : "normal");
    if (p != NULL && p->reservation != NULL && p->reservation[0] != '\0')
        variables_set(v, "SLURM_JOB_RESERVATION", p->reservation);
}

/* Slurm's commands come first, before those of a Slurm that this machine may have, too. A job that
 * a job has submitted brings them along.
 */
static void
add_path(struct variables *v, const char *folder)
{
    const char *path = variables_find(v, "PATH");
    const size_t length = strlen(folder);

    if (path == NULL)
        path = PREPARED_JOB_PATH;
    if (strncmp(path, folder, length) == 0 && (path[length] == ':' || path[length] == '\0'))
        return;
    variables_set(v, "PATH", arena_printf(v->arena, "%s:%s", folder, path));
}

void
slurm_variables_add(struct variables *v, const struct pod_order_input *in)
{
    const struct pod *pod = pod_of(in->pod);
    const struct security_context *who = pod->spec.security_context;

    if (!is_asked_for(in->pod))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(renamed); i++) {
        const char *value = variables_find(v, renamed[i].ours);

        if (value != NULL)
            variables_set(v, renamed[i].theirs, value);
    }
    /* Scripts take its presence for a further attempt. */
    if (find_number(v, "KILN_RESTART_COUNT", 0) > 0)
        variables_set(v, "SLURM_RESTART_COUNT", variables_find(v, "KILN_RESTART_COUNT"));
    add_nodes(v, in);
    variables_set_number(v, "SLURM_CPUS_ON_NODE", count_cpus(pod));
    if (in->agent->cluster != NULL)
        variables_set(v, "SLURM_CLUSTER_NAME", in->agent->cluster);
    if (who != NULL && who->run_as_user != NULL)
        variables_set_number(v, "SLURM_JOB_UID", *who->run_as_user);
    if (who != NULL && who->run_as_group != NULL)
        variables_set_number(v, "SLURM_JOB_GID", *who->run_as_group);
    add_tasks(v, in->pod);
    add_memory(v);
    add_classes(v, &pod->spec);
    add_gpus(v, in);
    if (in->agent->slurm_commands != NULL)
        add_path(v, in->agent->slurm_commands);
}
