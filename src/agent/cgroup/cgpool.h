/* SPDX-License-Identifier: Apache-2.0 */
/* cgpool.h - cgroups made ahead of need, used again, and removed behind it
 *
 * Making and removing v1 cgroups costs milliseconds, so a worker does both:
 * take, retire and give back only move pointers.
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

/* Life. The root is borrowed. Free removes what stands ready. Names begin with
 * the prefix, which differs from start to start ("b1f3-").
 */
void cgpool_free(struct cgpool *p);
struct cgpool *cgpool_new(struct cgroot *root, const char *prefix)
    OWNED_BY(cgpool_free);
DEFINE_CLEANUP(struct cgpool, cgpool_free)

/* For the loop. Take gives NULL when none is ready: make one on a worker, with
 * cgpool_make. Retire has it removed; give_back may have it used again, so
 * nobody must write to it any more. Both say whether it is the first since a
 * sweep began: then one has to be asked for.
 */
struct cgroup *cgpool_take(struct cgpool *p);
bool cgpool_retire(struct cgpool *p, struct cgroup *c TAKES);
bool cgpool_give_back(struct cgpool *p, struct cgroup *c TAKES);
unsigned cgpool_ready(struct cgpool *p);
unsigned cgpool_retired(struct cgpool *p);

/* Those that stand ready are gone with their base: others are to be made.
 * Renew: the base has other CPUs now, which those made before do not have: none
 * of them is used for a pod that it is not used for already.
 */
void cgpool_forget(struct cgpool *p);
void cgpool_renew(struct cgpool *p);

/* For a worker. Fill makes until `wanted` are ready. Sweep removes the retired
 * ones, or makes them ready again; those that still hold a process stay for the
 * next sweep, and it returns how many do.
 */
int cgpool_make(struct cgpool *p, struct cgroup **ret_c, struct error *err);
int cgpool_fill(struct cgpool *p, unsigned wanted, struct error *err);
unsigned cgpool_sweep(struct cgpool *p);
