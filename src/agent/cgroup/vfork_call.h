/* SPDX-License-Identifier: Apache-2.0 */
/* vfork_call.h - a child that runs one function in its parent's memory
 *
 * Works like vfork, whose child must not return from the function that created
 * it: copying a process costs more than everything that a child does before it
 * executes another program. The calling thread waits until the child has
 * executed another program or has ended.
 *
 * Thread: any. The child shares the memory of the calling thread, errno
 *         included.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Only makes system calls, and ends by exec or _exit. */
typedef void vfork_call_fn(const void *argument);

/* Whether the child shares the memory. It does not under a sanitizer, which
 * tracks memory accesses, nor on architectures that were not tested. Then the
 * call is a fork, and the caller does not wait.
 */
bool vfork_call_shares_memory(void);

/* Creates a child in the cgroup of that descriptor (-1: the parent's cgroup),
 * with `flags` of clone3. *ret_pid is set before the child runs. Negative
 * errno.
 */
int vfork_call(uint64_t flags, int cgroup_fd, vfork_call_fn *run, const void *argument,
               pid_t *ret_pid);
