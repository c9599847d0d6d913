/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cgroup/cgroot.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/cgroup/cgbase.h"
#include "agent/cgroup/cgroup.h"
#include "agent/cgroup/control.h"
#include "agent/cgroup/hierarchy.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define MOUNTINFO_LIMIT_BYTES (16u << 20)
#define SHEPHERDS             "shepherds"
#define READERS               "readers"
#define READERS_WEIGHT        1u             /* a pod has 100 for each of its CPUs */
#define READERS_BYTES         (512ull << 20) /* mostly page cache of what they read */

struct cgroot {
    /* the tracking hierarchy is the first */
    struct cgbase bases[CGROUP_MAX_DIRS];
    unsigned n_bases;
    struct cgroup *shepherds;
    struct cgroup *readers;
    struct cgroot_ability ability;
};

/* Which hierarchies are used, and for what */

#define WANTED                                                                          \
    ((unsigned)CONTROLLER_CPU | CONTROLLER_CPUSET | CONTROLLER_MEMORY | CONTROLLER_PIDS \
     | CONTROLLER_DEVICES | CONTROLLER_HUGETLB)
#define LAZY ((unsigned)CONTROLLER_CPU | CONTROLLER_PIDS | CONTROLLER_DEVICES | CONTROLLER_HUGETLB)

static void
use_hierarchy(struct cgroot *r, const struct hierarchy *h, unsigned controllers, const char *base)
{
    if (r->n_bases == CGROUP_MAX_DIRS)
        return;
    r->bases[r->n_bases++] = (struct cgbase){
        .version = h->version,
        .controllers = controllers,
        .is_lazy = h->version == 1 && controllers != 0 && (controllers & ~LAZY) == 0,
        .mount = xstrdup(h->mount),
        .directory = xasprintf("%s%s", h->mount, base),
    };
}

static const struct hierarchy *
find_v2(const struct hierarchies *all)
{
    for (unsigned i = 0; i < all->count; i++)
        if (all->items[i].version == 2)
            return &all->items[i];
    return NULL;
}

static void
choose_v1(struct cgroot *r, const struct hierarchies *all, const char *base, unsigned wanted)
{
    for (unsigned i = 0; i < all->count; i++) {
        const struct hierarchy *h = &all->items[i];

        if (h->version == 1 && (h->controllers & wanted) != 0)
            use_hierarchy(r, h, h->controllers & wanted, base);
    }
}

/* On pure v1 the freezer tracks the processes. They also have to leave
 * systemd's named hierarchy: otherwise stopping the agent's unit would kill the
 * jobs.
 */
static void
choose_hierarchy(struct cgroot *r, const struct hierarchies *all, const char *base)
{
    const struct hierarchy *v2 = find_v2(all);
    unsigned wanted = WANTED;

    if (v2 != NULL) {
        use_hierarchy(r, v2, v2->controllers & WANTED, base);
        wanted &= ~v2->controllers;
    } else {
        choose_v1(r, all, base, CONTROLLER_FREEZER);
        choose_v1(r, all, base, CONTROLLER_CPUACCT | wanted);
        for (unsigned i = 0; i < all->count; i++)
            if (all->items[i].is_systemd)
                use_hierarchy(r, &all->items[i], 0, base);
        r->ability.mode = CGROOT_V1;
        return;
    }
    choose_v1(r, all, base, wanted);
    r->ability.mode = r->n_bases > 1 ? CGROOT_HYBRID : CGROOT_V2;
}

/* Abilities of this machine */

static const struct cgbase *
find_base(const struct cgroot *r, unsigned controller)
{
    for (unsigned i = 0; i < r->n_bases; i++)
        if (r->bases[i].controllers & controller)
            return &r->bases[i];
    return NULL;
}

static bool
leaf_has(const struct cgbase *b, const char *v2_file, const char *v1_file)
{
    CLEANUP_FREE char *leaf = NULL;

    if (b == NULL)
        return false;
    leaf = xasprintf("%s/" SHEPHERDS, b->directory);
    return control_exists(leaf, b->version == 2 ? v2_file : v1_file);
}

static void
describe_lacking(struct cgroot_ability *a)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    const struct {
        bool has;
        const char *lack;
    } lacks[] = {
        {a->cpuset, "cpuset: jobs are bound to cores only by affinity"},
        {a->memory, "memory: limits are not enforced"},
        {!a->memory || a->swap, "swap accounting: jobs may swap"},
        {a->weight, "cpu: shared pods have no weight"},
        {a->max_processes, "pids: processes are not limited"},
        {a->cpu_time, "CPU time accounting"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(lacks); i++)
        if (!lacks[i].has)
            strbuf_printf(&words, "%s%s", words.length == 0 ? "without " : "; ", lacks[i].lack);
    if (words.length > 0)
        a->lacking = strbuf_take(&words);
}

static void
try_device_programs(struct cgroot_ability *a, unsigned version)
{
    int r = version == 2 ? cgroup_try_device_program() : -EOPNOTSUPP;

    a->devices = r == 0;
    if (version != 2)
        a->devices_lacking = xstrdup("there is no devices controller");
    else if (r == -EPERM)
        a->devices_lacking = xstrdup("the kernel refuses BPF programs for devices (CAP_BPF or "
                                     "CAP_SYS_ADMIN is missing)");
    else if (r < 0)
        a->devices_lacking =
            xasprintf("the kernel does not accept BPF programs for devices: %s", strerror(-r));
}

static void
read_ability(struct cgroot *r)
{
    struct cgroot_ability *a = &r->ability;
    const struct cgbase *memory = find_base(r, CONTROLLER_MEMORY);
    const struct cgbase *tracking = &r->bases[0];

    a->cpuset = find_base(r, CONTROLLER_CPUSET) != NULL;
    a->memory = memory != NULL;
    a->swap = leaf_has(memory, "memory.swap.max", "memory.memsw.limit_in_bytes");
    a->peak_memory = leaf_has(memory, "memory.peak", "memory.max_usage_in_bytes");
    a->weight = find_base(r, CONTROLLER_CPU) != NULL;
    a->max_processes = find_base(r, CONTROLLER_PIDS) != NULL;
    a->hugepages = find_base(r, CONTROLLER_HUGETLB) != NULL;
    a->cpu_time = tracking->version == 2 || find_base(r, CONTROLLER_CPUACCT) != NULL;
    a->devices = find_base(r, CONTROLLER_DEVICES) != NULL;
    if (!a->devices)
        try_device_programs(a, tracking->version);
    a->atomic_kill = leaf_has(tracking, "cgroup.kill", "");
    a->populated_events = tracking->version == 2;
    a->clone_into = tracking->version == 2;
    describe_lacking(a);
}

/* Life */

static struct cgroup *
name_cgroup(const struct cgroot *r, const char *name)
{
    struct cgroup *c = cgroup_new(name);

    for (unsigned i = 0; i < r->n_bases; i++)
        cgroup_add_directory(c, r->bases[i].version, r->bases[i].controllers, r->bases[i].is_lazy,
                             xasprintf("%s/%s", r->bases[i].directory, name));
    return c;
}

/* The shepherds leave the agent's cgroup only in the tracking hierarchy: every
 * further move would add milliseconds to a launch.
 */
static int
make_shepherds(struct cgroot *r, struct error *err)
{
    r->shepherds = cgroup_new(SHEPHERDS);
    for (unsigned i = 0; i < r->n_bases; i++) {
        const struct cgbase *b = &r->bases[i];
        char *leaf = xasprintf("%s/" SHEPHERDS, b->directory);
        int made = cgbase_make_directory(leaf, err);

        if (made < 0) {
            free(leaf);
            return made;
        }
        if (i == 0 || b->controllers == 0)
            cgroup_add_directory(r->shepherds, b->version, 0, false, leaf);
        else
            free(leaf);
    }
    return 0;
}

/* A reader of outputs is no part of the job whose output it reads: it may live
 * longer, and runs while the job is frozen. It must not take the jobs' CPU time
 * and memory either. A limit that the machine cannot set is left out.
 */
static struct cgroup *
make_readers(const struct cgroot *r)
{
    struct cgroup *c = cgroup_new(READERS);

    for (unsigned i = 0; i < r->n_bases; i++) {
        const struct cgbase *b = &r->bases[i];
        char *leaf = xasprintf("%s/" READERS, b->directory);

        if ((i == 0 || b->version == 2 || (b->controllers & (CONTROLLER_CPU | CONTROLLER_MEMORY)))
            && (b->is_lazy || cgbase_make_directory(leaf, NULL) == 0))
            cgroup_add_directory(c, b->version, b->controllers, b->is_lazy, leaf);
        else
            free(leaf);
    }
    (void)cgroup_set_weight(c, READERS_WEIGHT, NULL);
    (void)cgroup_set_memory(c, READERS_BYTES, NULL);
    return c;
}

static void
make_partitions(struct cgroot *r, const char *cpus)
{
    struct cgroot_ability *a = &r->ability;
    struct error err = {0};

    for (unsigned i = 0; i < r->n_bases; i++) {
        struct cgbase *b = &r->bases[i];

        if (b->version != 2 || !(b->controllers & CONTROLLER_CPUSET))
            continue;
        if (cpus == NULL) /* undo a former agent's setting */
            control_write(b->directory, "cpuset.cpus.partition", "member", NULL);
        else
            a->partitions = cgbase_partition(b, cpus, &err) == 0;
    }
    if (cpus != NULL && !a->partitions)
        a->partitions_lacking =
            xstrdup(err.text[0] != '\0' ? err.text : "cgroup v1 has no CPU partitions");
}

static int
open_bases(struct cgroot *r, const struct hierarchies *all, const char *base, struct error *err)
{
    choose_hierarchy(r, all, base);
    if (r->n_bases == 0)
        return error_set(err, -EOPNOTSUPP,
                         "no usable cgroup hierarchy is mounted; mount "
                         "cgroup2 on /sys/fs/cgroup");
    for (unsigned i = 0; i < r->n_bases; i++) {
        int made = cgbase_make(&r->bases[i], err);

        if (made < 0)
            return made;
    }
    return make_shepherds(r, err);
}

static bool
is_whole(const struct cgbase *b)
{
    CLEANUP_FREE char *leaf = xasprintf("%s/" SHEPHERDS, b->directory);

    return access(leaf, F_OK) == 0 && cgbase_has_controllers(b);
}

/* Works on a copy of each base, because the controllers were fixed when the
 * base was opened, and other threads read it meanwhile.
 */
int
cgroot_repair(struct cgroot *r, struct error *err)
{
    int mended = 0;

    for (unsigned i = 0; i < r->n_bases; i++) {
        struct cgbase b = r->bases[i];
        CLEANUP_FREE char *leaf = xasprintf("%s/" SHEPHERDS, b.directory);
        int made;

        if (is_whole(&b))
            continue;
        made = cgbase_make(&b, err);
        if (made == 0)
            made = cgbase_make_directory(leaf, err);
        if (made < 0)
            return made;
        mended = 1;
    }
    if (mended)
        cgroup_free(make_readers(r));
    return mended;
}

void
cgroot_refill(struct cgroot *r)
{
    for (unsigned i = 0; i < r->n_bases; i++)
        cgbase_refill(&r->bases[i]);
}

static int
check_base(const char *base, struct error *err)
{
    size_t length = strlen(base);

    if (length < 2 || base[0] != '/' || base[length - 1] == '/' || strstr(base, "//") != NULL
        || strstr(base, "/.") != NULL || strchr(base, '\n') != NULL)
        return error_set(err, -EINVAL,
                         "'%s' is not the path of a cgroup such as "
                         "'/kiln-jobs'",
                         base);
    return 0;
}

int
cgroot_open(const struct cgroot_settings *settings, struct cgroot **ret_root, struct error *err)
{
    CLEANUP(cgroot_closep) struct cgroot *root = xnew(struct cgroot);
    CLEANUP_STRBUF struct strbuf mounts = STRBUF_INIT;
    const char *path = settings->mountinfo;
    struct hierarchies all;
    int r = check_base(settings->base, err);

    if (r == 0)
        r = file_read(path == NULL ? "/proc/self/mountinfo" : path, MOUNTINFO_LIMIT_BYTES, &mounts,
                      err);
    if (r < 0)
        return r;
    hierarchies_parse(mounts.text, &all);
    r = open_bases(root, &all, settings->base, err);
    hierarchies_fini(&all);
    if (r < 0)
        return r;
    root->readers = make_readers(root);
    read_ability(root);
    make_partitions(root, settings->partition_cpus);
    *ret_root = root;
    root = NULL;
    return 0;
}

void
cgroot_close(struct cgroot *r)
{
    if (r == NULL)
        return;
    for (unsigned i = 0; i < r->n_bases; i++) {
        free(r->bases[i].mount);
        free(r->bases[i].directory);
    }
    cgroup_free(r->shepherds);
    cgroup_free(r->readers);
    free(r->ability.lacking);
    free(r->ability.devices_lacking);
    free(r->ability.partitions_lacking);
    free(r);
}

/* Cgroups below */

static int
check_name(const char *name, struct error *err)
{
    if (*name == '\0' || *name == '.' || strpbrk(name, "/\n") != NULL
        || strcmp(name, SHEPHERDS) == 0 || strcmp(name, READERS) == 0
        || strcmp(name, CGBASE_KEEPER) == 0)
        return error_set(err, -EINVAL, "'%s' is not a valid cgroup name", name);
    return 0;
}

int
cgroot_make(struct cgroot *r, const char *name, struct cgroup **ret_c, struct error *err)
{
    CLEANUP(cgroup_freep) struct cgroup *c = NULL;
    int made = check_name(name, err);

    if (made < 0)
        return made;
    c = name_cgroup(r, name);
    made = cgroup_make(c, err);
    if (made < 0)
        return made;
    *ret_c = c;
    c = NULL;
    return 0;
}

int
cgroot_find(struct cgroot *r, const char *name, struct cgroup **ret_c, struct error *err)
{
    struct cgroup *c;
    int found = check_name(name, err);

    if (found < 0)
        return found;
    if (!control_exists(r->bases[0].directory, name))
        return error_set(err, -ENOENT, "cgroup '%s' does not exist", name);
    c = cgroup_new(name);
    for (unsigned i = 0; i < r->n_bases; i++)
        cgroup_add_directory(c, r->bases[i].version, r->bases[i].controllers,
                             !control_exists(r->bases[i].directory, name),
                             xasprintf("%s/%s", r->bases[i].directory, name));
    *ret_c = c;
    return 0;
}

struct cgroup *
cgroot_shepherds(struct cgroot *r)
{
    return r->shepherds;
}

const struct cgroup *
cgroot_readers(const struct cgroot *r)
{
    return r->readers;
}

int
cgroot_list(struct cgroot *r, cgroot_visit_fn visit, void *context)
{
    DIR *dir = opendir(r->bases[0].directory);
    struct dirent *entry;
    int result = 0;

    if (dir == NULL)
        return -errno;
    while (result == 0 && (entry = readdir(dir)) != NULL)
        if (entry->d_type == DT_DIR && check_name(entry->d_name, NULL) == 0)
            result = visit(entry->d_name, context);
    closedir(dir);
    return result;
}

const struct cgroot_ability *
cgroot_ability(const struct cgroot *r)
{
    return &r->ability;
}
