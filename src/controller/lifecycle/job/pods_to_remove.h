/* SPDX-License-Identifier: Apache-2.0 */
/* pods_to_remove.h - which pods of a Job are to go when it wants fewer: a pure
 * function
 *
 * First those that were told to already, and those of indexes that the Job
 * does not have any more; then those that lose least: not on a node, not
 * running, not ready, made last.
 *
 * Thread:  any; a pure function.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct job;
struct object;

/* Puts the pods in the order in which they are to go. */
void pods_to_remove_sort(const struct job *job,
                         const struct object **pods,
                         size_t n_pods);
