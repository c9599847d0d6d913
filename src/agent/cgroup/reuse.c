/* SPDX-License-Identifier: Apache-2.0 */
/* reuse.c - clears a cgroup that has had a pod, for use by another pod
 *
 * The kernel's counters are not reset. The CPU time of former pods is stored in
 * an attribute of the cgroup's directory, where shepherds and later agents find
 * it. Only v1 can reset the peak of memory, so a cgroup with v2's memory
 * controller is not reused.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "agent/cgroup/cgroup.h"
#include "agent/cgroup/cgroup_state.h"
#include "agent/cgroup/control.h"
#include "agent/cgroup/hierarchy.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

static const char former_name[] = "trusted.kiln.former_cpu_us";

/* Memory that may stay charged: it is the least peak of the next pod. The
 * kernel returns the pages that each CPU has charged in advance a moment after
 * the last process.
 */
#define LEFT_MOST (512u << 10)

/* Some kernels (6.18 is one) kill processes that are created in a cgroup that
 * was killed at any time before. Shepherds kill, too, so the mark is an
 * attribute of the cgroup's directory, where the agent finds it.
 */
static const char killed_name[] = "trusted.kiln.killed";

void
cgroup_note_killed(const struct cgroup_directory *p)
{
    /* without extended attributes no cgroup is reused */
    if (setxattr(p->directory, killed_name, "1", 1, 0) < 0)
        return;
}

static bool
was_killed(const struct cgroup *c)
{
    return getxattr(c->directories[0].directory, killed_name, NULL, 0) >= 0;
}

/* CPU time that was used before */

static int
note_former(const struct cgroup_directory *p)
{
    struct cgroup_usage u = {0};
    char text[48];
    int length;

    cgroup_read_cpu(p, &u);
    if (!u.has_cpu)
        return -EOPNOTSUPP;
    length = snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64, u.cpu_user_us, u.cpu_system_us);
    return setxattr(p->directory, former_name, text, (size_t)length, 0) < 0 ? -EOPNOTSUPP : 0;
}

void
cgroup_take_off_former(const struct cgroup_directory *p, struct cgroup_usage *u)
{
    uint64_t user, system;
    char text[48];
    ssize_t length = getxattr(p->directory, former_name, text, sizeof(text) - 1);

    if (length <= 0)
        return;
    text[length] = '\0';
    if (sscanf(text, "%" SCNu64 " %" SCNu64, &user, &system) != 2)
        return;
    u->cpu_user_us -= user < u->cpu_user_us ? user : u->cpu_user_us;
    u->cpu_system_us -= system < u->cpu_system_us ? system : u->cpu_system_us;
}

/* Whether another pod can use it */

/* The link count shows whether there are cgroups inside: each adds one link. */
static int
check_directory(const struct cgroup_directory *p)
{
    struct stat st;
    char text[CONTROL_SMALL_BYTES];
    uint64_t populated, frozen;
    int r;

    if (p->is_lazy)
        return 0;
    if (stat(p->directory, &st) < 0 || st.st_nlink != 2)
        return -EOPNOTSUPP;
    if (p->version == 2) {
        r = control_read_small(p->directory, "cgroup.events", text);
        if (r < 0 || control_find_key(text, "populated", &populated) < 0
            || control_find_key(text, "frozen", &frozen) < 0 || frozen)
            return -EOPNOTSUPP;
        return populated ? -EBUSY : 0;
    }
    r = control_read_small(p->directory, "cgroup.procs", text);
    return r < 0 ? -EOPNOTSUPP : text[0] != '\0' ? -EBUSY : 0;
}

static int
reset_memory(const struct cgroup_directory *p)
{
    uint64_t kills, left;

    if (control_read_key(p->directory, "memory.oom_control", "oom_kill", &kills) < 0 || kills > 0
        || control_read_number(p->directory, "memory.usage_in_bytes", &left) < 0 || left > LEFT_MOST
        || control_write(p->directory, "memory.max_usage_in_bytes", "0", NULL) < 0)
        return -EOPNOTSUPP;
    return 0;
}

static bool
can_be_reset(const struct cgroup *c)
{
    if (!c->is_maker || c->is_lasting || c->directories[0].version != 2)
        return false;
    for (unsigned i = 0; i < c->n_directories; i++)
        if (c->directories[i].version == 2 && c->directories[i].controllers & CONTROLLER_MEMORY)
            return false;
    return true;
}

int
cgroup_reset(struct cgroup *c)
{
    int r = can_be_reset(c) && !was_killed(c) ? 0 : -EOPNOTSUPP;

    for (unsigned i = 0; r == 0 && i < c->n_directories; i++)
        r = check_directory(&c->directories[i]);
    for (unsigned i = 0; r == 0 && i < c->n_directories; i++)
        if (c->directories[i].controllers & CONTROLLER_MEMORY)
            r = reset_memory(&c->directories[i]);
    if (r == 0)
        r = note_former(&c->directories[0]);
    if (r < 0)
        return r;
    c->former |= c->limits;
    c->limits = 0;
    c->was_used = true;
    return 0;
}

bool
cgroup_was_used(const struct cgroup *c)
{
    return c->was_used;
}

/* Removal of the last pod's limits */

/* Without a value of its own, a v2 cgroup uses its parent's; in v1 the parent's
 * value is copied.
 */
static int
copy_parent(const struct cgroup_directory *p, const char *file, struct error *err)
{
    const char *slash = strrchr(p->directory, '/');
    CLEANUP_FREE char *parent = xstrndup(p->directory, (size_t)(slash - p->directory));
    CLEANUP_STRBUF struct strbuf value = STRBUF_INIT;
    int r;

    if (p->version == 2)
        return control_write(p->directory, file, "\n", err);
    r = control_read(parent, file, &value, err);
    return r < 0 ? r : control_write(p->directory, file, value.text, err);
}

/* Only for v1: with v2's memory controller there is no reuse (can_be_reset). */
static int
unlimit_memory(const struct cgroup_directory *p, struct error *err)
{
    int r = control_write(p->directory, "memory.memsw.limit_in_bytes", "-1", NULL);

    if (r < 0 && r != -ENOENT) /* swap may not be counted */
        return error_set(err, r, "'%s': %s", p->directory, strerror(-r));
    return control_write(p->directory, "memory.limit_in_bytes", "-1", err);
}

static int
set_back(struct cgroup *c, unsigned limit, struct error *err)
{
    unsigned controller = limit == LIMIT_MEMORY      ? CONTROLLER_MEMORY
                          : limit == LIMIT_WEIGHT    ? CONTROLLER_CPU
                          : limit == LIMIT_PROCESSES ? CONTROLLER_PIDS
                                                     : CONTROLLER_CPUSET;
    struct cgroup_directory *p;
    int r = cgroup_need_directory(c, controller, &p, err);

    if (r < 0)
        return r;
    switch ((enum cgroup_limit)limit) {
    case LIMIT_CPUS:
        return copy_parent(p, "cpuset.cpus", err);
    case LIMIT_MEMORY_NODES:
        return copy_parent(p, "cpuset.mems", err);
    case LIMIT_MEMORY:
        return unlimit_memory(p, err);
    case LIMIT_WEIGHT:
        return p->version == 2 ? control_write(p->directory, "cpu.weight", "100", err)
                               : control_write(p->directory, "cpu.shares", "1024", err);
    case LIMIT_PROCESSES:
        return control_write(p->directory, "pids.max", "max", err);
    }
    return -EINVAL;
}

int
cgroup_set_back(struct cgroup *c, struct error *err)
{
    for (unsigned limit = 1; limit <= LIMIT_PROCESSES; limit <<= 1) {
        int r = c->former & limit ? set_back(c, limit, err) : 0;

        if (r < 0)
            return r;
        c->former &= ~limit;
    }
    return 0;
}
