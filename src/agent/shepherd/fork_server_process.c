/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/fork_server_process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/shepherd/handover.h"

/* greater than the numbers of the children's descriptors */
#define SOCKET_FD 10

struct call {
    struct handover_fork request;
    int fds[HANDOVER_FORK_FDS];
    int n_fds;
};

bool
fork_server_process_is_wanted(void)
{
    struct stat st;

    return fstat(HANDOVER_ORDER_FD, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* False when the other end is closed. */
static bool
receive_request(int socket_fd, struct call *call)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * HANDOVER_FORK_FDS)];
    } control;
    struct iovec text = {&call->request, sizeof(call->request)};
    struct msghdr message = {
        .msg_iov = &text,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof(control),
    };
    struct cmsghdr *c;
    ssize_t n;

    do
        n = recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)offsetof(struct handover_fork, has_channel))
        call->request.has_channel = 0;
    else if (n != (ssize_t)sizeof(call->request))
        return false;
    c = CMSG_FIRSTHDR(&message);
    if (c == NULL || c->cmsg_type != SCM_RIGHTS)
        return false;
    call->n_fds = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    memcpy(call->fds, CMSG_DATA(c), sizeof(int) * (size_t)call->n_fds);
    return call->n_fds
           == 1 + (call->request.has_script != 0) + (call->request.has_channel != 0)
                  + (call->request.has_home != 0);
}

static int
send_reply(int socket_fd, const struct handover_forked *forked, int pidfd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec text = {(void *)(uintptr_t)forked, sizeof(*forked)};
    struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1};

    if (pidfd >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof(control);
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.header), &pidfd, sizeof(int));
    }
    return sendmsg(socket_fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void
close_all(const struct call *call)
{
    for (int i = 0; i < call->n_fds; i++)
        close(call->fds[i]);
}

/* Finds the number for each descriptor; -1: it is closed. */
static void
find_places(const struct call *call, int places[HANDOVER_FORK_FDS])
{
    int n = 0;

    places[n++] = HANDOVER_ORDER_FD;
    if (call->request.has_script)
        places[n++] = HANDOVER_SCRIPT_FD;
    if (call->request.has_channel)
        places[n++] = HANDOVER_CHANNEL_FD;
    if (call->request.has_home)
        places[n++] = -1;
}

/* The kernel uses the lowest free numbers, so the descriptors mostly have the
 * right numbers. Otherwise they move in two steps, because a target number may
 * be in use by another of them.
 */
static void
place_descriptors(struct call *call)
{
    int places[HANDOVER_FORK_FDS];
    bool are_in_place = true;

    find_places(call, places);
    for (int i = 0; i < call->n_fds; i++)
        are_in_place &= places[i] < 0 || places[i] == call->fds[i];
    for (int i = 0; i < call->n_fds; i++) {
        int lifted = -1;

        if (are_in_place && places[i] >= 0)
            continue;
        if (places[i] >= 0)
            lifted = fcntl(call->fds[i], F_DUPFD_CLOEXEC, SOCKET_FD);
        close(call->fds[i]);
        call->fds[i] = lifted;
    }
    if (are_in_place)
        return;
    for (int i = 0; i < call->n_fds; i++) {
        if (places[i] < 0)
            continue;
        if (dup3(call->fds[i], places[i], O_CLOEXEC) < 0)
            _exit(EXIT_FAILURE);
        close(call->fds[i]);
    }
}

static pid_t
fork_shepherd(const struct call *call, int *ret_pidfd)
{
    struct clone_args args = {
        .flags = CLONE_PIDFD | (call->request.has_home ? CLONE_INTO_CGROUP : 0),
        .pidfd = (uint64_t)(uintptr_t)ret_pidfd,
        .exit_signal = SIGCHLD,
        .cgroup = call->request.has_home ? (uint64_t)call->fds[call->n_fds - 1] : 0,
    };
    long pid = syscall(SYS_clone3, &args, sizeof(args));

    return pid < 0 ? -errno : (pid_t)pid;
}

/* Drops pending signals. All signals are blocked, and remain so. */
static void
drop_signals(void)
{
    const struct timespec now = {0};
    sigset_t heard;

    sigemptyset(&heard);
    sigaddset(&heard, SIGCHLD);
    sigaddset(&heard, HANDOVER_SIGNAL);
    while (sigtimedwait(&heard, NULL, &now) > 0)
        ;
}

/* Between two pods, SIGTERM ends the process as any other. */
static bool
wait_for_next(struct call *call)
{
    sigset_t end;
    bool is_received;

    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    signal(SIGTERM, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &end, NULL);
    is_received = receive_request(HANDOVER_CHANNEL_FD, call);
    sigprocmask(SIG_BLOCK, &end, NULL);
    return is_received;
}

bool
fork_server_process_next(bool (*may_go_on)(void))
{
    const struct handover_forked self = {.pid = getpid()};
    struct call call;

    if (send_reply(HANDOVER_CHANNEL_FD, &self, -1) < 0 || !wait_for_next(&call)
        || call.request.has_channel || call.request.has_home || !may_go_on())
        return false;
    place_descriptors(&call);
    drop_signals();
    return send_reply(HANDOVER_CHANNEL_FD, &self, -1) == 0;
}

/* The process does not reap its children, because the agent has their pidfds.
 */
static void
prepare_process(void)
{
    struct sigaction forget = {
        .sa_handler = SIG_DFL,
        .sa_flags = SA_NOCLDWAIT,
    };

    if (dup2(HANDOVER_ORDER_FD, SOCKET_FD) < 0 || fcntl(SOCKET_FD, F_SETFD, FD_CLOEXEC) < 0
        || sigaction(SIGCHLD, &forget, NULL) < 0)
        _exit(EXIT_FAILURE);
    close(HANDOVER_ORDER_FD);
    setsid();
    prctl(PR_SET_NAME, "kiln-forkserver");
}

void
fork_server_process_serve(fork_server_child_fn *run_child,
                          const struct inherited_state *inherited_state)
{
    struct call call;

    prepare_process();
    while (receive_request(SOCKET_FD, &call)) {
        int pidfd = -1;
        pid_t pid = fork_shepherd(&call, &pidfd);

        if (pid == 0) {
            prctl(PR_SET_NAME, "kiln-shepherd");
            close(SOCKET_FD);
            place_descriptors(&call);
            run_child(inherited_state, call.request.has_channel != 0);
            abort();
        }
        if (send_reply(SOCKET_FD, &(struct handover_forked){pid < 0 ? pid : 0, pid < 0 ? 0 : pid},
                       pidfd)
            < 0)
            break; /* the new process gets no order */
        if (pidfd >= 0)
            close(pidfd);
        close_all(&call);
    }
    _exit(EXIT_SUCCESS);
}
