/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.c - the directories of a cgroup: its processes, their limits and their usage
 *
 * A pod's cgroup is one directory in v2's hierarchy, or one in each hierarchy of v1, or both, as
 * the machine was set up. Nothing outside of this file cares: a limit goes to the
 * directory that has its controller, and what no hierarchy can do is -EOPNOTSUPP, for the node
 * still runs jobs then. The first directory tracks: it alone says which processes are the pod's.
 */
#include "agent/cgroup/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/cgroup/cgroup_state.h"
#include "agent/cgroup/control.h"
#include "agent/cgroup/device_denial.h"
#include "agent/cgroup/hierarchy.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

/* Life */

struct cgroup *
cgroup_new(const char *name)
{
    struct cgroup *c = xnew(struct cgroup);

    c->name = xstrdup(name);
    return c;
}

void
cgroup_free(struct cgroup *c)
{
    if (c == NULL)
        return;
    for (unsigned i = 0; i < c->n_directories; i++)
        free(c->directories[i].directory);
    free(c->name);
    free(c);
}

void
cgroup_add_directory(struct cgroup *c, unsigned version, unsigned controllers, bool is_lazy,
                     char *directory TAKES)
{
    if (c->n_directories == CGROUP_MAX_DIRS) {
        free(directory);
        return;
    }
    c->directories[c->n_directories++] = (struct cgroup_directory){
        .version = version,
        .controllers = controllers,
        .is_lazy = is_lazy,
        .directory = directory,
    };
}

struct cgroup *
cgroup_dup(const struct cgroup *c)
{
    struct cgroup *copy = cgroup_new(c->name);

    for (unsigned i = 0; i < c->n_directories; i++)
        cgroup_add_directory(copy, c->directories[i].version, c->directories[i].controllers,
                             c->directories[i].is_lazy, xstrdup(c->directories[i].directory));
    return copy;
}

/* The format is "name\n", then a line "VERSION CONTROLLERS DIRECTORY" for each
 * existing directory.
 */
void
cgroup_format(const struct cgroup *c, struct strbuf *out)
{
    strbuf_printf(out, "%s\n", c->name);
    for (unsigned i = 0; i < c->n_directories; i++)
        if (!c->directories[i].is_lazy)
            strbuf_printf(out, "%u %u %s\n", c->directories[i].version,
                          c->directories[i].controllers, c->directories[i].directory);
}

static int
parse_directory(struct cgroup *c, const char *line, size_t length)
{
    CLEANUP_FREE char *copy = xstrndup(line, length);
    unsigned version, controllers;
    int at = 0;

    if (sscanf(copy, "%u %u %n", &version, &controllers, &at) != 2 || at == 0 || copy[at] != '/'
        || (version != 1 && version != 2))
        return -EINVAL;
    if (c->n_directories == CGROUP_MAX_DIRS)
        return -E2BIG;
    cgroup_add_directory(c, version, controllers, false, xstrdup(copy + at));
    return 0;
}

int
cgroup_parse(const char *text, struct cgroup **ret_c, struct error *err)
{
    size_t length = strcspn(text, "\n");
    CLEANUP_FREE char *name = xstrndup(text, length);
    CLEANUP(cgroup_freep) struct cgroup *c = cgroup_new(name);

    for (const char *line = text + length; *line == '\n' && line[1] != '\0'; line += length) {
        line++;
        length = strcspn(line, "\n");
        if (parse_directory(c, line, length) < 0)
            return error_set(err, -EINVAL, "'%.*s' is not a valid cgroup location", (int)length,
                             line);
    }
    if (c->n_directories == 0)
        return error_set(err, -EINVAL, "cgroup '%s' has no location", name);
    *ret_c = c;
    c = NULL;
    return 0;
}

/* Directories */

static int
make_directory(struct cgroup_directory *p, struct error *err)
{
    if (mkdir(p->directory, 0755) < 0)
        return error_set(err, -errno, "creating cgroup '%s': %s", p->directory, strerror(errno));
    p->is_lazy = false;
    return 0;
}

int
cgroup_make(struct cgroup *c, struct error *err)
{
    for (unsigned i = 0; i < c->n_directories; i++) {
        int r = c->directories[i].is_lazy ? 0 : make_directory(&c->directories[i], err);

        if (r < 0) {
            while (i-- > 0)
                if (!c->directories[i].is_lazy)
                    rmdir(c->directories[i].directory);
            return r;
        }
    }
    c->is_maker = true;
    return 0;
}

int
cgroup_remove(struct cgroup *c, struct error *err)
{
    /* In reverse order: the tracking directory, which decides whether the
     * cgroup exists, is removed last.
     */
    for (unsigned i = c->n_directories; i-- > 0;) {
        int r;

        if (c->directories[i].is_lazy)
            continue;
        r = control_remove_tree(c->directories[i].directory);
        if (r < 0)
            return error_set(err, r, "removing cgroup '%s': %s", c->directories[i].directory,
                             strerror(-r));
    }
    return 0;
}

/* The tracking directory is the first. */
struct cgroup *
cgroup_new_inner(const struct cgroup *outer, const char *name)
{
    struct cgroup *c = cgroup_dup(outer);
    char *directory = xasprintf("%s/%s", c->directories[0].directory, name);

    free(c->directories[0].directory);
    c->directories[0].directory = directory;
    free(c->name);
    c->name = xstrdup(name);
    return c;
}

int
cgroup_make_inner(struct cgroup *c, struct error *err)
{
    return make_directory(&c->directories[0], err);
}

int
cgroup_remove_inner(struct cgroup *c, struct error *err)
{
    int r = control_remove_tree(c->directories[0].directory);

    return r < 0 ? error_set(err, r, "removing cgroup '%s': %s", c->directories[0].directory,
                             strerror(-r))
                 : 0;
}

/* Processes */

int
cgroup_add(struct cgroup *c, pid_t pid, struct error *err)
{
    for (unsigned i = 0; i < c->n_directories; i++) {
        int r;

        if (c->directories[i].is_lazy)
            continue;
        r = control_write_number(c->directories[i].directory, "cgroup.procs", (uint64_t)pid, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* On v1 a process joins through "tasks". A thread that moves only itself there
 * does not wait, while "cgroup.procs" takes the lock of all forks and exits,
 * which costs 15 ms on an idle machine (Linux, cgroup_procs_write_start).
 */
static int
open_join_file(const struct cgroup_directory *p, struct error *err)
{
    CLEANUP_FREE char *path =
        xasprintf("%s/%s", p->directory, p->version == 2 ? "cgroup.procs" : "tasks");
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return error_set(err, -errno, "opening '%s': %s", path, strerror(errno));
    return fd;
}

int
cgroup_open_join_files(const struct cgroup *c, bool with_v2, int fds[CGROUP_MAX_DIRS],
                       struct error *err)
{
    int count = 0;

    for (unsigned i = 0; i < c->n_directories; i++) {
        int fd;

        if (c->directories[i].is_lazy || (c->directories[i].version == 2 && !with_v2))
            continue;
        fd = open_join_file(&c->directories[i], err);
        if (fd < 0) {
            while (count > 0)
                close(fds[--count]);
            return fd;
        }
        fds[count++] = fd;
    }
    return count;
}

int
cgroup_open_clone(const struct cgroup *c)
{
    for (unsigned i = 0; i < c->n_directories; i++) {
        int fd;

        if (c->directories[i].version != 2)
            continue;
        fd = open(c->directories[i].directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
    }
    return -EOPNOTSUPP;
}

struct process_visit {
    cgroup_process_fn *visit;
    void *context;
};

static int
call_listed(const char *directory, void *context)
{
    const struct process_visit *call = context;
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    int r = control_read(directory, "cgroup.procs", &list, NULL);

    if (r < 0)
        return r == -ENOENT || r == -ENODEV ? 0 : r;
    for (char *at = list.text; r == 0 && *at != '\0';) {
        char *end;
        long pid = strtol(at, &end, 10);

        if (end == at)
            break;
        if (pid > 0) /* 0: the process is in another pid namespace */
            r = call->visit((pid_t)pid, call->context);
        at = end;
    }
    return r;
}

int
cgroup_visit_processes(const struct cgroup *c, cgroup_process_fn *visit, void *context)
{
    struct process_visit call = {visit, context};

    return control_visit_tree(c->directories[0].directory, call_listed, &call);
}

static int
signal_one(pid_t pid, void *context)
{
    if (pid > 1 && pid != getpid())
        kill(pid, *(const int *)context);
    return 0;
}

int
cgroup_signal(const struct cgroup *c, int signal_number)
{
    return cgroup_visit_processes(c, signal_one, &signal_number);
}

/* Freezes the cgroup while its processes are listed, so that none can fork a
 * process that is not on the list.
 */
int
cgroup_kill(const struct cgroup *c, struct error *err)
{
    const struct cgroup_directory *p = &c->directories[0];
    int r = -ENOENT;

    if (p->version == 2) {
        cgroup_note_killed(p);
        r = control_write(p->directory, "cgroup.kill", "1", NULL);
    }
    if (r == 0)
        return 0;
    (void)cgroup_freeze(c, true);
    r = cgroup_signal(c, SIGKILL);
    (void)cgroup_freeze(c, false);
    if (r < 0)
        return error_set(err, r, "killing cgroup '%s': %s", p->directory, strerror(-r));
    return 0;
}

static int
find_one(UNUSED pid_t pid, UNUSED void *context)
{
    return 1;
}

int
cgroup_is_empty(const struct cgroup *c)
{
    const struct cgroup_directory *p = &c->directories[0];
    uint64_t populated;
    int r = -ENODATA;

    if (p->version == 2)
        r = control_read_key(p->directory, "cgroup.events", "populated", &populated);
    if (r == 0)
        return populated == 0;
    if (r == -ENOENT)
        return 1;
    r = cgroup_visit_processes(c, find_one, NULL);
    if (r == -ENOENT)
        return 1;
    return r < 0 ? r : r == 0;
}

char *
cgroup_dup_events_path(const struct cgroup *c)
{
    if (c->directories[0].version != 2)
        return NULL;
    return xasprintf("%s/cgroup.events", c->directories[0].directory);
}

const char *
cgroup_name(const struct cgroup *c)
{
    return c->name;
}

bool
cgroup_has(const struct cgroup *c, unsigned controller)
{
    for (unsigned i = 0; i < c->n_directories; i++)
        if (c->directories[i].controllers & controller)
            return true;
    return false;
}

static void
read_memory(const struct cgroup_directory *p, struct cgroup_usage *u)
{
    const char *d = p->directory;
    int r;

    if (p->version == 2) {
        control_read_number(d, "memory.peak", &u->peak_memory_bytes);
        r = control_read_key(d, "memory.events", "oom_kill", &u->oom_kills);
    } else {
        control_read_number(d, "memory.max_usage_in_bytes", &u->peak_memory_bytes);
        r = control_read_key(d, "memory.oom_control", "oom_kill", &u->oom_kills);
    }
    u->has_memory = r == 0;
}

void
cgroup_read_cpu(const struct cgroup_directory *p, struct cgroup_usage *u)
{
    const char *d = p->directory;
    char text[CONTROL_SMALL_BYTES];
    uint64_t user, system;

    if (p->version == 2) {
        u->has_cpu = control_read_small(d, "cpu.stat", text) == 0
                     && control_find_key(text, "user_usec", &u->cpu_user_us) == 0
                     && control_find_key(text, "system_usec", &u->cpu_system_us) == 0;
    } else if (control_read_number(d, "cpuacct.usage_user", &user) == 0
               && control_read_number(d, "cpuacct.usage_sys", &system) == 0) {
        u->cpu_user_us = user / 1000;
        u->cpu_system_us = system / 1000;
        u->has_cpu = true;
    }
}

void
cgroup_read_usage(const struct cgroup *c, struct cgroup_usage *ret_usage)
{
    struct cgroup_usage u = {0};

    for (unsigned i = 0; i < c->n_directories; i++) {
        const struct cgroup_directory *p = &c->directories[i];

        if (p->is_lazy)
            continue;
        if (p->controllers & CONTROLLER_MEMORY)
            read_memory(p, &u);
        if (!u.has_cpu && (p->version == 2 || p->controllers & CONTROLLER_CPUACCT)) {
            cgroup_read_cpu(p, &u);
            cgroup_take_off_former(p, &u);
        }
    }
    *ret_usage = u;
}

/* Reads a line of v1 such as "hierarchical_anon=5 N0=3 N1=2", in pages, or of
 * v2 such as "anon N0=12288", in bytes.
 */
static bool
read_numa_line(const char *text, const char *key, uint64_t unit, unsigned n_nodes,
               uint64_t ret_bytes[])
{
    size_t length = strlen(key);
    const char *at = text;
    unsigned node;
    unsigned long long count;
    int used = 0;

    while (at != NULL && strncmp(at, key, length) != 0) {
        at = strchr(at, '\n');
        at = at == NULL ? NULL : at + 1;
    }
    if (at == NULL)
        return false;
    at += strcspn(at, " \n");
    memset(ret_bytes, 0, n_nodes * sizeof(ret_bytes[0]));
    while (sscanf(at, " N%u=%llu%n", &node, &count, &used) == 2) {
        if (node < n_nodes)
            ret_bytes[node] = count * unit;
        at += used;
    }
    return true;
}

int
cgroup_read_memory_nodes(const struct cgroup *c, unsigned n_nodes, uint64_t ret_bytes[])
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    for (unsigned i = 0; i < c->n_directories; i++) {
        const struct cgroup_directory *p = &c->directories[i];
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

        if (!(p->controllers & CONTROLLER_MEMORY)
            || control_read(p->directory, "memory.numa_stat", &text, NULL) < 0)
            continue;
        if (p->version == 2
                ? read_numa_line(text.text, "anon ", 1, n_nodes, ret_bytes)
                : read_numa_line(text.text, "hierarchical_anon=", page, n_nodes, ret_bytes)
                      || read_numa_line(text.text, "anon=", page, n_nodes, ret_bytes))
            return 0;
    }
    return -EOPNOTSUPP;
}

static const struct cgroup_directory *
find_memory(const struct cgroup *c)
{
    for (unsigned i = 0; i < c->n_directories; i++)
        if (!c->directories[i].is_lazy && c->directories[i].controllers & CONTROLLER_MEMORY)
            return &c->directories[i];
    return NULL;
}

bool
cgroup_read_working_set(const struct cgroup *c, uint64_t *ret_bytes)
{
    const struct cgroup_directory *p = find_memory(c);
    uint64_t bytes, idle = 0;
    int r;

    if (p == NULL)
        return false;
    r = control_read_number(p->directory,
                            p->version == 2 ? "memory.current" : "memory.usage_in_bytes", &bytes);
    if (r == 0)
        r = control_read_key(p->directory, "memory.stat",
                             p->version == 2 ? "inactive_file" : "total_inactive_file", &idle);
    if (r < 0)
        return false;
    *ret_bytes = bytes > idle ? bytes - idle : 0;
    return true;
}

bool
cgroup_read_cache(const struct cgroup *c, uint64_t *ret_bytes)
{
    const struct cgroup_directory *p = find_memory(c);
    uint64_t file, shared = 0;

    if (p == NULL)
        return false;
    if (control_read_key(p->directory, "memory.stat", p->version == 2 ? "file" : "total_cache",
                         &file)
        < 0)
        return false;
    (void)control_read_key(p->directory, "memory.stat", p->version == 2 ? "shmem" : "total_shmem",
                           &shared);
    *ret_bytes = file > shared ? file - shared : 0;
    return true;
}

/* Limits */

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
    return p->is_lazy ? make_directory(p, err) : 0;
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

/* Devices */

int
cgroup_deny_devices(struct cgroup *c, const struct device_number *denied, unsigned n,
                    struct error *err)
{
    struct cgroup_directory *p;

    if (n == 0)
        return 0;
    c->is_lasting = true;
    if (n > DEVICE_DENIAL_MOST)
        return error_set(err, -E2BIG,
                         "%u devices would have to be denied, but the maximum "
                         "is %u",
                         n, DEVICE_DENIAL_MOST);
    if (cgroup_need_directory(c, CONTROLLER_DEVICES, &p, NULL) == 0)
        return device_denial_write(p->directory, denied, n, err);
    if (c->directories[0].version != 2)
        return error_set(err, -EOPNOTSUPP, "cgroup '%s' has no devices controller", c->name);
    return device_denial_attach(c->directories[0].directory, denied, n, err);
}

/* Freezing: cgroup.freeze of v2, or the freezer controller of v1 */

static const struct cgroup_directory *
find_v1_freezer(const struct cgroup *c)
{
    for (unsigned i = 0; i < c->n_directories; i++)
        if (!c->directories[i].is_lazy && c->directories[i].version == 1
            && c->directories[i].controllers & CONTROLLER_FREEZER)
            return &c->directories[i];
    return NULL;
}

/* In kernels before 5.2, v2 cannot freeze. */
static bool
can_freeze_v2(const struct cgroup *c)
{
    return c->directories[0].version == 2
           && control_exists(c->directories[0].directory, "cgroup.freeze");
}

int
cgroup_freeze(const struct cgroup *c, bool still)
{
    const struct cgroup_directory *v1 = find_v1_freezer(c);
    int r = -EOPNOTSUPP;

    if (can_freeze_v2(c))
        r = control_write(c->directories[0].directory, "cgroup.freeze", still ? "1" : "0", NULL);
    else if (v1 != NULL)
        r = control_write(v1->directory, "freezer.state", still ? "FROZEN" : "THAWED", NULL);
    return r;
}

int
cgroup_is_frozen(const struct cgroup *c)
{
    const struct cgroup_directory *v1 = find_v1_freezer(c);
    CLEANUP_STRBUF struct strbuf state = STRBUF_INIT;
    uint64_t frozen;
    int r;

    if (can_freeze_v2(c)) {
        r = control_read_key(c->directories[0].directory, "cgroup.events", "frozen", &frozen);
        return r < 0 ? r : frozen != 0;
    }
    if (v1 == NULL)
        return -EOPNOTSUPP;
    r = control_read(v1->directory, "freezer.state", &state, NULL);
    return r < 0 ? r : strcmp(state.text, "FROZEN") == 0;
}
