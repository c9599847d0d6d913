/* SPDX-License-Identifier: Apache-2.0 */
/* cgpool.h - cgroups that are made ahead of need, reused, and removed later
 *
 * Making and removing v1 cgroups costs milliseconds, so a worker does both:
 * take, retire and give_back only move pointers.
 *
 * Owns:   the ready and the retired cgroups.
 * Thread: any; the lists are under its lock, the file work outside it.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct cgpool;
struct cgroot;
struct cgroup;
struct error;

/* Life. The root is borrowed. cgpool_free removes the ready cgroups. Names
 * begin with the prefix, which differs from one start of the agent to the next
 * ("b1f3-").
 */
void cgpool_free(struct cgpool *p);
struct cgpool *cgpool_new(struct cgroot *root, const char *prefix) OWNED_BY(cgpool_free);
DEFINE_CLEANUP(struct cgpool, cgpool_free)

/* For the loop. cgpool_take returns NULL when none is ready: then make one on a
 * worker, with cgpool_make. A retired cgroup is removed; one that is given back
 * may be used again, so nobody may write to it any more. Both return whether it
 * is the first since a sweep began: then the caller has to start another sweep.
 */
struct cgroup *cgpool_take(struct cgpool *p);
bool cgpool_retire(struct cgpool *p, struct cgroup *c TAKES);
bool cgpool_give_back(struct cgpool *p, struct cgroup *c TAKES);

/* cgpool_forget: the base was removed with the ready cgroups, so drop those.
 * cgpool_renew: the base has other CPUs now, which the existing cgroups lack,
 * so none of them is used for another pod.
 */
void cgpool_forget(struct cgpool *p);
void cgpool_renew(struct cgpool *p);

/* For a worker. cgpool_fill makes cgroups until `wanted` are ready.
 * cgpool_sweep removes the retired ones or makes them ready again. Those that
 * still hold a process stay for the next sweep; it returns their number.
 */
int cgpool_make(struct cgpool *p, struct cgroup **ret_c, struct error *err);
int cgpool_fill(struct cgpool *p, unsigned wanted, struct error *err);
unsigned cgpool_sweep(struct cgpool *p);
