/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_tables/field_format.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/print/sanitize_text.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/program/option.h"

#define NAMED_WIDTH 20    /* of -O, unless the format says another */
#define MOST_WIDTH  65536 /* a wider field helps nobody */

/* ---- Parsing ---- */

static void
add_field(struct arena *arena, struct output_format *f, const struct output_field *field)
{
    struct output_field *more = arena_new_array(arena, struct output_field, f->count + 1);

    if (f->count > 0)
        memcpy(more, f->fields, f->count * sizeof(*more));
    more[f->count++] = *field;
    f->fields = more;
}

static void
add_unknown(struct arena *arena, struct output_format *f, const char *text, size_t length)
{
    const char **more = arena_new_array(arena, const char *, f->n_unknown + 1);

    if (f->n_unknown > 0)
        memcpy(more, f->unknown, f->n_unknown * sizeof(*more));
    more[f->n_unknown++] = arena_strndup(arena, text, length);
    f->unknown = more;
}

static unsigned
read_width(const char **at)
{
    char *end;
    const unsigned long n = strtoul(*at, &end, 10);

    *at = end;
    return n > MOST_WIDTH ? MOST_WIDTH : (unsigned)n;
}

const struct output_column *
field_format_letter(const struct output_columns *columns, char letter)
{
    for (size_t i = 0; i < columns->count; i++)
        if (columns->items[i].letter != 0 && columns->items[i].letter == letter)
            return &columns->items[i];
    return NULL;
}

static const struct output_column *
find_name(const struct output_columns *columns, const char *name, size_t length)
{
    for (size_t i = 0; i < columns->count; i++) {
        const char *is = columns->items[i].name;

        if (is != NULL && strlen(is) == length && strncasecmp(is, name, length) == 0)
            return &columns->items[i];
    }
    return NULL;
}

/* The beginning of a name is enough; the first one that has it counts, as in Slurm. */
static const struct output_column *
find_beginning(const struct output_columns *columns, const char *name, size_t length)
{
    const struct output_column *exact = find_name(columns, name, length);

    for (size_t i = 0; i < columns->count && exact == NULL; i++) {
        const char *is = columns->items[i].name;

        if (length > 0 && is != NULL && strncasecmp(is, name, length) == 0)
            return &columns->items[i];
    }
    return exact;
}

static void
add_all(struct arena *arena, const struct output_columns *columns, struct output_format *f)
{
    for (size_t i = 0; i < columns->count; i++) {
        const struct output_column *column = &columns->items[i];
        const struct output_field field = {.column = column,
                                           .width = (unsigned)abs(column->width),
                                           .is_right = column->width >= 0,
                                           .suffix = ""};

        if (column->name != NULL)
            add_field(arena, f, &field);
    }
}

/* Text behind the last field, or before the first one. */
static void
add_literal(struct arena *arena, struct output_format *f, const char *text, size_t length)
{
    const char **where = f->count > 0 ? &f->fields[f->count - 1].suffix : &f->lead;

    *where = arena_printf(arena, "%s%.*s", *where, (int)length, text);
}

static void
add_all_letters(const struct output_columns *columns, struct strbuf *out)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    for (const char *l = letters; *l != '\0'; l++)
        if (field_format_letter(columns, *l) != NULL)
            strbuf_printf(out, "%s%%%c", out->length > 0 ? "|" : "", *l);
}

/* Slurm separates the specifications at each '%', so that "%%" is one. */
struct output_format
field_format_of_letters(struct arena *arena, const struct output_columns *columns, const char *text)
{
    CLEANUP_STRBUF struct strbuf all = STRBUF_INIT;
    struct output_format f = {.lead = ""};
    size_t length;

    if (strcmp(text, "%all") == 0) {
        add_all_letters(columns, &all);
        text = all.text;
    }
    length = strcspn(text, "%");
    add_literal(arena, &f, text, length);
    for (text += length; *text == '%'; text += length) {
        struct output_field field = {0};
        const char *at;

        while (*text == '%')
            text++;
        length = strcspn(text, "%");
        if (length == 0) /* a sign at the end is nothing */
            break;
        at = text;
        field.is_right = *at == '.';
        at += field.is_right;
        if (isdigit((unsigned char)*at))
            field.width = read_width(&at);
        field.column = at < text + length ? field_format_letter(columns, *at) : NULL;
        if (field.column == NULL) {
            add_unknown(arena, &f, at, at < text + length);
            add_literal(arena, &f, text - 1, length + 1);
            continue;
        }
        field.suffix = arena_strndup(arena, at + 1, (size_t)(text + length - at - 1));
        add_field(arena, &f, &field);
    }
    return f;
}

/* "Name", "Name:.12suffix", "Name:" */
struct output_format
field_format_of_names(struct arena *arena, const struct output_columns *columns, const char *text)
{
    struct output_format f = {.lead = ""};

    for (size_t length; *text != '\0'; text += length + (text[length] == ',')) {
        struct output_field field = {.width = NAMED_WIDTH, .suffix = ""};
        const char *colon;

        length = strcspn(text, ",");
        if (length == 0)
            continue;
        colon = memchr(text, ':', length);
        field.column = find_name(columns, text, colon != NULL ? (size_t)(colon - text) : length);
        if (field.column == NULL) {
            add_unknown(arena, &f, text, colon != NULL ? (size_t)(colon - text) : length);
            continue;
        }
        if (colon != NULL) {
            const char *at = colon + 1;

            field.is_right = *at == '.';
            at += field.is_right;
            field.width = isdigit((unsigned char)*at) ? read_width(&at) : 0;
            field.suffix = arena_strndup(arena, at, (size_t)(text + length - at));
        }
        add_field(arena, &f, &field);
    }
    return f;
}

/* "name", "name%20", "name%-20" */
struct output_format
field_format_of_list(struct arena *arena, const struct output_columns *columns, const char *text)
{
    struct output_format f = {.lead = ""};

    for (size_t length; *text != '\0'; text += length + (text[length] == ',')) {
        struct output_field field = {.suffix = ""};
        const char *percent;
        int width;

        text += strspn(text, " ");
        length = strcspn(text, ",");
        if (length == 0)
            continue;
        percent = memchr(text, '%', length);
        if (length == 3 && strncasecmp(text, "all", 3) == 0) {
            add_all(arena, columns, &f);
            continue;
        }
        field.column =
            find_beginning(columns, text, percent != NULL ? (size_t)(percent - text) : length);
        if (field.column == NULL) {
            add_unknown(arena, &f, text, percent != NULL ? (size_t)(percent - text) : length);
            continue;
        }
        width = field.column->width;
        if (percent != NULL) {
            const char *at = percent + 1;
            const bool is_left = *at == '-';

            at += is_left;
            if (isdigit((unsigned char)*at)) {
                width = (int)read_width(&at);
                width = is_left ? -width : width;
            }
        }
        field.is_right = width >= 0;
        field.width = (unsigned)abs(width);
        add_field(arena, &f, &field);
    }
    return f;
}

/* ---- Options ---- */

int
field_format_set_letters(const struct option_spec *option, const char *value, void *target,
                         UNUSED struct error *err)
{
    *(struct output_choice *)((char *)target + option->offset) =
        (struct output_choice){.letters = value};
    return 0;
}

int
field_format_set_names(const struct option_spec *option, const char *value, void *target,
                       UNUSED struct error *err)
{
    *(struct output_choice *)((char *)target + option->offset) =
        (struct output_choice){.names = value};
    return 0;
}

/* ---- Output ---- */

static bool
is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* The end of a text of at most `width` bytes that cuts no character in two. */
static size_t
cut(const char *text, size_t length, size_t width)
{
    if (length <= width)
        return length;
    while (width > 0 && is_continuation(text[width]))
        width--;
    return width;
}

/* A newline in a name would make a line that looks like another job's, and a terminal
 * obeys other characters.
 */
static void
make_safe(struct strbuf *value)
{
    for (size_t i = 0; i < value->length; i++)
        if ((unsigned char)value->text[i] < ' ')
            value->text[i] = '?';
    strbuf_truncate(value, sanitize_text_in_place(value->text));
}

static void
add_value(const struct output_field *field, const void *row, struct strbuf *value)
{
    strbuf_truncate(value, 0);
    field->column->add(row, value);
    make_safe(value);
}

static void
add_blanks(size_t count, struct strbuf *out)
{
    memset(strbuf_extend(out, count), ' ', count);
}

static void
add_padded(const struct output_field *field, const char *text, bool may_cut, struct strbuf *out)
{
    const size_t length = strlen(text);
    const bool is_whole = field->width == 0 || !may_cut;
    const size_t shown = is_whole ? length : cut(text, length, field->width);
    const size_t padding = field->width > shown ? field->width - shown : 0;

    if (field->is_right)
        add_blanks(padding, out);
    strbuf_add(out, text, shown);
    if (!field->is_right)
        add_blanks(padding, out);
}

static const char *
heading_of(const struct output_column *column)
{
    return column->heading != NULL ? column->heading : column->name;
}

void
field_format_add_line(const struct output_format *format, const void *row, struct strbuf *out)
{
    char room[256];
    struct strbuf value;

    strbuf_init_in(&value, room, sizeof(room));
    strbuf_add_text(out, format->lead);
    for (size_t i = 0; i < format->count; i++) {
        const struct output_field *field = &format->fields[i];

        if (row != NULL)
            add_value(field, row, &value);
        add_padded(field, row != NULL ? value.text : heading_of(field->column),
                   row == NULL || field->column->width != COLUMN_NEVER_CUT, out);
        strbuf_add_text(out, field->suffix);
    }
    strbuf_add_char(out, '\n');
    strbuf_fini(&value);
}

/* A value that is too long ends with "+". */
static void
add_cell(const struct output_field *field, const char *text, bool is_marked, struct strbuf *out)
{
    const size_t length = strlen(text);

    if (!is_marked || length <= field->width || field->width == 0) {
        add_padded(field, text, true, out);
    } else {
        const size_t shown = cut(text, length, field->width - 1);

        strbuf_add(out, text, shown);
        strbuf_add_char(out, '+');
        add_blanks(field->width - shown - 1, out);
    }
    strbuf_add_char(out, ' ');
}

static void
add_delimited(const struct output_format *f, const struct list_style *style, size_t at,
              const char *text, struct strbuf *out)
{
    strbuf_add_text(out, text);
    if (style->ends_with_it || at + 1 < f->count)
        strbuf_add_text(out, style->delimiter);
}

void
field_format_add_list_headings(const struct output_format *f, const struct list_style *style,
                               struct strbuf *out)
{
    for (size_t i = 0; i < f->count; i++)
        if (style->delimiter != NULL)
            add_delimited(f, style, i, heading_of(f->fields[i].column), out);
        else
            add_cell(&f->fields[i], heading_of(f->fields[i].column), false, out);
    strbuf_add_char(out, '\n');
    if (style->delimiter != NULL)
        return;
    for (size_t i = 0; i < f->count; i++) {
        memset(strbuf_extend(out, f->fields[i].width), '-', f->fields[i].width);
        strbuf_add_char(out, ' ');
    }
    strbuf_add_char(out, '\n');
}

void
field_format_add_list(const struct output_format *f, const struct list_style *style,
                      const void *row, struct strbuf *out)
{
    char room[256];
    struct strbuf value;

    strbuf_init_in(&value, room, sizeof(room));
    for (size_t i = 0; i < f->count; i++) {
        add_value(&f->fields[i], row, &value);
        if (style->delimiter != NULL)
            add_delimited(f, style, i, value.text, out);
        else
            add_cell(&f->fields[i], value.text, true, out);
    }
    strbuf_add_char(out, '\n');
    strbuf_fini(&value);
}
