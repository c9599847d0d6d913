/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the steps is the security of the node. Steps that need root come first, a
 * user's path is opened with that user's rights, limits that could break a later step come
 * last, and from the step that sets the uid on nothing is done that the user could use.
 * Between fork and exec there are only system calls: the memory may be shared with the
 * shepherd, and another thread may have held any lock.
 *
 * All programs of Kiln that become a user use the same functions (user_account.c), because
 * each second way would have its own mistake (decision 552).
 */
#include "agent/shepherd/become_user.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <linux/keyctl.h>
#include <numaif.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/shepherd/files/order.h"
#include "agent/shepherd/prepared_job.h"
#include "agent/shepherd/user_account.h"
#include "lib/base/macro.h"

/* one more than the highest signal number; a multiple of 8 bits in the mask */
#define KERNEL_NSIG 65

/* without close_range */
#define DESCRIPTORS_MOST 4096

#ifdef SYS_setfsuid32
#define SET_FS_UID SYS_setfsuid32
#define SET_FS_GID SYS_setfsgid32
#else
#define SET_FS_UID SYS_setfsuid
#define SET_FS_GID SYS_setfsgid
#endif

/* The steps. Between fork and exec only system calls are allowed, and nothing
 * that allocates, locks or asks the user database. Each returns 0 or a negative
 * errno. The memory may still be shared with the shepherd (vfork_call.h), so
 * the steps write only to memory that is meant for the job.
 */

static int
join_cgroup(const struct prepared_job *job)
{
    for (int i = 0; i < job->n_join_fds; i++)
        if (write(job->join_fds[i], "0", 1) < 0)
            return -errno;
    return 0;
}

static int
begin_session(const struct prepared_job *job)
{
    (void)job;
    return setsid() < 0 ? -errno : 0;
}

static int
set_oom_score(const struct prepared_job *job)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return -errno;
    n = write(fd, job->oom_score_adj, strlen(job->oom_score_adj));
    return n < 0 ? -errno : 0;
}

/* A user's limit can lower a hard limit but never raises it. Root's shepherd
 * could raise it, and with RLIMIT_RTPRIO for example delay the kernel's own
 * threads. A job may have the limits of the agent's unit. Soft limits are set
 * later, as the user, because a small one could make the steps in between fail.
 * A limit that this node cannot set (it may come from a login node) remains
 * unchanged, because a job should not be refused for a limit that it may never
 * reach.
 */
static int
set_hard_limits(const struct prepared_job *job)
{
    for (unsigned i = 0; i < job->n_limits; i++) {
        struct rlimit now;
        int resource = job->limits[i].resource;

        if (getrlimit(resource, &now) < 0)
            return -errno;
        if (job->limits[i].hard < now.rlim_max)
            now.rlim_max = job->limits[i].hard;
        if (now.rlim_cur > now.rlim_max)
            now.rlim_cur = now.rlim_max;
        if (setrlimit(resource, &now) < 0 && errno != EPERM)
            return -errno;
    }
    return 0;
}

/* The agent may have another priority than jobs should. */
static int
reset_priority(const struct prepared_job *job)
{
    static const struct sched_param none;

    (void)job;
    if ((sched_setscheduler(0, SCHED_OTHER, &none) < 0 || setpriority(PRIO_PROCESS, 0, 0) < 0
         || syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, 0) < 0)
        && errno != EPERM && errno != EACCES && errno != ENOSYS)
        return -errno;
    return 0;
}

static int
bind_cpus(const struct prepared_job *job)
{
    if (!job->has_cpus)
        return 0;
    return sched_setaffinity(0, sizeof(job->cpus), &job->cpus) < 0 ? -errno : 0;
}

/* A kernel that cannot prefer several nodes prefers the node that each thread
 * runs on, and then the nearest: mostly that is one of the nodes.
 */
/* Not libnuma's: what that library does when it is loaded takes longer than a step's start. */
static long
set_policy(int mode, const unsigned long *nodes, unsigned long n)
{
    return syscall(SYS_set_mempolicy, mode, nodes, n);
}

static int
set_memory_policy(const struct prepared_job *job)
{
    long r;

    if (job->memory_mode < 0)
        return 0;
    r = set_policy(job->memory_mode, job->memory_nodes, sizeof(job->memory_nodes) * 8);
    if (r < 0 && errno == EINVAL && job->memory_mode == MPOL_PREFERRED_MANY)
        r = set_policy(MPOL_PREFERRED, NULL, 0);
    return r < 0 ? -errno : 0;
}

/* Opens a mount path with the user's rights, because root would find out for
 * the user what is in other users' directories. The real and the effective user
 * remain root, so that the volume can be mounted there.
 */
static int
open_as_user(const struct prepared_job *job, const char *path)
{
    int fd = process_user_set_groups(&job->who);

    if (fd < 0)
        return fd;
    fd = -EPERM;
    (void)syscall(SET_FS_GID, job->who.gid);
    (void)syscall(SET_FS_UID, job->who.uid);
    if (syscall(SET_FS_UID, -1) == (long)job->who.uid
        && syscall(SET_FS_GID, -1) == (long)job->who.gid) {
        fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
            fd = -errno;
    }
    (void)syscall(SET_FS_UID, 0);
    (void)syscall(SET_FS_GID, getegid());
    return fd;
}

/* Decimal digits, without the C library's locks. */
static const char *
format_number(unsigned number, char out[12])
{
    char *at = out + 11;

    *at = '\0';
    do
        *--at = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    return at;
}

/* The source is the site's, but the user can replace the mount path at any
 * time. So the volume gets its flags at its source, and then is moved to the
 * directory that was opened, by its name in /proc/self/fd, which is the current
 * directory.
 */
static int
bind_mount(const struct order_mount *m, int target_fd)
{
    unsigned long how =
        MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | (m->read_only ? MS_RDONLY : 0);
    char name[12];

    if (mount(m->source, m->source, NULL, MS_BIND, NULL) < 0
        || mount(NULL, m->source, NULL, how, NULL) < 0
        || mount(m->source, format_number((unsigned)target_fd, name), NULL, MS_MOVE, NULL) < 0)
        return -errno;
    return 0;
}

/* The mount namespace is a slave: later mounts of the host appear in it, and
 * its own mounts do not appear on the host.
 */
static int
mount_volumes(const struct prepared_job *job)
{
    int r = 0;

    if (job->n_mounts == 0)
        return 0;
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0
        || chdir("/proc/self/fd") < 0)
        return -errno;
    for (unsigned i = 0; i < job->n_mounts && r >= 0; i++) {
        r = open_as_user(job, job->mounts[i].target);
        if (r >= 0) {
            int fd = r;

            r = bind_mount(&job->mounts[i], fd);
            close(fd);
        }
    }
    if (r >= 0 && chdir("/") < 0)
        r = -errno;
    return r;
}

/* Set if the pod asks for it (allowPrivilegeEscalation: false), and if volumes
 * are mounted: a user who chooses the mount paths could give a setuid program a
 * forged /etc/sudoers, so such programs must gain no privileges.
 */
static int
renounce_privileges(const struct prepared_job *job)
{
    if (!job->no_new_privileges)
        return 0;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

/* All children of the agent inherit its session keyring: there a job could read
 * the keys of other users' jobs, and replace them. The new keyring is empty. It
 * belongs to root, so that it does not count against the user's key quota; the
 * job may use it nevertheless, because a process possesses its session keyring.
 */
static int
begin_keyring(const struct prepared_job *job)
{
    (void)job;
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS
        && errno != EPERM)
        return -errno;
    return 0;
}

/* The user who has begun this session, for audit: by default that would be
 * nobody, or the administrator who has started the agent. A kernel without audit
 * has no such file, and one that does not let the value change keeps it.
 */
static int
set_login_uid(const struct prepared_job *job)
{
    int fd = open("/proc/self/loginuid", O_WRONLY | O_CLOEXEC);
    char text[12];
    const char *uid = format_number(job->who.uid, text);

    if (fd < 0)
        return 0;
    if (write(fd, uid, strlen(uid)) < 0) {
        /* nothing can be done */
    }
    close(fd);
    return 0;
}

/* Enters the mounts in which the job sees its volumes. This comes after the steps that
 * write to /proc, because there the user decides what is at a path.
 */
static int
enter_namespace(const struct prepared_job *job)
{
    if (job->namespace_fd <= 0)
        return 0;
    return setns(job->namespace_fd, CLONE_NEWNS) < 0 || chdir("/") < 0 ? -errno : 0;
}

static int
set_groups(const struct prepared_job *job)
{
    return process_user_set_groups(&job->who);
}

static int
set_gid(const struct prepared_job *job)
{
    return process_user_set_gid(&job->who);
}

/* Until its program runs, the process belongs to the user but may share the
 * memory of a shepherd that ran other users' pods before: see user_account.c.
 */
static int
set_uid(const struct prepared_job *job)
{
    return process_user_set_uid(&job->who);
}

static int
verify_identity(const struct prepared_job *job)
{
    return process_user_verify(&job->who);
}

static int
set_umask(const struct prepared_job *job)
{
    umask(job->umask);
    return 0;
}

static int
enter_work_dir(const struct prepared_job *job)
{
    return chdir(job->work_dir) < 0 ? -errno : 0;
}

/* Before the user's paths are opened: one of them may be /proc/self/fd/2, which
 * would open the agent's log once more. Kernels before 5.9 lack the call.
 */
static int
close_descriptors(const struct prepared_job *job)
{
    const unsigned next = job->report_fd < 3 ? 3 : (unsigned)job->report_fd + 1;
    int nothing = open("/dev/null", O_RDWR);

    if (nothing < 0)
        return -errno;
    for (int fd = 0; fd < 3 && !job->keeps_streams; fd++)
        if (nothing != fd && job->report_fd != fd && dup2(nothing, fd) < 0)
            return -errno;
    if ((next > 4 && syscall(SYS_close_range, 3u, next - 2, 0) < 0)
        || syscall(SYS_close_range, next, ~0u, 0) < 0)
        for (int fd = 3; fd < DESCRIPTORS_MOST; fd++)
            if (fd != job->report_fd)
                close(fd);
    return 0;
}

static int
move_fd(int fd, int place)
{
    int r = 0;

    if (fd < 0)
        return -errno;
    if (fd == place)
        return 0;
    if (dup2(fd, place) < 0)
        r = -errno;
    close(fd);
    return r;
}

static int
open_stdin(const struct prepared_job *job)
{
    if (job->keeps_streams)
        return 0;
    return move_fd(open(job->stdin_path, O_RDONLY | O_NOCTTY), STDIN_FILENO);
}

static int
open_output(const struct prepared_job *job, const char *path, int place)
{
    int mode = O_WRONLY | O_CREAT | O_NOCTTY | job->output_mode;

    return move_fd(open(path, mode, 0666), place);
}

static int
open_stdout(const struct prepared_job *job)
{
    if (job->keeps_streams)
        return 0;
    return open_output(job, job->stdout_path, STDOUT_FILENO);
}

/* The same file is opened only once, because with two offsets the outputs would
 * overwrite each other.
 */
static int
open_stderr(const struct prepared_job *job)
{
    if (job->keeps_streams)
        return 0;
    if (job->stderr_path == NULL)
        return dup2(STDOUT_FILENO, STDERR_FILENO) < 0 ? -errno : 0;
    return open_output(job, job->stderr_path, STDERR_FILENO);
}

/* As in a login shell: nothing is ignored, whatever the agent or its parent
 * ignore (systemd: SIGPIPE; a script that starts the agent in the background:
 * SIGINT and SIGQUIT). CLONE_CLEAR_SIGHAND does not do this: it resets only
 * signals with a handler. Direct system calls, because the C library refuses
 * those of its own signals (32 and 33). The zeroes are SIG_DFL.
 */
static int
reset_signals(const struct prepared_job *job)
{
    static const unsigned char zeroes[256];
    sigset_t none;

    (void)job;
    for (int signo = 1; signo < KERNEL_NSIG; signo++)
        if (signo != SIGKILL && signo != SIGSTOP
            && syscall(SYS_rt_sigaction, signo, zeroes, NULL, KERNEL_NSIG / 8) < 0)
            return -errno;
    sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, NULL) < 0 ? -errno : 0;
}

static int
set_soft_limits(const struct prepared_job *job)
{
    for (unsigned i = 0; i < job->n_limits; i++) {
        struct rlimit now;
        int resource = job->limits[i].resource;

        if (getrlimit(resource, &now) < 0)
            return -errno;
        if (job->limits[i].hard < now.rlim_max)
            now.rlim_max = job->limits[i].hard;
        now.rlim_cur = job->limits[i].soft;
        if (now.rlim_cur > now.rlim_max)
            now.rlim_cur = now.rlim_max;
        if (setrlimit(resource, &now) < 0)
            return -errno;
    }
    return 0;
}

/* Works like execvp: tries the next path after ENOENT and EACCES, and prefers
 * to return EACCES.
 */
static int
execute(const struct prepared_job *job)
{
    int r = -ENOENT;

    for (char *const *path = job->program_paths; *path != NULL; path++) {
        execve(*path, (char *const *)(uintptr_t)job->arguments,
               (char *const *)(uintptr_t)job->environment);
        if (errno == EACCES)
            r = -EACCES;
        else if (errno != ENOENT && errno != ENOTDIR)
            return -errno;
    }
    return r;
}

enum need { ANYBODY, ROOT };

static const struct step {
    const char *name;
    int (*take)(const struct prepared_job *job);
    enum need need;
} steps[] = {
    {"cgroup", join_cgroup, ANYBODY},
    {"session", begin_session, ANYBODY},
    {"oom score", set_oom_score, ROOT},
    {"hard limits", set_hard_limits, ROOT},
    {"priority", reset_priority, ROOT},
    {"cpu affinity", bind_cpus, ANYBODY},
    {"memory policy", set_memory_policy, ANYBODY},
    {"volumes", mount_volumes, ROOT},
    {"new privileges", renounce_privileges, ANYBODY},
    {"keyring", begin_keyring, ROOT},
    {"login uid", set_login_uid, ROOT},
    {"namespace", enter_namespace, ROOT},
    {"groups", set_groups, ROOT},
    {"gid", set_gid, ROOT},
    {"uid", set_uid, ROOT},
    {"identity", verify_identity, ANYBODY},
    {"umask", set_umask, ANYBODY},
    {"descriptors", close_descriptors, ANYBODY},
    {"working directory", enter_work_dir, ANYBODY},
    {"standard input", open_stdin, ANYBODY},
    {"standard output", open_stdout, ANYBODY},
    {"standard error", open_stderr, ANYBODY},
    {"signals", reset_signals, ANYBODY},
    {"soft limits", set_soft_limits, ANYBODY},
    {"program", execute, ANYBODY},
};

/* The first `n` steps. */
static struct become_user_report
take_steps(const struct prepared_job *job, size_t n)
{
    struct become_user_report report = {0};

    for (size_t i = 0; i < n; i++) {
        int r = 0;

        if (job->step != NULL)
            *(volatile int *)job->step = (int)i;
        if (steps[i].need == ANYBODY || job->who.is_root)
            r = steps[i].take(job);
        report = (struct become_user_report){(int)i, -r};
        if (r < 0)
            break;
    }
    return report;
}

void
become_user_and_run(const struct prepared_job *job)
{
    struct become_user_report report;
    ssize_t written;

    /* The agent must see the channel closed when the shepherd ends, even while
     * this process still waits for something.
     */
    if (job->channel_fd >= 0)
        close(job->channel_fd);
    report = take_steps(job, ARRAY_SIZE(steps));
    written = write(job->report_fd, &report, sizeof(report));
    _exit(written == sizeof(report) ? 125 : 124);
}

/* The last step runs the program. */
int
become_user(const struct prepared_job *job, struct become_user_report *ret_report)
{
    *ret_report = take_steps(job, ARRAY_SIZE(steps) - 1);
    return -ret_report->error_number;
}

const char *
become_user_step_name(const struct become_user_report *report)
{
    if (report->step < 0 || report->step >= (int)ARRAY_SIZE(steps))
        return "?";
    return steps[report->step].name;
}
