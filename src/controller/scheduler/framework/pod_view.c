/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/framework/pod_view.h"

#include <string.h>

#include "controller/scheduler/framework/names.h"
#include "lib/allocator/holding.h"
#include "lib/api/object.h"
#include "lib/api/pod.h"
#include "lib/api/quantity.h"
#include "lib/base/alloc.h"

/* Sums are of exact quantities and rounded once at the end, as upstream's. */
struct sum {
    const char *name;
    __int128 nano;
};

struct sums {
    struct sum *items;
    uint32_t count, capacity;
};

static struct sum *
find_sum(const struct sums *s, const char *name)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (strcmp(s->items[i].name, name) == 0)
            return &s->items[i];
    return NULL;
}

static struct sum *
sum_of(struct sums *s, const char *name)
{
    struct sum *found = find_sum(s, name);

    if (found != NULL)
        return found;
    xgrow(s->items, s->count, s->capacity);
    s->items[s->count] = (struct sum){.name = name};
    return &s->items[s->count++];
}

static void
add_each(struct sums *to, const struct sums *from)
{
    for (uint32_t i = 0; i < from->count; i++)
        sum_of(to, from->items[i].name)->nano += from->items[i].nano;
}

static void
raise_each(struct sums *to, const struct sums *from)
{
    for (uint32_t i = 0; i < from->count; i++) {
        struct sum *sum = sum_of(to, from->items[i].name);

        if (from->items[i].nano > sum->nano)
            sum->nano = from->items[i].nano;
    }
}

static void
add_map(struct sums *to, const struct string_map *map)
{
    for (unsigned i = 0; i < map->count; i++) {
        struct quantity q;

        if (quantity_parse(map->items[i].value, &q) == 0)
            sum_of(to, map->items[i].key)->nano += q.nano;
    }
}

/* With the defaults that a score assumes for what is missing. */
static void
add_container(struct sums *to, const struct container *c, bool with_defaults)
{
    const struct string_map *requests = &c->resources.requests;

    add_map(to, requests);
    if (!with_defaults)
        return;
    if (string_map_find(requests, "cpu") == NULL)
        sum_of(to, "cpu")->nano += (__int128)POD_DEFAULT_CPU_MILLI * 1000000;
    if (string_map_find(requests, "memory") == NULL)
        sum_of(to, "memory")->nano +=
            (__int128)POD_DEFAULT_MEMORY_BYTES * 1000000000;
}

static bool
is_sidecar(const struct container *c)
{
    return c->restart_policy != NULL
           && strcmp(c->restart_policy, "Always") == 0;
}

/* Init containers run one after another beside the sidecars begun before
 * them; the pod needs the most that any moment needs.
 *
 * Source: k8s.io/component-helpers/resource, PodRequests.
 */
static void
sum_requests(const struct pod_spec *spec,
             bool with_defaults,
             struct sums *total)
{
    struct sums sidecars = {0}, peak = {0};

    for (unsigned i = 0; i < spec->containers.count; i++)
        add_container(total, &spec->containers.items[i], with_defaults);
    for (unsigned i = 0; i < spec->init_containers.count; i++) {
        const struct container *c = &spec->init_containers.items[i];
        struct sums moment = {0};

        if (is_sidecar(c)) {
            add_container(total, c, with_defaults);
            add_container(&sidecars, c, with_defaults);
            raise_each(&peak, &sidecars);
            continue;
        }
        add_container(&moment, c, with_defaults);
        add_each(&moment, &sidecars);
        raise_each(&peak, &moment);
        free(moment.items);
    }
    raise_each(total, &peak);
    add_map(total, &spec->overhead);
    free(sidecars.items);
    free(peak.items);
}

static int64_t
milli_of(const struct sum *sum)
{
    struct quantity q = {.nano = sum->nano};

    return quantity_milli_value(&q);
}

static int64_t
value_of(const struct sum *sum)
{
    struct quantity q = {.nano = sum->nano};

    return quantity_value(&q);
}

static void
read_requests(struct pod_view *v, struct names *resources)
{
    const struct pod_spec *spec = &v->pod->spec;
    struct sums sums = {0};

    sum_requests(spec, false, &sums);
    for (uint32_t i = 0; i < sums.count; i++) {
        const struct sum *sum = &sums.items[i];

        if (strcmp(sum->name, "cpu") == 0)
            v->requests.cpu_milli = milli_of(sum);
        else if (strcmp(sum->name, "memory") == 0)
            v->requests.memory_bytes = value_of(sum);
        else if (strcmp(sum->name, "ephemeral-storage") == 0)
            v->requests.ephemeral_bytes = value_of(sum);
        else if (amounts_is_scalar(sum->name))
            amounts_set_scalar(&v->requests,
                               names_number(resources, sum->name),
                               value_of(sum));
    }
    sums.count = 0;
    sum_requests(spec, true, &sums);
    v->nonzero_cpu_milli = milli_of(sum_of(&sums, "cpu"));
    v->nonzero_memory_bytes = value_of(sum_of(&sums, "memory"));
    free(sums.items);
}

bool
pod_view_asks_less(const struct pod *old_pod, const struct pod *new_pod)
{
    struct sums before = {0}, after = {0};
    bool is_less = false;

    sum_requests(&old_pod->spec, false, &before);
    sum_requests(&new_pod->spec, false, &after);
    for (uint32_t i = 0; i < before.count && !is_less; i++) {
        const struct sum *now = find_sum(&after, before.items[i].name);

        is_less = now == NULL || milli_of(now) < milli_of(&before.items[i]);
    }
    free(before.items);
    free(after.items);
    return is_less;
}

/* Devices by the names that the resources were given, so that the demand's
 * borrowed types live as long as the scheduler.
 */
static void
read_demand(struct pod_view *v, const struct names *resources)
{
    demand_init(&v->demand,
                v->pod->spec.placement,
                v->requests.cpu_milli,
                v->requests.memory_bytes);
    for (uint32_t i = 0; i < v->requests.n_scalars; i++) {
        const struct amount *a = &v->requests.scalars[i];
        const char *name = names_text(resources, a->resource);
        const char *type = demand_device_type(name);

        demand_add_hugepages(&v->demand, demand_page_bytes(name), a->value);
        if (type != NULL && a->value > 0)
            demand_add_device(&v->demand,
                              type,
                              a->value < UINT16_MAX ? (unsigned)a->value
                                                    : UINT16_MAX);
    }
}

static void
count_ports(const struct container *c, uint32_t *count)
{
    for (unsigned i = 0; i < c->ports.count; i++)
        *count += c->ports.items[i].host_port > 0;
}

static void
add_ports(struct pod_view *v, const struct container *c)
{
    for (unsigned i = 0; i < c->ports.count; i++) {
        const struct container_port *p = &c->ports.items[i];

        if (p->host_port <= 0)
            continue;
        v->ports[v->n_ports++] = (struct host_port){
            .ip = p->host_ip != NULL && p->host_ip[0] != '\0' ? p->host_ip
                                                              : "0.0.0.0",
            .protocol = p->protocol != NULL && p->protocol[0] != '\0'
                            ? p->protocol
                            : "TCP",
            .port = p->host_port,
        };
    }
}

/* Of the containers alone: ports of sidecars do not count, as upstream. */
static void
read_ports(struct pod_view *v)
{
    const struct pod_spec *spec = &v->pod->spec;
    uint32_t count = 0;

    for (unsigned i = 0; i < spec->containers.count; i++)
        count_ports(&spec->containers.items[i], &count);
    if (count == 0)
        return;
    v->ports = xnew_array(struct host_port, count);
    for (unsigned i = 0; i < spec->containers.count; i++)
        add_ports(v, &spec->containers.items[i]);
}

static bool
has_terms(const struct pod_affinity *a)
{
    return a != NULL && (a->required.count > 0 || a->preferred.count > 0);
}

static void
read_affinity(struct pod_view *v)
{
    const struct affinity *a = v->pod->spec.affinity;

    if (a == NULL)
        return;
    v->has_affinity =
        has_terms(a->pod_affinity) || has_terms(a->pod_anti_affinity);
    v->has_required_anti_affinity = a->pod_anti_affinity != NULL
                                    && a->pod_anti_affinity->required.count > 0;
}

struct pod_view *
pod_view_new(const struct object *object, struct names *resources)
{
    struct pod_view *v = xnew(struct pod_view);

    v->refs = 1;
    v->object = object_ref(object);
    v->pod = pod_of(object);
    v->namespace = v->pod->meta.namespace != NULL ? v->pod->meta.namespace : "";
    v->name = v->pod->meta.name;
    v->uid = v->pod->meta.uid;
    v->priority = v->pod->spec.priority != NULL ? *v->pod->spec.priority : 0;
    read_requests(v, resources);
    read_demand(v, resources);
    read_ports(v);
    read_affinity(v);
    return v;
}

struct pod_view *
pod_view_ref(struct pod_view *view)
{
    view->refs++;
    return view;
}

void
pod_view_unref(struct pod_view *view)
{
    if (view == NULL || --view->refs > 0)
        return;
    amounts_fini(&view->requests);
    holding_free(view->holding);
    free(view->ports);
    object_unref(view->object);
    free(view);
}

void
pod_view_set_apart(struct pod_view *view)
{
    view->has_signature = true;
    view->signature = SIGNATURE_NONE;
}

bool
pod_view_is_same(const struct pod_view *a, const struct pod_view *b)
{
    if (a->uid != NULL && b->uid != NULL)
        return strcmp(a->uid, b->uid) == 0;
    return strcmp(a->name, b->name) == 0
           && strcmp(a->namespace, b->namespace) == 0;
}

bool
pod_view_is_of(const struct pod_view *view, const struct object *object)
{
    const struct meta *meta = object->meta;

    if (view->uid != NULL && meta->uid != NULL)
        return strcmp(view->uid, meta->uid) == 0;
    return strcmp(view->name, meta->name) == 0
           && strcmp(view->namespace,
                     meta->namespace != NULL ? meta->namespace : "")
                  == 0;
}

int64_t
pod_view_start_us(const struct pod_view *view)
{
    int64_t start_us = view->pod->status.start_at_us;

    return start_us != 0 ? start_us : INT64_MAX;
}

bool
pod_view_is_terminating(const struct pod_view *view)
{
    return view->pod->meta.deleted_at_us != 0;
}
