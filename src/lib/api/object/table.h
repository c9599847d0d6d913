/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - the columns in which the objects of a kind are shown
 *
 * A kind's descriptor names its table, so that a new column is one line beside
 * the kind's fields. Columns and cells are upstream's printers'; a second table
 * has Kiln's own columns, which clients ask for with the profile "kiln". A cell
 * is written from the object; what it needs beyond that it asks of the
 * interface in its row, since a kind knows no server.
 *
 * Thread:  any; tables are constants, and a row belongs to its caller.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct arena;
struct kind;
struct object;
struct strbuf;
struct table_row;

enum table_type {
    TABLE_STRING,
    TABLE_INTEGER,
    TABLE_BOOLEAN,
};

struct table_column {
    const char *name;
    void (*cell)(struct table_row *row); /* calls one table_cell* once */
    const char *help;
    enum table_type type;
    const char *format; /* "name", or NULL */
    int priority;       /* 0: always shown; 1: wide */
    const char *empty;  /* JSON for no object; NULL: what its type has */
};

struct table {
    const struct table_column *columns;
    unsigned n_columns;

    /* Makes what several cells of a row share, once; or NULL. The row's arena
     * is for it.
     */
    const void *(*summarize)(struct table_row *row);

    /* Adds `,"tasks":[...]` behind a row's cells, rows of parts of the object,
     * for clients that ask for the profile "kiln"; or NULL.
     */
    void (*add_tasks)(struct table_row *row);

    /* Adds `,"conditions":[...]` of a row where it has some; or NULL. */
    void (*add_conditions)(struct strbuf *out, const struct object *object);
};

/* Answers what cells ask beyond their object, by the helpers below. */
struct table_access {
    bool (*reads_whole)(const struct table_access *access,
                        const struct object *object);
    void (*visit)(const struct table_access *access,
                  const struct kind *kind,
                  unsigned index,
                  const char *value,
                  bool (*visit)(const struct object *object, void *context),
                  void *context);
};

/* The cells of one row, while they are written. */
struct table_row {
    const struct object *object;
    const void *summary; /* what the table's `summarize` has made */
    struct arena *arena; /* lasts as long as the row */
    int64_t now_us;
    const int64_t *east_s; /* of UTC, where the reader is; NULL: not said */
    const struct table_access *access; /* NULL: there is only the object */
    struct strbuf *text;
    unsigned count;
};

/* All cells of the row's object, as JSON with commas between. */
void table_add_cells(const struct table *table, struct table_row *row);

/* The same with a summary that was made already. */
void table_add_cells_of(const struct table *table,
                        struct table_row *row,
                        const void *summary);

/* One cell. A NULL text is "". */
void table_cell(struct table_row *row, const char *text);
void table_cell_int(struct table_row *row, int64_t value);
void table_cell_bool(struct table_row *row, bool value);
void table_cell_age(struct table_row *row, int64_t since_us);

/* The cells that most tables have: the object's name, and its age. */
void table_add_name(struct table_row *row);
void table_add_age(struct table_row *row);

/* A summary: the object's tree. */
const void *table_tree(struct table_row *row);

/* Whether the reader may know all of the row's object, and the objects of a
 * kind that an index of it has under the value (enum pod_index, ...): none
 * where there is only the object.
 */
bool table_reads_whole(const struct table_row *row);
void table_visit(const struct table_row *row,
                 const struct kind *kind,
                 unsigned index,
                 const char *value,
                 bool (*visit)(const struct object *object, void *context),
                 void *context);

/* "45s", "3h10m", "12d": as upstream shortens durations. */
#define TABLE_DURATION_SIZE 32
void table_format_duration(int64_t us, char out[TABLE_DURATION_SIZE]);

/* A column: its name, the function of its cell, its description, and what of
 * the rest differs from a text that is always shown.
 */
#define COLUMN(name_, cell_, help_, ...)                               \
    {                                                                  \
        .name = (name_), .cell = (cell_), .help = (help_), __VA_ARGS__ \
    }
#define WIDE      .priority = 1
#define INTEGER   .type = TABLE_INTEGER
#define BOOLEAN   .type = TABLE_BOOLEAN
#define FORMAT(f) .format = (f)
#define EMPTY(e)  .empty = (e)

#define TABLE_NAME_HELP "What it is called; unique within its namespace."
#define TABLE_NAME \
    COLUMN("Name", table_add_name, TABLE_NAME_HELP, FORMAT("name"))
#define TABLE_AGE \
    COLUMN("Age", table_add_age, "Since its creation.", EMPTY("\"<unknown>\""))

#define TABLE_COLUMNS(array) .columns = (array), .n_columns = ARRAY_SIZE(array)
