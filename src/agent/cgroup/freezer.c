/* SPDX-License-Identifier: Apache-2.0 */
/* freezer.c - freezes the processes of a cgroup: cgroup.freeze of v2, or v1's
 * freezer controller
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "agent/cgroup/cgroup.h"
#include "agent/cgroup/cgroup_state.h"
#include "agent/cgroup/control.h"
#include "agent/cgroup/hierarchy.h"
#include "lib/base/strbuf.h"

static const struct cgroup_directory *
find_v1(const struct cgroup *c)
{
    for (unsigned i = 0; i < c->n_directories; i++)
        if (!c->directories[i].is_lazy && c->directories[i].version == 1
            && c->directories[i].controllers & CONTROLLER_FREEZER)
            return &c->directories[i];
    return NULL;
}

/* In kernels before 5.2, v2 cannot freeze. */
static bool
can_v2(const struct cgroup *c)
{
    return c->directories[0].version == 2
           && control_exists(c->directories[0].directory, "cgroup.freeze");
}

int
cgroup_freeze(const struct cgroup *c, bool still)
{
    const struct cgroup_directory *v1 = find_v1(c);
    int r = -EOPNOTSUPP;

    if (can_v2(c))
        r = control_write(c->directories[0].directory, "cgroup.freeze", still ? "1" : "0", NULL);
    else if (v1 != NULL)
        r = control_write(v1->directory, "freezer.state", still ? "FROZEN" : "THAWED", NULL);
    return r;
}

int
cgroup_is_frozen(const struct cgroup *c)
{
    const struct cgroup_directory *v1 = find_v1(c);
    CLEANUP_STRBUF struct strbuf state = STRBUF_INIT;
    uint64_t frozen;
    int r;

    if (can_v2(c)) {
        r = control_read_key(c->directories[0].directory, "cgroup.events", "frozen", &frozen);
        return r < 0 ? r : frozen != 0;
    }
    if (v1 == NULL)
        return -EOPNOTSUPP;
    r = control_read(v1->directory, "freezer.state", &state, NULL);
    return r < 0 ? r : strcmp(state.text, "FROZEN") == 0;
}
