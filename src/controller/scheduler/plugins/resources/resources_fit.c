/* SPDX-License-Identifier: Apache-2.0 */
/* NodeResourcesFit - a node must have what the pod requests; scores by how much
 * would be in use
 *
 * Extension points:  filter, score
 * Arguments:         ignoredResources, ignoredResourceGroups, scoringStrategy
 *                    (LeastAllocated, MostAllocated, RequestedToCapacityRatio)
 * Woken by:          a pod leaving; a reservation that moved or is gone; a node
 *                    joining or growing
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/plugins/resources/resource_score.h"
#include "lib/api/node/node.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/name.h"
#include "lib/api/value/resource_name.h"
#include "lib/api/value/rows.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define SHAPE_MAX 101 /* utilization rises, from 0 to 100 */

enum strategy {
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    REQUESTED_TO_CAPACITY,
};

struct shape_point {
    int64_t utilization;
    int64_t score;
};

struct resources_fit {
    struct handle *handle;
    struct resource_score score;
    enum strategy strategy;
    struct shape_point shape[SHAPE_MAX];
    unsigned n_shape;
    struct map *ignored;        /* names */
    struct map *ignored_groups; /* the part of a name before the slash */
    uint32_t is_closed, too_many_pods, no_cpu, no_memory, no_ephemeral;
};

static const struct field shape_point_fields[] = {
    OPAQUE(INT, "utilization", 0),
    OPAQUE(INT, "score", 0),
};
static OPAQUE_RECORD(shape_point, "UtilizationShapePoint");

static const struct field ratio_fields[] = {
    OPAQUE_OBJECTS("shape", shape_point, 0),
};
static OPAQUE_RECORD(ratio, "RequestedToCapacityRatioParam");

static const struct field strategy_fields[] = {
    OPAQUE(STRING, "type", 0),
    OPAQUE_OBJECTS("resources", resource_weight, 0),
    OPAQUE_OBJECT("requestedToCapacityRatio", ratio, 0),
};
static OPAQUE_RECORD(strategy, "ScoringStrategy");

static const struct field resources_fit_args_fields[] = {
    OPAQUE_LIST(STRING, "ignoredResources", 0),
    OPAQUE_LIST(STRING, "ignoredResourceGroups", 0),
    OPAQUE_OBJECT("scoringStrategy", strategy, 0),
};
static OPAQUE_RECORD(resources_fit_args, "NodeResourcesFitArgs");

static struct map *
names_of(const struct json *list)
{
    struct map *names = map_new();

    for (uint32_t i = 0; i < json_count(list); i++)
        if (json_text(json_at(list, i)) != NULL)
            map_put(names, json_text(json_at(list, i)), names);
    return names;
}

/* Upstream's rules for resource names, and for resource groups, the part of a
 * name before the slash.
 */
static int
check_ignored(const struct json *list, const char *where, bool are_groups, struct error *err)
{
    for (uint32_t i = 0; i < json_count(list); i++) {
        const char *name = json_text(json_at(list, i));
        const char *why = name_refuse(NAME_QUALIFIED, name);

        if (are_groups && strchr(name, '/') != NULL)
            why = "resource group name can't contain '/'";
        if (why != NULL)
            return error_set(err, -EINVAL, "%s[%u]: \"%s\": %s", where, i, name, why);
    }
    return 0;
}

static int
read_shape(struct resources_fit *self, const struct json *points, struct error *err)
{
    if (json_count(points) == 0 || json_count(points) > SHAPE_MAX)
        return error_set(err, -EINVAL,
                         "scoringStrategy.requestedToCapacityRatio.shape needs 1 "
                         "to %d points",
                         SHAPE_MAX);
    for (uint32_t i = 0; i < json_count(points); i++) {
        const struct json *point = json_at(points, i);

        self->shape[i].utilization = json_get_int(point, "utilization", 0);
        self->shape[i].score = json_get_int(point, "score", 0) * 10;
        if (self->shape[i].utilization < 0 || self->shape[i].utilization > 100
            || self->shape[i].score < 0 || self->shape[i].score > 100)
            return error_set(err, -EINVAL,
                             "scoringStrategy.requestedToCapacityRatio.shape[%u]: "
                             "utilization must be from 0 to 100, score from 0 to 10",
                             i);
        if (i > 0 && self->shape[i].utilization <= self->shape[i - 1].utilization)
            return error_set(err, -EINVAL,
                             "scoringStrategy.requestedToCapacityRatio.shape[%u]: "
                             "utilization must increase",
                             i);
    }
    self->n_shape = json_count(points);
    return 0;
}

static int
read_strategy(struct resources_fit *self, const struct json *strategy, struct error *err)
{
    const char *type = json_get_text(strategy, "type");
    int r =
        resource_score_init(&self->score, self->handle->resources, json_get(strategy, "resources"),
                            "scoringStrategy.resources", false, err);

    if (r < 0)
        return r;
    if (type == NULL || strcmp(type, "LeastAllocated") == 0)
        return 0;
    if (strcmp(type, "MostAllocated") == 0) {
        self->strategy = MOST_ALLOCATED;
        return 0;
    }
    if (strcmp(type, "RequestedToCapacityRatio") == 0) {
        self->strategy = REQUESTED_TO_CAPACITY;
        return read_shape(self, json_get_path(strategy, "requestedToCapacityRatio.shape"), err);
    }
    return error_set(err, -EINVAL,
                     "scoringStrategy.type: \"%s\" is not one of "
                     "LeastAllocated, MostAllocated and "
                     "RequestedToCapacityRatio",
                     type);
}

static void
resources_fit_drop(void *arg)
{
    struct resources_fit *self = arg;

    resource_score_fini(&self->score);
    map_free(self->ignored);
    map_free(self->ignored_groups);
    free(self);
}

static int
resources_fit_make(struct handle *handle, const struct json *args, void **ret_self,
                   struct error *err)
{
    struct resources_fit *self = xnew(struct resources_fit);
    int r;

    self->handle = handle;
    self->ignored = names_of(json_get(args, "ignoredResources"));
    self->ignored_groups = names_of(json_get(args, "ignoredResourceGroups"));
    self->is_closed = handle_reason(handle, "node(s) already have a pod of the group");
    self->too_many_pods = handle_reason(handle, "Too many pods");
    self->no_cpu = handle_reason(handle, "Insufficient cpu");
    self->no_memory = handle_reason(handle, "Insufficient memory");
    self->no_ephemeral = handle_reason(handle, "Insufficient ephemeral-storage");
    r = check_ignored(json_get(args, "ignoredResources"), "ignoredResources", false, err);
    if (r == 0)
        r = check_ignored(json_get(args, "ignoredResourceGroups"), "ignoredResourceGroups", true,
                          err);
    if (r == 0)
        r = read_strategy(self, json_get(args, "scoringStrategy"), err);
    if (r < 0) {
        resources_fit_drop(self);
        return r;
    }
    *ret_self = self;
    return 0;
}

static bool
resources_fit_sign(void *self, const struct pod_view *pod, struct strbuf *out)
{
    (void)self;
    requests_sign(pod, out);
    return true;
}

/* Only extended resources can be ignored. */
static bool
is_ignored(const struct resources_fit *me, uint32_t resource)
{
    const char *name = string_ids_text(me->handle->resources, resource);
    const char *slash = strchr(name, '/');
    CLEANUP_FREE char *group = NULL;

    if ((map_count(me->ignored) == 0 && map_count(me->ignored_groups) == 0)
        || !resource_name_is_extended(name))
        return false;
    if (map_find(me->ignored, name) != NULL)
        return true;
    if (map_count(me->ignored_groups) == 0)
        return false;
    group = xstrndup(name, (size_t)(slash - name));
    return map_find(me->ignored_groups, group) != NULL;
}

static bool
lacks_scalar(const struct resources_fit *me, const struct amount *wanted,
             const struct amounts *allocatable, const struct amounts *requested)
{
    return wanted->value != 0 && !is_ignored(me, wanted->resource)
           && wanted->value > amounts_scalar(allocatable, wanted->resource)
                                  - amounts_scalar(requested, wanted->resource);
}

/* Such a pod is limited only by the number of pods. */
static bool
asks_nothing(const struct amounts *wanted)
{
    return wanted->cpu_milli == 0 && wanted->memory_bytes == 0 && wanted->ephemeral_bytes == 0
           && wanted->n_scalars == 0;
}

static bool
fits(const struct resources_fit *me, const struct amounts *wanted, const struct amounts *has,
     const struct amounts *used)
{
    if ((wanted->cpu_milli > 0 && wanted->cpu_milli > has->cpu_milli - used->cpu_milli)
        || (wanted->memory_bytes > 0
            && wanted->memory_bytes > has->memory_bytes - used->memory_bytes)
        || (wanted->ephemeral_bytes > 0
            && wanted->ephemeral_bytes > has->ephemeral_bytes - used->ephemeral_bytes))
        return false;
    for (uint32_t i = 0; i < wanted->n_scalars; i++)
        if (lacks_scalar(me, &wanted->scalars[i], has, used))
            return false;
    return true;
}

/* Collects all reasons; only for a pod that does not fit. */
static uint32_t
find_reason(const struct resources_fit *me, const struct amounts *wanted,
            const struct node_view *node)
{
    const struct amounts *has = &node->allocatable, *used = &node->ledger.requested;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (node->is_closed)
        return me->is_closed;
    if (node->ledger.count + 1 > node->allowed_pods)
        strbuf_add_text(&text, "\nToo many pods");
    if (wanted->cpu_milli > 0 && wanted->cpu_milli > has->cpu_milli - used->cpu_milli)
        strbuf_add_text(&text, "\nInsufficient cpu");
    if (wanted->memory_bytes > 0 && wanted->memory_bytes > has->memory_bytes - used->memory_bytes)
        strbuf_add_text(&text, "\nInsufficient memory");
    if (wanted->ephemeral_bytes > 0
        && wanted->ephemeral_bytes > has->ephemeral_bytes - used->ephemeral_bytes)
        strbuf_add_text(&text, "\nInsufficient ephemeral-storage");
    for (uint32_t i = 0; i < wanted->n_scalars; i++)
        if (lacks_scalar(me, &wanted->scalars[i], has, used))
            strbuf_printf(&text, "\nInsufficient %s",
                          string_ids_text(me->handle->resources, wanted->scalars[i].resource));
    return handle_reason(me->handle, text.text + 1);
}

/* Finds the single reason that nearly all nodes of a full cluster have without
 * formatting a text.
 */
static uint32_t
quick_reason(const struct resources_fit *me, const struct amounts *wanted,
             const struct node_view *node)
{
    bool no_cpu =
        wanted->cpu_milli > 0
        && wanted->cpu_milli > node->allocatable.cpu_milli - node->ledger.requested.cpu_milli;
    bool no_memory = wanted->memory_bytes > 0
                     && wanted->memory_bytes
                            > node->allocatable.memory_bytes - node->ledger.requested.memory_bytes;

    if (node->is_closed || node->ledger.count + 1 > node->allowed_pods || no_cpu == no_memory
        || wanted->ephemeral_bytes > 0 || wanted->n_scalars > 0)
        return find_reason(me, wanted, node);
    return no_cpu ? me->no_cpu : me->no_memory;
}

static void
resources_fit_filter(void *self, const struct cycle *c, const struct node_view *const *nodes,
                     unsigned count, struct answer *answers)
{
    const struct resources_fit *me = self;
    const struct amounts *wanted = &c->pod->requests;
    bool wants_any = !asks_nothing(wanted);

    for (unsigned i = 0; i < count; i++) {
        const struct node_view *node = nodes[i];

        if (!node->is_closed && node->ledger.count + 1 <= node->allowed_pods
            && (!wants_any || fits(me, wanted, &node->allocatable, &node->ledger.requested)))
            continue;
        answers[i].verdict = VERDICT_REJECT;
        answers[i].reason =
            wants_any || node->is_closed ? quick_reason(me, wanted, node) : me->too_many_pods;
    }
}

static int64_t
least_score(int64_t requested, int64_t capacity)
{
    return requested > capacity ? 0 : (capacity - requested) * SCORE_MAX / capacity;
}

static int64_t
most_score(int64_t requested, int64_t capacity)
{
    if (requested > capacity)
        requested = capacity;
    return requested * SCORE_MAX / capacity;
}

/* Interpolates linearly between the points of the shape. */
static int64_t
shape_score(const struct resources_fit *me, int64_t requested, int64_t capacity)
{
    int64_t at = requested > capacity ? 100 : requested * 100 / capacity;
    const struct shape_point *s = me->shape;

    for (unsigned i = 0; i < me->n_shape; i++) {
        if (at > s[i].utilization)
            continue;
        if (i == 0)
            return s[0].score;
        return s[i - 1].score
               + (s[i].score - s[i - 1].score) * (at - s[i - 1].utilization)
                     / (s[i].utilization - s[i - 1].utilization);
    }
    return s[me->n_shape - 1].score;
}

static int64_t
resources_fit_score_one(void *self, const struct cycle *c, const struct node_view *node)
{
    const struct resources_fit *me = self;
    int64_t requested[RESOURCE_SCORE_MAX], capacity[RESOURCE_SCORE_MAX];
    int64_t sum = 0, weights = 0;

    resource_score_read(&me->score, c->pod, node, requested, capacity);
    for (unsigned i = 0; i < me->score.count; i++) {
        int64_t weight = me->score.weights[i].weight, score;

        if (capacity[i] == 0)
            continue;
        if (me->strategy == REQUESTED_TO_CAPACITY) {
            score = shape_score(me, requested[i], capacity[i]);
            if (score <= 0)
                continue;
        } else {
            score = me->strategy == LEAST_ALLOCATED ? least_score(requested[i], capacity[i])
                                                    : most_score(requested[i], capacity[i]);
        }
        sum += score * weight;
        weights += weight;
    }
    if (weights == 0)
        return 0;
    if (me->strategy == REQUESTED_TO_CAPACITY)
        return (int64_t)round((double)sum / (double)weights);
    return sum / weights;
}

/* Whether a node within the bounds may have enough CPU and memory; the bounds
 * do not cover other resources.
 */
static bool
may_fit(const struct amounts *wanted, const struct bounds *b)
{
    return (wanted->cpu_milli == 0 || wanted->cpu_milli <= b->cpu_milli.most - b->cpu_used.least)
           && (wanted->memory_bytes == 0
               || wanted->memory_bytes <= b->memory_bytes.most - b->memory_used.least);
}

/* The best score of a resource over its range. */
static int64_t
best_of(const struct resources_fit *me, const struct resource_span *span)
{
    if (me->strategy == REQUESTED_TO_CAPACITY)
        return SCORE_MAX;
    if (me->strategy == LEAST_ALLOCATED)
        return least_score(span->least_used, span->most_there);
    return most_score(span->most_used, span->least_there);
}

/* Returns SCORE_MAX where a resource may be absent on some node, because it
 * does not count there, or is not covered by the bounds.
 */
static int64_t
resources_fit_best_score(void *self, const struct cycle *c, const struct bounds *bounds)
{
    const struct resources_fit *me = self;
    int64_t sum = 0, weights = 0;

    if (!may_fit(&c->pod->requests, bounds))
        return SCORE_NOWHERE;
    for (unsigned i = 0; i < me->score.count; i++) {
        int64_t weight = me->score.weights[i].weight;
        struct resource_span span;

        if (!resource_score_span(&me->score, i, c->pod, bounds, &span) || span.least_there == 0)
            return SCORE_MAX;
        sum += best_of(me, &span) * weight;
        weights += weight;
    }
    return sum / weights;
}

static bool
pod_hint(void *self, const struct pod_view *pod, const struct object *old_object,
         const struct object *new_object)
{
    const char *node_name = pod_of(old_object)->spec.node_name;

    (void)self, (void)pod, (void)new_object;
    return node_name != NULL && node_name[0] != '\0';
}

/* Whether there is more of any resource that the pod requests. */
static bool
has_grown(const struct amounts *wanted, const struct amounts *before, const struct amounts *after)
{
    if ((wanted->cpu_milli > 0 && after->cpu_milli > before->cpu_milli)
        || (wanted->memory_bytes > 0 && after->memory_bytes > before->memory_bytes)
        || (wanted->ephemeral_bytes > 0 && after->ephemeral_bytes > before->ephemeral_bytes))
        return true;
    for (uint32_t i = 0; i < wanted->n_scalars; i++) {
        uint32_t resource = wanted->scalars[i].resource;

        if (wanted->scalars[i].value != 0
            && amounts_scalar(after, resource) > amounts_scalar(before, resource))
            return true;
    }
    return false;
}

static bool
node_hint(void *self, const struct pod_view *pod, const struct object *old_object,
          const struct object *new_object)
{
    const struct resources_fit *me = self;
    struct amounts before = {0}, after = {0}, none = {0};
    int64_t pods_before = 0, pods_after = 0;
    bool helps;

    amounts_parse(&after, me->handle->resources, &node_of(new_object)->status.allocatable,
                  &pods_after);
    helps = pods_after >= 1 && fits(me, &pod->requests, &after, &none);
    if (helps && old_object != NULL) {
        amounts_parse(&before, me->handle->resources, &node_of(old_object)->status.allocatable,
                      &pods_before);
        helps = pods_after > pods_before || has_grown(&pod->requests, &before, &after);
    }
    amounts_fini(&before);
    amounts_fini(&after);
    return helps;
}

static const struct wake wakes[] = {
    {EVENT_RESERVATION, ACTION_ALL, NULL},
    {EVENT_POD, ACTION_DELETE, pod_hint},
    {EVENT_NODE, ACTION_ADD | ACTION_UPDATE_NODE_ALLOCATABLE, node_hint},
    WAKE_NEW_NODES,
};

const struct plugin resources_fit_plugin = {
    .name = "NodeResourcesFit",
    .args = &resources_fit_args_record,
    .default_args = "{\"scoringStrategy\":{\"type\":\"LeastAllocated\","
                    "\"resources\":[{\"name\":\"cpu\",\"weight\":1},"
                    "{\"name\":\"memory\",\"weight\":1}]}}",
    .make = resources_fit_make,
    .drop = resources_fit_drop,
    .filters_room = true,
    .sign = resources_fit_sign,
    .filter = resources_fit_filter,
    .score_one = resources_fit_score_one,
    .best_score = resources_fit_best_score,
    .wakes = wakes,
    .n_wakes = ARRAY_SIZE(wakes),
};
