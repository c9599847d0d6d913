/* SPDX-License-Identifier: Apache-2.0 */
/* A label whose value comes from a client makes a series for each value that somebody sends,
 * and a metrics server keeps all of them. So labels come from the tables of verbs and kinds
 * only. Finding a series costs a hundredth of a request, which is why the last ones are kept
 * in a small table by their hash.
 */
#include "controller/apiserver/discovery/request_metrics.h"

#include <stdio.h>
#include <stdlib.h>

#include "controller/apiserver/request/request.h"
#include "lib/api/object/kind.h"
#include "lib/base/alloc.h"
#include "lib/base/metric.h"

/* Upstream's names. */
static const char *const verbs[N_VERBS] = {
    [VERB_GET] = "GET",       [VERB_LIST] = "LIST",
    [VERB_WATCH] = "WATCH",   [VERB_CREATE] = "POST",
    [VERB_REPLACE] = "PUT",   [VERB_PATCH] = "PATCH",
    [VERB_DELETE] = "DELETE", [VERB_DELETE_COLLECTION] = "DELETECOLLECTION",
};

static const double bounds[] = {
    0.001, 0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6,  0.8,
    1.0,   1.5,   2.0,   3.0,  5.0, 10., 20., 30.0, 60.0,
};

/* The metric series of one sort of request. Looking them up takes a hundredth
 * of the time of a request, so they are cached.
 */
struct sort {
    const struct kind *kind;
    enum verb verb;
    enum subresource subresource;
    int code;
    struct metric *total; /* NULL: this place is empty */
    struct metric *duration;
};

/* A cache place has the last sort that hashed to it. */
#define KEPT 512u

struct request_metrics {
    struct metric_family *total;
    struct metric_family *duration;
    struct sort kept[KEPT];
};

struct request_metrics *
request_metrics_new(struct metric_registry *registry)
{
    struct request_metrics *m = xnew(struct request_metrics);

    m->total =
        metric_counter(registry, "apiserver_request_total", "HTTP requests that were answered.",
                       "verb,resource,subresource,code");
    m->duration = metric_histogram(registry, "apiserver_request_duration_seconds",
                                   "Time from a request to its answer, "
                                   "without watches and logs.",
                                   "verb,resource,subresource", bounds, ARRAY_SIZE(bounds));
    return m;
}

void
request_metrics_free(struct request_metrics *m)
{
    free(m);
}

static void
look_up(const struct request_metrics *m, struct sort *sort)
{
    const struct kind *kind = sort->kind;
    const char *verb = kind != NULL ? verbs[sort->verb] : "OTHER";
    const char *resource = kind != NULL ? kind->plural : "";
    const char *subresource = kind != NULL && sort->subresource != SUBRESOURCE_NONE
                                  ? subresource_name(sort->subresource)
                                  : "";
    char code[8];

    snprintf(code, sizeof(code), "%d", sort->code % 1000);
    sort->total = metric_series(m->total, verb, resource, subresource, code);
    sort->duration = metric_series(m->duration, verb, resource, subresource);
}

static struct sort *
place_of(struct request_metrics *m, const struct sort *sort)
{
    uintptr_t hash = (uintptr_t)sort->kind / sizeof(*sort->kind);

    hash = hash * 31 + sort->verb;
    hash = hash * 31 + sort->subresource;
    hash = hash * 31 + (unsigned)sort->code;
    return &m->kept[hash % KEPT];
}

static const struct sort *
sort_of(struct request_metrics *m, const struct request *q)
{
    const struct kind *kind = q->route.kind;
    struct sort sort = {
        .kind = kind,
        .verb = kind != NULL ? q->route.verb : 0,
        .subresource = kind != NULL ? q->route.subresource : SUBRESOURCE_NONE,
        .code = q->reply.code,
    };
    struct sort *kept = place_of(m, &sort);

    if (kept->total == NULL || kept->kind != sort.kind || kept->verb != sort.verb
        || kept->subresource != sort.subresource || kept->code != sort.code) {
        look_up(m, &sort);
        *kept = sort;
    }
    return kept;
}

void
request_metrics_note(struct request_metrics *m, const struct request *q, int64_t took_us)
{
    const struct sort *sort;

    if (m == NULL)
        return;
    sort = sort_of(m, q);
    metric_count(sort->total, 1);
    metric_observe(sort->duration, (double)took_us / 1e6);
}
