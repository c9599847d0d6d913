/* SPDX-License-Identifier: Apache-2.0 */
/* spawn_into.h - starts a program in a v2 cgroup
 *
 * The child is created in the cgroup, because moving there by itself would make it wait
 * for an RCU grace period of the kernel, ten milliseconds or more. posix_spawn of the C
 * library cannot do that.
 *
 * Thread: any; waits until the program runs.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Descriptor `from` (-1: none) becomes `to`, which is no other's `from`. */
struct spawn_fd {
    int from, to;
};
#define SPAWN_FDS_MOST 3

struct spawn_program {
    const char *path;
    char *const *arguments, *const *environment;
    struct spawn_fd fds[SPAWN_FDS_MOST];
    unsigned n_fds;
};

/* A copy at 16 or above, which is no final number. Negative errno. */
int spawn_lift(int fd);

/* The program begins with all signals blocked, and with those ignored that this process
 * ignores. Returns -EOPNOTSUPP and the like when the kernel cannot do it; unless
 * *ret_forked is set, nothing has happened then.
 */
int spawn_into(int cgroup_fd, const struct spawn_program *program, pid_t *ret_pid,
               bool *ret_forked);
