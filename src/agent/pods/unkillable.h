/* SPDX-License-Identifier: Apache-2.0 */
/* unkillable.h - processes of a pod that were killed and are still there
 *
 * Thread: any.
 */
#pragma once

#include <sys/types.h>

#include "lib/base/macro.h"

struct cgroup;

struct unkillable {
    unsigned n;
    pid_t one; /* of them */
};

/* Without a cgroup only the job's first process is known; 0: that neither. */
struct unkillable unkillable_find(const struct cgroup *cgroup, pid_t job);

/* A sentence for people, to be freed. */
char *unkillable_format(const struct unkillable *u);
