/* SPDX-License-Identifier: Apache-2.0 */
/* job_column.h - the columns of a list of jobs, and the choice of -o
 *
 * Called by: job_list.c.
 * Thread:    the main one.
 */
#pragma once

#include <stdbool.h>

/* How a column's text is made from a row. */
enum job_column_making {
    JOB_COLUMN_CELL,
    JOB_COLUMN_NAME,
    JOB_COLUMN_ACCOUNT,
    JOB_COLUMN_TIME_AND_LIMIT,
    JOB_COLUMN_WHERE,
    JOB_COLUMN_CODE,
    JOB_COLUMN_POINT, /* in time; its cell is RFC 3339 */
    JOB_COLUMN_SUBMITTED,
    JOB_COLUMN_START, /* "~": it depends on an assumption */
};

struct job_column {
    const char *name; /* its name for -o */
    const char *heading;
    const char *cell; /* of the server's table; or NULL */
    enum job_column_making making;
    bool is_right;
    bool is_wide;  /* only in -o wide */
    bool is_plain; /* in -o wide and in the default table */
    unsigned least, weight;
};

/* By its index in the list of all columns; NULL after the last. */
const struct job_column *job_column_at(unsigned place);

/* The index of an existing column. */
unsigned job_column_named(const char *name);
