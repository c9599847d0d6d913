/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/environment.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "agent/pods/compose.h"
#include "agent/pods/ground.h"
#include "agent/shepherd/order.h"
#include "lib/api/allocation.h"
#include "lib/api/cpuset.h"
#include "lib/api/job.h"
#include "lib/api/object.h"
#include "lib/api/pod.h"
#include "lib/api/quantity.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/map.h"

#define MAX_VARIABLES 65536u

/* Variables in the order they came, each name once. */
struct variables {
    struct arena *arena;
    struct map *places; /* name to index + 1 */
    const char **items;
    size_t count, capacity;
};

static void
set(struct variables *v, const char *name, const char *value)
{
    const char *text = arena_printf(v->arena, "%s=%s", name, value);
    uintptr_t place = (uintptr_t)map_find(v->places, name);

    if (place > 0) {
        v->items[place - 1] = text;
        return;
    }
    xgrow(v->items, v->count, v->capacity);
    v->items[v->count++] = text;
    map_put(v->places, name, (void *)(uintptr_t)v->count);
}

/* NULL when it is not set. */
static const char *
find(const struct variables *v, const char *name)
{
    uintptr_t place = (uintptr_t)map_find(v->places, name);

    return place > 0 ? v->items[place - 1] + strlen(name) + 1 : NULL;
}

/* NAME=value\0NAME=value\0: entries without a name or a '=' are no variables
 * (bash exports functions in names that hold odd characters: those pass).
 */
static int
add_submitted(struct variables *v,
              const char *bytes,
              size_t length,
              struct error *err)
{
    const char *end = bytes + length;

    for (const char *p = bytes; p < end;) {
        size_t n = strnlen(p, (size_t)(end - p));
        CLEANUP_FREE char *entry = xstrndup(p, n);
        char *equals = strchr(entry, '=');

        if (v->count == MAX_VARIABLES)
            return error_set(err,
                             -E2BIG,
                             "more than %u environment variables",
                             MAX_VARIABLES);
        if (equals != NULL && equals != entry) {
            *equals = '\0';
            set(v, entry, equals + 1);
        }
        p += n + 1;
    }
    return 0;
}

const char *
environment_job_name(const struct object *pod)
{
    const struct owner_reference *owner = meta_controller(pod->meta);
    const char *name =
        string_map_find(&pod->meta->annotations, ANNOTATION_JOB_NAME);

    if (name != NULL)
        return name;
    return owner != NULL ? owner->name : pod->meta->name;
}

static void
set_number(struct variables *v, const char *name, int64_t n)
{
    set(v, name, arena_printf(v->arena, "%" PRId64, n));
}

static void
set_annotation(struct variables *v,
               const struct object *pod,
               const char *variable,
               const char *name)
{
    const char *value = string_map_find(&pod->meta->annotations, name);

    if (value != NULL)
        set(v, variable, value);
}

/* How many threads of its own a program should start: the cores it was given,
 * one thread each, where siblings are withheld.
 */
static unsigned
count_cpus(const struct allocation *a)
{
    struct bitset cpus = {0};

    if (a == NULL || a->cpus == NULL || cpuset_parse(a->cpus, &cpus, NULL) < 0)
        return 0;
    return bitset_count(&cpus);
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
        set(v, "KILN_CPUS", a->cpus);
        set_number(v, "KILN_CPUS_ON_NODE", cpus);
    }
    if (a != NULL && a->memory_nodes != NULL)
        set(v, "KILN_MEMORY_NODES", a->memory_nodes);
    if (memory != NULL)
        set_number(v, "KILN_MEM_MB", quantity_text_value(memory) >> 20);
    if (find(v, "OMP_NUM_THREADS") != NULL)
        return;
    per_task = find(v, "KILN_CPUS_PER_TASK");
    if (per_task != NULL)
        set(v, "OMP_NUM_THREADS", per_task);
    else
        set_number(v, "OMP_NUM_THREADS", cpus > 0 ? cpus : 1);
}

static void
add_own(struct variables *v, const struct compose_input *in)
{
    const struct object *pod = in->pod;

    set_annotation(v, pod, "KILN_JOB_ID", ANNOTATION_JOB_ID);
    set(v, "KILN_JOB_NAME", environment_job_name(pod));
    set_annotation(v, pod, "KILN_JOB_USER", ANNOTATION_USER);
    set_annotation(v, pod, "KILN_RESTART_COUNT", ANNOTATION_ATTEMPT);
    set(v, "KILN_JOB_ACCOUNT", pod->meta->namespace);
    set(v, "KILN_POD_NAME", pod->meta->name);
    set(v, "KILN_NODE_NAME", in->ground->node);
    add_placement(v, pod_of(pod));
}

int
environment_compose(const struct compose_input *in,
                    struct arena *arena,
                    struct order *order,
                    struct error *err)
{
    const struct container *c = &pod_of(in->pod)->spec.containers.items[0];
    struct variables v = {.arena = arena, .places = map_new()};
    int r = 0;

    if (in->environment != NULL)
        r = add_submitted(&v, in->environment, in->environment_length, err);
    for (unsigned i = 0; i < c->env.count; i++)
        set(&v,
            c->env.items[i].name,
            c->env.items[i].value != NULL ? c->env.items[i].value : "");
    add_own(&v, in);
    order->environment.items =
        arena_memdup(arena, v.items, v.count * sizeof(*v.items));
    order->environment.count = v.count;
    free(v.items);
    map_free(v.places);
    return r;
}
