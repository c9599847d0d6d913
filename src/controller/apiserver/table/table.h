/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - objects as rows of cells, so that printing lives in one place
 *
 * Columns and cells are upstream's printers', kind by kind; with the profile
 * "kiln" they are what people from batch systems look for. A kind is one file
 * and one line in the list of table.c.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/apiserver/request/view.h"

struct frame;
struct kind;
struct object;
struct strbuf;

struct table_column {
    const char *name;
    const char *type;   /* "string", "integer", "boolean" */
    const char *format; /* "name", or NULL */
    int priority;       /* 0: always shown; 1: wide */
    const char *help;
};

/* The cells of one row, on their way. */
struct table_row {
    const struct view *view;
    struct strbuf *text;
    unsigned count;
};

struct table {
    const struct kind *kind;
    const struct table_column *columns;
    unsigned n_columns;
    void (*add_cells)(struct table_row *row, const struct object *object);
    void (*add_conditions)(struct strbuf *out, const struct object *object);
};

/* The parts of a Table. A row is left open: its object follows. */
void table_add_columns(struct frame *out,
                       const struct view *view,
                       const struct kind *kind,
                       bool are_wanted);
void table_begin_row(struct frame *out,
                     const struct view *view,
                     const struct object *object);
void table_begin_empty_row(struct frame *out,
                           const struct view *view,
                           const struct kind *kind);

/* For the kinds' files: one cell after the other. A NULL text is "". */
void table_cell(struct table_row *row, const char *text);
void table_cell_int(struct table_row *row, int64_t value);
void table_cell_bool(struct table_row *row, bool value);
void table_cell_age(struct table_row *row, int64_t since_us);

/* "45s", "3h10m", "12d": as upstream shortens durations. */
#define TABLE_DURATION_SIZE 32
void table_format_duration(int64_t us, char out[TABLE_DURATION_SIZE]);

#define TABLE_NAME                                  \
    {                                               \
        "Name", "string", "name", 0,                \
            "What it is called; unique within its " \
            "namespace."                            \
    }
#define TABLE_AGE                                       \
    {                                                   \
        "Age", "string", NULL, 0, "Since its creation." \
    }
