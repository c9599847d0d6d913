/* SPDX-License-Identifier: Apache-2.0 */
/* option.h - the command line and --help, from one table
 *
 * Every table has --help (-h), and --version if it asks for it. Options and
 * operands may be mixed, unless the operands are the command line of another
 * program (`stops_at_operand`); `--` ends the options. A long option may be
 * abbreviated while that is unambiguous.
 *
 * Thread:  the main thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct error;
struct strbuf;

enum option_type {
    OPTION_FLAG,  /* bool: true when given */
    OPTION_TEXT,  /* const char *: borrowed from argv */
    OPTION_TEXTS, /* struct option_texts: may be repeated */
    OPTION_INT,   /* int64_t: from min to max */
    OPTION_CALL,  /* `set` handles the value */
};

struct option_texts {
    const char **items; /* free() it; the strings are argv's */
    size_t count;
    size_t capacity;
};

/* Takes one value, NULL for an option without an argument. Returns 0 or a
 * negative errno with a text that need not name the option.
 */
struct option_spec;
typedef int (*option_set_fn)(const struct option_spec *option, const char *value, void *target,
                             struct error *err);

struct option_spec {
    const char *name;     /* without the dashes */
    char letter;          /* 0 for none */
    const char *argument; /* as --help shows it: "FILE"; NULL for none; one like
                           * "[=WHO]" is optional, for OPTION_CALL */
    const char *help;     /* NULL: not shown */
    enum option_type type;
    size_t offset; /* of the value in the target */
    int64_t min;
    int64_t max;
    option_set_fn set;
    const void *data; /* for set */
    bool is_extra;    /* the beginning of another option's name does not mean this one */
};

struct option_table {
    const char *name;    /* "kiln-agent", "kctl drain" */
    const char *usage;   /* "[OPTION]... NODE..."; one per line */
    const char *summary; /* a paragraph */
    const struct option_spec *options;
    size_t n_options;
    const char *more; /* paragraphs after the options, or NULL */
    bool has_version;
    bool stops_at_operand;
};

#define OPTION_ROWS(array) .options = (array), .n_options = ARRAY_SIZE(array)

enum option_answer {
    OPTION_GO_ON = 0,
    OPTION_HELP = 1,
    OPTION_VERSION = 2,
};

/* Reads the command line into the target, and moves operands to the end of
 * argv, where they start at *ret_operands. Returns an option_answer, or -EINVAL
 * with a text such as "--topology needs a value"; the unread rest of argv then
 * starts at *ret_operands.
 */
int option_parse(const struct option_table *table, int argc, char **argv, void *target,
                 int *ret_operands, struct error *err);

/* Puts one value into the target; the text of an error does not name the
 * option.
 */
int option_set(const struct option_spec *option, const char *value, void *target,
               struct error *err);

/* Formats the text of --help. */
void option_format_help(const struct option_table *table, struct strbuf *out);
