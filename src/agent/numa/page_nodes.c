/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/numa/page_nodes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <numa.h>

#include "lib/base/alloc.h"
#include "lib/base/bitset.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define MAPS_LIMIT (16u << 20)
#define BATCH      1024u /* pages in one system call */

/* The pages of one system call. */
struct page_batch {
    pid_t pid;
    const struct bitset *right;
    struct page_count *count;
    unsigned n;
    void *pages[BATCH];
    int nodes[BATCH];
};

static int
ask(struct page_batch *b)
{
    if (b->n == 0)
        return 0;
    if (numa_move_pages(b->pid, b->n, b->pages, NULL, b->nodes, 0) < 0)
        return -errno;
    for (unsigned i = 0; i < b->n; i++) {
        if (b->nodes[i] < 0)
            continue; /* never touched, swapped out, or the zero page */
        b->count->found++;
        if (!bitset_has(b->right, (unsigned)b->nodes[i]))
            b->count->elsewhere++;
    }
    b->count->asked += b->n;
    b->n = 0;
    return 0;
}

static int
add_page(struct page_batch *b, unsigned long address)
{
    b->pages[b->n++] = (void *)address;
    return b->n == BATCH ? ask(b) : 0;
}

/* A line of /proc/PID/maps; see proc_pid_maps(5). */
struct memory_mapping {
    unsigned long begin, end;
};

/* Whether a mapping is the process's own memory: anonymous, heap, stack, and
 * shared memory without a file on a disk. `name` ends at the line's end.
 */
static bool
is_memory(const char *name)
{
    static const char *const shared[] = {"/dev/shm/", "/SYSV", "/memfd:", "/dev/zero",
                                         "/anon_hugepage"};

    if (*name == '\0' || *name == '\n')
        return true;
    if (*name == '[')
        return strncmp(name, "[v", 2) != 0; /* vdso, vvar, vsyscall */
    for (size_t i = 0; i < ARRAY_SIZE(shared); i++)
        if (strncmp(name, shared[i], strlen(shared[i])) == 0)
            return true;
    return false;
}

/* Reads the next mapping of memory after *at. False at the end. */
static bool
next_mapping(const char **at, struct memory_mapping *ret)
{
    while (**at != '\0') {
        const char *line = *at;
        size_t length = strcspn(line, "\n");
        int name = 0;

        *at = line + length + (line[length] == '\n');
        if (sscanf(line, "%lx-%lx %*s %*s %*s %*s%n", &ret->begin, &ret->end, &name) < 2
            || name == 0)
            continue;
        while ((size_t)name < length && line[name] == ' ')
            name++;
        if (is_memory(line + name))
            return true;
    }
    return false;
}

static uint64_t
count_mapped(const char *maps, unsigned long page_bytes)
{
    uint64_t pages = 0;
    struct memory_mapping m;

    while (next_mapping(&maps, &m))
        pages += (m.end - m.begin) / page_bytes;
    return pages;
}

int
page_nodes_count(const char *proc, pid_t pid, const struct bitset *right, uint64_t most,
                 struct page_count *count)
{
    CLEANUP_FREE char *path = xasprintf("%s/%d/maps", proc, (int)pid);
    CLEANUP_STRBUF struct strbuf maps = STRBUF_INIT;
    CLEANUP_FREE struct page_batch *b = NULL;
    unsigned long page_bytes = (unsigned long)sysconf(_SC_PAGESIZE);
    uint64_t pages, step, skip = 0;
    const char *at;
    struct memory_mapping m;
    int r = file_read(path, MAPS_LIMIT, &maps, NULL);

    if (r < 0)
        return r;
    pages = count_mapped(maps.text, page_bytes);
    step = most > 0 ? (pages + most - 1) / most : 1;
    if (step == 0)
        step = 1;
    b = xnew(struct page_batch);
    b->pid = pid;
    b->right = right;
    b->count = count;
    at = maps.text;
    while (r == 0 && next_mapping(&at, &m)) {
        uint64_t n = (m.end - m.begin) / page_bytes;
        uint64_t i = skip;

        for (; r == 0 && i < n; i += step)
            r = add_page(b, m.begin + i * page_bytes);
        skip = i >= n ? i - n : 0;
    }
    return r < 0 ? r : ask(b);
}

int
page_nodes_move(pid_t pid, const struct bitset *nodes, struct error *err)
{
    struct bitmask *from, *to;
    int r = 0;

    if (numa_available() < 0)
        return error_set(err, -ENOSYS, "this kernel has no NUMA support");
    from = numa_allocate_nodemask();
    to = numa_allocate_nodemask();
    for (unsigned node = 0; (int)node <= numa_max_node(); node++)
        numa_bitmask_setbit(bitset_has(nodes, node) ? to : from, node);
    if (numa_bitmask_weight(to) > 0 && numa_bitmask_weight(from) > 0
        && numa_migrate_pages(pid, from, to) < 0)
        r = error_set(err, -errno, "moving the memory of process %d: %s", (int)pid,
                      strerror(errno));
    numa_free_nodemask(from);
    numa_free_nodemask(to);
    return r;
}
