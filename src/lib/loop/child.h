/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - a process, with a callback when it ends (a pidfd)
 *
 * When another part of the program has reaped the process, its end is reported,
 * but its status is unknown.
 *
 * Thread: the loop's.
 * Invariant: the callback runs once, or never if the watch is freed first.
 *            The process is reaped before the callback runs.
 */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct child;
struct error;
struct loop;

struct child_exit {
    pid_t pid;
    bool is_known; /* status and usage are set */
    int status;    /* as from waitpid: WIFEXITED(status), ... */
    struct rusage usage;
};
typedef void (*child_fn)(const struct child_exit *exit, void *arg);

/* The program to run. Signals start with their default actions, none blocked;
 * descriptors other than 0 to 2 are closed if they are close-on-exec, as all of
 * ours are.
 */
struct child_plan {
    const char *path;        /* absolute */
    char *const *argv;       /* NULL-terminated */
    char *const *envp;       /* NULL: this process's environment */
    const char *directory;   /* NULL: this process's directory */
    int fds[3];              /* for 0, 1 and 2; -1 is /dev/null */
    bool starts_new_session; /* setsid: signals to our process group do not
                              * reach it */
};

/* Life. Spawn starts a process (posix_spawn, whose cost does not depend on the
 * size of this process) and watches it; 0 or a negative errno. Watch does so for a
 * child that was started otherwise, which is killed if that fails. Free does not
 * kill the process; when it ends later, it stays a zombie. So kill a process
 * that is no longer wanted, and free at its callback: nothing else waits for it,
 * and it may take long to die. The callback may free.
 */
void child_free(struct child *c);
int child_spawn(struct loop *loop, const struct child_plan *plan, child_fn fn, void *arg,
                struct child **ret_child, struct error *err);
int child_watch(struct loop *loop, pid_t pid, child_fn fn, void *arg, struct child **ret_child,
                struct error *err);
DEFINE_CLEANUP(struct child, child_free)

/* Kill never signals another process that got the same pid: 0, or
 * -ESRCH when the process has ended.
 */
int child_kill(struct child *c, int signal_number);

pid_t child_pid(const struct child *c);
