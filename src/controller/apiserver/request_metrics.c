/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/request_metrics.h"

#include <stdio.h>
#include <stdlib.h>

#include "controller/apiserver/request.h"
#include "lib/api/kind.h"
#include "lib/base/alloc.h"
#include "lib/base/metric.h"

/* As upstream reports them. */
static const char *const verbs[N_VERBS] = {
    [VERB_GET] = "GET",
    [VERB_LIST] = "LIST",
    [VERB_WATCH] = "WATCH",
    [VERB_CREATE] = "POST",
    [VERB_REPLACE] = "PUT",
    [VERB_PATCH] = "PATCH",
    [VERB_DELETE] = "DELETE",
    [VERB_DELETE_COLLECTION] = "DELETECOLLECTION",
};

static const double bounds[] = {
    0.001,
    0.005,
    0.025,
    0.05,
    0.1,
    0.2,
    0.4,
    0.6,
    0.8,
    1.0,
    1.5,
    2.0,
    3.0,
    5.0,
    10.,
    20.,
    30.0,
    60.0,
};

struct request_metrics {
    struct metric_family *total;
    struct metric_family *duration;
};

struct request_metrics *
request_metrics_new(struct metric_registry *registry)
{
    struct request_metrics *m = xnew(struct request_metrics);

    m->total = metric_counter(registry,
                              "apiserver_request_total",
                              "Requests over HTTP that were answered.",
                              "verb,resource,subresource,code");
    m->duration = metric_histogram(registry,
                                   "apiserver_request_duration_seconds",
                                   "From the request to its answer; not of "
                                   "watches and logs.",
                                   "verb,resource,subresource",
                                   bounds,
                                   ARRAY_SIZE(bounds));
    return m;
}

void
request_metrics_free(struct request_metrics *m)
{
    free(m);
}

void
request_metrics_note(struct request_metrics *m,
                     const struct request *q,
                     int64_t took_us)
{
    const struct kind *kind = q->route.kind;
    const char *verb, *resource, *subresource;
    char code[8];

    if (m == NULL)
        return;
    verb = kind != NULL ? verbs[q->route.verb] : "OTHER";
    resource = kind != NULL ? kind->plural : "";
    subresource = kind != NULL && q->route.subresource != SUBRESOURCE_NONE
                      ? subresource_name(q->route.subresource)
                      : "";
    snprintf(code, sizeof(code), "%d", q->reply.code % 1000);
    metric_count(metric_series(m->total, verb, resource, subresource, code), 1);
    metric_observe(metric_series(m->duration, verb, resource, subresource),
                   (double)took_us / 1e6);
}
