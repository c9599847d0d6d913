/* SPDX-License-Identifier: Apache-2.0 */
/* step_order.h - the CPUs of a pod in the order in which its steps take them
 *
 * CPUs that share a core are beside each other, so that the CPUs of a task are whole cores
 * where they can be. As text it is a list of CPUs like any other (cpuset.h), but not
 * sorted: "0,8,1,9".
 *
 * Thread:  any; pure.
 */
#pragma once

#include <stdint.h>

#include "lib/base/bitset.h"

struct arena;
struct strbuf;
struct topology;

/* By the cores of the node; NULL: by number. The memory is the caller's, for
 * bitset_count(cpus) numbers.
 */
const uint16_t *step_order_make(const struct bitset *cpus, const struct topology *topology,
                                uint16_t *memory);

void step_order_format(const struct bitset *cpus, const uint16_t *order, struct strbuf *out);

/* -EINVAL or -ERANGE, as of cpuset_parse. *ret_order is NULL when they are sorted. */
int step_order_parse(struct arena *arena, const char *text, struct bitset *ret_cpus,
                     const uint16_t **ret_order);
