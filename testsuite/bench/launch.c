/* SPDX-License-Identifier: Apache-2.0 */
/* launch - the cost of a shepherd compared with two plain processes
 *
 *     testsuite/bench/launch [SECONDS]
 *
 * Runs /bin/true repeatedly, several at once: through a program that only
 * spawns it and waits (two processes, the minimum of any launcher with a
 * supervisor), and through kiln-shepherd with all its steps, and an exit record
 * synced to disk each, without and (as root, where there are cgroups) with a
 * cgroup made ahead. Only ratios within one run are meaningful.
 */
#include <errno.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/cgroup/cgpool.h"
#include "agent/cgroup/cgroot.h"
#include "agent/cgroup/cgroup.h"
#include "agent/shepherd/files/exit_record.h"
#include "agent/shepherd/files/order.h"
#include "agent/shepherd/launch.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/cgroups.h"

#define AT_ONCE_MAX 8u

struct pod_run {
    int pidfd; /* -1: free */
    pid_t pid;
    unsigned long number;
    struct cgroup *cgroup;
};

struct bench {
    char directory[32]; /* on disk, like a state directory */
    char memory[32];    /* in memory, like /run */
    char *memory_state;
    char *program;
    const char *self;
    struct cgroot *root;
    struct cgpool *pool;
    struct strbuf own;
    bool with_cgroup;
    bool in_memory; /* the state directory too */
    bool is_plain;
    unsigned long next;
};

static void
die(const char *what)
{
    fprintf(stderr, "launch: %s\n", what);
    exit(1);
}

static char *
make_directory(const char *parent, unsigned long number)
{
    char *path = xasprintf("%s/%lu", parent, number);

    if (mkdir(path, 0711) < 0)
        die(path);
    return path;
}

static const char *
state_parent(const struct bench *b)
{
    return b->in_memory ? b->memory_state : b->directory;
}

static void
start_plain(struct bench *b, struct pod_run *r)
{
    char name[] = "launch";
    char option[] = "--spawn";
    char *const arguments[] = {name, option, NULL};

    if (posix_spawn(&r->pid, b->self, NULL, NULL, arguments, environ) != 0)
        die("spawning");
    r->pidfd = (int)syscall(SYS_pidfd_open, r->pid, 0);
}

static struct cgroup *
take_cgroup(struct bench *b)
{
    struct error err = {0};
    struct cgroup *c = cgpool_take(b->pool);

    if (c == NULL && cgpool_make(b->pool, &c, &err) < 0)
        die(err.text);
    if (cgroot_ability(b->root)->cpuset && cgroup_set_cpus(c, "0", "0", &err) < 0)
        die(err.text);
    if (cgroot_ability(b->root)->memory && cgroup_set_memory(c, 1u << 30, &err) < 0)
        die(err.text);
    return c;
}

static void
start_shepherd(struct bench *b, struct pod_run *r)
{
    const char *arguments[] = {"/bin/true"};
    struct order o;
    CLEANUP_FREE char *state = make_directory(state_parent(b), b->next);
    CLEANUP_FREE char *run = make_directory(b->memory, b->next);
    CLEANUP_FREE char *users = xasprintf("%s/users", b->memory);
    CLEANUP_STRBUF struct strbuf job = STRBUF_INIT;
    struct shepherd_process process;
    struct launch l = {.program = b->program, .order = &o, .script_fd = -1};
    struct error err = {0};

    order_init(&o);
    o.pod = "bench/pod";
    o.pod_uid = "bench";
    o.state_dir = state;
    o.run_dir = run;
    o.work_dir = "/";
    o.users_dir = users;
    o.uid = geteuid() == 0 ? 65534 : (int64_t)geteuid();
    o.gid = geteuid() == 0 ? 65534 : (int64_t)getegid();
    o.cpus = "0";
    o.arguments = (struct order_list){arguments, 1};
    if (b->with_cgroup) {
        r->cgroup = take_cgroup(b);
        cgroup_format(r->cgroup, &job);
        o.job_cgroup = job.text;
        o.shepherd_cgroup = b->own.text;
    }
    r->number = b->next++;
    if (launch_start(&l, &process, &err) < 0)
        die(err.text);
    r->pid = process.pid;
    r->pidfd = process.pidfd;
    if (process.channel >= 0)
        close(process.channel);
}

static void
check_record(const struct bench *b, const struct pod_run *r)
{
    CLEANUP_FREE char *state = xasprintf("%s/%lu", state_parent(b), r->number);
    CLEANUP(exit_record_freep) struct exit_record *e = NULL;
    struct error err = {0};

    if (exit_record_read(state, state, "bench", &e, &err) < 0)
        die(err.text);
    if (e->failed_step != NULL || e->exit_code != 0)
        die(e->message == NULL ? "the job failed" : e->message);
}

static void
finish(struct bench *b, struct pod_run *r)
{
    waitpid(r->pid, NULL, 0);
    close(r->pidfd);
    r->pidfd = -1;
    if (!b->is_plain)
        check_record(b, r);
    if (r->cgroup != NULL)
        cgpool_retire(b->pool, r->cgroup);
    r->cgroup = NULL;
}

static void
start(struct bench *b, struct pod_run *r)
{
    if (b->is_plain)
        start_plain(b, r);
    else
        start_shepherd(b, r);
}

struct rate {
    double per_second;
    double cpu_us; /* of all processes together, per run */
};

static double
cpu_time_us(void)
{
    static const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
    double sum = 0;

    for (size_t i = 0; i < ARRAY_SIZE(whose); i++) {
        struct rusage u;

        getrusage(whose[i], &u);
        sum += (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6
               + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    }
    return sum;
}

/* Runs `at_once` at any time. */
static struct rate
measure(struct bench *b, unsigned at_once, double seconds)
{
    struct pod_run runs[AT_ONCE_MAX];
    struct pollfd fds[AT_ONCE_MAX];
    int64_t began = clock_monotonic_us(&clock_system);
    int64_t until = began + (int64_t)(seconds * 1e6);
    unsigned long done = 0;
    unsigned running = at_once;
    double cpu = cpu_time_us();

    for (unsigned i = 0; i < at_once; i++) {
        runs[i] = (struct pod_run){.pidfd = -1};
        start(b, &runs[i]);
    }
    while (running > 0) {
        for (unsigned i = 0; i < at_once; i++)
            fds[i] = (struct pollfd){.fd = runs[i].pidfd, .events = POLLIN};
        if (poll(fds, at_once, -1) < 0)
            die("poll");
        for (unsigned i = 0; i < at_once; i++) {
            if (runs[i].pidfd < 0 || fds[i].revents == 0)
                continue;
            finish(b, &runs[i]);
            done++;
            if (clock_monotonic_us(&clock_system) < until)
                start(b, &runs[i]);
            else
                running--;
        }
    }
    return (struct rate){
        .per_second = (double)done * 1e6 / (double)(clock_monotonic_us(&clock_system) - began),
        .cpu_us = (cpu_time_us() - cpu) / (double)done,
    };
}

static void
open_cgroups(struct bench *b)
{
    char base[64];
    const struct cgroot_settings site = {.base = base};
    struct error err = {0};

    snprintf(base, sizeof(base), "/kiln-bench-%ld", (long)getpid());
    if (geteuid() != 0 || cgroot_open(&site, &b->root, &err) < 0) {
        printf("without cgroups: %s\n", geteuid() != 0 ? "this takes root" : err.text);
        return;
    }
    b->pool = cgpool_new(b->root, "b-");
    cgroup_format(cgroot_shepherds(b->root), &b->own);
}

static void
close_cgroups(struct bench *b)
{
    if (b->root == NULL)
        return;
    for (int i = 0; i < 100 && cgpool_sweep(b->pool) > 0; i++)
        usleep(20000);
    cgpool_free(b->pool);
    cgroups_remove_base(b->root, NULL);
    cgroot_close(b->root);
}

static void
print_row(const char *name, const struct rate *r, const struct rate *plain)
{
    printf("%-34s", name);
    for (int i = 0; i < 3; i++)
        printf("%6.0f/s %3.0f %% %5.0f us", r[i].per_second,
               r[i].per_second * 100 / plain[i].per_second, r[i].cpu_us);
    printf("\n");
}

static void
measure_all(struct bench *b, double seconds)
{
    static const unsigned at_once[] = {1, 2, 8};
    struct rate plain[3], unsynced[3], shepherd[3], cgroup[3];

    for (int i = 0; i < 3; i++) {
        b->is_plain = true;
        plain[i] = measure(b, at_once[i], seconds);
        b->is_plain = false;
        b->in_memory = true;
        unsynced[i] = measure(b, at_once[i], seconds);
        b->in_memory = false;
        shepherd[i] = measure(b, at_once[i], seconds);
        if (b->root == NULL)
            continue;
        cgpool_fill(b->pool, (unsigned)(plain[i].per_second * seconds), NULL);
        b->with_cgroup = true;
        cgroup[i] = measure(b, at_once[i], seconds);
        b->with_cgroup = false;
        while (cgpool_sweep(b->pool) > 0)
            usleep(20000);
    }
    printf("%-34s%23s%23s%23s\n", "at once (rate, of plain, CPU)", "1", "2", "8");
    print_row("two plain processes", plain, plain);
    print_row("kiln-shepherd, state in memory", unsynced, plain);
    print_row("kiln-shepherd, state on disk", shepherd, plain);
    if (b->root != NULL)
        print_row("  and in a cgroup made ahead", cgroup, plain);
}

static int
spawn_and_wait(void)
{
    char name[] = "true";
    char *const arguments[] = {name, NULL};
    pid_t pid;

    if (posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ) != 0)
        return 1;
    return waitpid(pid, NULL, 0) == pid ? 0 : 1;
}

int
main(int argc, char **argv)
{
    const char *top = getenv("top_builddir");
    struct bench b = {
        .directory = "/var/tmp/kiln-XXXXXX",
        .memory = "/dev/shm/kiln-XXXXXX",
        .own = STRBUF_INIT,
    };
    CLEANUP_FREE char *command = NULL;
    struct utsname machine;

    if (argc > 1 && strcmp(argv[1], "--spawn") == 0)
        return spawn_and_wait();
    if (mkdtemp(b.directory) == NULL || chmod(b.directory, 0711) < 0 || mkdtemp(b.memory) == NULL
        || chmod(b.memory, 0711) < 0)
        die("no directory");
    b.memory_state = xasprintf("%s/state", b.memory);
    if (mkdir(b.memory_state, 0711) < 0)
        die(b.memory_state);
    b.program = xasprintf("%s/kiln-shepherd", top == NULL ? "." : top);
    b.self = "/proc/self/exe";
    uname(&machine);
    printf("%s %s, %ld CPUs\n", machine.sysname, machine.release, sysconf(_SC_NPROCESSORS_ONLN));
    open_cgroups(&b);
    measure_all(&b, argc > 1 ? strtod(argv[1], NULL) : 3);
    close_cgroups(&b);
    command = xasprintf("rm -rf '%s' '%s'", b.directory, b.memory);
    if (system(command) != 0)
        die(command);
    free(b.program);
    free(b.memory_state);
    strbuf_fini(&b.own);
    return 0;
}
