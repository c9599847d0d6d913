/* SPDX-License-Identifier: Apache-2.0 */
/* "Permission denied" about a path of ten directories helps nobody, so the directory that
 * denies access is looked for, as the user. The user's file systems may not answer: another
 * process does that, and is left alone after two seconds.
 */
#include "agent/shepherd/start_error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/shepherd/become_user.h"
#include "agent/shepherd/files/order.h"
#include "agent/shepherd/prepared_job.h"
#include "lib/base/alloc.h"
#include "lib/base/macro.h"
#include "lib/base/path_access.h"
#include "lib/base/strbuf.h"

#define LOOK_MS 2000 /* for the directory that denies access */

static const char *
explain_program(int error_number)
{
    switch (error_number) {
    case ENOENT:
        return "it, or the interpreter its '#!' line names, does not exist on "
               "this node";
    case EACCES:
        return "it is not executable for this user, or it is on a file system "
               "mounted noexec";
    case ENOEXEC:
        return "it is neither a program for this machine nor a script that "
               "begins with '#!'";
    case E2BIG:
        return "its arguments and environment are too large";
    case EAGAIN:
        return "the user has as many processes on this node as the 'nproc' "
               "limit allows";
    case ENOMEM:
        return "the memory limits leave no room for it";
    default:
        return NULL;
    }
}

/* Outputs are created, so that only a directory can be missing. */
static const char *
explain_absence(const char *step)
{
    if (strcmp(step, "standard input") == 0)
        return "there is no such file on this node";
    if (strcmp(step, "working directory") == 0)
        return "there is no such directory on this node";
    return "one of its parent directories does not exist on this node";
}

static const char *
explain_file(const char *step, int error_number)
{
    switch (error_number) {
    case EACCES:
    case EPERM:
        return "the user has no permission to open it";
    case ENOENT:
        return explain_absence(step);
    case ENOTDIR:
        return "something on its path is not a directory";
    case EISDIR:
        return "it is a directory; name a file in it";
    case EROFS:
        return "that file system is read-only on this node";
    case ENOSPC:
    case EDQUOT:
        return "there is no space left for the user";
    case ELOOP:
        return "its symbolic links form a loop";
    default:
        return NULL;
    }
}

static const struct {
    const char *step;
    const char *advice;
} others[] = {
    {"cgroup", "the node's cgroups are not as the agent created them; see its log"},
    {"cpu affinity", "the allocated CPUs are not online or not in the agent's "
                     "cpuset"},
    {"memory policy", "the allocated NUMA nodes are not online or not in the "
                      "agent's cpuset"},
    {"volumes", "a volume could not be mounted at the pod's mountPath; the agent's unit "
                "needs CAP_SYS_ADMIN for it"},
    {"keyring", "root has reached its limit of keys; see /proc/key-users and "
                "kernel.keys.root_maxkeys"},
    {"groups", "the agent's unit needs CAP_SETGID"},
    {"gid", "the agent's unit needs CAP_SETGID"},
    {"uid", "the agent's unit needs CAP_SETUID, or the user has too many "
            "processes"},
    {"identity", "the process could have become root again; it was not started"},
};

static const char *
explain_step(const char *step)
{
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (strcmp(step, others[i].step) == 0)
            return others[i].advice;
    return NULL;
}

static const char *
path_of(const struct prepared_job *job, const char *step)
{
    if (strcmp(step, "working directory") == 0)
        return job->work_dir;
    if (strcmp(step, "standard input") == 0)
        return job->stdin_path;
    if (strcmp(step, "standard output") == 0)
        return job->stdout_path;
    if (strcmp(step, "standard error") == 0)
        return job->stderr_path;
    return NULL;
}

/* A process that finds the obstacle as the user, and writes it. It may live
 * longer than the shepherd, whose lock and channel it must not have.
 */
static NORETURN void
find_obstacle(const struct prepared_job *job, const char *path, int out)
{
    char *obstacle = NULL;

    out = dup2(out, STDOUT_FILENO);
    (void)syscall(SYS_close_range, 3u, ~0u, 0);
    if (!job->who.is_root || process_user_become(&job->who) == 0)
        obstacle = path_obstacle_dup(path, job->who.uid, job->who.gid);
    if (obstacle != NULL && write(out, obstacle, strlen(obstacle)) < 0)
        _exit(1);
    _exit(0);
}

/* The directory that denies the user access to a path; NULL when none does. The
 * user may have mounted the file system on its way and not answer, so another
 * process looks for it, and is left alone after a while.
 */
static char *
obstacle_dup(const struct prepared_job *job, const char *path, int error_number)
{
    char text[2 * PATH_MAX];
    ssize_t n = 0;
    int ends[2];
    pid_t pid;

    if (error_number != EACCES || pipe2(ends, O_CLOEXEC) < 0)
        return NULL;
    pid = fork();
    if (pid == 0)
        find_obstacle(job, path, ends[1]);
    close(ends[1]);
    if (pid > 0 && poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, LOOK_MS) == 1)
        n = read(ends[0], text, sizeof(text));
    close(ends[0]);
    if (pid > 0 && waitpid(pid, NULL, WNOHANG) == 0) {
        kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, WNOHANG);
    }
    return n > 0 ? xstrndup(text, (size_t)n) : NULL;
}

static char *
sentence(const char *what, int error_number, const char *advice)
{
    return xasprintf("%s: %s%s%s", what, strerror(error_number), advice == NULL ? "" : "; ",
                     advice == NULL ? "" : advice);
}

/* The step does not tell which one it was. */
static char *
mount_error_dup(const struct prepared_job *job, int error_number)
{
    struct strbuf text = STRBUF_INIT;

    for (unsigned i = 0; i < job->n_mounts; i++)
        strbuf_printf(&text, "%s'%s'", i == 0 ? "mountPath " : " or ", job->mounts[i].target);
    strbuf_printf(&text,
                  " is not a directory of this node that uid %u may enter (%s): name an "
                  "existing one, or leave mountPath out and find the volume by its "
                  "variable KILN_VOLUME_NAME",
                  job->who.uid, strerror(error_number));
    return strbuf_take(&text);
}

static bool
is_mount_path(const struct prepared_job *job, const char *step, int error_number)
{
    return strcmp(step, "volumes") == 0 && job->n_mounts > 0
           && (error_number == ENOENT || error_number == ENOTDIR || error_number == EACCES
               || error_number == ELOOP);
}

char *
start_error_dup(const struct prepared_job *job, const struct become_user_report *report)
{
    const char *step = become_user_step_name(report);
    const char *path = path_of(job, step);
    int error_number = report->error_number;
    CLEANUP_FREE char *what = NULL;
    CLEANUP_FREE char *obstacle = NULL;

    if (path != NULL) {
        what = xasprintf("%s '%s' as uid %u", step, path, job->who.uid);
        obstacle = obstacle_dup(job, path, error_number);
        return sentence(what, error_number,
                        obstacle != NULL ? obstacle : explain_file(step, error_number));
    }
    if (is_mount_path(job, step, error_number))
        return mount_error_dup(job, error_number);
    if (strcmp(step, "program") == 0) {
        what = xasprintf("running '%s'", job->arguments[0]);
        obstacle = obstacle_dup(job, job->arguments[0], error_number);
        return sentence(what, error_number,
                        obstacle != NULL ? obstacle : explain_program(error_number));
    }
    return sentence(step, error_number, explain_step(step));
}
