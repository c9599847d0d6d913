/* SPDX-License-Identifier: Apache-2.0 */
/* meter.h - what the store tells of itself, as Prometheus reads it
 *
 * Thread:  the loop's, on which the registry must be formatted too.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct meter;
struct store;

/* Life. Of a store without a registry: NULL, which may be used all the same.
 * Free tells the registry to ask no more.
 */
void meter_free(struct meter *m);
struct meter *meter_new(struct store *store);

/* A batch of so many changes was durable after so long. */
void meter_commit(struct meter *m, size_t changes, int64_t took_us);
