/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/descendants.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

#define STATUS_LIMIT 1000000 /* bytes; the kernel allows 65536 groups */

struct process {
    pid_t pid;
    pid_t parent;
    int n_threads;
    char state;
    bool is_ours;
};

struct process_table {
    struct process *items;
    size_t count;
    size_t capacity;
};

static int
read_process(pid_t pid, struct process *ret_process)
{
    char path[64];
    char text[512];
    const char *at;
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    n = read(fd, text, sizeof(text) - 1);
    if (n < 0)
        return -errno;
    text[n] = '\0';
    at = strrchr(text, ')');
    if (at == NULL
        || sscanf(at + 1, " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d",
                  &ret_process->state, &ret_process->parent, &ret_process->n_threads)
               != 3)
        return -EBADMSG;
    ret_process->pid = pid;
    return 0;
}

static int
read_process_table(struct process_table *t)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;

    if (proc == NULL)
        return -errno;
    while ((entry = readdir(proc)) != NULL) {
        struct process p = {0};

        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        if (read_process((pid_t)strtol(entry->d_name, NULL, 10), &p) < 0)
            continue;
        xgrow(t->items, t->count, t->capacity);
        t->items[t->count++] = p;
    }
    closedir(proc);
    return 0;
}

static int
compare(const void *a, const void *b)
{
    const struct process *x = a;
    const struct process *y = b;

    return (x->pid > y->pid) - (x->pid < y->pid);
}

static bool
is_ours(const struct process_table *t, pid_t pid)
{
    const struct process key = {.pid = pid};
    const struct process *found;

    if (pid == getpid())
        return true;
    found = bsearch(&key, t->items, t->count, sizeof(key), compare);
    return found != NULL && found->is_ours;
}

/* Pids are not in the order of creation, so the loop repeats until it finds
 * nothing new.
 */
static int
mark(struct process_table *t)
{
    bool found = true;
    int count = 0;

    while (found) {
        found = false;
        for (size_t i = 0; i < t->count; i++) {
            if (t->items[i].is_ours || !is_ours(t, t->items[i].parent))
                continue;
            t->items[i].is_ours = found = true;
            count++;
        }
    }
    return count;
}

static int
find_ours(struct process_table *t)
{
    int r = read_process_table(t);

    if (r < 0)
        return r;
    qsort(t->items, t->count, sizeof(*t->items), compare);
    return mark(t);
}

int
descendants_signal(int signal_number, pid_t spared)
{
    struct process_table t = {0};
    int r = find_ours(&t);

    for (size_t i = 0; i < t.count; i++)
        if (t.items[i].is_ours && t.items[i].pid != spared)
            kill(t.items[i].pid, signal_number);
    free(t.items);
    return r;
}

/* A dead first thread may leave others. */
static bool
is_dead(const struct process *p)
{
    return strchr("ZX", p->state) != NULL && p->n_threads <= 1;
}

int
descendants_visit(int (*visit)(pid_t pid, void *context), void *context)
{
    struct process_table t = {0};
    int r = find_ours(&t);

    for (size_t i = 0; r >= 0 && i < t.count; i++)
        if (t.items[i].is_ours && !is_dead(&t.items[i]))
            r = visit(t.items[i].pid, context);
    free(t.items);
    return r < 0 ? r : 0;
}

/* A process in an uninterruptible wait stops when the wait ends, which may be
 * never: a parent whose vfork child was stopped waits for that child. It does
 * not run its program meanwhile, so it does not count.
 */
static bool
stop(const struct process *p)
{
    if (strchr("TtZX", p->state) != NULL)
        return false;
    kill(p->pid, SIGSTOP);
    return p->state != 'D';
}

int
descendants_stop(void)
{
    struct process_table t = {0};
    int r = find_ours(&t);
    int count = 0;

    for (size_t i = 0; i < t.count; i++)
        if (t.items[i].is_ours)
            count += stop(&t.items[i]);
    free(t.items);
    return r < 0 ? r : count;
}

bool
process_stop(pid_t pid)
{
    struct process p = {0};

    return read_process(pid, &p) == 0 && stop(&p);
}

bool
process_is_shell(pid_t pid)
{
    static const char *const shells[] = {
        "sh",  "ash",  "bash", "rbash", "dash", "ksh",  "ksh93",   "mksh",
        "csh", "tcsh", "posh", "yash",  "zsh",  "fish", "busybox", "rc",
    };
    char path[64], program[PATH_MAX];
    const char *name;
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%ld/exe", (long)pid);
    n = readlink(path, program, sizeof(program) - 1);
    if (n < 0)
        return false;
    program[n] = '\0';
    name = strrchr(program, '/');
    name = name != NULL ? name + 1 : program;
    for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
        if (strcmp(name, shells[i]) == 0)
            return true;
    return false;
}

/* The list of groups alone may be long. */
bool
process_read_status(pid_t pid, const char *name, struct strbuf *ret_value)
{
    CLEANUP_FREE char *path = xasprintf("/proc/%ld/status", (long)pid);
    CLEANUP_FREE char *key = xasprintf("\n%s:", name);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char *value;

    if (file_read(path, STATUS_LIMIT, &text, NULL) < 0 || (value = strstr(text.text, key)) == NULL)
        return false;
    value += strlen(key);
    value += strspn(value, "\t ");
    strbuf_add(ret_value, value, strcspn(value, "\n"));
    return true;
}

bool
process_catches(pid_t pid, int signal_number)
{
    CLEANUP_STRBUF struct strbuf value = STRBUF_INIT;

    return process_read_status(pid, "SigCgt", &value)
           && (strtoull(value.text, NULL, 16) >> (signal_number - 1) & 1) != 0;
}
