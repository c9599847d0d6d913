/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_state.h - what the files of a cgroup share: its directories
 *
 * cgroup.c has the directories, the processes and what they used; limits.c
 * what they may have; device_denial.c which devices they may open.
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

struct cgroup {
    char *name;
    struct cgroup_directory directories[CGROUP_MAX_DIRS]; /* tracking first */
    unsigned n_directories;
};

/* Makes a lazy directory. Need finds the directory with a controller, and makes
 * it; -EOPNOTSUPP where there is none.
 */
int cgroup_make_directory(struct cgroup_directory *p, struct error *err);
int cgroup_need_directory(struct cgroup *c,
                          unsigned controller,
                          struct cgroup_directory **ret_directory,
                          struct error *err);
