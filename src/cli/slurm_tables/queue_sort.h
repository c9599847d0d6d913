/* SPDX-License-Identifier: Apache-2.0 */
/* queue_sort.h - sorts the rows of squeue as -S says: "P,t,-p"
 *
 * Thread: the main one.
 */
#pragma once

#include <stddef.h>

struct queue_row;

/* The first character that is no letter of a field; 0: all are. */
char queue_sort_find_unknown(const char *letters);

/* Equal rows are in the order of their ids. */
void queue_sort_rows(struct queue_row *rows, size_t count, const char *letters);
