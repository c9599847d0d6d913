/* SPDX-License-Identifier: Apache-2.0 */
/* hierarchy.h - the cgroup hierarchies that are mounted on this machine
 *
 * Thread: any; holds no state.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

#define HIERARCHY_MAX 16u

enum cgroup_controller {
    CONTROLLER_CPU = 1u << 0,
    CONTROLLER_CPUACCT = 1u << 1, /* v1 only; v2 always counts */
    CONTROLLER_CPUSET = 1u << 2,
    CONTROLLER_FREEZER = 1u << 3, /* v1 only; v2 always has it */
    CONTROLLER_MEMORY = 1u << 4,
    CONTROLLER_PIDS = 1u << 5,
    CONTROLLER_DEVICES = 1u << 6, /* v1 only; v2 uses BPF programs */
    CONTROLLER_HUGETLB = 1u << 7,
};

struct hierarchy {
    unsigned version; /* 1 or 2 */
    /* bits of enum cgroup_controller; 0 if none of them is here */
    unsigned controllers;
    bool is_systemd; /* v1's name=systemd, which has no controller */
    char *mount;
};

struct hierarchies {
    struct hierarchy items[HIERARCHY_MAX];
    unsigned count;
};

void hierarchies_fini(struct hierarchies *h);

/* Parses the text of /proc/self/mountinfo. Later mounts of the same hierarchy
 * are skipped, and so are mounts that show only a part of one. The controllers
 * of v2 are read from its cgroup.controllers.
 */
void hierarchies_parse(const char *mountinfo, struct hierarchies *ret_all);

/* The kernel's name of the controller. */
const char *controller_name(enum cgroup_controller controller);
