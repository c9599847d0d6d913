/* SPDX-License-Identifier: Apache-2.0 */
/* job_column.h - the columns that a list of jobs may have, and which -o chooses
 *
 * Called by: job_list.c.
 * Thread:    kctl's only one.
 */
#pragma once

#include <stdbool.h>

/* How a column's text is made of a row. */
enum job_column_making {
    JOB_COLUMN_CELL,
    JOB_COLUMN_NAME,
    JOB_COLUMN_ACCOUNT,
    JOB_COLUMN_TIME_AND_LIMIT,
    JOB_COLUMN_WHERE,
    JOB_COLUMN_CODE,
    JOB_COLUMN_POINT, /* in time; its cell is RFC 3339 */
    JOB_COLUMN_SUBMITTED,
    JOB_COLUMN_START, /* "~": it goes by what is assumed */
};

struct job_column {
    const char *name; /* as -o has it */
    const char *heading;
    const char *cell; /* of the server's table, or NULL */
    enum job_column_making making;
    bool is_right;
    bool is_wide;  /* of -o wide alone */
    bool is_plain; /* of -o wide and of the table without it */
    unsigned least, weight;
};

/* By its place in the list of all; NULL behind the last. */
const struct job_column *job_column_at(unsigned place);

/* The place of one that there is. */
unsigned job_column_named(const char *name);
