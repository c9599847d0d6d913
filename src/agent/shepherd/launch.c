/* SPDX-License-Identifier: Apache-2.0 */
/* A shepherd is told what to do by one queued signal through a pidfd: it needs no connection
 * that could break with the agent, cannot reach another process, and may be sent again by each
 * new agent without doing anything twice (decision 24). The order itself is a memory file,
 * since a command line would show a user's environment to everybody.
 */
#include "agent/shepherd/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/cgroup/cgroup.h"
#include "agent/cgroup/spawn_into.h"
#include "agent/shepherd/files/order.h"
#include "agent/shepherd/fork_server.h"
#include "agent/shepherd/handover.h"
#include "lib/api/pod/pod_signal.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

/* Writes the order to a memory file and rewinds it. */
static int
write_order(const struct order *order, struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    int fd = memfd_create("kiln-order", MFD_CLOEXEC);
    int r;

    if (fd < 0)
        return error_set(err, -errno, "memfd_create: %s", strerror(errno));
    order_encode(order, &text);
    r = fd_write_all(fd, text.text, text.length);
    if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
        r = -errno;
    if (r < 0) {
        close(fd);
        return error_set(err, r, "writing an order: %s", strerror(-r));
    }
    return fd;
}

/* Opens the v2 directory of the shepherds, if that is the only one to join. */
static int
open_home(const struct order *order)
{
    CLEANUP(cgroup_freep) struct cgroup *home = NULL;
    int join_fds[CGROUP_MAX_DIRS];
    int n;

    if (order->shepherd_cgroup == NULL || cgroup_parse(order->shepherd_cgroup, &home, NULL) < 0)
        return -1;
    n = cgroup_open_join_files(home, false, join_fds, NULL);
    for (int i = 0; i < n; i++)
        close(join_fds[i]);
    return n == 0 ? cgroup_open_clone(home) : -1;
}

static int
start(const struct launch *l, int home_fd, pid_t *ret_pid, struct error *err)
{
    struct order order = *l->order;
    char name[] = "kiln-shepherd";
    bool forked = false;
    int r;

    if (home_fd >= 0)
        order.shepherd_cgroup = NULL;
    CLEANUP_FD int order_fd = write_order(&order, err);
    if (order_fd < 0)
        return order_fd;
    CLEANUP_FD int lifted = spawn_lift(order_fd);
    CLEANUP_FD int script = l->script_fd < 0 ? -1 : spawn_lift(l->script_fd);
    if (lifted < 0 || (l->script_fd >= 0 && script < 0))
        return error_set(err, -EMFILE, "no free descriptor for a shepherd");
    if (home_fd < 0)
        r = handover_spawn(l->program, lifted, script, ret_pid);
    else
        r = spawn_into(home_fd,
                       &(struct spawn_program){
                           .path = l->program,
                           .arguments = (char *[]){name, NULL},
                           .environment = (char *[]){NULL},
                           .fds = {{lifted, HANDOVER_ORDER_FD}, {script, HANDOVER_SCRIPT_FD}},
                           .n_fds = 2,
                       },
                       ret_pid, &forked);
    if (r < 0 && home_fd >= 0 && !forked)
        return start(l, -1, ret_pid, err);
    if (r < 0)
        return error_set(err, r, "starting '%s': %s", l->program, strerror(-r));
    return 0;
}

/* A shepherd that ends before it has read the whole order is later found to
 * have ended without a record.
 */
static void
hand_over(const struct order *order, int fd)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    order_encode(order, &text);
    (void)fd_write_all(fd, text.text, text.length);
}

/* Finds or forks a shepherd that reads its order from that pipe. */
typedef int find_fn(const struct launch *l, int order_fd, int home_fd,
                    struct shepherd_process *ret_process);

static int
reuse_shepherd(const struct launch *l, int order_fd, UNUSED int home_fd,
               struct shepherd_process *ret_process)
{
    return fork_server_reuse(l->fork_server, order_fd, l->script_fd, ret_process);
}

static int
fork_shepherd(const struct launch *l, int order_fd, int home_fd,
              struct shepherd_process *ret_process)
{
    return fork_server_fork(l->fork_server, order_fd, l->script_fd, home_fd, ret_process);
}

/* A failure has no effect: a shepherd that did not answer in time has a pipe
 * that nobody writes to.
 */
static int
start_by_server(const struct launch *l, find_fn *find, int home_fd, bool is_home,
                struct shepherd_process *ret_process)
{
    struct order order = *l->order;
    int ends[2];
    int r;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    if (is_home)
        order.shepherd_cgroup = NULL;
    r = find(l, ends[0], home_fd, ret_process);
    close(ends[0]);
    if (r == 0)
        hand_over(&order, ends[1]);
    close(ends[1]);
    return r;
}

/* Uses a waiting shepherd, or forks one. If the fork server has ended, the
 * second attempt starts another.
 */
static int
start_by_any(const struct launch *l, int home_fd, struct shepherd_process *ret_process)
{
    bool is_home = home_fd >= 0;
    int r;

    do
        r = start_by_server(l, reuse_shepherd, -1, true, ret_process);
    while (r == -EAGAIN);
    if (r < 0)
        r = start_by_server(l, fork_shepherd, home_fd, is_home, ret_process);
    if (r < 0)
        r = start_by_server(l, fork_shepherd, home_fd, is_home, ret_process);
    return r;
}

int
launch_start(const struct launch *l, struct shepherd_process *ret_process, struct error *err)
{
    CLEANUP_FD int home_fd = open_home(l->order);
    pid_t pid = 0;
    int pidfd;
    int r;

    if (l->fork_server != NULL && start_by_any(l, home_fd, ret_process) == 0)
        return 0;
    r = start(l, home_fd, &pid, err);
    if (r < 0)
        return r;
    pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return error_set(err, -errno, "pidfd_open: %s", strerror(errno));
    *ret_process = (struct shepherd_process){pid, pidfd, -1};
    return 0;
}

static int
send_value(int pidfd, union sigval value, struct error *err)
{
    siginfo_t info = {
        .si_signo = HANDOVER_SIGNAL,
        .si_code = SI_QUEUE,
    };

    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value = value;
    if (syscall(SYS_pidfd_send_signal, pidfd, HANDOVER_SIGNAL, &info, 0) < 0)
        return error_set(err, -errno, "communicating with a shepherd: %s", strerror(errno));
    return 0;
}

int
launch_signal(int pidfd, enum launch_scope scope, int signal_number, struct error *err)
{
    return send_value(pidfd,
                      (union sigval){
                          .sival_int = HANDOVER_VALUE(scope, signal_number),
                      },
                      err);
}

int
launch_let_start(int pidfd, struct error *err)
{
    return send_value(pidfd,
                      (union sigval){
                          .sival_ptr = (void *)(uintptr_t)HANDOVER_IS_START,
                      },
                      err);
}

int
launch_set_limit(int pidfd, int64_t seconds, struct error *err)
{
    return send_value(pidfd,
                      (union sigval){
                          .sival_ptr = (void *)(uintptr_t)HANDOVER_LIMIT(seconds),
                      },
                      err);
}

int
launch_set_frozen(int pidfd, bool still, struct error *err)
{
    return send_value(pidfd,
                      (union sigval){
                          .sival_ptr = (void *)(uintptr_t)HANDOVER_FREEZE(still),
                      },
                      err);
}

int
launch_user_signal(int pidfd, const struct pod_signal *signal, struct error *err)
{
    return send_value(pidfd,
                      (union sigval){
                          .sival_ptr = (void *)(uintptr_t)HANDOVER_USER_SIGNAL(
                              signal->sequence, signal->target, signal->number),
                      },
                      err);
}

int
launch_checkpoint(int pidfd, int64_t grace_ms, struct error *err)
{
    return send_value(pidfd,
                      (union sigval){
                          .sival_ptr = (void *)(uintptr_t)HANDOVER_CHECKPOINT(grace_ms),
                      },
                      err);
}
