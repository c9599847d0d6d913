/* SPDX-License-Identifier: Apache-2.0 */
/* line_times.h - when the lines of an output were written, by the output index
 * that the shepherd has kept beside the pod's state
 *
 * For kiln-output, which opens the directory before it becomes the user,
 * because the user may not read it.
 *
 * Thread: the only one of kiln-output.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/shepherd/output_index.h"

struct line_times {
    int directory_fd;
    int fd;
    int output_fd;      /* borrowed */
    int64_t started_us; /* of the job; 0: unknown */
    /* the time of every line of a job without an output index; 0: use the index
     */
    int64_t all_us;
    struct output_index_copy copy;
};

/* line_times_begin opens the directory of the pod's state, and line_times_open
 * the index in it, for which it waits a moment if the job has just begun. Only
 * root can read the index: when somebody's output grew is nobody else's
 * business. line_times_find loads the times of the open output. -ENODATA when no
 * times were kept.
 */
void line_times_begin(struct line_times *t, const char *directory, int64_t started_us);
void line_times_open(struct line_times *t);
int line_times_find(struct line_times *t, int output_fd);

/* The time of the line that ends at that offset; `waits`: wait until the index
 * covers the line. A line that the index does not cover gets the present time.
 */
int64_t line_times_get(struct line_times *t, off_t end, bool waits);

/* An offset before which all lines were written before that time. */
off_t line_times_offset(const struct line_times *t, int64_t since_us, off_t size);

/* Formats "2026-11-22T09:35:17.123456000Z ": fixed width, as kubelets do. */
#define LINE_TIMES_TEXT_SIZE 40
int line_times_format(int64_t at_us, char out[LINE_TIMES_TEXT_SIZE]);
