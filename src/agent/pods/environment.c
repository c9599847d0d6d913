/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/environment.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/pods/agent_context.h"
#include "agent/pods/files/mpi_variables.h"
#include "agent/pods/files/task_layout.h"
#include "agent/pods/pod_order.h"
#include "agent/pods/slurm_variables.h"
#include "agent/pods/variables.h"
#include "agent/shepherd/files/order.h"
#include "agent/volumes/pod_mounts.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_scheduling.h"
#include "lib/api/node/allocation.h"
#include "lib/api/node/gpu_vendor.h"
#include "lib/api/node/topology.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/cpuset.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"

#define MAX_VARIABLES 65536u

/* Parses NAME=value\0NAME=value\0. Entries without a name or a '=' are ignored.
 * bash exports functions under names with unusual characters: these are kept.
 */
static int
add_submitted(struct variables *v, const char *bytes, size_t length, struct error *err)
{
    const char *end = bytes + length;

    for (const char *p = bytes; p < end;) {
        size_t n = strnlen(p, (size_t)(end - p));
        CLEANUP_FREE char *entry = xstrndup(p, n);
        char *equals = strchr(entry, '=');

        if (v->count == MAX_VARIABLES)
            return error_set(err, -E2BIG, "more than %u environment variables", MAX_VARIABLES);
        if (equals != NULL && equals != entry) {
            *equals = '\0';
            variables_set(v, entry, equals + 1);
        }
        p += n + 1;
    }
    return 0;
}

const char *
environment_job_name(const struct object *pod)
{
    const struct owner_reference *owner = meta_controller_of(pod->meta, &job_kind);
    const char *name = string_map_find(&pod->meta->annotations, ANNOTATION_JOB_NAME);

    if (name != NULL)
        return name;
    return owner != NULL ? owner->name : pod->meta->name;
}

const char *
environment_account(const struct object *pod)
{
    const char *account = string_map_find(&pod->meta->annotations, ANNOTATION_ACCOUNT);

    return account != NULL ? account : pod->meta->namespace;
}

static void
set_annotation(struct variables *v, const struct object *pod, const char *variable,
               const char *name)
{
    const char *value = string_map_find(&pod->meta->annotations, name);

    if (value != NULL)
        variables_set(v, variable, value);
}

/* The number of threads that a program should start: the cores that it was
 * given, one thread each if sibling threads are withheld.
 */
static unsigned
count_cpus(const struct allocation *a)
{
    struct bitset cpus = {0};

    if (a == NULL || a->cpus == NULL || cpuset_parse(a->cpus, &cpus, NULL) < 0)
        return 0;
    return bitset_count(&cpus);
}

static bool
has_several_tasks(struct variables *v)
{
    const char *tasks = variables_find(v, "KILN_NTASKS");

    return tasks != NULL && strcmp(tasks, "1") != 0;
}

/* Only for a job that says how many CPUs a task has: any other program finds
 * the number in its CPU mask, and nproc(1) would report this one. The mask of a
 * job that asked for a share of the pool is the pool, so that its share says how
 * many threads are useful.
 */
static void
add_thread_count(struct variables *v, const struct pod *pod)
{
    const char *per_task = variables_find(v, "KILN_CPUS_PER_TASK");
    const struct placement *p = pod->spec.placement;
    const char *asked = string_map_find(&pod->spec.containers.items[0].resources.requests, "cpu");
    int64_t milli = asked != NULL ? quantity_text_milli(asked) : 0;

    if (variables_find(v, "OMP_NUM_THREADS") != NULL)
        return;
    if (per_task != NULL)
        variables_set(v, "OMP_NUM_THREADS", per_task);
    else if (p != NULL && p->cpu_policy != NULL && strcmp(p->cpu_policy, "shared") == 0)
        variables_set_number(v, "OMP_NUM_THREADS", milli > 1000 ? (milli + 999) / 1000 : 1);
}

static void
add_placement(struct variables *v, const struct pod *pod)
{
    const struct allocation *a = pod->status.allocation;
    const struct container *c = &pod->spec.containers.items[0];
    const char *memory = string_map_find(&c->resources.requests, "memory");
    unsigned cpus = count_cpus(a);

    if (cpus > 0) {
        variables_set(v, "KILN_CPUS", a->cpus);
        variables_set_number(v, "KILN_CPUS_ON_NODE", cpus);
    }
    if (a != NULL && a->memory_nodes != NULL)
        variables_set(v, "KILN_MEMORY_NODES", a->memory_nodes);
    if (memory != NULL)
        variables_set_number(v, "KILN_MEM_MB", quantity_text_value(memory) >> 20);
    add_thread_count(v, pod);
}

static bool
has_device(const struct allocation *a, const char *name)
{
    for (unsigned i = 0; a != NULL && i < a->devices.count; i++)
        if (strcmp(a->devices.items[i], name) == 0)
            return true;
    return false;
}

/* The GPUs of one vendor, as its runtime counts them for this job. */
struct counted_gpus {
    struct strbuf own; /* "0,2" */
    unsigned n_visible;
    bool is_vendor_here; /* whether the node has any */
    bool has_others;     /* whether the job could open those of others */
};

/* Each runtime numbers, from 0 and in the order of PCI addresses
 * (CUDA with CUDA_DEVICE_ORDER), the GPUs whose device file the process can
 * open. So where other GPUs are hidden, the numbers of the job's own have no
 * gaps.
 */
static void
count_gpus(const struct pod_order_input *in, const struct gpu_vendor *vendor,
           struct counted_gpus *c)
{
    const struct topology *t = in->topology;
    const struct allocation *a = pod_of(in->pod)->status.allocation;

    for (unsigned i = 0; t != NULL && i < t->n_devices; i++) {
        const struct topology_device *d = &t->devices[i];
        bool is_own = has_device(a, d->name);

        if (strcmp(d->type, "gpu") != 0
            || gpu_vendor_of(d->pci_vendor, d->path, d->model) != vendor)
            continue;
        c->is_vendor_here = true;
        if (!is_own && in->hides_devices && d->path != NULL)
            continue;
        if (is_own)
            strbuf_printf(&c->own, "%s%u", c->own.length > 0 ? "," : "", c->n_visible);
        c->has_others |= !is_own;
        c->n_visible++;
    }
}

/* The variable is also set if the job has none of the vendor's GPUs, so that it
 * sees none. On a node without such GPUs it is not set.
 */
static void
add_gpus(struct variables *v, const struct pod_order_input *in, const struct gpu_vendor *vendor)
{
    struct counted_gpus c = {.own = STRBUF_INIT};

    count_gpus(in, vendor, &c);
    if (c.is_vendor_here && (c.has_others || !vendor->counts_parts)) {
        variables_set(v, vendor->variable, c.own.length > 0 ? c.own.text : vendor->none);
        if (vendor->order_variable != NULL)
            variables_set(v, vendor->order_variable, vendor->order);
    }
    strbuf_fini(&c.own);
}

static void
add_devices(struct variables *v, const struct pod_order_input *in)
{
    const struct allocation *a = pod_of(in->pod)->status.allocation;
    CLEANUP_STRBUF struct strbuf names = STRBUF_INIT;

    for (unsigned i = 0; i < GPU_VENDOR_COUNT; i++)
        add_gpus(v, in, &gpu_vendors[i]);
    for (unsigned i = 0; a != NULL && i < a->devices.count; i++)
        strbuf_printf(&names, "%s%s", i > 0 ? "," : "", a->devices.items[i]);
    if (names.length > 0)
        variables_set(v, "KILN_DEVICES", names.text);
}

/* Binds each thread of an OpenMP program to its core, on request: a program
 * that forks would have all its processes on the same core. Only for a job of
 * one task, for the same reason. A setting by the user, for any OpenMP runtime,
 * is kept.
 */
static void
add_thread_places(struct variables *v, const struct pod_order_input *in)
{
    static const char *const own[] = {"OMP_PLACES", "OMP_PROC_BIND", "GOMP_CPU_AFFINITY",
                                      "KMP_AFFINITY"};
    const struct pod *pod = pod_of(in->pod);
    const struct allocation *a = pod->status.allocation;
    const struct placement *p = pod->spec.placement;
    const struct execution *e = pod->spec.execution;
    bool is_packed = p == NULL || p->distribution == NULL || strcmp(p->distribution, "pack") == 0;

    if (e == NULL || !e->bind_threads || a == NULL || a->cpus == NULL || in->agent->is_virtual
        || has_several_tasks(v))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        if (variables_find(v, own[i]) != NULL)
            return;
    variables_set(v, "OMP_PLACES", "cores");
    variables_set(v, "OMP_PROC_BIND", is_packed ? "close" : "spread");
    variables_set(v, "GOMP_CPU_AFFINITY", a->cpus);
}

/* Sets KILN_VOLUME_NAME to the path where the job sees the volume. */
static void
add_volumes(struct variables *v, const struct pod_order_input *in)
{
    const struct mount_list *mounts = in->mounts;

    for (size_t i = 0; mounts != NULL && i < mounts->count; i++) {
        const struct mount_place *m = &mounts->items[i];
        const char *path = m->target != NULL && !in->agent->rootless ? m->target : m->source;
        char *name = arena_printf(v->arena, "KILN_VOLUME_%s", m->volume);

        for (char *c = name; *c != '\0'; c++)
            *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
        variables_set(v, name, path);
        if (strcmp(m->volume, VOLUME_OF_TMPDIR) == 0)
            variables_set(v, "TMPDIR", path);
    }
}

/* The partition that the pod runs in. A pod of a Job names only that one since
 * it was bound; of a list, the label of the node is the best guess.
 */
static void
add_partition(struct variables *v, const struct pod_order_input *in)
{
    const char *name = pod_spec_partition(&pod_of(in->pod)->spec);

    if (in->partition != NULL && (name == NULL || strchr(name, ',') != NULL))
        name = in->partition;
    if (name != NULL)
        variables_set(v, "KILN_JOB_PARTITION", name);
}

/* Of a job of several nodes whose names are not known (its PodGroup is gone): its
 * pods are equal, and the index of each is its number among the nodes. Until
 * here, the number of tasks is that of one node.
 */
static void
add_unnamed_nodes(struct variables *v, int64_t nodes)
{
    const char *index = variables_find(v, "JOB_COMPLETION_INDEX");
    const char *tasks = variables_find(v, "KILN_NTASKS");
    const int64_t per_node = tasks != NULL ? strtoll(tasks, NULL, 10) : 1;

    if (index != NULL)
        variables_set(v, "KILN_NODEID", index);
    variables_set_number(v, "KILN_NNODES", nodes);
    if (per_node < 1 || per_node > INT32_MAX)
        return;
    variables_set_number(v, "KILN_NTASKS_PER_NODE", per_node);
    variables_set_number(v, "KILN_NTASKS", per_node * nodes);
}

static void
add_nodes(struct variables *v, const struct pod_order_input *in)
{
    const char *submitted = variables_find(v, "KILN_JOB_NUM_NODES");
    const int64_t asked = submitted != NULL ? strtoll(submitted, NULL, 10) : 1;
    const char *tasks = variables_find(v, "KILN_NTASKS");
    const int64_t said = tasks != NULL ? strtoll(tasks, NULL, 10) : 0;
    CLEANUP_STRBUF struct strbuf each = STRBUF_INIT;
    struct task_layout nodes;

    task_layout_init(&nodes, v->arena, in->pod, in->nodes, in->agent->node);
    if (string_map_find(&in->pod->meta->annotations, ANNOTATION_TASKS) == NULL && said >= 1
        && said <= INT32_MAX)
        task_layout_set_tasks(&nodes, said);
    if (in->nodes == NULL && asked > 1 && asked <= JOB_GANG_MAX) {
        add_unnamed_nodes(v, asked);
        return;
    }
    variables_set(v, "KILN_JOB_NODELIST", nodes.list);
    variables_set_number(v, "KILN_JOB_NUM_NODES", (int64_t)nodes.count);
    variables_set_number(v, "KILN_NNODES", (int64_t)nodes.count);
    variables_set_number(v, "KILN_NODEID", (int64_t)nodes.own);
    if (tasks != NULL || nodes.count > 1) {
        task_layout_format_tasks(&nodes, &each);
        variables_set(v, "KILN_TASKS_PER_NODE", each.text);
        variables_set_number(v, "KILN_NTASKS", nodes.total);
    }
    if (nodes.count > 1)
        variables_set_number(v, "KILN_NTASKS_PER_NODE", task_layout_tasks(&nodes, nodes.own));
    if (in->hostfile != NULL)
        variables_set(v, "KILN_HOSTFILE", in->hostfile);
}

static void
set_unless_set(const char *name, const char *value, void *variables)
{
    if (variables_find(variables, name) == NULL)
        variables_set(variables, name, value);
}

static void
add_mpi(struct variables *v, const struct pod_order_input *in)
{
    const struct mpi_variables m = {
        .hostfile = in->hostfile,
        .krsh = in->agent->krsh,
        .is_unbound = in->agent->rootless || in->agent->is_virtual,
    };

    if (m.hostfile != NULL && m.krsh != NULL)
        mpi_variables_visit(&m, set_unless_set, v);
}

static void
add_own(struct variables *v, const struct pod_order_input *in)
{
    const struct object *pod = in->pod;

    set_annotation(v, pod, "KILN_JOB_ID", ANNOTATION_JOB_ID);
    variables_set(v, "KILN_JOB_NAME", environment_job_name(pod));
    set_annotation(v, pod, "KILN_JOB_USER", ANNOTATION_USER);
    set_annotation(v, pod, "KILN_RESTART_COUNT", ANNOTATION_ATTEMPT);
    set_annotation(v, pod, "JOB_COMPLETION_INDEX", ANNOTATION_INDEX);
    set_annotation(v, pod, "KILN_NTASKS", ANNOTATION_TASKS);
    set_annotation(v, pod, "KILN_CPUS_PER_TASK", ANNOTATION_CPUS_PER_TASK);
    add_partition(v, in);
    variables_set(v, "KILN_JOB_ACCOUNT", environment_account(pod));
    variables_set(v, "KILN_POD_NAME", pod->meta->name);
    variables_set(v, "KILN_POD_UID", pod->meta->uid);
    variables_set(v, "KILN_NODE_NAME", in->agent->node);
    if (in->agent->step_socket != NULL)
        variables_set(v, "KILN_STEP_SOCKET", in->agent->step_socket);
    add_placement(v, pod_of(pod));
    add_thread_places(v, in);
    add_devices(v, in);
    add_volumes(v, in);
    add_nodes(v, in);
    add_mpi(v, in);
    slurm_variables_add(v, in);
}

int
environment_compose(const struct pod_order_input *in, struct arena *arena, struct order *order,
                    struct error *err)
{
    const struct container *c = &pod_of(in->pod)->spec.containers.items[0];
    struct variables v;
    int r = 0;

    variables_init(&v, arena);
    if (in->environment != NULL)
        r = add_submitted(&v, in->environment, in->environment_length, err);
    for (unsigned i = 0; i < c->env.count; i++)
        variables_set(&v, c->env.items[i].name,
                      c->env.items[i].value != NULL ? c->env.items[i].value : "");
    add_own(&v, in);
    order->environment.items = arena_memdup(arena, v.items, v.count * sizeof(*v.items));
    order->environment.count = v.count;
    variables_fini(&v);
    return r;
}
