/* SPDX-License-Identifier: Apache-2.0 */
/* nursery.h - a process that gives birth to shepherds
 *
 * Kiln-shepherd, started once, with its libraries loaded: it forks a shepherd
 * for each order it is handed, which costs a third of starting the program
 * (no exec, no linking). It ends with whoever holds the nursery; shepherds do
 * not.
 *
 * Owns:    the process and the socket to it.
 * Thread:  bear from any; one birth at a time.
 * See:     nurse.h for the process.
 */
#pragma once

#include <sys/types.h>

#include "lib/base/macro.h"

struct error;
struct nursery;

/* Life. Open starts the process. */
void nursery_close(struct nursery *n);
int nursery_open(const char *program,
                 struct nursery **ret_nursery,
                 struct error *err);
DEFINE_CLEANUP(struct nursery, nursery_close)

/* A shepherd that reads its order, and its script if there is one (else -1),
 * from copies of these descriptors; born in the cgroup of `home_fd`, or where
 * the nursery is (-1). The order is to be a pipe, and written when the birth is
 * known: a process that has ended is replaced and asked again, and what was
 * born unnoticed must not have one. Shepherds are not the caller's children.
 */
int nursery_bear(struct nursery *n,
                 int order_fd,
                 int script_fd,
                 int home_fd,
                 pid_t *ret_pid,
                 int *ret_pidfd);
