/* SPDX-License-Identifier: Apache-2.0 */
/* One table makes the parser, --help and the check of the manual, so they cannot differ.
 * getopt does the reading, with its abbreviations and its order; the messages are ours,
 * because it does not say which option was meant.
 */
#include "lib/program/option.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/spelling.h"
#include "lib/base/strbuf.h"

/* The values that getopt_long returns: FIRST_ROW plus the index of a row, or
 * one of these.
 */
enum {
    ASKED_HELP = 0x10000,
    ASKED_VERSION,
    FIRST_ROW = 0x20000,
};

static const struct option_spec help_option = {
    .name = "help",
    .letter = 'h',
    .help = "show this, and exit",
};

static const struct option_spec version_option = {
    .name = "version",
    .help = "show the version, and exit",
};

/* The table in getopt's format. */
struct grammar {
    struct option *longs;
    char *shorts;
};

static void
grammar_fini(struct grammar *g)
{
    free(g->longs);
    free(g->shorts);
}

static bool
is_optional(const struct option_spec *o)
{
    return o->argument != NULL && strncmp(o->argument, "[=", 2) == 0;
}

static struct grammar
grammar_of(const struct option_table *table)
{
    struct grammar g = {.longs = xnew_array(struct option, table->n_options + 3)};
    struct strbuf shorts = STRBUF_INIT;
    size_t n = 0;

    strbuf_add_text(&shorts, table->stops_at_operand ? "+:h" : ":h");
    for (size_t i = 0; i < table->n_options; i++) {
        const struct option_spec *o = &table->options[i];
        int takes = o->argument == NULL ? no_argument
                    : is_optional(o)    ? optional_argument
                                        : required_argument;

        g.longs[n++] = (struct option){o->name, takes, NULL, FIRST_ROW + (int)i};
        if (o->letter != 0)
            strbuf_printf(&shorts, "%c%s", o->letter,
                          o->argument == NULL ? ""
                          : is_optional(o)    ? "::"
                                              : ":");
    }
    g.longs[n++] = (struct option){"help", no_argument, NULL, ASKED_HELP};
    if (table->has_version)
        g.longs[n++] = (struct option){"version", no_argument, NULL, ASKED_VERSION};
    g.shorts = strbuf_take(&shorts);
    return g;
}

static const struct option_spec *
row_of(const struct option_table *table, int found)
{
    if (found >= FIRST_ROW)
        return &table->options[found - FIRST_ROW];
    for (size_t i = 0; i < table->n_options; i++)
        if (table->options[i].letter == found)
            return &table->options[i];
    return NULL;
}

static int
set_int(const struct option_spec *o, const char *value, int64_t *ret_number, struct error *err)
{
    char *end;
    long long number;

    errno = 0;
    number = strtoll(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || number < o->min || number > o->max)
        return error_set(err, -EINVAL, "'%s' is not a number from %lld to %lld", value,
                         (long long)o->min, (long long)o->max);
    *ret_number = number;
    return 0;
}

int
option_set(const struct option_spec *o, const char *value, void *target, struct error *err)
{
    void *place = (char *)target + o->offset;
    struct option_texts *texts = place;

    switch (o->type) {
    case OPTION_FLAG:
        *(bool *)place = true;
        return 0;
    case OPTION_TEXT:
        *(const char **)place = value;
        return 0;
    case OPTION_TEXTS:
        xgrow(texts->items, texts->count, texts->capacity);
        texts->items[texts->count++] = value;
        return 0;
    case OPTION_INT:
        return set_int(o, value, place, err);
    case OPTION_CALL:
        return o->set(o, value, target, err);
    }
    return -EINVAL;
}

/* Reports an unknown long option, with the options that were possibly meant. */
static int
refuse_long(const struct option_table *table, const char *given, struct error *err)
{
    size_t length = strcspn(given, "=");
    CLEANUP_FREE char *word = xstrndup(given, length);
    CLEANUP_FREE const char **names = xnew_array(const char *, table->n_options + 2);
    const char *near;
    size_t n = 0;
    size_t matches = 0;

    for (size_t i = 0; i < table->n_options; i++)
        names[n++] = table->options[i].name;
    names[n++] = "help";
    if (table->has_version)
        names[n++] = "version";
    for (size_t i = 0; i < n; i++)
        matches += strncmp(names[i], word, length) == 0;
    if (matches > 1)
        return error_set(err, -EINVAL, "--%s could mean several options", word);
    near = spelling_nearest(word, names, n);
    if (near != NULL)
        return error_set(err, -EINVAL, "unknown option '--%s' (did you mean '--%s'?)", word, near);
    return error_set(err, -EINVAL, "unknown option '--%s'", word);
}

/* getopt puts the option that it refuses into optopt: a letter, the value of a
 * long option that has a value but takes none, or 0 for an unknown long option.
 */
static int
refuse(const struct option_table *table, const char *given, struct error *err)
{
    if (optopt > 0 && optopt < ASKED_HELP)
        return error_set(err, -EINVAL, "unknown option '-%c'", optopt);
    if (optopt == ASKED_HELP || optopt == ASKED_VERSION)
        return error_set(err, -EINVAL, "%s takes no value", given);
    if (optopt >= FIRST_ROW)
        return error_set(err, -EINVAL, "--%s takes no value", row_of(table, optopt)->name);
    return refuse_long(table, given + 2, err);
}

static int
refuse_without_value(const struct option_table *table, struct error *err)
{
    if (optopt < FIRST_ROW)
        return error_set(err, -EINVAL, "-%c needs a value", optopt);
    return error_set(err, -EINVAL, "--%s needs a value", row_of(table, optopt)->name);
}

/* The only option that is not extra whose name begins with the word "--tim"; NULL: none, or
 * several, of which --help and --version are two that no table has. getopt knows no such
 * difference.
 */
static const struct option_spec *
find_abbreviated(const struct option_table *table, const char *word)
{
    const size_t length = strcspn(word, "=");
    const struct option_spec *found = NULL;

    if (length < 3 || strncmp(word, "--", 2) != 0 || strncmp("help", word + 2, length - 2) == 0
        || strncmp("version", word + 2, length - 2) == 0)
        return NULL;
    for (size_t i = 0; i < table->n_options; i++) {
        const struct option_spec *o = &table->options[i];

        if (o->is_extra || strncmp(o->name, word + 2, length - 2) != 0)
            continue;
        if (found != NULL)
            return NULL;
        found = o;
    }
    return found;
}

/* The value of the option that find_abbreviated() found. */
static int
take_value(const struct option_spec *o, int argc, char **argv, const char **ret_value,
           struct error *err)
{
    const char *equals = strchr(argv[optind - 1], '=');

    *ret_value = equals != NULL ? equals + 1 : NULL;
    if (o->argument == NULL && equals != NULL)
        return error_set(err, -EINVAL, "--%s takes no value", o->name);
    if (o->argument == NULL || is_optional(o) || equals != NULL)
        return 0;
    if (optind >= argc)
        return error_set(err, -EINVAL, "--%s needs a value", o->name);
    *ret_value = argv[optind++];
    return 0;
}

int
option_parse(const struct option_table *table, int argc, char **argv, void *target,
             int *ret_operands, struct error *err)
{
    CLEANUP(grammar_fini) struct grammar g = grammar_of(table);
    int found;
    int r;

    optind = 0; /* restart getopt, also after another command line */
    opterr = 0;
    *ret_operands = argc;
    while ((found = getopt_long(argc, argv, g.shorts, g.longs, NULL)) != -1) {
        const struct option_spec *o = row_of(table, found);
        const char *value = optarg;

        *ret_operands = optind;
        if (found == ASKED_HELP || (found == 'h' && o == NULL))
            return OPTION_HELP;
        if (found == ASKED_VERSION)
            return OPTION_VERSION;
        if (found == ':')
            return refuse_without_value(table, err);
        if (o == NULL && found == '?' && optopt == 0) {
            o = find_abbreviated(table, argv[optind - 1]);
            r = o != NULL ? take_value(o, argc, argv, &value, err) : 0;
            if (r < 0)
                return r;
            *ret_operands = optind;
        }
        if (o == NULL)
            return refuse(table, argv[optind - 1], err);
        r = option_set(o, value, target, err);
        if (r < 0)
            return error_wrap(err, r, "--%s", o->name);
    }
    *ret_operands = optind;
    return 0;
}

#define HELP_WIDTH   79u
#define MOST_COLUMNS 100u /* of a line that is not wrapped */
#define MAX_OPTIONS  30u  /* columns for the names */

/* Wraps text at HELP_WIDTH, starting at the current column of `out`; further
 * lines start at `indent`.
 */
static void
add_wrapped(struct strbuf *out, const char *text, size_t column, size_t indent)
{
    bool is_first = true;

    while (*text != '\0') {
        size_t length = strcspn(text, " \n");

        if (!is_first && column + 1 + length > HELP_WIDTH) {
            strbuf_printf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!is_first) {
            strbuf_add_char(out, ' ');
            column++;
        }
        strbuf_add(out, text, length);
        column += length;
        text += length;
        is_first = false;
        if (*text == '\n') {
            strbuf_printf(out, "\n%*s", (int)indent, "");
            column = indent;
            is_first = true;
        }
        if (*text != '\0')
            text++;
    }
    strbuf_add_char(out, '\n');
}

/* Returns where the text of "  name    text" begins, or 0 for other lines. */
static size_t
column_of_text(const char *line)
{
    size_t blanks = strspn(line, " ");
    size_t name = blanks + strcspn(line + blanks, " ");
    size_t text = name + strspn(line + name, " ");

    return blanks > 0 && text > name ? text : 0;
}

/* Lines that fit stay as they are, with the blanks of tables and examples. */
static void
add_more(struct strbuf *out, const char *text)
{
    for (;;) {
        size_t length = strcspn(text, "\n");
        CLEANUP_FREE char *line = xstrndup(text, length);

        if (length <= MOST_COLUMNS)
            strbuf_printf(out, "%s\n", line);
        else {
            size_t column = column_of_text(line);

            strbuf_add(out, line, column);
            add_wrapped(out, line + column, column, column);
        }
        if (text[length] == '\0')
            return;
        text += length + 1;
    }
}

/* "  -t, --topology FILE" */
static size_t
add_names(struct strbuf *out, const struct option_spec *o)
{
    size_t before = out->length;

    if (o->letter != 0)
        strbuf_printf(out, "  -%c, --%s", o->letter, o->name);
    else
        strbuf_printf(out, "      --%s", o->name);
    if (o->argument != NULL)
        strbuf_printf(out, "%s%s", is_optional(o) ? "" : " ", o->argument);
    return out->length - before;
}

static void
add_row(struct strbuf *out, const struct option_spec *o, size_t column)
{
    size_t used;

    if (o->help == NULL)
        return;
    used = add_names(out, o);
    if (used + 2 > column) {
        strbuf_add_char(out, '\n');
        used = 0;
    }
    strbuf_printf(out, "%*s", (int)(column - used), "");
    add_wrapped(out, o->help, column, column);
}

static size_t
column_of_help(const struct option_table *table)
{
    CLEANUP_STRBUF struct strbuf scratch = STRBUF_INIT;
    size_t widest = add_names(&scratch, &version_option);

    for (size_t i = 0; i < table->n_options; i++) {
        size_t width = add_names(&scratch, &table->options[i]);

        if (width > widest && width <= MAX_OPTIONS && table->options[i].help != NULL)
            widest = width;
    }
    return widest + 2;
}

static void
add_usage(struct strbuf *out, const struct option_table *table)
{
    const char *line = table->usage;
    const char *label = "usage:";

    while (line != NULL && *line != '\0') {
        size_t length = strcspn(line, "\n");

        strbuf_printf(out, "%s %s %.*s\n", label, table->name, (int)length, line);
        line += length + (line[length] == '\n');
        label = "      ";
    }
}

void
option_format_help(const struct option_table *table, struct strbuf *out)
{
    size_t column = column_of_help(table);
    const struct option_spec *help = &help_option;
    struct option_spec without_letter = help_option;

    without_letter.letter = 0;
    if (row_of(table, 'h') != NULL)
        help = &without_letter;
    add_usage(out, table);
    strbuf_add_char(out, '\n');
    add_wrapped(out, table->summary, 0, 0);
    strbuf_add_text(out, "\nOptions:\n");
    for (size_t i = 0; i < table->n_options; i++)
        add_row(out, &table->options[i], column);
    add_row(out, help, column);
    if (table->has_version)
        add_row(out, &version_option, column);
    if (table->more != NULL) {
        strbuf_add_char(out, '\n');
        add_more(out, table->more);
    }
}
