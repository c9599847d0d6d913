/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/shepherd/files/order.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

/* Signals are blocked from the first instruction: a signal to a shepherd that
 * has just begun must stay pending, and not end it.
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

int
handover_spawn(const char *program, int order_fd, int script_fd, pid_t *ret_pid)
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
        r = posix_spawn_file_actions_adddup2(&actions, script_fd, HANDOVER_SCRIPT_FD);
    if (r == 0)
        r = posix_spawn(ret_pid, program, &actions, &attributes, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return -r;
}

int
handover_become(const char *program, const struct order *order)
{
    char name[] = "kiln-shepherd";
    char *const arguments[] = {name, NULL};
    char *const environment[] = {NULL};
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    int fd = memfd_create("kiln-order", 0);
    int r = 0;

    if (fd < 0)
        return -errno;
    order_encode(order, &text);
    r = fd_write_all(fd, text.text, text.length);
    if (r == 0
        && (lseek(fd, 0, SEEK_SET) < 0
            || (fd != HANDOVER_ORDER_FD && dup2(fd, HANDOVER_ORDER_FD) < 0)
            || (order->script_bytes >= 0 && fcntl(HANDOVER_SCRIPT_FD, F_SETFD, 0) < 0)))
        r = -errno;
    if (fd != HANDOVER_ORDER_FD)
        close(fd);
    if (r < 0)
        return r;
    execve(program, arguments, environment);
    r = -errno;
    close(HANDOVER_ORDER_FD);
    return r;
}
