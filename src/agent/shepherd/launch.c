/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/shepherd/handover.h"
#include "agent/shepherd/order.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

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

/* Both above the places they are put in, so that one dup2 cannot overwrite
 * what the other still needs.
 */
static int
lift(int fd)
{
    int lifted = fcntl(fd, F_DUPFD_CLOEXEC, 16);

    return lifted < 0 ? -errno : lifted;
}

/* Signals stay blocked from the first instruction: one sent to a shepherd that
 * has only just begun must wait for it, not end it.
 */
static void
set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t all;

    sigfillset(&all);
    posix_spawnattr_init(attributes);
    posix_spawnattr_setsigmask(attributes, &all);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK);
}

static int
spawn(const char *program, int order_fd, int script_fd, pid_t *ret_pid)
{
    char name[] = "kiln-shepherd";
    char *const arguments[] = {name, NULL};
    char *const environment[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int r;

    set_attributes(&attributes);
    posix_spawn_file_actions_init(&actions);
    r = posix_spawn_file_actions_adddup2(&actions, order_fd, HANDOVER_ORDER_FD);
    if (r == 0 && script_fd >= 0)
        r = posix_spawn_file_actions_adddup2(&actions,
                                             script_fd,
                                             HANDOVER_SCRIPT_FD);
    if (r == 0)
        r = posix_spawn(ret_pid,
                        program,
                        &actions,
                        &attributes,
                        arguments,
                        environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return -r;
}

int
launch_start(const struct launch *l,
             pid_t *ret_pid,
             int *ret_pidfd,
             struct error *err)
{
    CLEANUP_FD int order_fd = write_order(l->order, err);
    CLEANUP_FD int lifted = order_fd < 0 ? -1 : lift(order_fd);
    CLEANUP_FD int script = l->script_fd < 0 ? -1 : lift(l->script_fd);
    pid_t pid = 0;
    int pidfd;
    int r;

    if (order_fd < 0)
        return order_fd;
    if (lifted < 0 || (l->script_fd >= 0 && script < 0))
        return error_set(err, -EMFILE, "no descriptor left for a shepherd");
    r = spawn(l->program, lifted, script, &pid);
    if (r < 0)
        return error_set(err, r, "starting '%s': %s", l->program, strerror(-r));
    pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return error_set(err, -errno, "pidfd_open: %s", strerror(errno));
    *ret_pid = pid;
    *ret_pidfd = pidfd;
    return 0;
}

int
launch_signal(int pidfd,
              enum launch_scope scope,
              int signal_number,
              struct error *err)
{
    siginfo_t info = {
        .si_signo = HANDOVER_SIGNAL,
        .si_code = SI_QUEUE,
    };

    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_int = HANDOVER_VALUE(scope, signal_number);
    if (syscall(SYS_pidfd_send_signal, pidfd, HANDOVER_SIGNAL, &info, 0) < 0)
        return error_set(err,
                         -errno,
                         "speaking to a shepherd: %s",
                         strerror(errno));
    return 0;
}
