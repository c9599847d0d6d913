/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_state.h - what the files of a cgroup share: its places
 *
 * cgroup.c has the directories, the processes and what they used; limits.c
 * what they may have; denial.c which devices they may open.
 */
#pragma once

#include <stdbool.h>

#include "agent/cgroup/cgroup.h"

struct place {
    unsigned version;
    unsigned controllers;
    bool is_lazy; /* not made yet; made when it is first needed */
    char *directory;
};

struct cgroup {
    char *name;
    struct place places[CGROUP_MAX_PLACES]; /* tracking first */
    unsigned n_places;
};

/* Makes a lazy place. Need finds the place with a controller, and makes it;
 * -EOPNOTSUPP where there is none.
 */
int cgroup_make_place(struct place *p, struct error *err);
int cgroup_need_place(struct cgroup *c,
                      unsigned controller,
                      struct place **ret_place,
                      struct error *err);
