/* SPDX-License-Identifier: Apache-2.0 */
/* step_log.c - a file that only grows, of one line for each change
 *
 * It is written on the way of each start of a step, so a line is one write, and nothing is
 * synced: a crash of the machine ends the steps, too. A reader believes only whole lines. So
 * a write that fails must leave no part of a line, or the next one would be lost with it,
 * and another agent would give out its id and its CPUs again.
 */
#include "agent/steps/step_log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/api/value/cpuset.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define LOG_BYTES    (64u << 20)
#define SHRINK_BYTES (1u << 20)

static void shrink(const char *dir, const char *pod_uid);

static int
append(const char *dir, const char *pod_uid, const char *line, struct error *err)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", dir, pod_uid);
    CLEANUP_FD int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    const size_t length = strlen(line);
    int r = fd < 0 ? -errno : fd_append_all(fd, line, length);
    off_t size;

    if (r < 0)
        return error_set(err, r, "'%s': %s", path, strerror(-r));
    size = lseek(fd, 0, SEEK_CUR);
    if (size >= (off_t)length && size / SHRINK_BYTES != (size - (off_t)length) / SHRINK_BYTES)
        shrink(dir, pod_uid);
    return 0;
}

static void
add_set(struct strbuf *out, const struct bitset *set)
{
    if (bitset_is_empty(set))
        strbuf_add_char(out, '-');
    else
        cpuset_format(set, out);
}

static void
add_begin(struct strbuf *out, const struct step_log_entry *e)
{
    strbuf_printf(out, "begin %" PRId64 " %s ", e->id, e->overlaps ? "o" : "x");
    add_set(out, &e->cpus);
    strbuf_add_char(out, ' ');
    add_set(out, &e->gpus);
    strbuf_printf(out, " %" PRId64 " %u\n", e->memory_bytes, (unsigned)e->owner);
}

static void
add_run(struct strbuf *out, const struct step_log_entry *e)
{
    strbuf_printf(out, "run %" PRId64 " %d %" PRId64 "\n", e->id, (int)e->pid, e->ticks);
}

int
step_log_begin(const char *dir, const char *pod_uid, const struct step_log_entry *e,
               struct error *err)
{
    CLEANUP_STRBUF struct strbuf line = STRBUF_INIT;

    add_begin(&line, e);
    return append(dir, pod_uid, line.text, err);
}

int
step_log_run(const char *dir, const char *pod_uid, const struct step_log_entry *e,
             struct error *err)
{
    CLEANUP_STRBUF struct strbuf line = STRBUF_INIT;

    add_run(&line, e);
    return append(dir, pod_uid, line.text, err);
}

void
step_log_remove(const char *dir, const char *pod_uid)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", dir, pod_uid);

    unlink(path);
}

/* ---- Reading ---- */

struct entries {
    struct step_log_entry *items;
    unsigned count, capacity;
    int64_t next_id;
};

static struct step_log_entry *
find_entry(struct entries *all, int64_t id)
{
    for (unsigned i = 0; i < all->count; i++)
        if (all->items[i].id == id)
            return &all->items[i];
    return NULL;
}

/* A list, or "-", up to the next blank. */
static bool
take_set(const char *text, struct bitset *set)
{
    CLEANUP_FREE char *word = xstrndup(text, strcspn(text, " "));

    return strcmp(word, "-") == 0 || cpuset_parse(word, set, NULL) == 0;
}

static void
take_begin(struct entries *all, const char *line)
{
    struct step_log_entry e = {0};
    char kind;
    int at = 0;

    if (sscanf(line, "begin %" SCNd64 " %c %n", &e.id, &kind, &at) != 2 || at == 0 || e.id < 0
        || !take_set(line + at, &e.cpus))
        return;
    at += (int)strcspn(line + at, " ");
    if (line[at] == ' ' && !take_set(line + ++at, &e.gpus))
        return;
    at += (int)strcspn(line + at, " ");
    if (line[at] == ' ') {
        char *end;

        e.memory_bytes = strtoll(line + at, &end, 10);
        e.owner = (uid_t)strtoul(end, NULL, 10);
    }
    e.overlaps = kind == 'o';
    if (e.id >= all->next_id)
        all->next_id = e.id + 1;
    xgrow(all->items, all->count, all->capacity);
    all->items[all->count++] = e;
}

static void
take_line(struct entries *all, const char *line)
{
    struct step_log_entry *e;
    int64_t id, ticks;
    int pid;

    if (strncmp(line, "begin ", 6) == 0) {
        take_begin(all, line);
    } else if (sscanf(line, "run %" SCNd64 " %d %" SCNd64, &id, &pid, &ticks) == 3) {
        e = find_entry(all, id);
        if (e != NULL) {
            e->pid = (pid_t)pid;
            e->ticks = ticks;
        }
    } else if (sscanf(line, "end %" SCNd64, &id) == 1) {
        e = find_entry(all, id);
        if (e != NULL)
            *e = all->items[--all->count];
    }
}

int
step_log_read(const char *dir, const char *pod_uid, struct step_log_entry **ret_entries,
              unsigned *ret_n, int64_t *ret_next_id)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", dir, pod_uid);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct entries all = {0};
    int r = file_read(path, LOG_BYTES, &text, NULL);

    if (r < 0)
        return r;
    for (char *line = text.text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        take_line(&all, line);
    }
    *ret_entries = all.items;
    *ret_n = all.count;
    *ret_next_id = all.next_id;
    return 0;
}

/* The last id stays known. A file that cannot be written now is written the next time. */
static void
shrink(const char *dir, const char *pod_uid)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", dir, pod_uid);
    CLEANUP_FREE char *next_path = xasprintf("%s/.%s", dir, pod_uid);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP_FD int fd = -1;
    struct step_log_entry *entries = NULL;
    unsigned n = 0;
    int64_t next_id;

    if (step_log_read(dir, pod_uid, &entries, &n, &next_id) < 0)
        return;
    add_begin(&text, &(struct step_log_entry){.id = next_id - 1});
    strbuf_printf(&text, "end %" PRId64 "\n", next_id - 1);
    for (unsigned i = 0; i < n; i++) {
        add_begin(&text, &entries[i]);
        if (entries[i].pid != 0)
            add_run(&text, &entries[i]);
    }
    free(entries);
    fd = open(next_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || fd_write_all(fd, text.text, text.length) < 0 || rename(next_path, path) < 0)
        unlink(next_path);
}

void
step_log_end(const char *dir, const char *pod_uid, int64_t id)
{
    CLEANUP_FREE char *line = xasprintf("end %" PRId64 "\n", id);

    (void)append(dir, pod_uid, line, NULL);
}

void
step_log_visit(const char *dir, void (*visit)(const char *pod_uid, void *context), void *context)
{
    DIR *d = opendir(dir);

    if (d == NULL)
        return;
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.')
            visit(e->d_name, context);
    closedir(d);
}
