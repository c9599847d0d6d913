/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - the columns in which the objects of a kind are shown
 *
 * A kind's descriptor names its table, so that a new column is one line beside
 * the kind's fields. Columns and cells are those of upstream's printers; a
 * second table has Kiln's own columns, for clients that ask for the profile
 * "kiln". A cell is written from the object; other information comes through
 * the interface in the row, because a kind does not know a server.
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
    void (*cell)(struct table_row *row); /* must call one table_cell* once */
    const char *help;
    enum table_type type;
    const char *format; /* "name", or NULL */
    int priority;       /* 0: always shown; 1: wide */
    const char *empty;  /* JSON without an object; NULL: by type */
};

struct table {
    const struct table_column *columns;
    unsigned n_columns;

    /* Computes, in the row's arena, what several cells of a row share; or NULL.
     */
    const void *(*summarize)(struct table_row *row);

    /* Adds `,"tasks":[...]` after a row's cells: rows for parts of the object,
     * for clients that ask for the profile "kiln"; or NULL.
     */
    void (*add_tasks)(struct table_row *row);

    /* Adds `,"conditions":[...]` to a row that has conditions; or NULL. */
    void (*add_conditions)(struct strbuf *out, const struct object *object);
};

/* The interface through which cells get information beyond their object; the
 * functions below call it.
 */
struct table_access {
    bool (*reads_whole)(const struct table_access *access, const struct object *object);
    void (*visit)(const struct table_access *access, const struct kind *kind, unsigned index,
                  const char *value, bool (*visit)(const struct object *object, void *context),
                  void *context);
    const struct object *(*find)(const struct table_access *access, const struct kind *kind,
                                 const char *namespace, const char *name);
};

/* The row whose cells are being written. */
struct table_row {
    const struct object *object;
    const void *summary; /* result of the table's `summarize` */
    struct arena *arena; /* lives as long as the row */
    int64_t now_us;
    const int64_t *east_s;             /* reader's offset to UTC; NULL: unknown */
    const struct table_access *access; /* NULL: only the object is known */
    struct strbuf *text;
    unsigned count;
};

/* Writes all cells of the row's object as JSON, separated by commas. */
void table_add_cells(const struct table *table, struct table_row *row);

/* The same with an existing summary. */
void table_add_cells_of(const struct table *table, struct table_row *row, const void *summary);

/* One cell. A NULL text is "". */
void table_cell(struct table_row *row, const char *text);
void table_cell_int(struct table_row *row, int64_t value);
void table_cell_bool(struct table_row *row, bool value);
void table_cell_age(struct table_row *row, int64_t since_us);

/* The cells that most tables have: name and age. */
void table_add_name(struct table_row *row);
void table_add_age(struct table_row *row);

/* A `summarize` that returns the object's tree. */
const void *table_tree(struct table_row *row);

/* Whether the reader may see the whole object; and a walk over the objects of a
 * kind with that value in an index (enum pod_index, ...). Without `access` the
 * walk visits none. Find: NULL if there is none, or no `access`.
 */
bool table_reads_whole(const struct table_row *row);
void table_visit(const struct table_row *row, const struct kind *kind, unsigned index,
                 const char *value, bool (*visit)(const struct object *object, void *context),
                 void *context);
const struct object *table_find(const struct table_row *row, const struct kind *kind,
                                const char *namespace, const char *name);

/* Durations in upstream's short form: "45s", "3h10m", "12d". */
#define TABLE_DURATION_SIZE 32
void table_format_duration(int64_t us, char out[TABLE_DURATION_SIZE]);

/* A column: its name, the function of its cell, its description, and whatever
 * differs from a text column that is always shown.
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

#define TABLE_NAME_HELP "Its name; unique within its namespace."
#define TABLE_NAME      COLUMN("Name", table_add_name, TABLE_NAME_HELP, FORMAT("name"))
#define TABLE_AGE       COLUMN("Age", table_add_age, "Since its creation.", EMPTY("\"<unknown>\""))

#define TABLE_COLUMNS(array) .columns = (array), .n_columns = ARRAY_SIZE(array)
