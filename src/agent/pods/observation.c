/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/observation.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/cgroup/cgroup.h"
#include "agent/numa/page_nodes.h"
#include "agent/shepherd/files/live_record.h"
#include "lib/api/node/topology.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/alloc.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define MAX_PROCESSES    256u
#define MAX_PAGED_BYTES  (UINT64_C(1) << 30)
#define MAX_ASKED_PAGES  (1u << 20) /* of all processes together */
#define STATUS_LIMIT     (64u << 10)
#define MAPS_LIMIT       (16u << 20)
#define STRAY_PERCENT_OK 95 /* the kernel itself may misplace the rest */

struct process_list {
    pid_t pids[MAX_PROCESSES];
    unsigned count;
};

static int
read_about(const char *proc, pid_t pid, const char *file, size_t limit, struct strbuf *out)
{
    CLEANUP_FREE char *path = xasprintf("%s/%d/%s", proc, (int)pid, file);

    return file_read(path, limit, out, NULL);
}

/* ---- The processes ---- */

static bool
has(const struct process_list *all, pid_t pid)
{
    for (unsigned i = 0; i < all->count; i++)
        if (all->pids[i] == pid)
            return true;
    return false;
}

static int
add(pid_t pid, void *context)
{
    struct process_list *all = context;

    all->pids[all->count++] = pid;
    return all->count == MAX_PROCESSES;
}

/* Without a cgroup: adds the descendants of the main process, except those that
 * the shepherd has adopted.
 */
static void
add_descendants(const char *proc, struct process_list *all)
{
    for (unsigned i = 0; i < all->count; i++) {
        CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
        CLEANUP_FREE char *file = xasprintf("task/%d/children", (int)all->pids[i]);
        char *end;

        if (read_about(proc, all->pids[i], file, STATUS_LIMIT, &list) < 0)
            continue;
        for (char *at = list.text; all->count < MAX_PROCESSES; at = end) {
            long pid = strtol(at, &end, 10);

            if (end == at)
                break;
            add((pid_t)pid, all);
        }
    }
}

static bool
is_main_alive(const struct observation_request *w)
{
    int64_t start;

    if (w->main <= 0)
        return false;
    return strcmp(w->proc, "/proc") != 0
           || (live_record_read_start(w->main, &start) == 0 && start == w->main_start);
}

/* Call it after the processes were listed: an ending process frees its memory
 * before it leaves its cgroup, and still exists for a moment.
 */
static bool
is_main_ending(const struct observation_request *w)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    return read_about(w->proc, w->main, "statm", STATUS_LIMIT, &text) < 0
           || strncmp(text.text, "0 ", 2) == 0;
}

static void
gather(const struct observation_request *w, const struct cgroup *c, struct process_list *all,
       struct observation *seen)
{
    bool main_alive = is_main_alive(w);

    if (c != NULL) {
        (void)cgroup_visit_processes(c, add, all);
        seen->has_strayed = main_alive && all->count < MAX_PROCESSES && !has(all, w->main)
                            && is_main_alive(w) && !is_main_ending(w);
    }
    if (main_alive && !has(all, w->main) && all->count < MAX_PROCESSES)
        add(w->main, all);
    if (c == NULL)
        add_descendants(w->proc, all);
}

/* ---- Allowed CPUs and NUMA nodes ---- */

static void
add_list(const char *status, const char *key, struct bitset *set)
{
    const char *line = strstr(status, key);
    CLEANUP_FREE char *list = NULL;
    struct bitset more;

    if (line == NULL)
        return;
    line += strlen(key);
    line += strspn(line, " \t");
    list = xstrndup(line, strcspn(line, "\n"));
    if (cpuset_parse(list, &more, NULL) == 0)
        bitset_or(set, &more);
}

static bool
read_allowed(const char *proc, pid_t pid, struct observation *seen)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (read_about(proc, pid, "status", STATUS_LIMIT, &text) < 0)
        return false;
    if (strstr(text.text, "\nCpus_allowed_list:") == NULL)
        return false; /* a zombie has no such line */
    add_list(text.text, "\nCpus_allowed_list:", &seen->cpus);
    add_list(text.text, "\nMems_allowed_list:", &seen->memory_nodes);
    seen->processes++;
    return true;
}

/* ---- Placement of the memory ---- */

static uint64_t
resident_bytes(const char *proc, pid_t pid)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    unsigned long long pages;

    if (read_about(proc, pid, "statm", STATUS_LIMIT, &text) < 0
        || sscanf(text.text, "%*u %llu", &pages) != 1)
        return 0;
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Whether the line is a mapping of memory, not of a file in a file system. */
static bool
is_memory(const char *line, size_t length)
{
    static const char *const shared[] = {"/dev/shm/", "/SYSV", "/memfd:", "/dev/zero",
                                         "/anon_hugepage"};
    const char *file = memmem(line, length, " file=", 6);

    if (file == NULL || memmem(line, length, " huge ", 6) != NULL)
        return true;
    for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
        if (strncmp(file + 6, shared[i], strlen(shared[i])) == 0)
            return true;
    return false;
}

static void
count_line(const char *line, size_t length, const struct bitset *right, struct observation *seen)
{
    const char *page = memmem(line, length, "kernelpagesize_kB=", 18);
    uint64_t unit = page == NULL ? 4096 : strtoull(page + 18, NULL, 10) << 10;

    if (!is_memory(line, length))
        return;
    for (const char *at = line; at < line + length;) {
        unsigned node;
        unsigned long long pages;

        at = memmem(at, (size_t)(line + length - at), " N", 2);
        if (at == NULL)
            return;
        at += 2;
        if (sscanf(at, "%u=%llu", &node, &pages) != 2)
            continue;
        seen->bytes += pages * unit;
        if (!bitset_has(right, node))
            seen->bytes_elsewhere += pages * unit;
    }
}

static bool
count_pages(const char *proc, pid_t pid, const struct bitset *right, struct observation *seen)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (read_about(proc, pid, "numa_maps", MAPS_LIMIT, &text) < 0)
        return false;
    for (const char *line = text.text; line != NULL && *line != '\0';) {
        size_t length = strcspn(line, "\n");

        count_line(line, length, right, seen);
        line += length + (line[length] == '\n');
    }
    return true;
}

/* The process's private and shared memory, without mapped files. */
static uint64_t
own_bytes(const char *proc, pid_t pid)
{
    static const char *const keys[] = {"\nRssAnon:", "\nRssShmem:"};
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    uint64_t bytes = 0;

    if (read_about(proc, pid, "status", STATUS_LIMIT, &text) < 0)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const char *line = strstr(text.text, keys[i]);

        if (line != NULL)
            bytes += strtoull(line + strlen(keys[i]), NULL, 10) << 10;
    }
    return bytes;
}

/* Samples the pages of a process with much memory, and scales the result to all
 * of its memory.
 */
static bool
ask_for_pages(const struct observation_request *w, const struct process_list *all,
              struct observation *seen)
{
    struct observation sum = *seen;

    for (unsigned i = 0; i < all->count; i++) {
        struct page_count count = {0};
        uint64_t bytes = own_bytes(w->proc, all->pids[i]);
        int r = page_nodes_count(w->proc, all->pids[i], &w->memory_nodes,
                                 MAX_ASKED_PAGES / all->count, &count);

        if (r == -ENOENT || r == -ESRCH)
            continue;
        if (r < 0 || (count.found == 0 && bytes > MAX_PAGED_BYTES / 16))
            return false;
        sum.bytes += bytes;
        if (count.found > 0)
            sum.bytes_elsewhere +=
                (uint64_t)((double)bytes * (double)count.elsewhere / (double)count.found);
    }
    *seen = sum;
    return true;
}

static bool
read_cgroup_memory(const struct cgroup *c, const struct bitset *right, struct observation *seen)
{
    uint64_t bytes[TOPOLOGY_MAX_NUMA];

    if (c == NULL || cgroup_read_memory_nodes(c, TOPOLOGY_MAX_NUMA, bytes) < 0)
        return false;
    for (unsigned node = 0; node < TOPOLOGY_MAX_NUMA; node++) {
        seen->bytes += bytes[node];
        if (!bitset_has(right, node))
            seen->bytes_elsewhere += bytes[node];
    }
    return true;
}

static void
read_memory(const struct observation_request *w, const struct cgroup *c,
            const struct process_list *all, struct observation *seen)
{
    uint64_t resident = 0;

    if (bitset_is_empty(&w->memory_nodes))
        return;
    for (unsigned i = 0; i < all->count && resident <= MAX_PAGED_BYTES; i++)
        resident += resident_bytes(w->proc, all->pids[i]);
    if (resident > MAX_PAGED_BYTES) {
        seen->has_memory =
            ask_for_pages(w, all, seen) || read_cgroup_memory(c, &w->memory_nodes, seen);
        return;
    }
    for (unsigned i = 0; i < all->count; i++)
        if (count_pages(w->proc, all->pids[i], &w->memory_nodes, seen))
            seen->has_memory = true;
    if (!seen->has_memory)
        seen->has_memory = read_cgroup_memory(c, &w->memory_nodes, seen);
}

bool
observation_take(const struct observation_request *w, struct observation *ret_seen)
{
    CLEANUP(cgroup_freep) struct cgroup *c = NULL;
    struct observation seen = {0};
    struct process_list all = {0};

    if (w->cgroup != NULL && cgroup_parse(w->cgroup, &c, NULL) < 0)
        return false;
    gather(w, c, &all, &seen);
    for (unsigned i = 0; i < all.count; i++)
        (void)read_allowed(w->proc, all.pids[i], &seen);
    if (seen.processes == 0)
        return false;
    read_memory(w, c, &all, &seen);
    *ret_seen = seen;
    return true;
}

/* ---- Comparison with the expectation ---- */

static void
start_clause(struct strbuf *words)
{
    if (words->length > 0)
        strbuf_add_text(words, "; ");
}

static bool
is_within(const struct bitset *seen, const struct bitset *expected, const char *verb,
          struct strbuf *words)
{
    struct bitset beyond = *seen;

    bitset_and_not(&beyond, expected);
    if (bitset_is_empty(expected) || bitset_is_empty(&beyond))
        return true;
    start_clause(words);
    strbuf_add_text(words, verb);
    cpuset_format(&beyond, words);
    strbuf_add_text(words, ", which are not its own");
    return false;
}

int
observation_percent(const struct observation *s)
{
    if (!s->has_memory)
        return -1;
    if (s->bytes == 0)
        return 100;
    return (int)((double)(s->bytes - s->bytes_elsewhere) * 100 / (double)s->bytes);
}

bool
observation_check(const struct observation *s, const struct placement_expectation *expected,
                  struct strbuf *words)
{
    bool right = true;

    if (s->has_strayed) {
        start_clause(words);
        strbuf_add_text(words, "its first process has left its cgroup");
        right = false;
    }
    right &= is_within(&s->cpus, &expected->cpus, "may run on CPUs ", words);
    right &= is_within(&s->memory_nodes, &expected->memory_nodes, "may use memory of NUMA nodes ",
                       words);
    if (!bitset_is_empty(&expected->memory_nodes) && s->has_memory
        && observation_percent(s) < STRAY_PERCENT_OK) {
        start_clause(words);
        strbuf_printf(words,
                      "%" PRIu64 " MiB of its %" PRIu64 " MiB of memory are "
                      "on NUMA nodes that are not its own",
                      s->bytes_elsewhere >> 20, s->bytes >> 20);
        right = false;
    }
    return right;
}
