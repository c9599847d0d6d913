/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cgroup/cgbase.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/cgroup/control.h"
#include "agent/cgroup/hierarchy.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

int
cgbase_make_directory(const char *directory, struct error *err)
{
    if (mkdir(directory, 0755) < 0 && errno != EEXIST)
        return error_set(err, -errno, "creating cgroup '%s': %s", directory, strerror(errno));
    return 0;
}

/* A v1 cpuset accepts no process before it has CPUs and memory nodes, and only
 * those that its parent has. With clone_children, new children inherit the
 * values of this directory.
 */
static int
fill_cpuset_v1(const char *parent, const char *directory, struct error *err)
{
    static const char *const files[] = {"cpuset.cpus", "cpuset.mems"};

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        CLEANUP_STRBUF struct strbuf mine = STRBUF_INIT;
        CLEANUP_STRBUF struct strbuf theirs = STRBUF_INIT;
        int r = control_read(directory, files[i], &mine, err);

        if (r == 0 && mine.length == 0) {
            r = control_read(parent, files[i], &theirs, err);
            if (r == 0)
                r = control_write(directory, files[i], theirs.text, err);
        }
        if (r < 0)
            return r;
    }
    control_write(directory, "cgroup.clone_children", "1", NULL);
    return 0;
}

static bool
is_enabled(const char *directory, const char *name)
{
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    size_t length = strlen(name);

    if (control_read(directory, "cgroup.subtree_control", &list, NULL) < 0)
        return false;
    for (const char *at = list.text; *at != '\0';) {
        size_t word = strcspn(at, " ");

        if (word == length && strncmp(at, name, length) == 0)
            return true;
        at += word;
        at += strspn(at, " ");
    }
    return false;
}

/* In v2, a cgroup with enabled controllers must not hold processes, so the
 * processes that keep a delegated unit alive move into a leaf. They must move
 * before any controller is enabled: enabling the first ones with processes in
 * the cgroup makes the leaf invalid.
 */
static int
move_keepers(const char *directory, struct error *err)
{
    CLEANUP_FREE char *leaf = xasprintf("%s/" CGBASE_KEEPER, directory);
    CLEANUP_STRBUF struct strbuf pids = STRBUF_INIT;
    char *at = NULL;
    int r = control_read(directory, "cgroup.procs", &pids, err);

    if (r < 0 || pids.length == 0)
        return r;
    r = cgbase_make_directory(leaf, err);
    for (char *pid = strtok_r(pids.text, "\n", &at); pid != NULL && r == 0;
         pid = strtok_r(NULL, "\n", &at)) {
        r = control_write(leaf, "cgroup.procs", pid, err);
        if (r == -ESRCH)
            r = 0;
    }
    return r;
}

/* Each directory from the mount down to the base has to enable the controllers
 * for its children.
 */
static void
enable_controllers(struct cgbase *b, const char *directory)
{
    for (unsigned c = 1; c != 0 && c <= b->controllers; c <<= 1) {
        char change[16];

        if ((b->controllers & c) == 0 || is_enabled(directory, controller_name(c)))
            continue;
        snprintf(change, sizeof(change), "+%s", controller_name(c));
        if (control_write(directory, "cgroup.subtree_control", change, NULL) < 0)
            b->controllers &= ~c;
    }
}

bool
cgbase_has_controllers(const struct cgbase *b)
{
    for (unsigned c = 1; b->version == 2 && c != 0 && c <= b->controllers; c <<= 1)
        if ((b->controllers & c) != 0 && !is_enabled(b->directory, controller_name(c)))
            return false;
    return true;
}

static int
prepare(struct cgbase *b, const char *parent, const char *directory, bool is_base,
        struct error *err)
{
    int r = cgbase_make_directory(directory, err);

    if (r < 0)
        return r;
    if (b->version == 2 && is_base && b->controllers != 0)
        r = move_keepers(directory, err);
    if (r < 0)
        return r;
    if (b->version == 2)
        enable_controllers(b, directory);
    if (b->version == 1 && (b->controllers & CONTROLLER_CPUSET))
        return fill_cpuset_v1(parent, directory, err);
    if (b->version == 1 && (b->controllers & CONTROLLER_MEMORY))
        control_write(directory, "memory.use_hierarchy", "1", NULL);
    return 0;
}

int
cgbase_make(struct cgbase *b, struct error *err)
{
    CLEANUP_FREE char *parent = xstrdup(b->mount);
    CLEANUP_FREE char *directory = xstrdup(b->directory);
    size_t from = strlen(b->mount);

    if (b->version == 2)
        enable_controllers(b, b->mount);
    for (;;) {
        size_t to = from + 1 + strcspn(b->directory + from + 1, "/");
        bool is_base = b->directory[to] == '\0';
        int r;

        directory[to] = '\0';
        r = prepare(b, parent, directory, is_base, err);
        if (r < 0 || is_base)
            return r;
        free(parent);
        parent = xstrdup(directory);
        directory[to] = '/';
        from = to;
    }
}

/* The parent of a partition has to be a partition, so each directory from the
 * mount down becomes one.
 */
int
cgbase_partition(struct cgbase *b, const char *cpus, struct error *err)
{
    CLEANUP_FREE char *directory = xstrdup(b->directory);
    size_t at = strlen(b->mount);
    int r = 0;

    while (r == 0 && directory[at] != '\0') {
        char after;

        at += 1 + strcspn(directory + at + 1, "/");
        after = directory[at];
        directory[at] = '\0';
        r = control_write(directory, "cpuset.cpus", cpus, err);
        if (r == 0)
            r = control_partition(directory, "root", err);
        directory[at] = after;
    }
    return r;
}

/* CPUs that come online again return to the cpuset of the base's parent, but
 * not to the base's.
 */
void
cgbase_refill(const struct cgbase *b)
{
    const char *slash = strrchr(b->directory, '/');
    CLEANUP_FREE char *parent = xstrndup(b->directory, (size_t)(slash - b->directory));
    CLEANUP_STRBUF struct strbuf cpus = STRBUF_INIT;

    if (b->version == 1 && (b->controllers & CONTROLLER_CPUSET)
        && control_read(parent, "cpuset.cpus", &cpus, NULL) == 0)
        control_write(b->directory, "cpuset.cpus", cpus.text, NULL);
}
