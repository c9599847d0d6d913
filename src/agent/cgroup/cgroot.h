/* SPDX-License-Identifier: Apache-2.0 */
/* cgroot.h - the cgroup all jobs of this node are in, and what it can do
 *
 * The cgroup stands outside the agent's own unit, so that restarting the agent
 * leaves jobs alone. Opening it finds out what is mounted, makes the base in
 * each hierarchy that is needed, and enables controllers (v2) or fills the
 * parents' cpusets (v1).
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
    bool swap; /* counted, and so limited */
    bool weight;
    bool max_processes;
    bool hugepages;
    bool cpu_time;
    bool peak_memory;
    bool devices;          /* can be denied */
    char *devices_lacking; /* why not */
    bool partitions;       /* of CPUs, as the site asked for them */
    char *partitions_lacking;
    bool atomic_kill;      /* cgroup_kill needs no repeating */
    bool populated_events; /* cgroup_dup_events_path is not NULL */
    bool clone_into;
    char *lacking; /* a sentence on what this machine cannot do, or NULL */
};

struct cgroot_settings {
    const char *base;           /* "/kiln-jobs", below every mount */
    const char *mountinfo;      /* NULL: /proc/self/mountinfo */
    const char *partition_cpus; /* to be taken from the rest of the system, as
                                 * partitions inside need it; or NULL */
};

/* Life. Open fails with -EOPNOTSUPP when no cgroup hierarchy is mounted, and
 * with -EACCES, -EROFS, -EPERM when this user may not make the base. The
 * ability says what this hierarchy lacks.
 */
void cgroot_close(struct cgroot *r);
int cgroot_open(const struct cgroot_settings *settings,
                struct cgroot **ret_root,
                struct error *err);
DEFINE_CLEANUP(struct cgroot, cgroot_close)

/* Makes the base again where it is gone, or was made anew by others: 1 when it
 * had to, 0 when it stands as it was. On a worker.
 */
int cgroot_repair(struct cgroot *r, struct error *err);

/* Hardware has come back: v1's cpusets forget CPUs that go offline. */
void cgroot_refill(struct cgroot *r);

/* Cgroups below the base. A name has no '/'. Make creates the directories;
 * find takes up existing ones, -ENOENT where there are none. Shepherds is the
 * leaf they live in, made by open.
 */
int cgroot_make(struct cgroot *r,
                const char *name,
                struct cgroup **ret_c,
                struct error *err);
int cgroot_find(struct cgroot *r,
                const char *name,
                struct cgroup **ret_c,
                struct error *err);
struct cgroup *cgroot_shepherds(struct cgroot *r);

/* Calls for every cgroup that stands there, except the shepherds', with a name
 * borrowed for the call; stops at the first result that is not 0.
 */
typedef int (*cgroot_visit_fn)(const char *name, void *context);
int cgroot_list(struct cgroot *r, cgroot_visit_fn visit, void *context);

/* Look */
const struct cgroot_ability *cgroot_ability(const struct cgroot *r);

/* Removes the base; -EBUSY while cgroups stand in it. For tests and removal. */
int cgroot_remove(struct cgroot *r, struct error *err);
