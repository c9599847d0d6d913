/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/device_guard.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "agent/cgroup/cgroup.h"
#include "lib/api/node/allocation.h"
#include "lib/api/node/topology.h"
#include "lib/base/alloc.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

struct device_list {
    struct device_number *items;
    unsigned count;
};

static bool
is_listed(const struct device_list *l, const struct device_number *d)
{
    for (unsigned i = 0; i < l->count; i++)
        if (l->items[i].is_block == d->is_block && l->items[i].major == d->major
            && l->items[i].minor == d->minor)
            return true;
    return false;
}

static void
add(struct device_list *l, bool is_block, unsigned major, unsigned minor)
{
    const struct device_number d = {is_block, major, minor};

    if (is_listed(l, &d))
        return;
    l->items = xrealloc_array(l->items, l->count + 1, sizeof(*l->items));
    l->items[l->count++] = d;
}

/* Adds the other device files of a GPU:
 * /sys/dev/char/226:128/device/drm/card0/dev.
 */
static void
add_siblings(struct device_list *l, unsigned major, unsigned minor)
{
    CLEANUP_FREE char *path = xasprintf("/sys/dev/char/%u:%u/device/drm", major, minor);
    DIR *dir = opendir(path);

    if (dir == NULL)
        return;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        CLEANUP_FREE char *file = xasprintf("%s/%s/dev", path, e->d_name);
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
        unsigned other_major, other_minor;

        if (e->d_name[0] != '.' && file_read(file, 64, &text, NULL) == 0
            && sscanf(text.text, "%u:%u", &other_major, &other_minor) == 2)
            add(l, false, other_major, other_minor);
    }
    closedir(dir);
}

static bool
has_device(const struct allocation *a, const char *name)
{
    for (unsigned i = 0; a != NULL && i < a->devices.count; i++)
        if (strcmp(a->devices.items[i], name) == 0)
            return true;
    return false;
}

struct device_number *
device_guard_list(const struct topology *t, const struct allocation *a, unsigned *ret_n)
{
    struct device_list l = {0};

    for (unsigned i = 0; i < t->n_devices; i++) {
        const struct topology_device *d = &t->devices[i];
        struct stat st;
        bool is_block;

        if (d->path == NULL || has_device(a, d->name) || stat(d->path, &st) < 0)
            continue;
        is_block = S_ISBLK(st.st_mode);
        if (!is_block && !S_ISCHR(st.st_mode))
            continue;
        add(&l, is_block, major(st.st_rdev), minor(st.st_rdev));
        if (!is_block)
            add_siblings(&l, major(st.st_rdev), minor(st.st_rdev));
    }
    *ret_n = l.count;
    return l.items;
}
