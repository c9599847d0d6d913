/* SPDX-License-Identifier: Apache-2.0 */
/* cgbase.h - the cgroup of all jobs in one hierarchy
 *
 * Made from the mount down: each directory on the way enables controllers for
 * its children (v2), or passes on its CPUs and memory nodes (v1's cpuset).
 *
 * Called by:  cgroot.c, which has one for each hierarchy that is used.
 * Thread:     one at a time for each base.
 */
#pragma once

#include <stdbool.h>

struct error;

#define CGBASE_KEEPER "keeper" /* the leaf for the processes that keep a delegated unit alive */

struct cgbase {
    unsigned version;
    unsigned controllers; /* the used ones of this hierarchy */
    bool is_lazy;         /* job cgroups are made here when first needed */
    char *mount;
    char *directory;
};

/* cgbase_make drops the controllers that cannot be enabled. cgbase_partition
 * makes every directory on the way a partition of these CPUs, because a
 * partition's parent has to be one. cgbase_refill gives v1's cpuset the CPUs
 * that have come online again.
 */
int cgbase_make(struct cgbase *b, struct error *err);
int cgbase_partition(struct cgbase *b, const char *cpus, struct error *err);
/* and enables them for children */
bool cgbase_has_controllers(const struct cgbase *b);
void cgbase_refill(const struct cgbase *b);

/* Makes one directory; an existing one is no error. */
int cgbase_make_directory(const char *directory, struct error *err);
