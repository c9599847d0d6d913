/* SPDX-License-Identifier: Apache-2.0 */
/* cgroot.h - the cgroup that holds all jobs of this node, and its abilities
 *
 * The cgroup is outside the agent's own unit, so that a restart of the agent
 * does not affect the jobs. Opening it finds out what is mounted, makes the
 * base in each hierarchy that is needed, and enables controllers (v2) or fills
 * the parents' cpusets (v1).
 *
 * Thread: make, find and list from any; the rest is constant after open.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct cgroot;
struct cgroup;
struct error;

enum cgroot_mode {
    CGROOT_V1,
    CGROOT_HYBRID, /* v1's controllers, v2 for tracking */
    CGROOT_V2,
};

struct cgroot_ability {
    enum cgroot_mode mode;
    bool cpuset;
    bool memory;
    bool swap; /* swap is counted, and so limited */
    bool weight;
    bool max_processes;
    bool hugepages;
    bool cpu_time;
    bool peak_memory;
    bool devices;          /* access to devices can be denied */
    char *devices_lacking; /* why devices cannot be denied, or NULL */
    bool partitions;       /* of CPUs, as configured */
    char *partitions_lacking;
    bool atomic_kill;      /* cgroup_kill needs no repeating */
    bool populated_events; /* cgroup_dup_events_path is not NULL */
    bool clone_into;
    char *lacking; /* a sentence on what this machine lacks, or NULL */
};

struct cgroot_settings {
    const char *base;      /* where the base is below every mount: "/kiln-jobs" */
    const char *mountinfo; /* NULL: /proc/self/mountinfo */
    /* CPUs that the base takes from the rest of the system, as partitions
     * inside it need; or NULL
     */
    const char *partition_cpus;
};

/* Life. cgroot_open fails with -EOPNOTSUPP when no cgroup hierarchy is mounted,
 * and with -EACCES, -EROFS or -EPERM when this user may not make the base. The
 * ability says what this machine lacks.
 */
void cgroot_close(struct cgroot *r);
int cgroot_open(const struct cgroot_settings *settings, struct cgroot **ret_root,
                struct error *err);
DEFINE_CLEANUP(struct cgroot, cgroot_close)

/* Makes the base again where it is missing or was made again by others. Returns
 * 1 when that was necessary, 0 when the base was complete. On a worker.
 */
int cgroot_repair(struct cgroot *r, struct error *err);

/* CPUs are online again: adds them to the v1 cpusets, which lose CPUs that go
 * offline.
 */
void cgroot_refill(struct cgroot *r);

/* Cgroups below the base. A name has no '/'. cgroot_make creates the
 * directories; cgroot_find uses existing ones, -ENOENT where there are none.
 * cgroot_shepherds is the leaf of all shepherds, cgroot_readers that of the
 * processes that read jobs' outputs, both made by cgroot_open.
 */
int cgroot_make(struct cgroot *r, const char *name, struct cgroup **ret_c, struct error *err);
int cgroot_find(struct cgroot *r, const char *name, struct cgroup **ret_c, struct error *err);
struct cgroup *cgroot_shepherds(struct cgroot *r);
const struct cgroup *cgroot_readers(const struct cgroot *r);

/* Calls `visit` for every cgroup below the base except those two, with a
 * name borrowed for the call; stops at the first result that is not 0.
 */
typedef int (*cgroot_visit_fn)(const char *name, void *context);
int cgroot_list(struct cgroot *r, cgroot_visit_fn visit, void *context);

const struct cgroot_ability *cgroot_ability(const struct cgroot *r);
