/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a shepherd by exec and dynamic linking costs three times a fork, and a fork of the
 * agent copies a large process. So a small process forks shepherds (decision 63), and one that
 * has finished its pod takes the next (decision 396), the last one first, whose memory is
 * still in the caches. Whatever hangs there may be stopped by an administrator's debugger:
 * each exchange has a timeout, and the agent can always start the program itself.
 */
#include "agent/shepherd/fork_server.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/shepherd/handover.h"
#include "agent/shepherd/launch.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"

#define ANSWER_SECONDS 5
#define KEPT_MOST      32u

/* A shepherd that has finished a pod and waits for the next. */
struct kept_shepherd {
    int pidfd;
    int channel;
};

/* This is a stack: the latest one's memory is still in the caches. */
struct kept_shepherds {
    pthread_mutex_t lock; /* protects the members below */
    struct kept_shepherd items[KEPT_MOST];
    unsigned count;
};

/* `lock` protects pid and fd; both are 0 and -1 while there is no process. */
struct fork_server {
    char *program;
    pthread_mutex_t lock;
    pid_t pid;
    int fd;
    bool never_reuses;
    struct kept_shepherds kept;
};

static int
start(struct fork_server *f)
{
    int ends[2], lifted;
    int r;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    /* It must not have its final number already: dup2 would leave it
     * close-on-exec.
     */
    lifted = fcntl(ends[1], F_DUPFD_CLOEXEC, 16);
    r = lifted < 0 ? -errno : handover_spawn(f->program, lifted, -1, &f->pid);
    close(ends[1]);
    if (lifted >= 0)
        close(lifted);
    if (r < 0) {
        close(ends[0]);
        f->pid = 0;
        return r;
    }
    f->fd = ends[0];
    return 0;
}

static void
stop(struct fork_server *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
    if (f->pid > 0) {
        kill(f->pid, SIGKILL);
        waitpid(f->pid, NULL, 0);
    }
    f->pid = 0;
}

/* A shepherd without an agent's channel ends. */
static void
close_kept(struct kept_shepherd s)
{
    close(s.channel);
    close(s.pidfd);
}

static void
put_kept(struct kept_shepherds *k, struct kept_shepherd s)
{
    bool has_room;

    pthread_mutex_lock(&k->lock);
    has_room = k->count < KEPT_MOST;
    if (has_room)
        k->items[k->count++] = s;
    pthread_mutex_unlock(&k->lock);
    if (!has_room)
        close_kept(s);
}

static bool
take_kept(struct kept_shepherds *k, struct kept_shepherd *ret)
{
    bool has_one;

    pthread_mutex_lock(&k->lock);
    has_one = k->count > 0;
    if (has_one)
        *ret = k->items[--k->count];
    pthread_mutex_unlock(&k->lock);
    return has_one;
}

static void
let_kept_go(struct kept_shepherds *k)
{
    struct kept_shepherd s;

    while (take_kept(k, &s))
        close_kept(s);
}

void
fork_server_close(struct fork_server *f)
{
    if (f == NULL)
        return;
    stop(f);
    let_kept_go(&f->kept);
    pthread_mutex_destroy(&f->kept.lock);
    pthread_mutex_destroy(&f->lock);
    free(f->program);
    free(f);
}

/* The statically linked program beside the shepherd, if it exists. */
static char *
find_program(const char *shepherd)
{
    const char *slash = strrchr(shepherd, '/');
    char *path =
        xasprintf("%.*skiln-forkserver", slash ? (int)(slash - shepherd) + 1 : 0, shepherd);

    if (access(shepherd, X_OK) == 0 && access(path, X_OK) == 0)
        return path;
    free(path);
    return xstrdup(shepherd);
}

int
fork_server_open(const char *program, struct fork_server **ret_server, struct error *err)
{
    struct fork_server *f = xnew(struct fork_server);
    int r;

    f->program = find_program(program);
    f->fd = -1;
    pthread_mutex_init(&f->kept.lock, NULL);
    pthread_mutex_init(&f->lock, NULL);
    r = start(f);
    if (r < 0) {
        error_set(err, r, "starting '%s': %s", program, strerror(-r));
        fork_server_close(f);
        return r;
    }
    *ret_server = f;
    return 0;
}

void
fork_server_never_reuse(struct fork_server *f)
{
    f->never_reuses = true;
}

static int
send_call(int fd, const struct handover_fork *request, const int *fds, int count)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * HANDOVER_FORK_FDS)];
    } control = {0};
    struct iovec text = {
        .iov_base = (void *)(uintptr_t)request,
        .iov_len = sizeof(*request),
    };
    struct msghdr message = {
        .msg_iov = &text,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)count),
    };
    struct cmsghdr *c = &control.header;
    ssize_t n;

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count);
    memcpy(CMSG_DATA(c), fds, sizeof(int) * (size_t)count);
    do
        n = sendmsg(fd, &message, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

static int
receive_answer(int fd, struct handover_forked *ret_forked, int *ret_pidfd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct handover_forked forked;
    struct iovec text = {.iov_base = &forked, .iov_len = sizeof(forked)};
    struct msghdr message = {
        .msg_iov = &text,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof(control),
    };
    struct cmsghdr *c;
    ssize_t n;

    do
        n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    if (n != (ssize_t)sizeof(forked))
        return -EPIPE;
    c = CMSG_FIRSTHDR(&message);
    if (forked.result == 0 && ret_pidfd != NULL) {
        if (c == NULL || c->cmsg_type != SCM_RIGHTS)
            return -EPIPE;
        memcpy(ret_pidfd, CMSG_DATA(c), sizeof(int));
    }
    *ret_forked = forked;
    return 0;
}

/* Returns -EPIPE and the like when the fork server has ended. A shepherd that
 * it forked but could not report gets no order, and ends.
 */
static int
ask(struct fork_server *f, const struct handover_fork *request, const int *fds, int count,
    struct handover_forked *ret_forked, int *ret_pidfd)
{
    int r = f->fd < 0 ? start(f) : 0;

    if (r == 0)
        r = send_call(f->fd, request, fds, count);
    if (r == 0)
        r = receive_answer(f->fd, ret_forked, ret_pidfd);
    if (r < 0)
        stop(f);
    return r;
}

/* Opens a socket to the shepherd, which is forked with the other end. The
 * timeout keeps the agent from waiting forever for a process that an
 * administrator has stopped.
 */
static int
open_channel(int *ret_here, int *ret_there)
{
    const struct timeval most = {.tv_sec = ANSWER_SECONDS};
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
    *ret_here = ends[0];
    *ret_there = ends[1];
    return 0;
}

int
fork_server_fork(struct fork_server *f, int order_fd, int script_fd, int home_fd,
                 struct shepherd_process *ret_process)
{
    int fds[HANDOVER_FORK_FDS] = {order_fd};
    int count = 1;
    struct handover_forked forked;
    int channel = -1, theirs = -1;
    int pidfd = -1;
    int r = f->never_reuses ? -EOPNOTSUPP : open_channel(&channel, &theirs);
    struct handover_fork request = {
        .has_script = script_fd >= 0,
        .has_channel = r == 0,
        .has_home = home_fd >= 0,
    };

    if (script_fd >= 0)
        fds[count++] = script_fd;
    if (theirs >= 0)
        fds[count++] = theirs;
    if (home_fd >= 0)
        fds[count++] = home_fd;
    pthread_mutex_lock(&f->lock);
    r = ask(f, &request, fds, count, &forked, &pidfd);
    pthread_mutex_unlock(&f->lock);
    if (theirs >= 0)
        close(theirs);
    if (r == 0)
        r = forked.result;
    if (r < 0 && channel >= 0)
        close(channel);
    if (r < 0)
        return r;
    *ret_process = (struct shepherd_process){forked.pid, pidfd, channel};
    return 0;
}

/* The shepherd's answer means that later signals are for this pod. A shepherd
 * that does not answer has no order, and does nothing if it continues later.
 */
static int
hand_pod(int channel, int order_fd, int script_fd, pid_t *ret_pid)
{
    const struct handover_fork request = {.has_script = script_fd >= 0};
    const int fds[] = {order_fd, script_fd};
    struct handover_forked answer;
    int r = send_call(channel, &request, fds, script_fd >= 0 ? 2 : 1);

    if (r == 0)
        r = receive_answer(channel, &answer, NULL);
    if (r == 0)
        *ret_pid = answer.pid;
    return r;
}

int
fork_server_reuse(struct fork_server *f, int order_fd, int script_fd,
                  struct shepherd_process *ret_process)
{
    struct kept_shepherd s;
    pid_t pid = 0;
    int r;

    if (!take_kept(&f->kept, &s))
        return -ENOENT;
    r = hand_pod(s.channel, order_fd, script_fd, &pid);
    if (r < 0)
        close_kept(s);
    /* All waiting shepherds may have been stopped together (by a debugger, or
     * as a frozen cgroup), and the pod must not wait for each in turn.
     */
    if (r == -EAGAIN)
        let_kept_go(&f->kept);
    if (r < 0)
        return -EAGAIN;
    *ret_process = (struct shepherd_process){pid, s.pidfd, s.channel};
    return 0;
}

bool
fork_server_take_back(struct fork_server *f, const struct shepherd_process *process)
{
    struct handover_forked done;

    if (recv(process->channel, &done, sizeof(done), MSG_DONTWAIT) != (ssize_t)sizeof(done)) {
        close(process->channel);
        return false;
    }
    put_kept(&f->kept, (struct kept_shepherd){process->pidfd, process->channel});
    return true;
}
