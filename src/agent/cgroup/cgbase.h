/* SPDX-License-Identifier: Apache-2.0 */
/* cgbase.h - the cgroup of all jobs in one hierarchy
 *
 * Made from the mount down: each directory on the way hands controllers on
 * (v2), or its CPUs and memory nodes (v1's cpuset).
 *
 * Called by:  cgroot.c, which has one for each hierarchy that is used.
 * Thread:     one at a time for each base.
 */
#pragma once

#include <stdbool.h>

struct error;

#define CGBASE_KEEPER \
    "keeper" /* the leaf of what keeps a delegated unit alive */

struct cgbase {
    unsigned version;
    unsigned controllers; /* those used here */
    bool is_lazy;         /* cgroups below are made when first needed */
    char *mount;
    char *directory;
};

/* Make drops the controllers that cannot be had. Partition makes every
 * directory on the way one of these CPUs, as a partition stands in another.
 * Refill gives v1's cpuset the CPUs that have come back.
 */
int cgbase_make(struct cgbase *b, struct error *err);
int cgbase_partition(struct cgbase *b, const char *cpus, struct error *err);
bool cgbase_has_controllers(const struct cgbase *b); /* and hands them on */
void cgbase_refill(const struct cgbase *b);

/* One directory; it may be there already. */
int cgbase_make_directory(const char *directory, struct error *err);
