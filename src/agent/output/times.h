/* SPDX-License-Identifier: Apache-2.0 */
/* times.h - when the lines of an output were written, by the chronicle that the
 * shepherd has kept beside the pod's state
 *
 * For kiln-output: begun before it becomes the user, who may not look there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/shepherd/chronicle.h"

struct times {
    int directory_fd;
    int fd;
    int output_fd;      /* borrowed */
    int64_t started_us; /* of the job; 0: not known */
    int64_t all_us;     /* of every line, where no chronicle was needed; 0 */
    struct chronicle_copy copy;
};

/* Begin: in the directory of the pod's state. Find: for the open output;
 * waits a moment for a job that has just begun. -ENODATA when no times were
 * kept.
 */
void times_begin(struct times *t, const char *directory, int64_t started_us);
int times_find(struct times *t, int output_fd);

/* Of a line that ends before that offset; `waits`: for its note to be taken.
 * A line that no note covers is of now.
 */
int64_t times_of(struct times *t, off_t end, bool waits);

/* Lines that end at or before that offset were written before that time. */
off_t times_offset(const struct times *t, int64_t since_us, off_t size);

/* "2026-11-22T09:35:17.123456000Z ": fixed, as kubelets do. */
#define TIMES_TEXT_SIZE 40
int times_format(int64_t at_us, char out[TIMES_TEXT_SIZE]);
