/* SPDX-License-Identifier: Apache-2.0 */
/* pods_to_remove.h - which pods of a Job to remove when it wants fewer: a pure
 * function
 *
 * First the pods that are marked for removal already, then those of indexes
 * that the Job no longer has; then those that lose the least: without a node,
 * not running, not ready, created last.
 *
 * Thread:  any; a pure function.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct job;
struct object;

/* Sorts the pods into the order in which they are to be removed. */
void pods_to_remove_sort(const struct job *job, const struct object **pods, size_t n_pods);
