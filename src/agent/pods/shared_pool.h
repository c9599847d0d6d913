/* SPDX-License-Identifier: Apache-2.0 */
/* shared_pool.h - the CPUs that pods without exclusive CPUs share
 *
 * These are the node's CPUs except those that other pods use exclusively or
 * withhold, and except isolated ones, to which the kernel does not balance.
 * When the set changes, a worker updates the cgroups of the pods that share it,
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

/* Life. The visit function calls `each` for every run of the node. */
typedef void shared_pool_visit_fn(void (*each)(const struct pod_run *run, void *arg), void *arg,
                                  void *context);
void shared_pool_free(struct shared_pool *shared_pool);
struct shared_pool *shared_pool_new(const struct agent_context *agent, shared_pool_visit_fn *visit,
                                    void *context) OWNED_BY(shared_pool_free);
DEFINE_CLEANUP(struct shared_pool, shared_pool_free)

/* Call it when a run began, got its cgroup or ended, or the topology changed.
 */
void shared_pool_update(struct shared_pool *shared_pool);

/* shared_pool_cpus computes the CPUs; if none is left, they are all CPUs
 * of the node, because a pod has to run somewhere. shared_pool_is_settled: all
 * cgroups are up to date; *ret_turn differs after every change.
 */
struct bitset shared_pool_cpus(const struct shared_pool *shared_pool);
bool shared_pool_is_settled(const struct shared_pool *shared_pool, unsigned *ret_turn);
