/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/replay/job_log.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"

#define COLUMNS     18
#define MIN_COLUMNS 5

void
job_log_fini(struct job_log *log)
{
    free(log->jobs);
    *log = (struct job_log){0};
}

/* Opens a pipe with gzip's output. */
static FILE *
open_compressed(const char *path, pid_t *ret_pid)
{
    int ends[2];
    pid_t pid;

    if (pipe(ends) < 0)
        return NULL;
    pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execlp("gzip", "gzip", "-dc", "--", path, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return NULL;
    }
    *ret_pid = pid;
    return fdopen(ends[0], "r");
}

static bool
is_compressed(const char *path)
{
    size_t length = strlen(path);

    return length > 3 && strcmp(path + length - 3, ".gz") == 0;
}

/* Returns the number of columns; -1 where one is no number. Absent columns are
 * -1.
 */
static int
parse_columns(char *line, double columns[COLUMNS])
{
    int count = 0;
    char *at = line, *end;

    for (int i = 0; i < COLUMNS; i++)
        columns[i] = -1;
    for (; count < COLUMNS; count++, at = end) {
        at += strspn(at, " \t\r\n");
        if (*at == '\0')
            break;
        columns[count] = strtod(at, &end);
        if (end == at)
            return -1;
    }
    return count;
}

void
job_log_add(struct job_log *log, const struct log_job *job)
{
    xgrow(log->jobs, log->count, log->capacity);
    log->jobs[log->count++] = *job;
}

static void
add_line(struct job_log *log, const double columns[COLUMNS], unsigned max_procs)
{
    int64_t procs = (int64_t)(columns[7] > 0 ? columns[7] : columns[4]);
    int64_t run_s = (int64_t)columns[3];
    int64_t limit_s = columns[8] > 0 ? (int64_t)columns[8] : run_s;

    if (run_s > limit_s)
        run_s = limit_s;
    if (run_s <= 0 || procs <= 0 || procs > max_procs) {
        log->n_dropped++;
        return;
    }
    job_log_add(log, &(struct log_job){
                         .id = (int64_t)columns[0],
                         .submit_s = (int64_t)columns[1],
                         .run_s = run_s,
                         .limit_s = limit_s,
                         .user = (int64_t)columns[11],
                         .procs = (unsigned)procs,
                         .start_s = -1,
                     });
}

static int
read_lines(struct job_log *log, FILE *file, const char *path, unsigned max_procs, struct error *err)
{
    CLEANUP_FREE char *line = NULL;
    size_t size = 0;
    unsigned number = 0;

    while (getline(&line, &size, file) >= 0) {
        double columns[COLUMNS];
        int count;

        number++;
        if (line[strspn(line, " \t\r\n")] == ';')
            continue;
        count = parse_columns(line, columns);
        if (count == 0)
            continue;
        if (count < MIN_COLUMNS)
            return error_set(err, -EINVAL,
                             "%s:%u: not a line of the Standard Workload "
                             "Format: numbers in %d columns are needed",
                             path, number, COLUMNS);
        add_line(log, columns, max_procs);
    }
    return 0;
}

static int
compare(const void *a, const void *b)
{
    const struct log_job *x = a, *y = b;

    if (x->submit_s != y->submit_s)
        return x->submit_s < y->submit_s ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

void
job_log_sort(struct job_log *log)
{
    qsort(log->jobs, log->count, sizeof(*log->jobs), compare);
}

int
job_log_read(struct job_log *log, const char *path, unsigned max_procs, struct error *err)
{
    pid_t pid = -1;
    FILE *file = access(path, R_OK) < 0 ? NULL
                 : is_compressed(path)  ? open_compressed(path, &pid)
                                        : fopen(path, "r");
    int status = 0, r;

    *log = (struct job_log){0};
    if (file == NULL)
        return error_set(err, -errno, "%s: %s", path, strerror(errno));
    r = read_lines(log, file, path, max_procs, err);
    fclose(file);
    if (pid > 0 && waitpid(pid, &status, 0) == pid && status != 0 && r == 0)
        r = error_set(err, -EIO, "%s: gzip cannot read it", path);
    if (r == 0 && log->count == 0)
        r = error_set(err, -EINVAL, "%s: no job of it can be replayed on %u processors", path,
                      max_procs);
    if (r < 0) {
        job_log_fini(log);
        return r;
    }
    job_log_sort(log);
    return 0;
}

static int
close_written(FILE *file, const char *path, struct error *err)
{
    bool is_bad = ferror(file) != 0;

    if (fclose(file) != 0 || is_bad)
        return error_set(err, -EIO, "%s: cannot be written", path);
    return 0;
}

int
job_log_write(const struct job_log *log, const char *path, unsigned max_procs, struct error *err)
{
    FILE *file = fopen(path, "w");

    if (file == NULL)
        return error_set(err, -errno, "%s: %s", path, strerror(errno));
    fprintf(file, "; Version: 2.2\n; MaxJobs: %zu\n; MaxProcs: %u\n", log->count, max_procs);
    for (size_t i = 0; i < log->count; i++) {
        const struct log_job *j = &log->jobs[i];

        fprintf(file,
                "%lld %lld -1 %lld %u -1 -1 %u %lld -1 1 %lld -1 -1 -1 -1 -1 "
                "-1\n",
                (long long)j->id, (long long)j->submit_s, (long long)j->run_s, j->procs, j->procs,
                (long long)j->limit_s, (long long)j->user);
    }
    return close_written(file, path, err);
}

int
job_log_write_schedule(const struct job_log *log, const char *path, struct error *err)
{
    FILE *file = fopen(path, "w");

    if (file == NULL)
        return error_set(err, -errno, "%s: %s", path, strerror(errno));
    fprintf(file, "id,submit,start,end,procs\n");
    for (size_t i = 0; i < log->count; i++) {
        const struct log_job *j = &log->jobs[i];

        fprintf(file, "%lld,%lld,%lld,%lld,%u\n", (long long)j->id, (long long)j->submit_s,
                (long long)j->start_s, (long long)(j->start_s + j->run_s), j->procs);
    }
    return close_written(file, path, err);
}
