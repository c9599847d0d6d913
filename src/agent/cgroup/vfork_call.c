/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cgroup/vfork_call.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/macro.h"
#include "lib/base/sanitizer.h"

#if IS_SANITIZED
#define SHARES_MEMORY 0
#elif defined(__x86_64__) || defined(__aarch64__)
#define SHARES_MEMORY 1
#else
#define SHARES_MEMORY 0
#endif

bool
vfork_call_shares_memory(void)
{
    return SHARES_MEMORY;
}

static NORETURN __attribute__((noinline)) void
run_child(vfork_call_fn *run, const void *argument)
{
    run(argument);
    _exit(127);
}

/* The system call is inlined here, because a function that had returned in the
 * child could not return again in the parent: both share the stack.
 */
__attribute__((noinline)) int
vfork_call(uint64_t flags, int cgroup_fd, vfork_call_fn *run, const void *argument, pid_t *ret_pid)
{
    struct clone_args args = {
        .flags = flags | CLONE_PARENT_SETTID | (cgroup_fd >= 0 ? CLONE_INTO_CGROUP : 0)
                 | (SHARES_MEMORY ? CLONE_VM | CLONE_VFORK : 0),
        .parent_tid = (uint64_t)(uintptr_t)ret_pid,
        .exit_signal = SIGCHLD,
        .cgroup = cgroup_fd >= 0 ? (uint64_t)cgroup_fd : 0,
    };
    long result;

#if SHARES_MEMORY && defined(__x86_64__)
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"((long)SYS_clone3), "D"(&args), "S"(sizeof(args))
                     : "rcx", "r11", "memory");
#elif SHARES_MEMORY
    register long x8 __asm__("x8") = SYS_clone3;
    register long x0 __asm__("x0") = (long)&args;
    register long x1 __asm__("x1") = sizeof(args);

    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1) : "memory");
    result = x0;
#else
    result = syscall(SYS_clone3, &args, sizeof(args));
    if (result < 0)
        result = -errno;
#endif
    if (result == 0)
        run_child(run, argument);
    return result < 0 ? (int)result : 0;
}
