/* SPDX-License-Identifier: Apache-2.0 */
/* unkillable.c - processes that were killed and do not end
 *
 * Mostly they wait for a device or a file server, in the kernel, and nothing can be done about
 * them on this node. So they are counted and named, for the person who can mend what
 * they wait for.
 */
#include "agent/pods/unkillable.h"

#include <string.h>

#include "agent/cgroup/cgroup.h"
#include "lib/base/alloc.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

static int
count_one(pid_t pid, void *context)
{
    struct unkillable *u = context;

    u->n++;
    u->one = pid;
    return 0;
}

struct unkillable
unkillable_find(const struct cgroup *cgroup, pid_t job)
{
    struct unkillable u = {0};

    if (cgroup != NULL)
        (void)cgroup_visit_processes(cgroup, count_one, &u);
    else if (job > 0)
        u = (struct unkillable){1, job};
    return u;
}

char *
unkillable_format(const struct unkillable *u)
{
    CLEANUP_FREE char *path = xasprintf("/proc/%ld/comm", (long)u->one);
    CLEANUP_STRBUF struct strbuf name = STRBUF_INIT;

    if (file_read(path, 64, &name, NULL) == 0)
        strbuf_truncate(&name, strcspn(name.text, "\n"));
    return xasprintf("%u of its processes cannot be killed, among them "
                     "process %ld (%s); its cores stay reserved until they "
                     "are gone",
                     u->n, (long)u->one, name.length > 0 ? name.text : "?");
}
