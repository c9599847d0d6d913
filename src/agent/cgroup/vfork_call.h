/* SPDX-License-Identifier: Apache-2.0 */
/* vfork_call.h - a child that runs one function in its parent's memory
 *
 * As vfork, whose child must not return from the function that made it: copying a
 * process costs more than all that a child does before it becomes another program.
 * The thread that calls this waits until the child has become that, or has ended.
 *
 * Thread: any. The child has that of the thread which calls: its errno, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Makes system calls and no more, and ends by exec or _exit. */
typedef void vfork_call_fn(const void *argument);

/* Whether the child does share the memory: not under a sanitizer, which watches
 * what is written, nor on machines that nobody has tried. Then it is a fork, and
 * nobody waits.
 */
bool vfork_call_shares_memory(void);

/* A child born in the cgroup of that descriptor (-1: in that of its parent), with
 * `flags` of clone3. Its pid stands in *ret_pid before it runs. Negative errno.
 */
int vfork_call(uint64_t flags,
               int cgroup_fd,
               vfork_call_fn *run,
               const void *argument,
               pid_t *ret_pid);
