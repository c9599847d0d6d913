/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/environment.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "agent/pods/agent_context.h"
#include "agent/pods/pod_order.h"
#include "agent/pods/slurm_variables.h"
#include "agent/pods/variables.h"
#include "agent/shepherd/files/order.h"
#include "agent/volumes/pod_mounts.h"
#include "lib/api/job/job.h"
#include "lib/api/node/allocation.h"
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

/* Without a setting each task has one CPU. */
static bool
has_several_tasks(struct variables *v)
{
    const char *tasks = variables_find(v, "KILN_NTASKS");

    return tasks != NULL && strcmp(tasks, "1") != 0;
}

static void
add_placement(struct variables *v, const struct pod *pod)
{
    const struct allocation *a = pod->status.allocation;
    const struct container *c = &pod->spec.containers.items[0];
    const char *memory = string_map_find(&c->resources.requests, "memory");
    const char *per_task;
    unsigned cpus = count_cpus(a);

    if (cpus > 0) {
        variables_set(v, "KILN_CPUS", a->cpus);
        variables_set_number(v, "KILN_CPUS_ON_NODE", cpus);
    }
    if (a != NULL && a->memory_nodes != NULL)
        variables_set(v, "KILN_MEMORY_NODES", a->memory_nodes);
    if (memory != NULL)
        variables_set_number(v, "KILN_MEM_MB", quantity_text_value(memory) >> 20);
    if (variables_find(v, "OMP_NUM_THREADS") != NULL)
        return;
    per_task = variables_find(v, "KILN_CPUS_PER_TASK");
    if (per_task != NULL)
        variables_set(v, "OMP_NUM_THREADS", per_task);
    else
        variables_set_number(v, "OMP_NUM_THREADS", cpus > 0 && !has_several_tasks(v) ? cpus : 1);
}

static bool
has_device(const struct allocation *a, const char *name)
{
    for (unsigned i = 0; a != NULL && i < a->devices.count; i++)
        if (strcmp(a->devices.items[i], name) == 0)
            return true;
    return false;
}

static bool
has_prefix(const char *text, const char *prefix)
{
    return text != NULL && strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Decides by the device file or the model's name. */
static bool
is_for_rocm(const struct topology_device *d)
{
    return has_prefix(d->path, "/dev/dri/") || has_prefix(d->model, "AMD")
           || has_prefix(d->model, "Radeon");
}

/* Lists the pod's GPUs by their index among the node's GPUs of that vendor, in
 * the order of PCI addresses, as the drivers count. The variable is also set if
 * the pod has none of these GPUs, so that it sees none. On a node without GPUs
 * of that vendor it is not set.
 */
static void
add_gpus(struct variables *v, const struct topology *t, const struct allocation *a, bool rocm)
{
    const char *name = rocm ? "ROCR_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES";
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    unsigned place = 0;

    for (unsigned i = 0; i < t->n_devices; i++) {
        const struct topology_device *d = &t->devices[i];

        if (strcmp(d->type, "gpu") != 0 || is_for_rocm(d) != rocm)
            continue;
        if (has_device(a, d->name))
            strbuf_printf(&list, "%s%u", list.length > 0 ? "," : "", place);
        place++;
    }
    if (place == 0)
        return;
    variables_set(v, name, list.length > 0 ? list.text : "");
    if (!rocm)
        variables_set(v, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
}

static void
add_devices(struct variables *v, const struct topology *t, const struct allocation *a)
{
    CLEANUP_STRBUF struct strbuf names = STRBUF_INIT;

    add_gpus(v, t, a, false);
    add_gpus(v, t, a, true);
    for (unsigned i = 0; a != NULL && i < a->devices.count; i++)
        strbuf_printf(&names, "%s%s", i > 0 ? "," : "", a->devices.items[i]);
    if (names.length > 0)
        variables_set(v, "KILN_DEVICES", names.text);
}

/* Binds each thread of an OpenMP program to its core. Only for a job of one
 * task: several tasks would all begin on the same core. A setting by the user,
 * for any OpenMP runtime, is kept.
 */
static void
add_thread_places(struct variables *v, const struct pod_order_input *in)
{
    static const char *const own[] = {"OMP_PLACES", "OMP_PROC_BIND", "GOMP_CPU_AFFINITY",
                                      "KMP_AFFINITY"};
    const struct pod *pod = pod_of(in->pod);
    const struct allocation *a = pod->status.allocation;
    const struct placement *p = pod->spec.placement;
    bool is_packed = p == NULL || p->distribution == NULL || strcmp(p->distribution, "pack") == 0;

    if (a == NULL || a->cpus == NULL || in->agent->is_virtual || has_several_tasks(v))
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

static void
add_own(struct variables *v, const struct pod_order_input *in)
{
    const struct object *pod = in->pod;
    const char *partition = pod_spec_partition(&pod_of(pod)->spec);

    set_annotation(v, pod, "KILN_JOB_ID", ANNOTATION_JOB_ID);
    variables_set(v, "KILN_JOB_NAME", environment_job_name(pod));
    set_annotation(v, pod, "KILN_JOB_USER", ANNOTATION_USER);
    set_annotation(v, pod, "KILN_RESTART_COUNT", ANNOTATION_ATTEMPT);
    set_annotation(v, pod, "JOB_COMPLETION_INDEX", ANNOTATION_INDEX);
    set_annotation(v, pod, "KILN_NTASKS", ANNOTATION_TASKS);
    set_annotation(v, pod, "KILN_CPUS_PER_TASK", ANNOTATION_CPUS_PER_TASK);
    if (string_map_find(&pod->meta->annotations, ANNOTATION_UPDATE) != NULL && partition != NULL)
        variables_set(v, "KILN_JOB_PARTITION", partition);
    variables_set(v, "KILN_JOB_ACCOUNT", pod->meta->namespace);
    variables_set(v, "KILN_POD_NAME", pod->meta->name);
    variables_set(v, "KILN_POD_UID", pod->meta->uid);
    variables_set(v, "KILN_NODE_NAME", in->agent->node);
    add_placement(v, pod_of(pod));
    add_thread_places(v, in);
    add_devices(v, in->topology, pod_of(pod)->status.allocation);
    add_volumes(v, in);
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
