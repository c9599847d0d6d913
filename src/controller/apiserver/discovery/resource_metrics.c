/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/discovery/resource_metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/apiserver/request/reply.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_sums.h"
#include "lib/api/value/resource_name.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/metric.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/loop/workers.h"

#define NANO 1000000000

/* All pods at one moment, and the metrics of them. */
struct metrics_snapshot {
    struct request *q;
    const struct object **pods; /* references */
    size_t n_pods, capacity;
    struct strbuf text;
};

static const char *
unit_of(const char *resource)
{
    if (strcmp(resource, "cpu") == 0)
        return "cores";
    if (strcmp(resource, "memory") == 0 || strcmp(resource, "storage") == 0
        || strcmp(resource, "ephemeral-storage") == 0 || resource_name_is_hugepages(resource))
        return "bytes";
    return strncmp(resource, "attachable-volumes-", 19) == 0 ? "integer" : "";
}

static void
add_value(struct strbuf *out, const struct pod_sum *sum)
{
    if (sum->amount.nano % NANO == 0)
        strbuf_printf(out, " %" PRId64 "\n", pod_sum_value(sum));
    else
        strbuf_printf(out, " %.15g\n", (double)sum->amount.nano / NANO);
}

/* Names and label values need no escapes, because they are validated. */
static void
add_pod(struct strbuf *out, const char *metric, const struct pod *pod, const struct pod_sums *sums)
{
    const struct pod_spec *spec = &pod->spec;
    char priority[24] = "";

    if (spec->priority != NULL)
        snprintf(priority, sizeof(priority), "%" PRId64, *spec->priority);
    for (uint32_t i = 0; i < sums->count; i++) {
        if (quantity_sign(&sums->items[i].amount) == 0)
            continue;
        strbuf_printf(out,
                      "%s{namespace=\"%s\",pod=\"%s\",node=\"%s\","
                      "scheduler=\"%s\",priority=\"%s\",resource=\"%s\","
                      "unit=\"%s\"}",
                      metric, text_or_empty(pod->meta.namespace), pod->meta.name,
                      text_or_empty(spec->node_name), text_or_empty(spec->scheduler_name), priority,
                      sums->items[i].name, unit_of(sums->items[i].name));
        add_value(out, &sums->items[i]);
    }
}

/* A pod that has ended requests nothing. A pod without a node cannot have
 * ended.
 */
static bool
has_ended(const struct pod *pod)
{
    const char *node = pod->spec.node_name;

    return node != NULL && node[0] != '\0' && pod_is_finished(pod);
}

static void
add_family(const struct metrics_snapshot *t, struct strbuf *out, const char *metric,
           const char *help, bool is_of_limits)
{
    strbuf_printf(out, "# HELP %s %s\n# TYPE %s gauge\n", metric, help, metric);
    for (size_t i = 0; i < t->n_pods; i++) {
        const struct pod *pod = pod_of(t->pods[i]);
        struct pod_sums sums = {0};

        if (has_ended(pod))
            continue;
        if (is_of_limits)
            pod_sums_add_limits(&sums, &pod->spec);
        else
            pod_sums_add_requests(&sums, &pod->spec, NULL);
        add_pod(out, metric, pod, &sums);
        pod_sums_fini(&sums);
    }
}

/* Runs on a worker. */
static void
write_metrics(void *arg)
{
    struct metrics_snapshot *t = arg;

    add_family(t, &t->text, "kube_pod_resource_limit",
               "Resources limit for workloads on the cluster, broken down by "
               "pod. This shows the resource usage the scheduler and kubelet "
               "expect per pod for resources along with the unit for the "
               "resource if any.",
               true);
    add_family(t, &t->text, "kube_pod_resource_request",
               "Resources requested by workloads on the cluster, broken down "
               "by pod. This shows the resource usage the scheduler and "
               "kubelet expect per pod for resources along with the unit for "
               "the resource if any.",
               false);
}

static void
told(void *arg)
{
    struct metrics_snapshot *t = arg;
    struct request *q = t->q;

    for (size_t i = 0; i < t->n_pods; i++)
        object_unref(t->pods[i]);
    free(t->pods);
    q->server->is_counting_resources = false;
    reply_text(&q->reply, 200, METRIC_CONTENT_TYPE,
               arena_memdup(q->arena, t->text.text, t->text.length + 1), t->text.length);
    strbuf_fini(&t->text);
    free(t);
    request_finish(q);
}

static bool
add(const struct object *pod, void *context)
{
    struct metrics_snapshot *t = context;

    xgrow(t->pods, t->n_pods, t->capacity);
    t->pods[t->n_pods++] = object_ref(pod);
    return true;
}

static void
refuse(struct request *q, int code, const char *reason, const char *words)
{
    reply_fail(&q->reply, &(struct reply_failure){
                              .code = code,
                              .reason = reason,
                              .message = words,
                              .retry_after_s = code == 429,
                          });
    request_finish(q);
}

bool
resource_metrics_serve(struct request *q, const char *path)
{
    struct metrics_snapshot *t;

    if (strcmp(path, "/metrics/resources") != 0)
        return false;
    if (q->method != HTTP_GET) {
        refuse(q, 405, "MethodNotAllowed", "this is read with GET");
        return true;
    }
    if (q->server->is_counting_resources) {
        refuse(q, 429, "TooManyRequests", "another client is being answered now; ask again");
        return true;
    }
    q->server->is_counting_resources = true;
    t = xnew(struct metrics_snapshot);
    t->q = q;
    strbuf_init(&t->text);
    store_list(q->server->store, &pod_kind, NULL, NULL, 0, add, t);
    workers_submit(q->server->workers, q->server->loop, write_metrics, told, t);
    return true;
}
