/* SPDX-License-Identifier: Apache-2.0 */
/* field_format.h - Slurm's formats of output: which fields a line has, how wide
 * each is, and the text between them
 *
 *   "%.18i %.9P x%j"       -o of squeue and sinfo: letters
 *   "JobID:8,Name:.20|"    -O of squeue and sinfo: names
 *   "jobid,state%20,end%-30"   --format of sacct and sstat
 *
 * Widths count bytes, as in Slurm, but no character of UTF-8 is cut in two.
 *
 * Thread: any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct error;
struct option_spec;
struct strbuf;

struct output_field;

#define COLUMN_NEVER_CUT 1

/* One field that a command has. Add appends its value; the row is the command's
 * own struct.
 */
typedef void output_add_fn(const void *row, struct strbuf *out);
struct output_column {
    char letter;         /* of -o; 0: none */
    const char *name;    /* of -O and --format, in any case */
    const char *heading; /* NULL: the name */
    output_add_fn *add;
    /* Of --format; negative: aligned to the left. Of -o: COLUMN_NEVER_CUT, if the width of a format
     * only pads the value.
     */
    int width;
};

struct output_columns {
    const struct output_column *items;
    size_t count;
};

struct output_field {
    const struct output_column *column;
    unsigned width; /* 0: the whole text */
    bool is_right;
    const char *suffix;
};

struct output_format {
    const char *lead; /* before the first field */
    struct output_field *fields;
    size_t count;
    const char **unknown; /* specifications that are none of this command's */
    size_t n_unknown;
};

/* -o and -O of a command line, of which the last one counts; the option's place is an
 * output_choice.
 */
struct output_choice {
    const char *letters, *names;
};
int field_format_set_letters(const struct option_spec *option, const char *value, void *target,
                             struct error *err);
int field_format_set_names(const struct option_spec *option, const char *value, void *target,
                           struct error *err);

/* Parse. "%all" has all letters in order, with bars between. All results live in the arena. An unknown letter stays in the output
 * as it was written, and an unknown name is left out; `unknown` has them for
 * the command's error. In a list, the beginning of a name is enough, and "all" is every field.
 */
struct output_format field_format_of_letters(struct arena *arena,
                                             const struct output_columns *columns,
                                             const char *text);
struct output_format field_format_of_names(struct arena *arena,
                                           const struct output_columns *columns, const char *text);
struct output_format field_format_of_list(struct arena *arena, const struct output_columns *columns,
                                          const char *text);

const struct output_column *field_format_letter(const struct output_columns *columns, char letter);

/* Appends the line of a row; a NULL row: the headings. Values are padded or cut to the width.
 * Control characters become question marks, so that no name makes a second line.
 */
void field_format_add_line(const struct output_format *format, const void *row, struct strbuf *out);

/* The three forms of sacct and sstat: a table with dashes below the headings, or
 * values with a delimiter between or behind them. Add_list appends a line.
 */
struct list_style {
    const char *delimiter; /* NULL: a table */
    bool ends_with_it;     /* also behind the last value (-p) */
};
void field_format_add_list_headings(const struct output_format *format,
                                    const struct list_style *style, struct strbuf *out);
void field_format_add_list(const struct output_format *format, const struct list_style *style,
                           const void *row, struct strbuf *out);
