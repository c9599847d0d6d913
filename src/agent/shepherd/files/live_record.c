/* SPDX-License-Identifier: Apache-2.0 */
/* A new agent must find the processes of an old one without ever taking another process for
 * them. A pid is used again and a boot starts from anew, so a process is its boot, pid and
 * start time together; and the pidfd is opened before they are compared.
 */
#include "agent/shepherd/files/live_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/shepherd/files/key_values.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define LIVE_LIMIT_BYTES 65536u

static const char title[] = "kiln-live 1";

static const char *const phases[] = {
    [LIVE_PREPARING] = "preparing",
    [LIVE_STARTING] = "starting",
    [LIVE_RUNNING] = "running",
    [LIVE_ENDING] = "ending",
};

void
live_record_free(struct live_record *l)
{
    if (l == NULL)
        return;
    free(l->pod_uid);
    free(l->boot_id);
    free(l->cpus_allowed);
    free(l->memory_allowed);
    free(l->waits_for);
    free(l);
}

/* /run is a memory file system, so nothing is synced. */
static int
write_file(const char *path, int flags, const struct strbuf *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
    int r = fd < 0 ? -errno : fd_write_all(fd, text->text, text->length);

    if (fd >= 0)
        close(fd);
    return r;
}

/* A reader sees either the old file or the new one. The first one is written in
 * place: readers do not accept an incomplete record.
 */
static int
replace(const char *path, const struct strbuf *text)
{
    CLEANUP_FREE char *temporary = NULL;
    int r = write_file(path, O_EXCL, text);

    if (r != -EEXIST)
        return r;
    temporary = xasprintf("%s.new", path);
    r = write_file(temporary, O_TRUNC, text);
    if (r == 0 && rename(temporary, path) < 0)
        r = -errno;
    return r;
}

static void
format(const struct live_record *l, struct strbuf *out)
{
    key_values_begin(out, title);
    key_values_put_text(out, "pod_uid", l->pod_uid);
    key_values_put_text(out, "boot_id", l->boot_id);
    key_values_put_text(out, "phase", phases[l->phase]);
    key_values_put_number(out, "shepherd_pid", l->shepherd_pid);
    key_values_put_number(out, "shepherd_start", l->shepherd_start);
    key_values_put_number(out, "job_pid", l->job_pid);
    key_values_put_number(out, "job_start", l->job_start);
    key_values_put_number(out, "started_at_us", l->started_at_us);
    key_values_put_number(out, "started_boot_us", l->started_boot_us);
    key_values_put_text(out, "cpus_allowed", l->cpus_allowed);
    key_values_put_text(out, "memory_allowed", l->memory_allowed);
    key_values_put_text(out, "waits_for", l->waits_for);
    key_values_put_number(out, "is_prepared", l->is_prepared);
    key_values_put_number(out, "keeps_limit", l->keeps_limit);
    key_values_put_number(out, "frozen_at_us", l->frozen_at_us);
    key_values_put_number(out, "frozen_us", l->frozen_us);
    key_values_end(out);
}

int
live_record_write(const struct live_record *l, const char *run_dir, struct error *err)
{
    CLEANUP_FREE char *path = xasprintf("%s/live", run_dir);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    int r;

    format(l, &text);
    r = replace(path, &text);
    if (r < 0)
        return error_set(err, r, "writing '%s': %s", path, strerror(-r));
    return 0;
}

static int
take_phase(const char *value, enum live_phase *ret_phase)
{
    for (size_t i = 0; i < ARRAY_SIZE(phases); i++) {
        if (strcmp(value, phases[i]) == 0) {
            *ret_phase = (enum live_phase)i;
            return 0;
        }
    }
    return -EINVAL;
}

static void
take_text(char **text, const char *value)
{
    free(*text);
    *text = xstrdup(value);
}

/* Unknown entries of a newer shepherd are ignored. */
static int
take(struct live_record *l, const char *name, const char *value)
{
    if (strcmp(name, "pod_uid") == 0)
        take_text(&l->pod_uid, value);
    else if (strcmp(name, "boot_id") == 0)
        take_text(&l->boot_id, value);
    else if (strcmp(name, "cpus_allowed") == 0)
        take_text(&l->cpus_allowed, value);
    else if (strcmp(name, "memory_allowed") == 0)
        take_text(&l->memory_allowed, value);
    else if (strcmp(name, "waits_for") == 0)
        take_text(&l->waits_for, value);
    else if (strcmp(name, "is_prepared") == 0)
        return key_values_parse_number(value, &l->is_prepared);
    else if (strcmp(name, "keeps_limit") == 0)
        return key_values_parse_number(value, &l->keeps_limit);
    else if (strcmp(name, "frozen_at_us") == 0)
        return key_values_parse_number(value, &l->frozen_at_us);
    else if (strcmp(name, "frozen_us") == 0)
        return key_values_parse_number(value, &l->frozen_us);
    else if (strcmp(name, "phase") == 0)
        return take_phase(value, &l->phase);
    else if (strcmp(name, "shepherd_pid") == 0)
        return key_values_parse_number(value, &l->shepherd_pid);
    else if (strcmp(name, "shepherd_start") == 0)
        return key_values_parse_number(value, &l->shepherd_start);
    else if (strcmp(name, "job_pid") == 0)
        return key_values_parse_number(value, &l->job_pid);
    else if (strcmp(name, "job_start") == 0)
        return key_values_parse_number(value, &l->job_start);
    else if (strcmp(name, "started_at_us") == 0)
        return key_values_parse_number(value, &l->started_at_us);
    else if (strcmp(name, "started_boot_us") == 0)
        return key_values_parse_number(value, &l->started_boot_us);
    return 0;
}

int
live_record_read(const char *run_dir, struct live_record **ret_live, struct error *err)
{
    CLEANUP_FREE char *path = xasprintf("%s/live", run_dir);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP(live_record_freep) struct live_record *l = xnew(struct live_record);
    struct key_values key_values;
    const char *name;
    char *value;
    int r = file_read(path, LIVE_LIMIT_BYTES, &text, err);

    if (r < 0)
        return r;
    r = key_values_open(&key_values, text.text, text.length, title, err);
    while (r == 0 && key_values_next(&key_values, &name, &value))
        r = take(l, name, value);
    if (r == 0 && (l->pod_uid == NULL || l->boot_id == NULL))
        r = -EBADMSG;
    if (r < 0)
        return error_wrap(err, r, "reading '%s'", path);
    *ret_live = l;
    l = NULL;
    return 0;
}

/* Reads the fields after the process name, which may contain any character and
 * ends at the last parenthesis; the start time is field 22 (proc(5)).
 */
int
live_record_read_start(pid_t pid, int64_t *ret_ticks)
{
    char path[64];
    char text[1024];
    unsigned long long ticks;
    const char *at;
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? -ESRCH : -errno;
    n = read(fd, text, sizeof(text) - 1);
    if (n < 0)
        return -errno;
    text[n] = '\0';
    at = strrchr(text, ')');
    if (at == NULL
        || sscanf(at + 1,
                  " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                  "%*s %*s %*s %*s %*s %llu",
                  &ticks)
               != 1)
        return -EBADMSG;
    *ret_ticks = (int64_t)ticks;
    return 0;
}

int64_t
live_record_started_boot_us(const struct live_record *l)
{
    const long ticks = sysconf(_SC_CLK_TCK);

    if (l->started_boot_us != 0 || ticks <= 0)
        return l->started_boot_us;
    return l->job_start / ticks * 1000000 + l->job_start % ticks * 1000000 / ticks;
}

/* Opens the descriptor before the check, so that both refer to the same
 * process.
 */
int
live_record_open(const struct live_record *l, const char *boot_id)
{
    int64_t start = 0;
    int fd;
    int r;

    if (strcmp(l->boot_id, boot_id) != 0 || l->shepherd_pid <= 0)
        return -ESRCH;
    fd = (int)syscall(SYS_pidfd_open, (pid_t)l->shepherd_pid, 0);
    if (fd < 0)
        return -errno;
    r = live_record_read_start((pid_t)l->shepherd_pid, &start);
    if (r == 0 && start == l->shepherd_start)
        return fd;
    close(fd);
    return r < 0 ? r : -ESRCH;
}
