/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - a process, and the news of its end (a pidfd)
 *
 * A process that is not our child can be watched too (a shepherd after the
 * agent's restart): its end is told, its status is not known.
 *
 * Thread: the loop's.
 * Invariant: the callback runs once, or never if the watch is freed first.
 *            A child of ours is reaped before it runs.
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
    bool is_known; /* the two below are set */
    int status;    /* as from waitpid: WIFEXITED(status), ... */
    struct rusage usage;
};
typedef void (*child_fn)(const struct child_exit *exit, void *arg);

/* The program to run. Signals start at their defaults, none blocked;
 * descriptors other than 0 to 2 are closed if they are close-on-exec, as all of
 * ours are.
 */
struct child_plan {
    const char *path;        /* absolute */
    char *const *argv;       /* NULL-terminated */
    char *const *envp;       /* NULL: our own */
    const char *directory;   /* NULL: ours */
    int fds[3];              /* for 0, 1 and 2; -1 is /dev/null */
    bool starts_new_session; /* setsid: signals to our group miss it */
};

/* Life. Spawn starts a process (posix_spawn, which costs the same from a large
 * process as from a small one); watch takes one that runs: -ESRCH when it is
 * gone. Both 0 or a negative errno. Free forgets it without killing it; a
 * child of ours that ends later stays a zombie then. The callback may free.
 */
void child_free(struct child *c);
int child_spawn(struct loop *loop,
                const struct child_plan *plan,
                child_fn fn,
                void *arg,
                struct child **ret_child,
                struct error *err);
int child_watch(struct loop *loop,
                pid_t pid,
                child_fn fn,
                void *arg,
                struct child **ret_child,
                struct error *err);
DEFINE_CLEANUP(struct child, child_free)

/* Change. Never hits another process that got the same number: 0, or -ESRCH
 * when it has ended.
 */
int child_kill(struct child *c, int signal_number);

/* Look */
pid_t child_pid(const struct child *c);
