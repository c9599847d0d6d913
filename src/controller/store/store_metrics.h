/* SPDX-License-Identifier: Apache-2.0 */
/* store_metrics.h - the store's Prometheus metrics
 *
 * Thread:  the loop's, on which the registry must be formatted too.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct store_metrics;
struct store;

/* Life. New returns NULL for a store without a registry; the other calls accept
 * NULL. Free unregisters the callbacks of the gauges.
 */
void store_metrics_free(struct store_metrics *m);
struct store_metrics *store_metrics_new(struct store *store);

/* A batch of that many changes is durable after that time. */
void store_metrics_commit(struct store_metrics *m, size_t changes, int64_t took_us);
