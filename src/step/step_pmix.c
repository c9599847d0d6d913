/* SPDX-License-Identifier: Apache-2.0 */
/* step_pmix.c - runs kiln-pmix beside the tasks, and ends them when it cannot serve them
 *
 * libpmix is a large library that reads what tasks send, so it runs in a process of its own, as
 * the user. Here is only what has to outlive it: who has joined and not left, its
 * directory, and messages on their way between it and krun.
 */
#include "step/step_pmix.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/step/pmix_message.h"
#include "lib/step/step_environment.h"
#include "lib/step/step_frames.h"
#include "lib/step/step_grant.h"
#include "lib/step/step_request.h"
#include "step/step_ending.h"
#include "step/step_events.h"
#include "step/step_link.h"

#define DEPTH        16
#define ENTRIES_MOST 10000 /* of a directory that all users share */
#define OLD_S        60    /* from when on a directory must have its lock */
#define PROGRAM      "kiln-pmix"
#define LAST_MS      1000 /* for its own cleaning */
#define MEMORY_FILES "/dev/shm"

struct pmix_task {
    bool has_joined, has_left, has_ended;
    uint32_t code;
};

struct step_pmix {
    struct step_pmix_settings s;
    const struct step_layout_node *place; /* this node's */
    bool is_wanted;                       /* else nothing below is used */
    struct step_watch watch;
    int fd; /* -1: closed */
    pid_t pid;
    struct step_reader in;
    struct strbuf out;
    size_t sent;
    struct strbuf variables; /* "NAME=value" with NUL */
    char *directory;
    int lock; /* of the directory */
    bool is_ready, is_gone;
    int64_t until_ms; /* it was asked to end; 0: not yet */
    struct pmix_task *tasks;
};

/* --- the program ----------------------------------------------------------------
 */

/* Beside this one, in a directory that the user perhaps cannot search. */
int
step_pmix_find(void)
{
    char path[4096 + sizeof(PROGRAM)];
    ssize_t n = readlink("/proc/self/exe", path, 4096);
    char *slash;

    if (n <= 0)
        return -1;
    path[n] = '\0';
    slash = strrchr(path, '/');
    if (slash == NULL)
        return -1;
    memcpy(slash + 1, PROGRAM, sizeof(PROGRAM));
    return open(path, O_PATH | O_CLOEXEC);
}

/* Between vfork and exec: only system calls. */
static int
become_server(int program, int fd, char **environment)
{
    char name[] = PROGRAM;
    char *arguments[] = {name, NULL};
    sigset_t none;

    sigemptyset(&none);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || setpgid(0, 0) < 0 || dup2(fd, 0) < 0
        || dup2(2, 1) < 0 || sigprocmask(SIG_SETMASK, &none, NULL) < 0)
        return -errno;
    (void)syscall(SYS_execveat, program, "", arguments, environment, AT_EMPTY_PATH);
    return -errno;
}

static __attribute__((noinline)) pid_t
fork_server(int program, int fd, char **environment, int *ret_error)
{
    volatile int failed = 0;
    pid_t pid = vfork();

    if (pid == 0) {
        failed = become_server(program, fd, environment);
        _exit(EXIT_FAILURE);
    }
    *ret_error = pid < 0 ? -errno : failed;
    return pid;
}

/* With those by which the agent finds the processes of a step. Clients prove that they are
 * of the step by the name of its namespace, which they must know: the native module only
 * believes them who they are. "hash" has no files.
 */
static char **
make_environment(struct step_pmix *p)
{
    const struct step_request *q = p->s.request;
    unsigned n, n_own = 0;
    char **e;

    while (environ[n_own] != NULL)
        n_own++;
    e = arena_new_array(p->s.arena, char *, n_own + q->environment.count + 8);
    memcpy(e, environ, n_own * sizeof(*e));
    n = n_own;

    e[n++] = arena_strdup(p->s.arena, "PMIX_MCA_psec=native");
    e[n++] = arena_strdup(p->s.arena, "PMIX_MCA_gds=hash");
    e[n++] = arena_printf(p->s.arena, "TMPDIR=%s", p->directory);
    e[n++] = arena_strdup(p->s.arena, "PATH=/usr/bin:/bin");
    for (unsigned i = 0; i < q->environment.count; i++)
        if (strncmp(q->environment.items[i], "PMIX_MCA_", strlen("PMIX_MCA_")) == 0)
            e[n++] = arena_strdup(p->s.arena, q->environment.items[i]);
    e[n] = NULL;
    return e;
}

static int
start_server(struct step_pmix *p, int program, struct error *err)
{
    int ends[2];
    int r;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return error_set(err, -errno, "socketpair: %s", strerror(errno));
    p->pid = fork_server(program, ends[1], make_environment(p), &r);
    close(ends[1]);
    p->fd = ends[0];
    (void)fd_set_nonblocking(p->fd, true);
    return r < 0 ? error_set(err, r, "starting kiln-pmix on %s: %s", p->place->name, strerror(-r))
                 : 0;
}

/* --- directories of steps --------------------------------------------------------
 */

/* A kiln-step has its directory locked as long as it lives. One that is not locked, and
 * not new, was left by a kiln-step that was killed.
 */

/* A descriptor that has the lock; -1: there is none. */
static int
lock_tree(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int
remove_one(const char *path, UNUSED const struct stat *st, UNUSED int type,
           UNUSED struct FTW *where)
{
    (void)remove(path);
    return 0;
}

/* Links are not followed. */
static void
remove_tree(const char *path)
{
    (void)nftw(path, remove_one, DEPTH, FTW_DEPTH | FTW_PHYS);
}

static void
sweep_one(const char *path)
{
    struct stat st;
    int fd;

    if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid()
        || time(NULL) - st.st_ctime < OLD_S)
        return;
    fd = lock_tree(path);
    if (fd < 0)
        return;
    remove_tree(path);
    close(fd);
}

/* Removes what was left in `base` under names with that beginning. */
static void
sweep_trees(const char *base, const char *begin)
{
    DIR *d = opendir(base);
    const struct dirent *e;

    for (int i = 0; d != NULL && i < ENTRIES_MOST && (e = readdir(d)) != NULL; i++) {
        CLEANUP_FREE char *path = xasprintf("%s/%s", base, e->d_name);

        if (strncmp(e->d_name, begin, strlen(begin)) == 0)
            sweep_one(path);
    }
    if (d != NULL)
        closedir(d);
}

/* --- its directory ----------------------------------------------------------------
 */

/* In memory, because the tasks share memory by files there. */
static int
make_directory(struct step_pmix *p, struct error *err)
{
    const char *base = access(MEMORY_FILES, W_OK) == 0
                           ? MEMORY_FILES
                           : step_request_variable(p->s.request, "TMPDIR");
    CLEANUP_FREE char *begin = xasprintf("kiln-step.%u.", (unsigned)geteuid());

    if (base == NULL)
        base = "/tmp";
    sweep_trees(base, begin);
    p->directory = xasprintf("%s/%sXXXXXX", base, begin);
    if (mkdtemp(p->directory) == NULL) {
        int r = -errno;

        free(p->directory);
        p->directory = NULL;
        return error_set(err, r, "a directory for PMIx in '%s': %s", base, strerror(-r));
    }
    p->lock = lock_tree(p->directory);
    return 0;
}

void
step_pmix_clean(struct step_pmix *p)
{
    if (p->directory == NULL)
        return;
    remove_tree(p->directory);
    free(p->directory);
    p->directory = NULL;
    if (p->lock >= 0)
        close(p->lock);
    p->lock = -1;
}

/* --- messages ---------------------------------------------------------------------
 */

static void
flush(struct step_pmix *p)
{
    while (p->fd >= 0 && p->sent < p->out.length) {
        ssize_t n = send(p->fd, p->out.text + p->sent, p->out.length - p->sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            strbuf_drop_sent(&p->out, &p->sent);
            return;
        }
        p->sent += (size_t)n;
    }
    strbuf_truncate(&p->out, 0);
    p->sent = 0;
}

static void
fail(struct step_pmix *p, const char *words)
{
    step_ending_begin(p->s.ending, STEP_ALL_TASKS, 1, words);
}

static void
lose(struct step_pmix *p)
{
    char words[256];

    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
    if (p->until_ms != 0)
        return;
    snprintf(words, sizeof(words),
             "kiln-pmix, its server of PMIx on %.100s, has ended unexpectedly", p->place->name);
    fail(p, words);
    if (!p->is_ready)
        p->s.ready(p->s.context);
}

/* Whether a task waits, or will, for one that is gone. */
static void
check_left(struct step_pmix *p, unsigned left)
{
    for (unsigned i = 0; i < p->place->n_tasks; i++) {
        const struct pmix_task *t = &p->tasks[i];

        if (t->has_joined && !t->has_left)
            step_ending_begin(p->s.ending, p->place->tasks[left], p->tasks[left].code,
                              "has ended and other tasks wait for it");
    }
}

static void
join(struct step_pmix *p, unsigned index)
{
    p->tasks[index].has_joined = true;
    p->tasks[index].has_left = false;
    for (unsigned i = 0; i < p->place->n_tasks; i++)
        if (p->tasks[i].has_ended && !p->tasks[i].has_left)
            check_left(p, i);
}

static int
find_task(const struct step_pmix *p, uint64_t rank)
{
    for (unsigned i = 0; i < p->place->n_tasks; i++)
        if (p->place->tasks[i] == rank)
            return (int)i;
    return -1;
}

static int
take_of_task(struct step_pmix *p, const struct pmix_message *m)
{
    const int index = find_task(p, m->id);

    if (index < 0)
        return -EBADMSG;
    if (m->kind == PMIX_JOINED)
        join(p, (unsigned)index);
    else if (m->kind == PMIX_LEFT)
        p->tasks[index].has_left = true;
    else
        step_ending_begin(p->s.ending, p->place->tasks[index], m->number, "has aborted the step");
    return 0;
}

/* The rest is for other nodes. */
static int
take_message(struct step_pmix *p, const struct step_frame *f)
{
    struct pmix_message m;

    if (pmix_message_read(f, &m) < 0)
        return -EBADMSG;
    switch (m.kind) {
    case PMIX_READY:
        strbuf_add(&p->variables, m.bytes, m.length);
        if (!m.has_more && !p->is_ready) {
            p->is_ready = true;
            p->s.ready(p->s.context);
        }
        return 0;
    case PMIX_JOINED:
    case PMIX_LEFT:
    case PMIX_ABORT:
        return take_of_task(p, &m);
    case PMIX_FAILED: {
        CLEANUP_FREE char *words = xstrndup(m.bytes, m.length);

        fail(p, words);
        return 0;
    }
    default:
        step_frame_add(step_link_out(p->s.link), f);
        return 0;
    }
}

static void
receive(struct step_pmix *p)
{
    while (p->fd >= 0) {
        struct step_frame f;
        size_t room;
        char *at = step_reader_space(&p->in, &room);
        ssize_t n = recv(p->fd, at, room, MSG_DONTWAIT);
        int r;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            lose(p);
            return;
        }
        step_reader_add(&p->in, (size_t)n);
        while ((r = step_reader_next(&p->in, &f)) == 1 && (r = take_message(p, &f)) == 0)
            ;
        if (r < 0) {
            lose(p);
            return;
        }
    }
}

static void
on_server(struct step_watch *w, UNUSED uint32_t events)
{
    struct step_pmix *p = container_of(w, struct step_pmix, watch);

    receive(p);
    flush(p);
    step_link_flush(p->s.link);
}

/* --- the life ---------------------------------------------------------------------
 */

static void
send_setup(struct step_pmix *p)
{
    CLEANUP_STRBUF struct strbuf grant = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf setup = STRBUF_INIT;

    step_grant_encode(p->s.grant, &grant);
    step_frame_add(&p->out, &(struct step_frame){
                                .type = STEP_FRAME_ACCEPT,
                                .task = STEP_ALL_TASKS,
                                .payload = grant.text,
                                .length = grant.length,
                            });
    strbuf_printf(&setup, "kiln.%" PRId64 ".%s", p->s.grant->step_id, p->s.request->mpi_secret);
    strbuf_add_char(&setup, '\0');
    strbuf_add(&setup, p->directory, strlen(p->directory) + 1);
    pmix_message_add(&p->out, &(struct pmix_message){
                                  .kind = PMIX_SETUP, .bytes = setup.text, .length = setup.length});
}

static int
open_server(struct step_pmix *p, int program, struct error *err)
{
    int r;

    if (program < 0)
        return error_set(
            err, -ENOENT,
            "--mpi=pmix: node %s has no kiln-pmix; Kiln has it where it was built with "
            "libpmix (Debian package libpmix-dev)",
            p->place->name);
    if (geteuid() == 0)
        return error_set(err, -EPERM, "--mpi=pmix is not for root");
    p->is_wanted = true;
    p->tasks = xnew_array(struct pmix_task, p->place->n_tasks + 1);
    r = make_directory(p, err);
    if (r == 0)
        r = start_server(p, program, err);
    if (r < 0)
        return r;
    send_setup(p);
    p->watch.ready = on_server;
    step_events_add(p->s.events, p->fd, EPOLLIN | EPOLLOUT, &p->watch);
    return 0;
}

struct step_pmix *
step_pmix_new(const struct step_pmix_settings *settings)
{
    struct step_pmix *p = xnew(struct step_pmix);

    p->s = *settings;
    p->place = &settings->grant->layout.nodes[settings->grant->node];
    p->fd = p->lock = -1;
    strbuf_init(&p->out);
    strbuf_init(&p->variables);
    return p;
}

int
step_pmix_open(struct step_pmix *p, int program, struct error *err)
{
    const char *mpi = p->s.request->mpi;
    int r = 0;

    if (mpi != NULL && strcmp(mpi, "pmix") == 0)
        r = open_server(p, program, err);
    if (program >= 0)
        close(program);
    return r;
}

bool
step_pmix_is_starting(const struct step_pmix *p)
{
    return p->is_wanted && !p->is_ready && p->fd >= 0;
}

/* Open MPI 4 takes itself for a program without a launcher, and looks for no server of PMIx,
 * unless it sees the variables of a scheduler that it knows: Slurm's, or those of IBM's JSM,
 * which has PMIx and of which it wants one only.
 */
void
step_pmix_add_variables(const struct step_pmix *p, struct step_environment *e)
{
    const struct {
        const char *name, *value;
    } of_open_mpi[] = {
        {"OMPI_MCA_btl_vader_backing_directory", p->directory},
        {"OMPI_MCA_btl_sm_backing_directory", p->directory},
    };

    if (!p->is_wanted)
        return;
    for (const char *at = p->variables.text, *end = at + p->variables.length; at < end;
         at += strlen(at) + 1) {
        const size_t length = strcspn(at, "=");

        if (at[length] == '=')
            step_environment_set(e, arena_strndup(p->s.arena, at, length), at + length + 1);
    }
    step_environment_set_pmix(e);
    for (size_t i = 0; i < ARRAY_SIZE(of_open_mpi); i++)
        if (step_request_variable(p->s.request, of_open_mpi[i].name) == NULL)
            step_environment_set(e, of_open_mpi[i].name, of_open_mpi[i].value);
    if (step_request_variable(p->s.request, "SLURM_NODELIST") == NULL)
        step_environment_set(e, "JSM_JSRUN_PORT", "0");
}

int
step_pmix_receive(struct step_pmix *p, const struct step_frame *f)
{
    if (!p->is_wanted)
        return -EBADMSG;
    step_frame_add(&p->out, f);
    flush(p);
    return 0;
}

/* Its last words to kiln-pmix are read first. */
void
step_pmix_end_task(struct step_pmix *p, unsigned task, uint32_t code)
{
    if (!p->is_wanted)
        return;
    receive(p);
    p->tasks[task].has_ended = true;
    p->tasks[task].code = code;
    if (!p->tasks[task].has_left)
        check_left(p, task);
    pmix_message_add(&p->out,
                     &(struct pmix_message){.kind = PMIX_ENDED, .id = p->place->tasks[task]});
    flush(p);
}

void
step_pmix_reaped(struct step_pmix *p, pid_t pid)
{
    if (!p->is_wanted || pid != p->pid || p->is_gone)
        return;
    p->is_gone = true;
    receive(p);
    lose(p);
}

int
step_pmix_close(struct step_pmix *p, int64_t now_ms)
{
    if (!p->is_wanted || p->is_gone)
        return 0;
    if (p->until_ms == 0) {
        p->until_ms = now_ms + LAST_MS;
        if (p->fd >= 0)
            (void)shutdown(p->fd, SHUT_WR);
    }
    return now_ms < p->until_ms ? (int)(p->until_ms - now_ms) : 0;
}
