/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_metrics.h"

#include "controller/store/contents.h"
#include "controller/store/directory/disk_reserve.h"
#include "controller/store/memory/change_log.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/base/alloc.h"
#include "lib/base/metric.h"

#define BOUNDS 12

/* The context of a gauge: its store, and for some its kind. */
struct store_gauge {
    const struct store_metrics_parts *parts;
    unsigned kind;
    struct metric *metric;
};

struct store_metrics {
    struct store_metrics_parts parts;
    struct metric *seconds;
    struct metric *changes;
    struct store_gauge *questions;
    unsigned n_questions;
};

static double
ask_revision(void *context)
{
    const struct store_gauge *q = context;

    return (double)store_revision(q->parts->store);
}

static double
ask_change_log(void *context)
{
    const struct store_gauge *q = context;

    return (double)change_log_bytes(q->parts->change_log);
}

static double
ask_read_only(void *context)
{
    const struct store_gauge *q = context;

    return store_is_read_only(q->parts->store) ? 1 : 0;
}

static double
ask_refused(void *context)
{
    const struct store_gauge *q = context;

    return (double)*q->parts->n_refused;
}

static double
ask_damaged(void *context)
{
    const struct store_gauge *q = context;

    return (double)store_count_damaged(q->parts->store);
}

static double
ask_damaged_since(void *context)
{
    const struct store_gauge *q = context;

    return (double)store_count_damaged_since(q->parts->store);
}

static double
ask_free(void *context)
{
    const struct store_gauge *q = context;

    return (double)disk_reserve_available(q->parts->reserve);
}

static double
ask_objects(void *context)
{
    const struct store_gauge *q = context;

    return (double)store_count(q->parts->store, kinds[q->kind]);
}

static double
ask_waiting(void *context)
{
    const struct store_gauge *q = context;

    return store_waits(q->parts->store) ? 1 : 0;
}

static double
ask_copies(void *context)
{
    const struct store_gauge *q = context;

    return store_copies(q->parts->store);
}

static void
count_waiting(const struct engine_controller *c, void *context)
{
    double *n = context;

    *n += !c->leads && c->silent_ms < CONTROLLER_SILENT_MS;
}

static double
ask_standbys(void *context)
{
    const struct store_gauge *q = context;
    double n = 0;

    store_visit_controllers(q->parts->store, count_waiting, &n);
    return n;
}

static const struct {
    const char *name;
    const char *help;
    metric_read_fn ask;
} plain[] = {
    {"kiln_store_read_only", "1 while the disk is full and only reads and deletes are accepted.",
     ask_read_only},
    {"kiln_store_refused", "Commits refused since the start because the disk was full.",
     ask_refused},
    {"kiln_store_damaged", "Rows of the store that could not be read and are kept aside.",
     ask_damaged},
    {"kiln_store_damaged_since_start",
     "Rows on disk whose checksum no longer matches, although the objects in "
     "memory are intact.",
     ask_damaged_since},
    {"kiln_store_waiting", "1 while the database does not answer and writes wait for it.",
     ask_waiting},
    {"kiln_store_copies", "Disks that have what is acknowledged; 0: not known.", ask_copies},
    {"kiln_store_standbys", "Controllers that wait to lead.", ask_standbys},
    {"kiln_store_free_bytes", "Free space of the file system of the state directory.", ask_free},
};
#define N_PLAIN ARRAY_SIZE(plain)

static void
add_question(struct store_metrics *m, struct metric *metric, metric_read_fn ask, unsigned kind)
{
    struct store_gauge *q = &m->questions[m->n_questions++];

    *q = (struct store_gauge){&m->parts, kind, metric};
    metric_read(metric, ask, q);
}

static void
add_gauges(struct store_metrics *m)
{
    struct metric_registry *r = m->parts.registry;
    struct metric_family *objects =
        metric_gauge(r, "kiln_store_objects", "Objects, by kind.", "resource");

    m->questions = xnew_array(struct store_gauge, n_kinds + 2 + N_PLAIN);
    for (unsigned i = 0; i < n_kinds; i++)
        add_question(m, metric_series(objects, m->parts.contents->sections[i].name), ask_objects,
                     i);
    add_question(m,
                 metric_series(metric_gauge(r, "kiln_store_revision",
                                            "The latest published revision.", NULL)),
                 ask_revision, 0);
    add_question(m,
                 metric_series(metric_gauge(
                     r, "kiln_store_history_bytes",
                     "Memory used only by the log of changes that watches follow.", NULL)),
                 ask_change_log, 0);
    for (unsigned i = 0; i < N_PLAIN; i++)
        add_question(m, metric_series(metric_gauge(r, plain[i].name, plain[i].help, NULL)),
                     plain[i].ask, 0);
}

struct store_metrics *
store_metrics_new(const struct store_metrics_parts *parts)
{
    struct metric_registry *r = parts->registry;
    double seconds[BOUNDS], changes[BOUNDS];
    struct store_metrics *m;

    if (r == NULL)
        return NULL;
    m = xnew(struct store_metrics);
    m->parts = *parts;
    metric_exponential_bounds(0.0001, 2.5, seconds, BOUNDS);
    metric_exponential_bounds(1, 2, changes, BOUNDS);
    m->seconds = metric_series(metric_histogram(r, "kiln_store_commit_duration_seconds",
                                                "Time from handing a batch to the writer until it "
                                                "was durable.",
                                                NULL, seconds, BOUNDS));
    m->changes = metric_series(metric_histogram(
        r, "kiln_store_commit_changes", "Changes of objects in one batch.", NULL, changes, BOUNDS));
    add_gauges(m);
    return m;
}

void
store_metrics_free(struct store_metrics *m)
{
    if (m == NULL)
        return;
    for (unsigned i = 0; i < m->n_questions; i++)
        metric_read(m->questions[i].metric, NULL, NULL);
    free(m->questions);
    free(m);
}

void
store_metrics_commit(struct store_metrics *m, size_t changes, int64_t took_us)
{
    if (m == NULL)
        return;
    metric_observe(m->changes, (double)changes);
    metric_observe(m->seconds, (double)took_us / 1e6);
}
