/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_state.h - the private struct of a cgroup: its directories
 *
 * cgroup.c has the directories, the processes, their limits and their usage.
 * reuse.c clears a used cgroup for another pod, and cgpool.c keeps those for reuse.
 *
 * Thread: one at a time for each cgroup.
 */
#pragma once

#include <stdbool.h>

#include "agent/cgroup/cgroup.h"

struct cgroup_directory {
    unsigned version;
    unsigned controllers;
    bool is_lazy; /* does not exist yet; made when first needed */
    char *directory;
};

/* Limits that can be reset to their defaults. */
enum cgroup_limit {
    LIMIT_CPUS = 1 << 0,
    LIMIT_MEMORY_NODES = 1 << 1,
    LIMIT_MEMORY = 1 << 2,
    LIMIT_WEIGHT = 1 << 3,
    LIMIT_PROCESSES = 1 << 4,
};

struct cgroup {
    char *name;
    /* the tracking hierarchy is the first */
    struct cgroup_directory directories[CGROUP_MAX_DIRS];
    unsigned n_directories;

    /* For reuse. Only the struct that made the directories knows every limit
     * that was set; copies and structs that were found or parsed do not.
     */
    bool is_maker;
    bool is_lasting;     /* a setting was made that cannot be undone */
    unsigned limits;     /* set for the present pod */
    unsigned former;     /* set for a former pod, and not again since */
    bool was_used;       /* for a former pod */
    bool may_reuse;      /* of the pool, while the cgroup is retired */
    unsigned generation; /* of the pool when it was made */
};

/* Finds the directory with a controller, and makes it if it is lazy; -EOPNOTSUPP where there is
 * none.
 */
int cgroup_need_directory(struct cgroup *c, unsigned controller,
                          struct cgroup_directory **ret_directory, struct error *err);

/* Marks a cgroup that the kernel is about to kill, so that it is not reused. */
void cgroup_note_killed(const struct cgroup_directory *p);

/* cgroup_read_cpu reads the CPU time that the kernel has counted;
 * cgroup_take_off_former subtracts the part of former pods.
 */
void cgroup_read_cpu(const struct cgroup_directory *p, struct cgroup_usage *u);
void cgroup_take_off_former(const struct cgroup_directory *p, struct cgroup_usage *u);
