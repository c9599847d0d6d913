/* SPDX-License-Identifier: Apache-2.0 */
/* metric.h - counters, gauges and histograms in the text format of Prometheus
 *
 * A registry holds families (a name, its help, the names of its labels), and a
 * family holds one series per set of label values. Look up a series once and
 * keep the pointer: it lives as long as its registry, and an update is a few
 * atomic operations. Programming errors (a bad name, one name with two types)
 * abort.
 *
 * Thread: any. The registry has a lock, which updates do not take.
 * See:    Prometheus, "Text-based format", version 0.0.4.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

#define METRIC_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define METRIC_MAX_LABELS   8

struct metric; /* one series */
struct metric_family;
struct metric_registry;
struct strbuf;

/* Life */
void metric_registry_free(struct metric_registry *registry);
struct metric_registry *metric_registry_new(void) OWNED_BY(metric_registry_free);
DEFINE_CLEANUP(struct metric_registry, metric_registry_free)

/* Families. `labels` is a list of names separated by commas ("result,profile"),
 * or NULL. A family that exists is returned, so that two rooms may share it.
 * The upper bounds of a histogram ascend; +Inf is added.
 */
struct metric_family *metric_counter(struct metric_registry *registry, const char *name,
                                     const char *help, const char *labels);
struct metric_family *metric_gauge(struct metric_registry *registry, const char *name,
                                   const char *help, const char *labels);
struct metric_family *metric_histogram(struct metric_registry *registry, const char *name,
                                       const char *help, const char *labels, const double *bounds,
                                       size_t n_bounds);

/* Fills `ret_bounds` with start, start * factor, start * factor^2, ... */
void metric_exponential_bounds(double start, double factor, double *ret_bounds, size_t n_bounds);

/* Finds the series of these label values, one for each label of the family; a
 * new series starts at 0: metric_series(f, "success", "default").
 */
#define metric_series(family, ...) \
    metric_series_of((family), (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})
struct metric *metric_series_of(struct metric_family *family, const char *const *values);

/* Count is for counters, set and add for gauges, observe for
 * histograms.
 */
void metric_count(struct metric *metric, uint64_t by);
void metric_set(struct metric *metric, double value);
void metric_add(struct metric *metric, double by);
void metric_observe(struct metric *metric, double value);

/* A counter or gauge whose value is read when the metrics are formatted. `read`
 * is called on the thread that formats, with the registry locked. `context`
 * must stay valid until the registry is freed or metric_read(metric, NULL,
 * NULL).
 */
typedef double (*metric_read_fn)(void *context);
void metric_read(struct metric *metric, metric_read_fn read, void *context);

/* The text of all series, sorted by the names of the families and by their labels.
 */
void metric_format(struct metric_registry *registry, struct strbuf *out);

/* The values that were observed by all series of a histogram since the process started; the last value is of one
 * of them. Returns false if the registry has no such histogram.
 */
struct metric_totals {
    uint64_t count;
    double sum, last, most;
};
bool metric_find_totals(struct metric_registry *registry, const char *name,
                        struct metric_totals *ret);
