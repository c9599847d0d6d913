/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/hardware/fingerprint.h"

#include <dirent.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/hardware/device_files.h"
#include "agent/hardware/hardware.h"
#include "lib/api/node/topology.h"
#include "lib/base/alloc.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define SMALL_FILE 65536u

static void
add_file(const char *root, const char *path, struct strbuf *out)
{
    CLEANUP_FREE char *whole = xasprintf("%s%s", root, path);

    strbuf_printf(out, "%s: ", path);
    if (file_read(whole, SMALL_FILE, out, NULL) < 0)
        strbuf_add_text(out, "-\n");
}

/* Adds the total memory, not the memory in use. */
static void
add_meminfo(const char *root, unsigned node, struct strbuf *out)
{
    CLEANUP_FREE char *path = xasprintf("%s/sys/devices/system/node/node%u/meminfo", root, node);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char *at;

    if (file_read(path, SMALL_FILE, &text, NULL) < 0)
        return;
    at = strstr(text.text, "MemTotal:");
    if (at != NULL)
        strbuf_printf(out, "node%u %.*s\n", node, (int)strcspn(at, "\n"), at);
}

/* Adds the number of pages of each size. readdir returns an unchanged folder in
 * the same order.
 */
static void
add_hugepages(const char *root, unsigned node, struct strbuf *out)
{
    CLEANUP_FREE char *folder = xasprintf("/sys/devices/system/node/node%u/hugepages", node);
    CLEANUP_FREE char *whole = xasprintf("%s%s", root, folder);
    DIR *dir = opendir(whole);

    if (dir == NULL)
        return;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        CLEANUP_FREE char *file = NULL;

        if (e->d_name[0] == '.')
            continue;
        file = xasprintf("%s/%s/nr_hugepages", folder, e->d_name);
        add_file(root, file, out);
    }
    closedir(dir);
}

static void
add_affinity(struct strbuf *out)
{
    cpu_set_t cpus;

    if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
        for (unsigned i = 0; i < sizeof(cpus) / sizeof(long); i++)
            strbuf_printf(out, "%lx,", ((const unsigned long *)&cpus)[i]);
    strbuf_add_char(out, '\n');
}

static void
add_devices(const struct topology *known, struct strbuf *out)
{
    for (unsigned i = 0; i < known->n_devices; i++) {
        const char *path = known->devices[i].path;

        if (path != NULL)
            strbuf_printf(out, "%s %d\n", path, access(path, F_OK));
    }
}

/* Adds a hash of the directory's names: a new card is a new entry. */
static void
add_names(const char *root, const char *path, struct strbuf *out)
{
    CLEANUP_FREE char *whole = xasprintf("%s%s", root, path);
    DIR *dir = opendir(whole);
    uint64_t sum = 0;

    if (dir == NULL)
        return;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        uint64_t hash = 5381;

        for (const char *c = e->d_name; *c != '\0'; c++)
            hash = hash * 33 + (unsigned char)*c;
        sum += hash * hash; /* so that the order does not matter */
    }
    closedir(dir);
    strbuf_printf(out, "%s %" PRIx64 "\n", path, sum);
}

static void
add_this_machine(const char *root, const struct hardware_request *w, const struct topology *known,
                 struct strbuf *out)
{
    add_file(root, "/sys/devices/system/cpu/online", out);
    add_file(root, "/sys/devices/system/node/online", out);
    if (!w->whole_machine)
        add_affinity(out);
    for (unsigned i = 0; known != NULL && i < known->n_numa; i++) {
        add_meminfo(root, known->numa[i].os_index, out);
        add_hugepages(root, known->numa[i].os_index, out);
    }
    if (w->with_devices) {
        add_names(root, "/sys/bus/pci/devices", out);
        add_names(root, "/sys/class/drm", out);
        add_names(root, "/sys/class/net", out);
    }
}

static void
add_given_file(const char *path, struct strbuf *out)
{
    struct stat st;

    if (stat(path, &st) == 0)
        strbuf_printf(out, "%" PRIu64 " %" PRId64 " %" PRId64 ".%09ld\n", (uint64_t)st.st_ino,
                      (int64_t)st.st_size, (int64_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

void
fingerprint_read(const char *root, const struct hardware_request *w, const struct topology *known,
                 struct strbuf *out)
{
    if (w->given == NULL)
        add_this_machine(root, w, known, out);
    else
        add_given_file(w->given, out);
    if (known != NULL && w->given == NULL)
        add_devices(known, out);
    device_files_list(w->patterns, w->n_patterns, out);
}
