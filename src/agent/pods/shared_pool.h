/* SPDX-License-Identifier: Apache-2.0 */
/* shared_pool.h - the CPUs that pods without CPUs of their own run on
 *
 * They are the node's CPUs without those that are another pod's alone, used or
 * withheld, and without isolated ones, which the kernel moves nothing to. The
 * cgroups of the pods that share them follow when that changes, on a worker,
 * one change after the other.
 *
 * Thread: the loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/bitset.h"
#include "lib/base/macro.h"

struct agent_context;
struct pod_run;
struct shared_pool;

/* Life. Visit calls `each` for every run of the node. */
typedef void shared_pool_visit_fn(void (*each)(const struct pod_run *run,
                                               void *arg),
                                  void *arg,
                                  void *context);
void shared_pool_free(struct shared_pool *shared_pool);
struct shared_pool *shared_pool_new(const struct agent_context *agent,
                                    shared_pool_visit_fn *visit,
                                    void *context) OWNED_BY(shared_pool_free);
DEFINE_CLEANUP(struct shared_pool, shared_pool_free)

/* A run began, got its cgroup or ended, or the topology changed. */
void shared_pool_update(struct shared_pool *shared_pool);

/* Look. The CPUs, counted now; all of the node's where none is left over, as a
 * pod has to run somewhere. Settled: all cgroups have been told, and the number
 * that is another one after every change.
 */
struct bitset shared_pool_cpus(const struct shared_pool *shared_pool);
bool shared_pool_is_settled(const struct shared_pool *shared_pool,
                            unsigned *ret_turn);
