/* SPDX-License-Identifier: Apache-2.0 */
/* store_metrics.h - the store's Prometheus metrics
 *
 * Thread:  the loop's, on which the registry must be formatted too.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct change_log;
struct contents;
struct disk_reserve;
struct metric_registry;
struct store;
struct store_metrics;

/* The parts that are measured. */
struct store_metrics_parts {
    struct metric_registry *registry; /* or NULL */
    struct store *store;
    const struct contents *contents;
    struct change_log *change_log;
    struct disk_reserve *reserve;
    const uint64_t *n_refused;
};

/* Life. New returns NULL for a store without a registry; the other calls accept
 * NULL. Free unregisters the callbacks of the gauges.
 */
void store_metrics_free(struct store_metrics *m);
struct store_metrics *store_metrics_new(const struct store_metrics_parts *parts);

/* A batch of that many changes is durable after that time. */
void store_metrics_commit(struct store_metrics *m, size_t changes, int64_t took_us);
