/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_state.h - what the files of a cgroup share: its directories
 *
 * cgroup.c has the directories, the processes and their usage. limits.c sets
 * what the processes may have, device_denial.c which devices they may open.
 * reuse.c makes a used cgroup as good as new for another pod.
 *
 * Thread: one at a time for each cgroup.
 */
#pragma once

#include <stdbool.h>

#include "agent/cgroup/cgroup.h"

struct cgroup_directory {
    unsigned version;
    unsigned controllers;
    bool is_lazy; /* not made yet; made when it is first needed */
    char *directory;
};

/* Limits that can be set back. */
enum cgroup_limit {
    LIMIT_CPUS = 1 << 0,
    LIMIT_MEMORY_NODES = 1 << 1,
    LIMIT_MEMORY = 1 << 2,
    LIMIT_WEIGHT = 1 << 3,
    LIMIT_PROCESSES = 1 << 4,
};

struct cgroup {
    char *name;
    struct cgroup_directory directories[CGROUP_MAX_DIRS]; /* tracking first */
    unsigned n_directories;

    /* For reuse. Only the struct that made the directories is told of all that
     * was set: copies and those that were found or parsed are not.
     */
    bool is_maker;
    bool is_lasting;     /* something was set that nothing sets back */
    unsigned limits;     /* set for the present pod */
    unsigned former;     /* for one before it, and not again since */
    bool was_used;       /* by a pod before */
    bool may_reuse;      /* the pool's, while it is retired */
    unsigned generation; /* the pool's */
};

/* Makes a lazy directory. Need finds the directory with a controller, and makes
 * it; -EOPNOTSUPP where there is none.
 */
int cgroup_make_directory(struct cgroup_directory *p, struct error *err);
int cgroup_need_directory(struct cgroup *c,
                          unsigned controller,
                          struct cgroup_directory **ret_directory,
                          struct error *err);

/* It is about to be killed by the kernel: it is not used again. */
void cgroup_note_killed(const struct cgroup_directory *p);

/* The CPU time that the kernel has counted; and less what pods before this one
 * used.
 */
void cgroup_read_cpu(const struct cgroup_directory *p, struct cgroup_usage *u);
void cgroup_take_off_former(const struct cgroup_directory *p,
                            struct cgroup_usage *u);
