/* SPDX-License-Identifier: Apache-2.0 */
/* kiln-shepherd - runs one pod's process as its user and records how it ended
 *
 * Started by the agent with an order on descriptor 3 and the script, if any,
 * on descriptor 4. Reads like its story: claim the pod, take the steps, keep
 * the vigil, clear up, record.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/cgroup/cgroup.h"
#include "agent/cgroup/hierarchy.h"
#include "agent/shepherd/advice.h"
#include "agent/shepherd/ending.h"
#include "agent/shepherd/fuse.h"
#include "agent/shepherd/handover.h"
#include "agent/shepherd/ladder.h"
#include "agent/shepherd/live.h"
#include "agent/shepherd/order.h"
#include "agent/shepherd/outfit.h"
#include "agent/shepherd/person.h"
#include "agent/shepherd/roster.h"
#include "agent/shepherd/spool.h"
#include "agent/shepherd/vigil.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

/* What the process says to whoever started it. */
enum exit_status {
    EXIT_RECORDED = 0,
    EXIT_NO_ORDER = 64,  /* unreadable: nothing was touched */
    EXIT_NOT_OURS = 65,  /* another shepherd has the pod, or had it */
    EXIT_UNRECORDED = 66 /* the record could not be written anywhere */
};

struct shepherd {
    struct order order;
    struct cgroup *own;
    struct cgroup *cgroup;
    struct person *person;
    struct outfit outfit;
    struct vigil vigil;
    struct live live;
    struct ending ending;
    struct ladder_report report;
    char *script;
    int64_t began_us; /* monotonic, when the program did */
};

/* Claiming the pod */

static int
read_order(struct shepherd *s, struct error *err)
{
    struct strbuf text = STRBUF_INIT;
    size_t length;
    int r = fd_read_all(HANDOVER_ORDER_FD, ORDER_LIMIT_BYTES, &text);

    close(HANDOVER_ORDER_FD);
    if (r < 0) {
        strbuf_fini(&text);
        return error_set(err, r, "reading the order: %s", strerror(-r));
    }
    length = text.length;
    return order_decode(strbuf_take(&text), length, &s->order, err);
}

/* The descriptor stays open for life: the lock is in it. */
static int
lock_pod(struct shepherd *s, struct error *err)
{
    int fd = open(s->order.run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return error_set(err,
                         -errno,
                         "opening '%s': %s",
                         s->order.run_dir,
                         strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return error_set(err, -EBUSY, "another shepherd runs it");
    return 0;
}

static int
refuse_finished(struct shepherd *s, struct error *err)
{
    struct ending *e = NULL;
    int r = ending_read(s->order.state_dir, s->order.run_dir, &e, err);

    if (r == -ENOENT)
        return 0;
    ending_free(e);
    return error_set(err, -EEXIST, "it has an exit record already");
}

static int
name_pod(struct shepherd *s, struct error *err)
{
    CLEANUP_STRBUF struct strbuf boot = STRBUF_INIT;
    int r = file_read("/proc/sys/kernel/random/boot_id", 64, &boot, err);

    if (r < 0)
        return r;
    strbuf_truncate(&boot, strcspn(boot.text, "\n"));
    s->live.boot_id = xstrdup(boot.text);
    s->live.pod_uid = xstrdup(s->order.pod_uid);
    s->live.shepherd_pid = getpid();
    s->ending.boot_id = xstrdup(boot.text);
    s->ending.pod_uid = xstrdup(s->order.pod_uid);
    return live_read_start(getpid(), &s->live.shepherd_start);
}

static int
claim(struct shepherd *s, struct error *err)
{
    int r = lock_pod(s, err);

    if (r == 0)
        r = refuse_finished(s, err);
    if (r == 0)
        r = name_pod(s, err);
    return r;
}

/* The steps before the fork */

/* A shepherd killed for want of memory could not say how its job went. */
static void
shield_from_oom(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    if (write(fd, "-1000", 5) < 0) {
        /* Rootless, it takes its chance with everybody else. */
    }
    close(fd);
}

static int
stand_alone(struct shepherd *s, struct error *err)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    umask(077);
    setsid();
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0
        || dup2(nothing, STDOUT_FILENO) < 0 || chdir("/") < 0)
        return error_set(err, -errno, "detaching: %s", strerror(errno));
    close(nothing);
    shield_from_oom();
    return live_write(&s->live, s->order.run_dir, err);
}

static int
take_cgroups(struct shepherd *s, struct error *err)
{
    const struct order *o = &s->order;
    int r = 0;

    if (o->shepherd_cgroup != NULL)
        r = cgroup_parse(o->shepherd_cgroup, &s->own, err);
    if (r == 0 && s->own != NULL)
        r = cgroup_add(s->own, 0, err);
    if (r == 0 && o->job_cgroup != NULL)
        r = cgroup_parse(o->job_cgroup, &s->cgroup, err);
    s->vigil.cgroup = s->cgroup;
    return r;
}

static int
check_user(struct shepherd *s, struct error *err)
{
    const struct order *o = &s->order;

    if (o->uid == 0 && !o->allow_root)
        return error_set(err,
                         -EPERM,
                         "jobs of root are refused on this node; an "
                         "administrator may set allowRootJobs");
    if (geteuid() != 0 && o->uid != (int64_t)geteuid())
        return error_set(err,
                         -EPERM,
                         "a rootless agent of uid %u cannot run jobs of uid "
                         "%lld",
                         geteuid(),
                         (long long)o->uid);
    return 0;
}

/* What the fuse leaves if the directory of users never answers. */
static void
foresee_silence(struct shepherd *s, struct strbuf *text)
{
    struct ending e = s->ending;
    CLEANUP_FREE char *message =
        xasprintf("looking up uid %lld took longer than %lld ms; does the "
                  "node's directory of users answer? ('getent passwd %lld')",
                  (long long)s->order.uid,
                  (long long)s->order.groups_timeout_ms,
                  (long long)s->order.uid);
    char step[] = "user";

    e.failed_step = step;
    e.message = message;
    e.error_number = ETIMEDOUT;
    e.exit_code = 125;
    e.ended_at_us =
        clock_real_us(&clock_system) + s->order.groups_timeout_ms * 1000;
    ending_format(&e, text);
}

static int
find_user(struct shepherd *s, struct error *err)
{
    const struct order *o = &s->order;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP_FREE char *final = xasprintf("%s/exit", o->state_dir);
    CLEANUP_FREE char *temporary = xasprintf("%s/exit.late", o->state_dir);
    struct fuse late = {
        .directory = o->state_dir,
        .temporary = temporary,
        .final = final,
    };
    int r;

    if (o->users_dir != NULL
        && roster_find(o->users_dir, (uid_t)o->uid, (gid_t)o->gid, &s->person)
               == 0)
        return 0;
    foresee_silence(s, &text);
    late.bytes = text.text;
    late.length = text.length;
    r = fuse_light(&late, o->groups_timeout_ms);
    if (r < 0)
        return error_set(err, r, "setting a timer: %s", strerror(-r));
    r = person_find((uid_t)o->uid, (gid_t)o->gid, &s->person, err);
    fuse_cut();
    if (r == 0 && o->users_dir != NULL)
        roster_keep(o->users_dir, (gid_t)o->gid, s->person);
    return r;
}

static int
spool(struct shepherd *s, struct error *err)
{
    const struct order *o = &s->order;
    uid_t uid = s->person->uid;
    gid_t gid = s->person->gid;
    int r = 0;

    if (o->script_bytes >= 0) {
        s->script = xasprintf("%s/script", o->state_dir);
        r = spool_script(s->script,
                         HANDOVER_SCRIPT_FD,
                         o->script_bytes,
                         uid,
                         gid,
                         err);
        close(HANDOVER_SCRIPT_FD);
    }
    if (r == 0 && o->tmp_dir != NULL)
        r = spool_directory(o->tmp_dir, uid, gid, err);
    return r;
}

static int
outfit(struct shepherd *s, struct error *err)
{
    return outfit_prepare(&s->outfit, &s->order, s->person, s->script, err);
}

static int
watch(struct shepherd *s, struct error *err)
{
    s->vigil.fence = (struct fence){
        .path = s->order.heard_path,
        .after_us = s->order.fence_after_ms * 1000,
        .began_us = clock_boottime_us(),
    };
    return vigil_begin(&s->vigil, err);
}

/* From here on an agent must not launch the pod again on its own. */
static int
announce(struct shepherd *s, struct error *err)
{
    s->live.phase = LIVE_STARTING;
    return live_write(&s->live, s->order.run_dir, err);
}

static const struct step {
    const char *name;
    int (*take)(struct shepherd *s, struct error *err);
} steps[] = {
    {"shepherd", stand_alone},
    {"shepherd cgroup", take_cgroups},
    {"user allowed", check_user},
    {"signals", watch},
    {"user", find_user},
    {"spool", spool},
    {"outfit", outfit},
    {"live state", announce},
};

static int
fail(struct shepherd *s, const char *step, int code, char *message TAKES)
{
    struct ending *e = &s->ending;

    e->failed_step = xstrdup(step);
    e->message = message;
    e->error_number = -code;
    e->exit_code = 125;
    return code;
}

static int
take_steps(struct shepherd *s)
{
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        struct error err = {0};
        int r = steps[i].take(s, &err);

        if (r < 0)
            return fail(s, steps[i].name, r, xstrdup(err.text));
    }
    return 0;
}

/* The fork */

static pid_t
fork_into(int cgroup_fd)
{
    struct clone_args args = {
        .flags = CLONE_INTO_CGROUP,
        .exit_signal = SIGCHLD,
        .cgroup = (uint64_t)cgroup_fd,
    };

    return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static int
open_doors(struct shepherd *s, bool with_v2, struct error *err)
{
    int n;

    if (s->cgroup == NULL)
        return 0;
    n = cgroup_open_doors(s->cgroup, with_v2, s->outfit.doors, err);
    if (n < 0)
        return n;
    s->outfit.n_doors = n;
    return 0;
}

static void
close_doors(struct shepherd *s)
{
    while (s->outfit.n_doors > 0)
        close(s->outfit.doors[--s->outfit.n_doors]);
}

/* Into the cgroup at birth where the kernel can (v2, 5.7), and by the door
 * otherwise. Returns as fork does.
 */
static pid_t
fork_job(struct shepherd *s, struct error *err)
{
    CLEANUP_FD int cgroup_fd =
        s->cgroup == NULL ? -1 : cgroup_open_clone(s->cgroup);
    pid_t pid = -1;
    int r;

    if (cgroup_fd >= 0) {
        r = open_doors(s, false, err);
        if (r < 0)
            return r;
        pid = fork_into(cgroup_fd);
        if (pid >= 0)
            return pid;
        close_doors(s);
    }
    r = open_doors(s, true, err);
    if (r < 0)
        return r;
    pid = fork();
    return pid < 0 ? error_set(err, -errno, "fork: %s", strerror(errno)) : pid;
}

static int
fork_and_climb(struct shepherd *s, int *ret_report_fd, struct error *err)
{
    int ends[2];
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set(err, -errno, "pipe: %s", strerror(errno));
    s->outfit.report_fd = ends[1];
    pid = fork_job(s, err);
    if (pid == 0)
        ladder_climb(&s->outfit);
    close(ends[1]);
    close_doors(s);
    if (pid < 0) {
        close(ends[0]);
        return pid;
    }
    s->vigil.job = pid;
    s->live.job_pid = pid;
    *ret_report_fd = ends[0];
    return 0;
}

static int
exit_code_for(const char *rung, int error_number)
{
    if (strcmp(rung, "program") != 0)
        return 125;
    return error_number == ENOENT ? 127 : 126;
}

static int
start(struct shepherd *s)
{
    CLEANUP_FD int report_fd = -1;
    struct error err = {0};
    int r = fork_and_climb(s, &report_fd, &err);

    if (r < 0)
        return fail(s, "fork", r, xstrdup(err.text));
    if (vigil_wait_start(&s->vigil, report_fd, &s->report))
        return 0;
    r = fail(s,
             ladder_rung_name(&s->report),
             -s->report.error_number,
             advice_dup(&s->outfit, &s->report));
    s->ending.exit_code =
        exit_code_for(s->ending.failed_step, s->report.error_number);
    return r;
}

/* The vigil */

static char *
find_line(const char *text, const char *key)
{
    const char *line = strstr(text, key);

    if (line == NULL)
        return NULL;
    line += strlen(key);
    return xstrndup(line, strcspn(line, "\n"));
}

/* The job is not reaped yet, so this is it, even if it is over already. */
static void
observe(struct shepherd *s)
{
    CLEANUP_FREE char *path = xasprintf("/proc/%ld/status", (long)s->vigil.job);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (file_read(path, 65536, &text, NULL) < 0)
        return;
    s->live.cpus_allowed = find_line(text.text, "Cpus_allowed_list:\t");
    s->live.memory_allowed = find_line(text.text, "Mems_allowed_list:\t");
    live_read_start(s->vigil.job, &s->live.job_start);
}

static void
complain(const struct shepherd *s, const struct error *err)
{
    fprintf(stderr,
            "kiln-shepherd: pod '%s': %s\n",
            s->order.pod == NULL ? "?" : s->order.pod,
            err->text);
}

/* The agent can follow by the descriptor without it; so the job goes on. */
static void
say_phase(struct shepherd *s, enum live_phase phase)
{
    struct error err = {0};

    s->live.phase = phase;
    if (live_write(&s->live, s->order.run_dir, &err) < 0)
        complain(s, &err);
}

static void
follow(struct shepherd *s)
{
    s->began_us = clock_monotonic_us(&clock_system);
    s->live.started_at_us = clock_real_us(&clock_system);
    observe(s);
    say_phase(s, LIVE_RUNNING);
    vigil_wait_end(&s->vigil);
}

/* The end */

static void
take_usage(struct shepherd *s)
{
    struct ending *e = &s->ending;
    struct cgroup_usage usage = {0};
    struct rusage own;

    if (s->cgroup != NULL)
        cgroup_read_usage(s->cgroup, &usage);
    getrusage(RUSAGE_CHILDREN, &own);
    e->peak_memory_bytes = usage.peak_memory_bytes > 0
                               ? (int64_t)usage.peak_memory_bytes
                               : own.ru_maxrss * 1024;
    e->cpu_user_us = usage.has_cpu
                         ? (int64_t)usage.cpu_user_us
                         : own.ru_utime.tv_sec * 1000000 + own.ru_utime.tv_usec;
    e->cpu_system_us =
        usage.has_cpu ? (int64_t)usage.cpu_system_us
                      : own.ru_stime.tv_sec * 1000000 + own.ru_stime.tv_usec;
    e->oom_kills = (int64_t)usage.oom_kills;
    e->was_oom = usage.oom_kills > 0;
    e->is_memory_enforced =
        s->cgroup != NULL && cgroup_has(s->cgroup, CONTROLLER_MEMORY);
}

static void
take_status(struct shepherd *s)
{
    struct ending *e = &s->ending;
    int status = s->vigil.status;

    e->started_at_us = s->live.started_at_us;
    e->ended_at_us = clock_real_us(&clock_system);
    e->was_fenced = s->vigil.is_fenced;
    e->elapsed_us = clock_monotonic_us(&clock_system) - s->began_us;
    if (WIFSIGNALED(status)) {
        e->signal = WTERMSIG(status);
        e->exit_code = 128 + e->signal;
        e->has_core = WCOREDUMP(status);
    } else {
        e->exit_code = WEXITSTATUS(status);
    }
    e->cpus_allowed = s->live.cpus_allowed;
    e->memory_allowed = s->live.memory_allowed;
}

static void
clear_up(struct shepherd *s)
{
    struct vigil *v = &s->vigil;

    if (v->job == 0)
        return;
    if (s->live.started_at_us != 0)
        take_status(s);
    if (!vigil_clear(v, s->order.kill_wait_ms))
        s->ending.has_left_behind = true;
    take_usage(s);
}

static enum exit_status
record(struct shepherd *s)
{
    struct error err = {0};

    if (s->ending.ended_at_us == 0)
        s->ending.ended_at_us = clock_real_us(&clock_system);
    if (ending_write(&s->ending, s->order.state_dir, s->order.run_dir, &err)
        == 0)
        return EXIT_RECORDED;
    complain(s, &err);
    return EXIT_UNRECORDED;
}

static int
explain(const char *option)
{
    if (strcmp(option, "--version") == 0) {
        printf("kiln-shepherd %s\n", VERSION);
        return EXIT_SUCCESS;
    }
    if (strcmp(option, "--help") == 0) {
        printf("Usage: kiln-shepherd\n"
               "Runs one pod's process as its user. Started by kiln-agent, "
               "which hands it an\norder on descriptor 3; of no use by "
               "hand.\n\n"
               "      --help     show this\n"
               "      --version  show the version\n");
        return EXIT_SUCCESS;
    }
    fprintf(stderr,
            "kiln-shepherd: '%s' is not understood; kiln-agent starts it, "
            "without arguments\n",
            option);
    return EXIT_NO_ORDER;
}

/* Leaves by _exit, without tidying memory that goes away anyway. */
int
main(int argc, char **argv)
{
    struct shepherd s = {.vigil = {.signal_fd = -1}};
    struct error err = {0};

    if (argc > 1)
        return explain(argv[1]);
    if (read_order(&s, &err) < 0) {
        complain(&s, &err);
        _exit(EXIT_NO_ORDER);
    }
    if (claim(&s, &err) < 0) {
        complain(&s, &err);
        _exit(EXIT_NOT_OURS);
    }
    if (take_steps(&s) == 0 && start(&s) == 0)
        follow(&s);
    clear_up(&s);
    _exit(record(&s));
}
