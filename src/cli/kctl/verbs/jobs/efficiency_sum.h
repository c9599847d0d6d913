/* SPDX-License-Identifier: Apache-2.0 */
/* efficiency_sum.h - how much many attempts used together, and which of them
 * wasted most
 *
 * Rows are those of history. An attempt wastes the CPU time that it held and
 * did not use. The size does not grow with the number of attempts, except for
 * eight bytes each.
 *
 * Owns:    copies of the rows that it keeps.
 * Thread:  the main one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct json;
struct strbuf;

#define EFFICIENCY_WORST 10

struct efficiency_sum;
void efficiency_sum_free(struct efficiency_sum *sum);
struct efficiency_sum *efficiency_sum_new(void) OWNED_BY(efficiency_sum_free);
DEFINE_CLEANUP(struct efficiency_sum, efficiency_sum_free)

void efficiency_sum_add(struct efficiency_sum *sum, const struct json *row);
int64_t efficiency_sum_count(const struct efficiency_sum *sum);    /* rows */
int64_t efficiency_sum_attempts(const struct efficiency_sum *sum); /* that started */

/* The row that was added last, while it is the only one. */
const struct json *efficiency_sum_only(const struct efficiency_sum *sum);

/* In microseconds of a CPU; -1: unknown. */
double efficiency_sum_waste(const struct json *row);

/* The rows that wasted most, worst first; borrowed. */
size_t efficiency_sum_worst(const struct efficiency_sum *sum,
                            const struct json *rows[EFFICIENCY_WORST]);

/* "Sum: 3 tasks, 4 attempts; CPU efficiency ..."; nothing if none has started.
 */
void efficiency_sum_add_line(struct efficiency_sum *sum, struct strbuf *out);

/* The paragraph that describes an array; or, if its pods are placed together, a
 * job.
 */
void efficiency_sum_describe(struct efficiency_sum *sum, bool is_together, struct strbuf *out);
