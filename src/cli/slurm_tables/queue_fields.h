/* SPDX-License-Identifier: Apache-2.0 */
/* queue_fields.h - the fields of squeue: all letters of -o and names of -O of
 * Slurm 22.05
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>

#include "cli/slurm_tables/field_format.h"

extern const struct output_columns queue_fields;
extern const struct output_columns queue_step_fields; /* of squeue -s */

/* Which parts of the Jobs a format needs, from the least to the most. */
enum queue_need {
    QUEUE_NEEDS_CELLS,    /* the columns of the server's table */
    QUEUE_NEEDS_METADATA, /* and names and times of submission */
    QUEUE_NEEDS_JOB,      /* and what was asked for */
};
enum queue_need queue_fields_need(const struct output_format *format);
