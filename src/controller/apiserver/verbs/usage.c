/* SPDX-License-Identifier: Apache-2.0 */
/* The present use of a pod changes all the time and is worth nothing a minute later, so it is
 * kept in memory without a revision, and no transaction or watch ever sees it. NodeMetrics and
 * PodMetrics are made when somebody reads them, since mostly nobody does.
 */
#include "controller/apiserver/verbs/usage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/objects/selection.h"
#include "controller/apiserver/request/body.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/store.h"
#include "lib/api/cluster/metrics.h"
#include "lib/api/node/gpu_vendor.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/map.h"
#include "lib/json/json.h"
#include "lib/loop/timer.h"

#define MISSED      3 /* reports */
#define LEEWAY_US   INT64_C(5000000)
#define SWEEP_MS    60000
#define MAX_PODS    65536u
#define INTERVAL_US INT64_C(3600000000) /* the longest accepted */

struct usage {
    struct clock *clock;
    struct map *nodes; /* by name */
    struct map *pods;  /* by "namespace/name"; owned by `nodes` */
    struct timer *sweep;
};

/* A pod of a report. */
struct pod_figures {
    struct node_figures *node;
    char *key;
    struct usage_figures figures;
    struct pod_usage total;
    const struct object *made; /* or NULL */
};

/* A report. */
struct node_figures {
    int64_t reported_us; /* monotonic */
    int64_t taken_us;    /* real */
    int64_t interval_us;
    struct usage_figures figures;
    const struct object *made; /* or NULL */
    unsigned n_pods;
    struct pod_figures pods[];
};

static void
forget(struct usage *u, struct node_figures *node)
{
    for (unsigned i = 0; i < node->n_pods; i++) {
        struct pod_figures *pod = &node->pods[i];

        if (pod->key == NULL)
            continue;
        if (map_find(u->pods, pod->key) == pod)
            map_remove(u->pods, pod->key);
        object_unref(pod->made);
        free(pod->key);
    }
    object_unref(node->made);
    free(node);
}

static bool
is_stale(const struct usage *u, const struct node_figures *node)
{
    return clock_monotonic_us(u->clock) - node->reported_us
           > MISSED * node->interval_us + LEEWAY_US;
}

static void
sweep(void *context)
{
    struct usage *u = context;
    const char *name;
    size_t at = 0;
    void *node;

    while (map_next(u->nodes, &at, &name, &node))
        if (is_stale(u, node)) {
            map_remove(u->nodes, name);
            forget(u, node);
        }
}

struct usage *
usage_new(struct loop *loop, struct clock *clock)
{
    struct usage *u = xnew(struct usage);

    u->clock = clock;
    u->nodes = map_new();
    u->pods = map_new();
    u->sweep = timer_new(loop, sweep, u);
    timer_repeat(u->sweep, SWEEP_MS);
    return u;
}

void
usage_free(struct usage *u)
{
    size_t at = 0;
    void *node;

    if (u == NULL)
        return;
    timer_free(u->sweep);
    while (map_next(u->nodes, &at, NULL, &node))
        forget(u, node);
    map_free(u->nodes);
    map_free(u->pods);
    free(u);
}

/* ---- Reports ---- */

/* The pod of the report, if it exists and is on that node: an agent may be
 * behind, and may not report for pods of other nodes.
 */
static const struct object *
find_pod(struct request *q, const struct usage_of_pod *said)
{
    const struct object *pod =
        store_find(q->server->store, STORE_PUBLISHED, &pod_kind, said->namespace, said->name);
    const char *node;

    if (pod == NULL || strcmp(pod->meta->uid, said->uid) != 0)
        return NULL;
    node = pod_of(pod)->spec.node_name;
    return node != NULL && strcmp(node, q->route.name) == 0 ? pod : NULL;
}

static void
take_pod(struct request *q, struct node_figures *node, struct pod_figures *pod,
         const struct usage_of_pod *said)
{
    const struct object *there = find_pod(q, said);
    char key[OBJECT_KEY_SIZE];

    if (there == NULL)
        return;
    object_key(there, key);
    pod->node = node;
    pod->key = xstrdup(key);
    pod->figures = said->figures;
    pod->total = said->total;
    map_put(q->server->usage->pods, key, pod);
}

static void
take_report(struct request *q, const struct usage_report *report)
{
    struct usage *u = q->server->usage;
    struct node_figures *former = map_find(u->nodes, q->route.name);
    struct node_figures *node =
        xcalloc(1, sizeof(*node) + report->pods.count * sizeof(struct pod_figures));

    node->reported_us = clock_monotonic_us(u->clock);
    node->taken_us = clock_real_us(u->clock);
    node->interval_us =
        report->interval_ms < INTERVAL_US / 1000 ? report->interval_ms * 1000 : INTERVAL_US;
    node->figures = report->node;
    node->n_pods = report->pods.count;
    if (former != NULL)
        forget(u, former);
    for (unsigned i = 0; i < report->pods.count; i++)
        take_pod(q, node, &node->pods[i], &report->pods.items[i]);
    map_put(u->nodes, q->route.name, node);
}

void
verb_report_usage(struct request *q)
{
    struct usage_report report = {0};

    if (store_find(q->server->store, STORE_PUBLISHED, &node_kind, NULL, q->route.name) == NULL)
        reply_not_found(&q->reply, &node_kind, q->route.name);
    else if (body_normalize_as(q, "UsageReport", &usage_report_record, q->body)) {
        record_decode(&usage_report_record, q->arena, q->body, &report);
        if (report.pods.count > MAX_PODS || report.interval_ms <= 0)
            reply_bad_request(&q->reply,
                              "a report of usage must have an "
                              "intervalMilliseconds above 0, and at most %u "
                              "pods",
                              MAX_PODS);
        else {
            take_report(q, &report);
            reply_success(&q->reply, 201);
        }
    }
    request_finish(q);
}

/* ---- Metrics from the reports ---- */

static void
add_usage(struct arena *a, struct json *parent, const struct usage_figures *f)
{
    const struct gpu_vendor *metered = &gpu_vendors[GPU_VENDOR_NVIDIA];
    struct json *usage = json_make_object(a, parent, "usage");

    json_set(a, usage, "cpu", json_stringf(a, "%" PRId64 "n", f->cpu_nanocores));
    json_set(a, usage, "memory", json_stringf(a, "%" PRId64 "Ki", f->memory_bytes / 1024));
    if (f->has_gpus) {
        json_set(a, usage, metered->usage, json_stringf(a, "%" PRId64 "m", f->gpu_milli));
        json_set(a, usage, metered->memory_usage,
                 json_stringf(a, "%" PRId64 "Ki", f->gpu_memory_bytes / 1024));
    }
}

/* `of` is the object that was measured. */
static struct json *
new_metrics(struct arena *a, const struct kind *kind, const struct object *of, int64_t taken_us,
            const struct usage_figures *f)
{
    struct json *tree = json_object(a);
    struct json *meta = json_make_object(a, tree, "metadata");
    char window[METRICS_WINDOW_SIZE];
    char taken[TIME_TEXT_SIZE];

    time_format(taken_us, false, taken);
    metrics_format_window(f->window_ms, window);
    json_set_string(a, tree, "kind", kind->name);
    json_set_string(a, tree, "apiVersion", kind->api_version);
    json_set_string(a, meta, "name", of->meta->name);
    if (of->meta->namespace != NULL)
        json_set_string(a, meta, "namespace", of->meta->namespace);
    json_set_string(a, meta, "creationTimestamp", taken);
    if (of->meta->labels.count > 0) {
        struct json *labels = json_make_object(a, meta, "labels");

        for (unsigned i = 0; i < of->meta->labels.count; i++)
            json_set_string(a, labels, of->meta->labels.items[i].key,
                            of->meta->labels.items[i].value);
    }
    json_set_string(a, tree, "timestamp", taken);
    json_set_string(a, tree, "window", window);
    return tree;
}

static const struct object *
publish(struct arena *a, const struct kind *kind, struct json *tree)
{
    if (record_normalize(kind->record, a, tree, NULL, NULL) < 0)
        return NULL;
    return object_new(kind, tree);
}

static const struct object *
make_node(struct node_figures *node, const struct object *of)
{
    CLEANUP(arena_freep) struct arena *a = arena_new(0);
    struct json *tree = new_metrics(a, &node_metrics_kind, of, node->taken_us, &node->figures);

    add_usage(a, tree, &node->figures);
    return publish(a, &node_metrics_kind, tree);
}

static const struct object *
make_pod(struct pod_figures *pod, const struct object *of)
{
    CLEANUP(arena_freep) struct arena *a = arena_new(0);
    const struct pod *p = pod_of(of);
    struct json *tree = new_metrics(a, &pod_metrics_kind, of, pod->node->taken_us, &pod->figures);
    struct json *list = json_array(a);
    struct json *container = json_object(a);

    json_set_string(a, container, "name",
                    p->spec.containers.count > 0 ? p->spec.containers.items[0].name : "main");
    add_usage(a, container, &pod->figures);
    json_append(a, list, container);
    json_set(a, tree, "containers", list);
    json_set(a, tree, "total", record_encode(&pod_usage_record, a, &pod->total));
    return publish(a, &pod_metrics_kind, tree);
}

/* Borrowed; NULL when there is no current report. */
static const struct object *
show_node(struct usage *u, const struct object *of)
{
    struct node_figures *node = map_find(u->nodes, of->meta->name);

    if (node == NULL || node->figures.window_ms <= 0 || is_stale(u, node))
        return NULL;
    if (node->made == NULL)
        node->made = make_node(node, of);
    return node->made;
}

static const struct object *
show_pod(struct usage *u, const struct object *of)
{
    char key[OBJECT_KEY_SIZE];
    struct pod_figures *pod;

    object_key(of, key);
    pod = map_find(u->pods, key);
    if (pod == NULL || pod->figures.window_ms <= 0 || is_stale(u, pod->node)
        || pod_is_finished(pod_of(of)))
        return NULL;
    if (pod->made == NULL)
        pod->made = make_pod(pod, of);
    return pod->made;
}

/* The kinds that are measured: where the figures of one are kept, and how they are shown. */
static const struct measure {
    const struct kind *kind;
    size_t figures; /* in struct usage: a map */
    const struct object *(*show)(struct usage *u, const struct object *of);
} measures[] = {
    {&node_kind, offsetof(struct usage, nodes), show_node},
    {&pod_kind, offsetof(struct usage, pods), show_pod},
};

static const struct measure *
measure_of(const struct request *q)
{
    unsigned i = 0;

    while (i < ARRAY_SIZE(measures) - 1 && measures[i].kind != q->route.kind->measured)
        i++;
    return &measures[i];
}

void
verb_get_usage(struct request *q)
{
    const struct measure *measure = measure_of(q);
    const struct object *of = store_find(q->server->store, STORE_PUBLISHED, measure->kind,
                                         q->route.namespace, q->route.name);
    const struct object *metrics = of != NULL ? measure->show(q->server->usage, of) : NULL;

    if (metrics == NULL)
        reply_not_found(&q->reply, q->route.kind, q->route.name);
    else
        reply_object(&q->reply, 200, metrics);
    request_finish(q);
}

static int
compare_keys(const void *a, const void *b)
{
    const struct meta *x = (*(const struct object *const *)a)->meta;
    const struct meta *y = (*(const struct object *const *)b)->meta;
    int order = x->namespace != NULL ? strcmp(x->namespace, y->namespace) : 0;

    return order != 0 ? order : strcmp(x->name, y->name);
}

/* The object that a key of the maps names: "namespace/name" or "name". */
static const struct object *
find_by_key(struct request *q, const char *key)
{
    const char *slash = strchr(key, '/');
    char namespace[OBJECT_KEY_SIZE] = "";

    if (slash != NULL)
        memcpy(namespace, key, (size_t)(slash - key));
    return store_find(q->server->store, STORE_PUBLISHED, q->route.kind->measured,
                      slash != NULL ? namespace : NULL, slash != NULL ? slash + 1 : key);
}

void
verb_list_usage(struct request *q)
{
    struct usage *u = q->server->usage;
    const struct measure *measure = measure_of(q);
    const struct map *all = *(struct map *const *)((const char *)u + measure->figures);
    struct reply *reply = &q->reply;
    const char *key;
    void *figures;
    size_t at = 0;

    reply_start_list(reply, q->route.kind);
    reply->revision = store_revision(q->server->store);
    while (map_next(all, &at, &key, &figures)) {
        const struct object *of = find_by_key(q, key);
        const struct object *metrics = of != NULL ? measure->show(u, of) : NULL;

        if (metrics != NULL && selection_has(q, metrics))
            reply_add(reply, metrics);
    }
    if (reply->n_objects > 0)
        qsort(reply->objects, reply->n_objects, sizeof(*reply->objects), compare_keys);
    request_finish(q);
}
