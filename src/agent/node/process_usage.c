/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/process_usage.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/fd.h"

struct sampled_process {
    pid_t pid;
    pid_t parent;
    uint64_t user, system;               /* of the process, in ticks */
    uint64_t waited_user, waited_system; /* of children that it waited for */
    int64_t pages;
};

struct sampled_processes {
    struct sampled_process *items; /* by pid */
    size_t count, capacity;
};

static int
read_process(const char *root, pid_t pid, struct sampled_process *ret_process)
{
    char path[256];
    char text[1024];
    const char *at;
    ssize_t n;

    snprintf(path, sizeof(path), "%s/proc/%ld/stat", root, (long)pid);
    CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    n = read(fd, text, sizeof(text) - 1);
    if (n < 0)
        return -errno;
    text[n] = '\0';
    ret_process->pid = pid;
    at = strrchr(text, ')'); /* the process name may contain ')' */
    if (at == NULL
        || sscanf(at + 1,
                  " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64 " %" SCNu64
                  " %" SCNu64 " %*d %*d %*d %*d %*u %*u %" SCNd64,
                  &ret_process->parent, &ret_process->user, &ret_process->system,
                  &ret_process->waited_user, &ret_process->waited_system, &ret_process->pages)
               != 6)
        return -EBADMSG;
    return 0;
}

static int
compare_processes(const void *a, const void *b)
{
    const struct sampled_process *x = a;
    const struct sampled_process *y = b;

    return (x->pid > y->pid) - (x->pid < y->pid);
}

static int
compare_usages(const void *a, const void *b)
{
    const struct process_usage *x = a;
    const struct process_usage *y = b;

    return (x->ancestor > y->ancestor) - (x->ancestor < y->ancestor);
}

static int
read_process_table(const char *root, struct sampled_processes *s)
{
    CLEANUP_FREE char *path = xasprintf("%s/proc", root);
    DIR *proc = opendir(path);
    struct dirent *entry;

    if (proc == NULL)
        return -errno;
    while ((entry = readdir(proc)) != NULL) {
        struct sampled_process p;

        if (!isdigit((unsigned char)entry->d_name[0])
            || read_process(root, (pid_t)strtol(entry->d_name, NULL, 10), &p) < 0)
            continue;
        xgrow(s->items, s->count, s->capacity);
        s->items[s->count++] = p;
    }
    closedir(proc);
    if (s->count > 0)
        qsort(s->items, s->count, sizeof(*s->items), compare_processes);
    return 0;
}

static struct process_usage *
find_usage(struct process_usage *list, size_t count, pid_t ancestor)
{
    const struct process_usage key = {.ancestor = ancestor};

    return bsearch(&key, list, count, sizeof(key), compare_usages);
}

/* Walks from parent to parent. The process table is no atomic snapshot, so a
 * cycle is possible.
 */
static struct process_usage *
find_ancestor(const struct sampled_processes *s, const struct sampled_process *p,
              struct process_usage *list, size_t count)
{
    for (size_t steps = 0; p != NULL && steps < s->count; steps++) {
        const struct sampled_process key = {.pid = p->parent};
        struct process_usage *found = find_usage(list, count, p->parent);

        if (found != NULL)
            return found;
        p = bsearch(&key, s->items, s->count, sizeof(key), compare_processes);
    }
    return NULL;
}

static uint64_t
ticks_us(uint64_t ticks)
{
    return ticks * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

static void
add(struct process_usage *k, const struct sampled_process *p, bool is_ancestor)
{
    k->cpu_user_us += ticks_us(p->waited_user + (is_ancestor ? 0 : p->user));
    k->cpu_system_us += ticks_us(p->waited_system + (is_ancestor ? 0 : p->system));
    if (is_ancestor)
        k->is_there = true;
    else
        k->memory_bytes += (uint64_t)p->pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

int
process_usage_read(const char *root, struct process_usage *list, size_t count)
{
    struct sampled_processes s = {0};
    int r;

    if (count == 0)
        return 0;
    qsort(list, count, sizeof(*list), compare_usages);
    for (size_t i = 0; i < count; i++)
        list[i] = (struct process_usage){.ancestor = list[i].ancestor};
    r = read_process_table(root, &s);
    for (size_t i = 0; i < s.count; i++) {
        struct sampled_process *p = &s.items[i];
        struct process_usage *k = find_usage(list, count, p->pid);

        if (k != NULL)
            add(k, p, true);
        else if ((k = find_ancestor(&s, p, list, count)) != NULL)
            add(k, p, false);
    }
    free(s.items);
    return r;
}
