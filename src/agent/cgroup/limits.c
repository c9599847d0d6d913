/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c - the resource limits of a cgroup's processes */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "agent/cgroup/cgroup.h"
#include "agent/cgroup/cgroup_state.h"
#include "agent/cgroup/control.h"
#include "agent/cgroup/hierarchy.h"
#include "lib/base/error.h"

static struct cgroup_directory *
find_directory(struct cgroup *c, unsigned controller, struct error *err)
{
    for (unsigned i = 0; i < c->n_directories; i++)
        if (c->directories[i].controllers & controller)
            return &c->directories[i];
    error_set(err, -EOPNOTSUPP, "cgroup '%s' has no %s controller", c->name,
              controller_name(controller));
    return NULL;
}

int
cgroup_need_directory(struct cgroup *c, unsigned controller,
                      struct cgroup_directory **ret_directory, struct error *err)
{
    struct cgroup_directory *p = find_directory(c, controller, err);

    if (p == NULL)
        return -EOPNOTSUPP;
    *ret_directory = p;
    return p->is_lazy ? cgroup_make_directory(p, err) : 0;
}

static void
note_limit(struct cgroup *c, unsigned limit)
{
    c->limits |= limit;
    c->former &= ~limit;
}

int
cgroup_set_cpus(struct cgroup *c, const char *cpus, const char *memory_nodes, struct error *err)
{
    struct cgroup_directory *p;
    int r = cgroup_need_directory(c, CONTROLLER_CPUSET, &p, err);

    if (r < 0)
        return r;
    note_limit(c, LIMIT_CPUS);
    r = control_write(p->directory, "cpuset.cpus", cpus, err);
    if (r < 0 || memory_nodes == NULL)
        return r;
    note_limit(c, LIMIT_MEMORY_NODES);
    return control_write(p->directory, "cpuset.mems", memory_nodes, err);
}

int
cgroup_set_partition(struct cgroup *c, const char *kind, struct error *err)
{
    struct cgroup_directory *p;
    int r = cgroup_need_directory(c, CONTROLLER_CPUSET, &p, err);

    if (r < 0)
        return r;
    if (p->version != 2)
        return error_set(err, -EOPNOTSUPP, "cgroup v1 has no CPU partitions");
    c->is_lasting = true;
    return control_partition(p->directory, kind, err);
}

/* v1 keeps limit <= memsw at every moment, so raising needs memsw first. */
static int
set_memory_v1(const struct cgroup_directory *p, uint64_t bytes, struct error *err)
{
    static const char limit[] = "memory.limit_in_bytes";
    static const char with_swap[] = "memory.memsw.limit_in_bytes";
    const char *d = p->directory;
    int first = control_write_number(d, limit, bytes, err);
    int r = control_write_number(d, with_swap, bytes, first < 0 ? NULL : err);

    if (r == -ENOENT) /* swap is not counted */
        return first;
    if (r < 0 || first == 0)
        return r;
    return control_write_number(d, limit, bytes, err);
}

static int
set_memory_v2(const struct cgroup_directory *p, uint64_t bytes, struct error *err)
{
    const char *d = p->directory;
    int r = control_write_number(d, "memory.max", bytes, err);

    if (r < 0)
        return r;
    r = control_write(d, "memory.swap.max", "0", err);
    if (r == 0 || r == -ENOENT)
        r = control_write(d, "memory.oom.group", "1", err);
    return r == -ENOENT ? 0 : r;
}

int
cgroup_set_memory(struct cgroup *c, uint64_t bytes, struct error *err)
{
    struct cgroup_directory *p;
    int r = cgroup_need_directory(c, CONTROLLER_MEMORY, &p, err);

    if (r < 0)
        return r;
    note_limit(c, LIMIT_MEMORY);
    return p->version == 2 ? set_memory_v2(p, bytes, err) : set_memory_v1(p, bytes, err);
}

int
cgroup_set_weight(struct cgroup *c, unsigned weight, struct error *err)
{
    uint64_t shares = (uint64_t)weight * 1024 / 100;
    struct cgroup_directory *p;
    int r;

    if (weight < 1 || weight > 10000)
        return error_set(err, -ERANGE, "CPU weight %u is not between 1 and 10000", weight);
    r = cgroup_need_directory(c, CONTROLLER_CPU, &p, err);
    if (r < 0)
        return r;
    note_limit(c, LIMIT_WEIGHT);
    if (p->version == 2)
        return control_write_number(p->directory, "cpu.weight", weight, err);
    return control_write_number(p->directory, "cpu.shares", shares < 2 ? 2 : shares, err);
}

int
cgroup_set_max_processes(struct cgroup *c, uint64_t n, struct error *err)
{
    struct cgroup_directory *p;
    int r = cgroup_need_directory(c, CONTROLLER_PIDS, &p, err);

    if (r < 0)
        return r;
    note_limit(c, LIMIT_PROCESSES);
    return control_write_number(p->directory, "pids.max", n, err);
}

/* The file is for example "hugetlb.2MB.max". */
static int
write_hugepages(const struct cgroup_directory *p, uint64_t page_bytes, const char *file,
                uint64_t bytes, struct error *err)
{
    uint64_t kib = page_bytes >> 10;
    char path[64];

    snprintf(path, sizeof(path), "hugetlb.%" PRIu64 "%s.%s",
             kib >= 1u << 20   ? kib >> 20
             : kib >= 1u << 10 ? kib >> 10
                               : kib,
             kib >= 1u << 20   ? "GB"
             : kib >= 1u << 10 ? "MB"
                               : "KB",
             file);
    return control_write_number(p->directory, path, bytes, err);
}

int
cgroup_set_hugepages(struct cgroup *c, uint64_t page_bytes, uint64_t bytes, struct error *err)
{
    static const char *const used[] = {"limit_in_bytes", "max"};
    static const char *const mapped[] = {"rsvd.limit_in_bytes", "rsvd.max"};
    struct cgroup_directory *p;
    int r = cgroup_need_directory(c, CONTROLLER_HUGETLB, &p, err);

    if (r < 0)
        return r;
    c->is_lasting = true;
    r = write_hugepages(p, page_bytes, used[p->version - 1], bytes, err);
    if (r < 0)
        return r;
    r = write_hugepages(p, page_bytes, mapped[p->version - 1], bytes, NULL);
    return r == -ENOENT ? 0 : r; /* the kernel is older than Linux 5.7 */
}
