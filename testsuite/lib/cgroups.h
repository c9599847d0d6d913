/* SPDX-License-Identifier: Apache-2.0 */
/* cgroups.h - removes the base of a cgroup root after a test or a benchmark */
#pragma once

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent/cgroup/cgbase.h"
#include "agent/cgroup/cgroot.h"
#include "agent/cgroup/cgroup.h"
#include "agent/cgroup/cgroup_state.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"

/* The base in each hierarchy is the parent of a cgroup that is made for this.
 * -EBUSY while the base contains other cgroups.
 */
static inline int
cgroups_remove_base(struct cgroot *root, struct error *err)
{
    const char *const leaves[] = {"shepherds", "readers", CGBASE_KEEPER, ""};
    CLEANUP(cgroup_freep) struct cgroup *c = NULL;
    int r = cgroot_make(root, "last", &c, err);

    if (r == 0)
        r = cgroup_remove(c, err);
    for (unsigned i = 0; r == 0 && i < c->n_directories; i++) {
        char *directory = c->directories[i].directory;

        *strrchr(directory, '/') = '\0';
        for (size_t j = 0; r == 0 && j < ARRAY_SIZE(leaves); j++) {
            CLEANUP_FREE char *path = xasprintf("%s/%s", directory, leaves[j]);

            if (rmdir(path) < 0 && errno != ENOENT)
                r = error_set(err, -errno, "removing cgroup '%s': %s", path, strerror(errno));
        }
    }
    return r;
}
