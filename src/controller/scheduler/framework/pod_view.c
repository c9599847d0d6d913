/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins are asked about a pod thousands of times, so everything that has to be parsed is
 * parsed once, and the view does not change afterwards: a new version of the pod is a new
 * view, and a decision goes on with the one that it began with. Equal parts are shared between
 * pods, because a hundred thousand waiting pods mostly ask for the same.
 *
 * The tier of the partition is the upper half of the priority, so that everything that
 * compares priorities respects tiers without knowing of them (decision 235).
 */
#include "controller/scheduler/framework/pod_view.h"

#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/framework/string_ids.h"
#include "lib/allocator/holding.h"
#include "lib/allocator/shared_demands.h"
#include "lib/api/node/allocation.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_sums.h"
#include "lib/api/pod/pod_times.h"
#include "lib/base/alloc.h"

/* Priorities are 32 bits wide. */
#define PRIORITIES_OF_TIER (INT64_C(1) << 32)

static void
read_requests(struct pod_view *v, struct string_ids *resources)
{
    static const struct pod_sums_defaults assumed = {
        .cpu_milli = POD_DEFAULT_CPU_MILLI,
        .memory_bytes = POD_DEFAULT_MEMORY_BYTES,
    };
    const struct pod_spec *spec = &v->pod->spec;
    struct pod_sums sums = {0};

    pod_sums_add_requests(&sums, spec, NULL);
    for (uint32_t i = 0; i < sums.count; i++) {
        const struct pod_sum *sum = &sums.items[i];

        if (strcmp(sum->name, "cpu") == 0)
            v->requests.cpu_milli = pod_sum_milli(sum);
        else if (strcmp(sum->name, "memory") == 0)
            v->requests.memory_bytes = pod_sum_value(sum);
        else if (strcmp(sum->name, "ephemeral-storage") == 0)
            v->requests.ephemeral_bytes = pod_sum_value(sum);
        else if (amounts_is_scalar(sum->name))
            amounts_set_scalar(&v->requests, string_ids_add(resources, sum->name),
                               pod_sum_value(sum));
    }
    sums.count = 0;
    pod_sums_add_requests(&sums, spec, &assumed);
    v->nonzero_cpu_milli = pod_sum_milli(pod_sums_find(&sums, "cpu"));
    v->nonzero_memory_bytes = pod_sum_value(pod_sums_find(&sums, "memory"));
    pod_sums_fini(&sums);
}

bool
pod_view_asks_less(const struct pod *old_pod, const struct pod *new_pod)
{
    struct pod_sums before = {0}, after = {0};
    bool is_less = false;

    pod_sums_add_requests(&before, &old_pod->spec, NULL);
    pod_sums_add_requests(&after, &new_pod->spec, NULL);
    for (uint32_t i = 0; i < before.count && !is_less; i++) {
        const struct pod_sum *now = pod_sums_find(&after, before.items[i].name);

        is_less = now == NULL || pod_sum_milli(now) < pod_sum_milli(&before.items[i]);
    }
    pod_sums_fini(&before);
    pod_sums_fini(&after);
    return is_less;
}

/* Takes device names from `resources`, so that the demand's borrowed types live
 * as long as the scheduler.
 */
static void
read_demand(struct pod_view *v, const struct string_ids *resources, struct shared_demands *demands)
{
    struct demand demand;

    demand_init(&demand, v->pod->spec.placement, v->requests.cpu_milli, v->requests.memory_bytes);
    for (uint32_t i = 0; i < v->requests.n_scalars; i++)
        demand_add_resource(&demand, string_ids_text(resources, v->requests.scalars[i].resource),
                            v->requests.scalars[i].value);
    v->demand = shared_demands_get(demands, &demand);
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
            .ip = p->host_ip != NULL && p->host_ip[0] != '\0' ? p->host_ip : "0.0.0.0",
            .protocol = p->protocol != NULL && p->protocol[0] != '\0' ? p->protocol : "TCP",
            .port = p->host_port,
        };
    }
}

/* As upstream, only ports of containers count, not those of sidecars. */
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
    v->has_affinity = has_terms(a->pod_affinity) || has_terms(a->pod_anti_affinity);
    v->has_required_anti_affinity =
        a->pod_anti_affinity != NULL && a->pod_anti_affinity->required.count > 0;
}

static void
read_owner(struct pod_view *v)
{
    const struct security_context *who = v->pod->spec.security_context;
    const char *repels = string_map_find(&v->pod->meta.annotations, ANNOTATION_REPELS);

    v->owner = who != NULL && who->run_as_user != NULL ? *who->run_as_user : -1;
    v->repels_all = repels != NULL && strcmp(repels, REPELS_ALL) == 0;
}

static int64_t
read_number(const struct string_map *annotations, const char *name)
{
    const char *text = string_map_find(annotations, name);

    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

/* A start time that cannot be parsed counts as absent: the creation time is
 * used.
 */
static void
read_order(struct pod_view *v)
{
    const struct meta *meta = &v->pod->meta;
    const char *eligible = string_map_find(&meta->annotations, ANNOTATION_ELIGIBLE_AT);
    const char *deadline = string_map_find(&meta->annotations, ANNOTATION_DEADLINE);

    if (eligible == NULL || time_parse(eligible, &v->eligible_at_us) < 0)
        v->eligible_at_us = meta->created_at_us;
    if (deadline == NULL || time_parse(deadline, &v->deadline_us) < 0)
        v->deadline_us = 0;
    v->job_id = read_number(&meta->annotations, ANNOTATION_JOB_ID);
    v->job_index = read_number(&meta->annotations, ANNOTATION_INDEX);
}

struct pod_view *
pod_view_new(const struct object *object, struct string_ids *resources)
{
    return pod_view_new_sharing(object, resources, NULL);
}

struct pod_view *
pod_view_new_sharing(const struct object *object, struct string_ids *resources,
                     struct shared_demands *demands)
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
    read_demand(v, resources, demands);
    read_ports(v);
    read_affinity(v);
    read_owner(v);
    read_order(v);
    v->is_to_yield = pod_find_yield(v->pod) != NULL;
    v->has_yielded = v->is_to_yield && pod_has_yielded(v->pod) && v->pod->status.allocation != NULL
                     && v->pod->status.allocation->cpus != NULL;
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
    shared_demand_unref(view->demand);
    if (view->whole_demand != NULL)
        shared_demand_unref(view->whole_demand);
    holding_free(view->holding);
    free(view->ports);
    object_unref(view->object);
    free(view);
}

void
pod_view_set_tier(struct pod_view *view, int64_t tier)
{
    view->priority += (tier - view->tier) * PRIORITIES_OF_TIER;
    view->tier = tier;
}

void
pod_view_set_whole_demand(struct pod_view *view, struct shared_demands *demands)
{
    struct demand demand = *view->demand;

    if (demand.is_whole_node)
        return;
    demand_add_whole_node(&demand);
    view->whole_demand = shared_demands_get(demands, &demand);
}

void
pod_view_disable_sharing(struct pod_view *view)
{
    view->has_signature = true;
    view->signature = SIGNATURE_NONE;
}

bool
pod_view_is_same(const struct pod_view *a, const struct pod_view *b)
{
    if (a->uid != NULL && b->uid != NULL)
        return strcmp(a->uid, b->uid) == 0;
    return strcmp(a->name, b->name) == 0 && strcmp(a->namespace, b->namespace) == 0;
}

bool
pod_view_is_of(const struct pod_view *view, const struct object *object)
{
    const struct meta *meta = object->meta;

    if (view->uid != NULL && meta->uid != NULL)
        return strcmp(view->uid, meta->uid) == 0;
    return strcmp(view->name, meta->name) == 0
           && strcmp(view->namespace, meta->namespace != NULL ? meta->namespace : "") == 0;
}

bool
pod_view_is_in_time(const struct pod_view *view, int64_t start_us)
{
    const int64_t *limit_s = view->pod->spec.active_deadline_seconds;
    int64_t limit_us = 0;

    if (view->deadline_us == 0)
        return true;
    if (limit_s != NULL && __builtin_mul_overflow(*limit_s, INT64_C(1000000), &limit_us))
        return false;
    return start_us <= view->deadline_us - limit_us;
}

int64_t
pod_view_start_us(const struct pod_view *view)
{
    int64_t start_us = view->pod->status.start_at_us;

    return start_us != 0 ? start_us : INT64_MAX;
}

/* 0: it has no limit. */
static int64_t
find_end(const struct pod *pod, int64_t now_us)
{
    int64_t end_us = pod_expected_end_us(pod, now_us);

    return end_us != INT64_MAX ? end_us : 0;
}

/* The end of a frozen pod by its limit. While pods that use its cores still
 * run, the time until they have ended is added.
 */
static int64_t
find_end_after_others(const struct pod_view *view, int64_t now_us)
{
    const struct pod *pod = view->pod;
    int64_t end_us = find_end(pod, now_us);

    if (end_us == 0)
        return 0;
    end_us += pod_frozen_us(pod, now_us) - pod->status.frozen_us;
    if (pod_is_going_on(pod))
        return end_us;
    if (!view->has_yielded || view->free_at_us == 0)
        return 0;
    return view->free_at_us > now_us ? end_us + view->free_at_us - now_us : end_us;
}

int64_t
pod_view_end_us(const struct pod_view *view, int64_t now_us)
{
    return pod_is_frozen(view->pod) ? find_end_after_others(view, now_us)
                                    : find_end(view->pod, now_us);
}

int64_t
pod_view_charged_milli(const struct pod_view *view)
{
    int64_t asked = view->requests.cpu_milli;

    return view->holding != NULL && view->holding->charged_milli > asked
               ? view->holding->charged_milli
               : asked;
}

bool
pod_view_is_terminating(const struct pod_view *view)
{
    return view->pod->meta.deleted_at_us != 0;
}
