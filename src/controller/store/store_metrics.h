/* SPDX-License-Identifier: Apache-2.0 */
/* store_metrics.h - what the store tells of itself, as Prometheus reads it
 *
 * Thread:  the loop's, on which the registry must be formatted too.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct store_metrics;
struct store;

/* Life. Of a store without a registry: NULL, which may be used all the same.
 * Free tells the registry to ask no more.
 */
void store_metrics_free(struct store_metrics *m);
struct store_metrics *store_metrics_new(struct store *store);

/* A batch of so many changes was durable after so long. */
void
store_metrics_commit(struct store_metrics *m, size_t changes, int64_t took_us);
