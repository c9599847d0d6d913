/* SPDX-License-Identifier: Apache-2.0 */
/* commons.h - the CPUs that pods without CPUs of their own run on
 *
 * What the node has, without those that are another pod's alone, used or
 * withheld, and without isolated ones, which the kernel moves nothing to. The cgroups of the pods that share them follow when that changes,
 * on a worker, one change after the other.
 *
 * Thread: the loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/bitset.h"
#include "lib/base/macro.h"

struct commons;
struct ground;
struct stay;

/* Life. Visit calls `each` for every stay of the node. */
typedef void commons_visit_fn(void (*each)(const struct stay *stay, void *arg),
                              void *arg,
                              void *context);
void commons_free(struct commons *commons);
struct commons *commons_new(const struct ground *ground,
                            commons_visit_fn *visit,
                            void *context) OWNED_BY(commons_free);
DEFINE_CLEANUP(struct commons, commons_free)

/* A stay began, got its cgroup or ended, or the topology changed. */
void commons_recount(struct commons *commons);

/* Look. The CPUs, counted now; all of the node's where none is left over, as a
 * pod has to run somewhere. Settled: all cgroups have been told, and the number
 * that is another one after every change.
 */
struct bitset commons_cpus(const struct commons *commons);
bool commons_is_settled(const struct commons *commons, unsigned *ret_turn);
