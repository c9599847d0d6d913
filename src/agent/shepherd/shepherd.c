/* SPDX-License-Identifier: Apache-2.0 */
/* kiln-shepherd - runs one pod's process as its user and records how it ended
 *
 * Started by the agent, or forked by the fork server that the agent keeps, with
 * an order on descriptor 3 and the script, if any, on descriptor 4. In order:
 * it claims the pod, prepares and starts the job, supervises it, kills what is
 * left, and writes the exit record.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/cgroup/cgroup.h"
#include "agent/cgroup/hierarchy.h"
#include "agent/cgroup/vfork_call.h"
#include "agent/shepherd/descendants.h"
#include "agent/shepherd/fork_server_process.h"
#include "agent/shepherd/handover.h"
#include "agent/shepherd/shepherd_state.h"
#include "agent/shepherd/user_account.h"
#include "agent/shepherd/user_cache.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/base/version/version.h"

/* The most pods of one process, because the C library keeps some memory of
 * each.
 */
#define PODS_MOST 256u

#define BLOCK_BYTES INT64_C(512)       /* of getrusage */
#define LEAST_CACHE (INT64_C(4) << 20) /* a lower peak is taken as that of processes */

/* Exit statuses for the process that started this one. */
enum shepherd_exit_status {
    EXIT_RECORDED = 0,
    EXIT_NO_ORDER = 64,  /* the order is unreadable: nothing was changed */
    EXIT_NOT_OURS = 65,  /* another shepherd has or had the pod */
    EXIT_UNRECORDED = 66 /* the exit record could not be written */
};

/* Claiming the pod */

/* A static program cannot load the libraries that query the site's user
 * database. So if the user is not in the cache (once a minute), it executes the
 * dynamically linked program.
 */
static void
find_known_user(struct shepherd *s)
{
    const char *program = s->inherited_state->look_up_program;
    const struct order *o = &s->order;
    int r;

    if (o->users_dir != NULL)
        (void)user_cache_find(o->users_dir, (uid_t)o->uid, (gid_t)o->gid, &s->user);
    if (s->user != NULL || program == NULL)
        return;
    r = handover_become(program, o);
    fprintf(stderr, "kiln-shepherd: starting '%s': %s\n", program, strerror(-r));
}

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

/* The descriptor stays open for the process's life, because it holds the lock.
 */
static int
lock_pod(struct shepherd *s, struct error *err)
{
    int fd = open(s->order.run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return error_set(err, -errno, "opening '%s': %s", s->order.run_dir, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return error_set(err, -EBUSY, "another shepherd runs it");
    return 0;
}

static int
refuse_finished(struct shepherd *s, struct error *err)
{
    struct exit_record *e = NULL;
    const struct order *o = &s->order;
    int r = exit_record_read(o->state_dir, o->run_dir, o->pod_uid, &e, err);

    if (r == -ENOENT)
        return 0;
    exit_record_free(e);
    return error_set(err, -EEXIST, "it already has an exit record");
}

static int
read_boot_id(char **ret_boot_id, struct error *err)
{
    CLEANUP_STRBUF struct strbuf boot = STRBUF_INIT;
    int r = file_read("/proc/sys/kernel/random/boot_id", 64, &boot, err);

    if (r < 0)
        return r;
    strbuf_truncate(&boot, strcspn(boot.text, "\n"));
    *ret_boot_id = strbuf_take(&boot);
    return 0;
}

static int
fill_identity(struct shepherd *s, struct error *err)
{
    char *boot_id = s->inherited_state->boot_id;
    int r = boot_id != NULL ? 0 : read_boot_id(&boot_id, err);

    if (r < 0)
        return r;
    s->live.boot_id = s->exit_record.boot_id = boot_id;
    s->live.pod_uid = s->exit_record.pod_uid = xstrdup(s->order.pod_uid);
    s->live.shepherd_pid = getpid();
    return live_record_read_start(getpid(), &s->live.shepherd_start);
}

static int
claim(struct shepherd *s, struct error *err)
{
    int r = lock_pod(s, err);

    if (r == 0)
        r = refuse_finished(s, err);
    if (r == 0)
        r = fill_identity(s, err);
    return r;
}

/* A job that cannot be started */

int
shepherd_fail(struct shepherd *s, const char *step, int code, char *message TAKES)
{
    struct exit_record *e = &s->exit_record;

    e->failed_step = xstrdup(step);
    e->message = message;
    e->error_number = -code;
    e->exit_code = 125;
    return code;
}

/* Supervision */

static char *
find_line(const char *text, const char *key)
{
    const char *line = strstr(text, key);

    if (line == NULL)
        return NULL;
    line += strlen(key);
    return xstrndup(line, strcspn(line, "\n"));
}

/* The job is not reaped yet, so its pid is valid even if it has ended. */
static void
read_placement(struct shepherd *s)
{
    CLEANUP_FREE char *path = xasprintf("/proc/%ld/status", (long)s->supervisor.job);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (file_read(path, 65536, &text, NULL) < 0)
        return;
    s->live.cpus_allowed = find_line(text.text, "Cpus_allowed_list:\t");
    s->live.memory_allowed = find_line(text.text, "Mems_allowed_list:\t");
    live_record_read_start(s->supervisor.job, &s->live.job_start);
}

static void
print_error(const struct shepherd *s, const struct error *err)
{
    fprintf(stderr, "kiln-shepherd: pod '%s': %s\n", s->order.pod == NULL ? "?" : s->order.pod,
            err->text);
}

/* A failed write does not end the job, because the agent can follow the pidfd
 * without the record.
 */
static void
write_phase(struct shepherd *s, enum live_phase phase)
{
    struct error err = {0};

    s->live.phase = phase;
    if (live_record_write(&s->live, s->order.run_dir, &err) < 0)
        print_error(s, &err);
}

/* The record has wall-clock time for others; the supervisor's monotonic time is
 * what counts.
 */
static void
write_frozen(void *context)
{
    struct shepherd *s = context;
    const struct supervisor *v = &s->supervisor;

    s->live.frozen_at_us = v->stands_still ? clock_real_us(&clock_system) : 0;
    s->live.frozen_us = v->frozen_us;
    write_phase(s, s->live.phase);
}

static void
supervise(struct shepherd *s)
{
    s->began_us = clock_monotonic_us(&clock_system);
    s->live.started_at_us = clock_real_us(&clock_system);
    s->live.started_boot_us = clock_boottime_us();
    read_placement(s);
    output_index_begin(&s->supervisor.output_index, s->order.state_dir, s->supervisor.job);
    write_phase(s, LIVE_RUNNING);
    s->supervisor.note_frozen = write_frozen;
    s->supervisor.context = s;
    s->supervisor.checkpoint.start = s->order.checkpoint != NULL ? start_checkpoint : NULL;
    supervisor_wait_end(&s->supervisor);
}

/* The end */

/* Blocks of 512 bytes; the kernel counts those that came from or went to
 * storage, network storage included. Usage of hooks before the job, and of the
 * shepherd's former pods, is not the job's.
 */
static void
take_io(struct shepherd *s, const struct rusage *own)
{
    struct exit_record *e = &s->exit_record;

    e->has_io = true;
    e->read_bytes = BLOCK_BYTES * (own->ru_inblock - s->before.ru_inblock);
    e->written_bytes = BLOCK_BYTES * (own->ru_oublock - s->before.ru_oublock);
}

/* Uses values of getrusage where the cgroup has none. These are sums over all
 * children that this process has waited for, so call it only for a shepherd's
 * first pod.
 */
static void
take_childrens(struct shepherd *s, const struct cgroup_usage *usage, const struct rusage *own)
{
    struct exit_record *e = &s->exit_record;

    if (usage->peak_memory_bytes == 0)
        e->peak_memory_bytes = own->ru_maxrss * 1024;
    if (usage->has_cpu)
        return;
    e->cpu_user_us = own->ru_utime.tv_sec * 1000000 + own->ru_utime.tv_usec;
    e->cpu_system_us = own->ru_stime.tv_sec * 1000000 + own->ru_stime.tv_usec;
}

/* Tells the processes' part of the peak from the page cache, which counts as
 * memory, too. No file of the kernel has that part of the peak: it is at least
 * what the cache left of the peak if there was as much cache then as now, and at
 * least the largest process. The cache of a small job is of no interest.
 */
static void
take_cache(struct shepherd *s, const struct cgroup_usage *usage, const struct rusage *own)
{
    struct exit_record *e = &s->exit_record;
    const int64_t peak = (int64_t)usage->peak_memory_bytes;
    uint64_t cache = 0;

    if (peak == 0 || (peak >= LEAST_CACHE && !cgroup_read_cache(s->cgroup, &cache)))
        return;
    e->has_rss = true;
    e->cache_bytes = (int64_t)cache < peak ? (int64_t)cache : peak;
    e->rss_bytes = peak - e->cache_bytes;
    if (!s->had_pods && own->ru_maxrss * 1024 > e->rss_bytes)
        e->rss_bytes = own->ru_maxrss * 1024 < peak ? own->ru_maxrss * 1024 : peak;
}

static void
take_usage(struct shepherd *s)
{
    struct exit_record *e = &s->exit_record;
    struct cgroup_usage usage = {0};
    struct rusage own;

    if (s->cgroup != NULL)
        cgroup_read_usage(s->cgroup, &usage);
    getrusage(RUSAGE_CHILDREN, &own);
    e->peak_memory_bytes = (int64_t)usage.peak_memory_bytes;
    e->cpu_user_us = (int64_t)usage.cpu_user_us;
    e->cpu_system_us = (int64_t)usage.cpu_system_us;
    if (!s->had_pods)
        take_childrens(s, &usage, &own);
    take_cache(s, &usage, &own);
    s->is_usage_cgroups = usage.peak_memory_bytes > 0 && usage.has_cpu;
    take_io(s, &own);
    exit_record_note_oom(e, (int64_t)usage.oom_kills);
    e->is_memory_enforced = s->cgroup != NULL && cgroup_has(s->cgroup, CONTROLLER_MEMORY);
}

static void
take_status(struct shepherd *s)
{
    struct exit_record *e = &s->exit_record;
    int status = s->supervisor.status;

    e->started_at_us = s->live.started_at_us;
    e->ended_at_us = clock_real_us(&clock_system);
    e->was_fenced = s->supervisor.is_fenced;
    e->was_late = s->supervisor.is_late;
    e->was_ended = s->supervisor.has_order;
    e->had_own_end =
        !e->was_ended && !e->was_fenced && !e->was_late && !e->was_shut_down && WIFEXITED(status);
    e->elapsed_us = clock_monotonic_us(&clock_system) - s->began_us;
    e->frozen_us = supervisor_frozen_us(&s->supervisor);
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
take_checkpoint(struct shepherd *s)
{
    struct exit_record *e = &s->exit_record;
    const struct checkpoint *c = &s->supervisor.checkpoint;

    e->has_checkpoint = c->has_begun;
    e->was_checkpoint_cut = c->was_cut;
    e->checkpoint_failure = c->failure;
    e->checkpoint_us = c->ended_us - c->began_us;
    e->checkpoint_code =
        WIFSIGNALED(c->status) ? 128 + WTERMSIG(c->status) : WEXITSTATUS(c->status);
}

static void
kill_rest(struct shepherd *s)
{
    struct supervisor *v = &s->supervisor;

    s->exit_record.was_shut_down = v->is_shut_down;
    if (v->job == 0)
        return;
    if (s->live.started_at_us != 0)
        take_status(s);
    if (!supervisor_kill_rest(v, s->order.kill_wait_ms))
        s->exit_record.has_left_behind = true;
    take_checkpoint(s);
    take_usage(s);
}

/* Also runs after a failed prolog, to undo what that did. */
static void
run_epilog(struct shepherd *s)
{
    const struct order *o = &s->order;
    struct error err = {0};

    if (!s->has_begun_hooks || (o->prolog == NULL && o->epilog == NULL))
        return;
    if (preparation_hook(s, "epilog", &err) < 0)
        s->exit_record.epilog_failure = xstrdup(err.text);
    descendants_signal(SIGKILL, 0);
}

static enum shepherd_exit_status
write_exit_record(struct shepherd *s)
{
    struct error err = {0};

    if (s->exit_record.ended_at_us == 0)
        s->exit_record.ended_at_us = clock_real_us(&clock_system);
    if (exit_record_write(&s->exit_record, s->order.state_dir, s->order.run_dir, &err) == 0)
        return EXIT_RECORDED;
    print_error(s, &err);
    return EXIT_UNRECORDED;
}

static int
print_usage(const char *option)
{
    if (strcmp(option, "--version") == 0) {
        printf("kiln-shepherd %s\n", version_text());
        return EXIT_SUCCESS;
    }
    if (strcmp(option, "--help") == 0) {
        printf("Usage: kiln-shepherd\n"
               "Runs one pod's process as its user. Started by kiln-agent, "
               "which passes it an\n"
               "order on descriptor 3; not for use by hand.\n"
               "\n"
               "      --help     show this\n"
               "      --version  show the version\n");
        return EXIT_SUCCESS;
    }
    fprintf(stderr,
            "kiln-shepherd: unexpected argument '%s'; kiln-agent starts this "
            "program, without arguments\n",
            option);
    return EXIT_NO_ORDER;
}

static enum shepherd_exit_status
serve_pod(struct shepherd *s)
{
    struct error err = {0};

    if (read_order(s, &err) < 0) {
        print_error(s, &err);
        return EXIT_NO_ORDER;
    }
    find_known_user(s);
    if (claim(s, &err) < 0) {
        print_error(s, &err);
        return EXIT_NOT_OURS;
    }
    if (preparation_run(s) == 0) {
        getrusage(RUSAGE_CHILDREN, &s->before);
        if (start_job(s) == 0)
            supervise(s);
    }
    kill_rest(s);
    end_job(s);
    run_epilog(s);
    return write_exit_record(s);
}

/* Whether this process may serve another pod. A job of root may have changed
 * this process in unknown ways; processes that a pod or a hook left behind have
 * to end with their shepherd; and libraries of the site may need their
 * descriptors. Another user's job must never see this memory, which contained
 * the last job's variables.
 */
static bool
may_stay(const struct shepherd *s)
{
    const struct order *o = &s->order;
    const struct supervisor *v = &s->supervisor;

    return s->has_channel && s->may_share_memory && s->inherited_state->boot_id != NULL
           && !s->has_asked_site && o->uid != 0 && o->prolog == NULL && o->epilog == NULL
           && s->is_usage_cgroups && s->live.started_at_us != 0 && v->is_over && v->is_childless
           && !v->is_fenced && !v->is_frozen && !v->is_to_exit && !v->checkpoint.has_begun
           && !s->exit_record.has_left_behind;
}

static void
let_go_of_texts(struct shepherd *s)
{
    struct live_record *l = &s->live;
    struct exit_record *e = &s->exit_record;

    free(l->pod_uid); /* shared with the exit record, like the next two */
    free(l->cpus_allowed);
    free(l->memory_allowed);
    free(l->waits_for);
    free(e->failed_step);
    free(e->message);
    free(e->epilog_failure);
    free(s->script);
}

/* Closing all other descriptors also releases the lock of the pod's directory.
 */
static int
let_go_of_pod(struct shepherd *s)
{
    prepared_job_fini(&s->prepared);
    cgroup_free(s->own);
    cgroup_free(s->cgroup);
    user_account_free(s->user);
    let_go_of_texts(s);
    order_fini(&s->order);
    if (syscall(SYS_close_range, 3u, HANDOVER_CHANNEL_FD - 1u, 0) < 0
        || syscall(SYS_close_range, HANDOVER_CHANNEL_FD + 1u, ~0u, 0) < 0)
        return -errno;
    return 0;
}

/* With fs.suid_dumpable at 1 a user may trace a process that has become the
 * user's own, and so read the shepherd's memory, which the job may share for a
 * moment. An administrator may change the setting at any time, so it is read
 * before each pod.
 */
static bool
may_share_memory(void)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    return vfork_call_shares_memory()
           && file_read("/proc/sys/fs/suid_dumpable", 64, &text, NULL) == 0 && text.text[0] != '1';
}

/* Ends by _exit, without freeing memory. */
static void
run_shepherd(const struct inherited_state *inherited_state, bool has_channel)
{
    const bool shares_memory = may_share_memory();

    for (unsigned n = 1;; n++) {
        struct shepherd s = {
            .inherited_state = inherited_state,
            .may_share_memory = shares_memory,
            .has_channel = has_channel,
            .had_pods = n > 1,
            .supervisor = {.signal_fd = -1, .job_fd = -1},
        };
        enum shepherd_exit_status status = serve_pod(&s);

        if (status != EXIT_RECORDED || n == PODS_MOST || !may_stay(&s) || let_go_of_pod(&s) < 0
            || !fork_server_process_next(may_share_memory))
            _exit(status);
    }
}

/* The path of "kiln-shepherd" beside this program, if this is the static one.
 */
static char *
find_look_up_program(void)
{
    static const char static_name[] = "/kiln-forkserver";
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    char *slash;

    if (n < 0)
        return NULL;
    path[n] = '\0';
    slash = strrchr(path, '/');
    if (slash == NULL || strcmp(slash, static_name) != 0)
        return NULL;
    return xasprintf("%.*s/kiln-shepherd", (int)(slash - path), path);
}

int
main(int argc, char **argv)
{
    struct inherited_state inherited_state = {0};

    if (argc > 1)
        return print_usage(argv[1]);
    if (fork_server_process_is_wanted()) {
        (void)read_boot_id(&inherited_state.boot_id, NULL);
        inherited_state.look_up_program = find_look_up_program();
        preparation_shield();
        inherited_state.is_shielded = true;
        inherited_state.is_apart = true;
        inherited_state.is_detached = preparation_detach(NULL) == 0;
        fork_server_process_serve(run_shepherd, &inherited_state);
    }
    run_shepherd(&inherited_state, false);
}
