/* SPDX-License-Identifier: Apache-2.0 */
/* line_times.h - when the lines of an output were written, by the output index
 * that the shepherd has kept beside the pod's state
 *
 * For kiln-output: begun before it becomes the user, who may not look there.
 *
 * Thread: kiln-output's only one.
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
    int64_t started_us; /* of the job; 0: not known */
    int64_t all_us;     /* of every line, where no output index was needed; 0 */
    struct output_index_copy copy;
};

/* Begin: in the directory of the pod's state. Find: for the open output;
 * waits a moment for a job that has just begun. -ENODATA when no times were
 * kept.
 */
void line_times_begin(struct line_times *t,
                      const char *directory,
                      int64_t started_us);
int line_times_find(struct line_times *t, int output_fd);

/* Of a line that ends before that offset; `waits`: for its note to be taken.
 * A line that no note covers is of now.
 */
int64_t line_times_get(struct line_times *t, off_t end, bool waits);

/* Lines that end at or before that offset were written before that time. */
off_t
line_times_offset(const struct line_times *t, int64_t since_us, off_t size);

/* "2026-11-22T09:35:17.123456000Z ": fixed, as kubelets do. */
#define LINE_TIMES_TEXT_SIZE 40
int line_times_format(int64_t at_us, char out[LINE_TIMES_TEXT_SIZE]);
