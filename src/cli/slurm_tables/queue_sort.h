/* SPDX-License-Identifier: Apache-2.0 */
/* queue_sort.h - sorts the rows of squeue as -S says: "P,t,-p"
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/slurm_tables/queue_fields.h"

struct queue_row;

/* The first character that is no letter of a field; 0: all are. */
char queue_sort_find_unknown(const char *letters);

/* Returns the part of Jobs that sorting needs, and whether it needs their trees, not only rows. */
enum queue_need queue_sort_need(const char *letters, bool *ret_is_of_jobs);

/* Equal rows are in the order of their ids. */
void queue_sort_rows(struct queue_row *rows, size_t count, const char *letters);
