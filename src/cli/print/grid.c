/* SPDX-License-Identifier: Apache-2.0 */
/* A terminal has a width, and what is lost last must be what people act on. So columns give
 * way in an order: empty ones, then widths, the widest first, then whole columns by their
 * weight, and at last lines are cut. Width is counted in columns of the terminal, since names
 * have accents and Chinese characters; control characters are replaced, since names come from
 * others.
 */
#include "cli/print/grid.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/print/sanitize_text.h"
#include "cli/print/terminal_colour.h"
#include "cli/print/text_width.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

#define GAP        3
#define SMALL_GAP  2
#define LEAST_GAP  1
#define LAST_LEAST 6 /* to which any column of text is cut before lines are cut */

struct column {
    char *name;   /* upper case */
    size_t width; /* of the widest cell */
    size_t least;
    size_t shown; /* the width that is printed */
    unsigned weight;
    bool is_state;
    bool is_right;
    bool is_spare;
    bool is_hidden;
    bool is_empty; /* when the headings were printed */
};

struct grid {
    bool has_colours;
    size_t gap;
    size_t limit; /* 0: none */
    struct column *columns;
    size_t n_columns;
    size_t columns_capacity;
    char **cells; /* row by row */
    size_t n_cells;
    size_t cells_capacity;
};

static bool
is_state(const char *name)
{
    static const char *const names[] = {"Status", "State", "Phase", "Type", "Ready"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcasecmp(names[i], name) == 0)
            return true;
    return false;
}

void
grid_free(struct grid *grid)
{
    if (grid == NULL)
        return;
    grid_clear(grid);
    for (size_t i = 0; i < grid->n_columns; i++)
        free(grid->columns[i].name);
    free(grid->columns);
    free(grid->cells);
    free(grid);
}

struct grid *
grid_new(bool has_colours)
{
    struct grid *grid = xnew(struct grid);

    grid->has_colours = has_colours;
    grid->gap = GAP;
    return grid;
}

void
grid_set_gap(struct grid *grid, unsigned gap)
{
    grid->gap = gap;
}

void
grid_set_width(struct grid *grid, unsigned width)
{
    grid->limit = width;
}

void
grid_add_column(struct grid *grid, const char *name)
{
    grid_add_styled(grid, &(struct grid_column){.name = name});
}

void
grid_add_styled(struct grid *grid, const struct grid_column *style)
{
    struct column column = {
        .name = sanitize_text_dup(style->name),
        .least = style->least,
        .weight = style->weight,
        .is_right = style->is_right,
        .is_spare = style->is_spare,
        .is_state = is_state(style->name),
    };

    for (char *p = column.name; *p != '\0'; p++)
        *p = (char)toupper((unsigned char)*p);
    column.width = text_width(column.name);
    xgrow(grid->columns, grid->n_columns, grid->columns_capacity);
    grid->columns[grid->n_columns++] = column;
}

void
grid_add_row(struct grid *grid, const char *const *cells)
{
    for (size_t i = 0; i < grid->n_columns; i++) {
        char *cell = sanitize_text_dup(cells[i]);
        size_t width = text_width(cell);

        if (width > grid->columns[i].width)
            grid->columns[i].width = width;
        xgrow(grid->cells, grid->n_cells, grid->cells_capacity);
        grid->cells[grid->n_cells++] = cell;
    }
}

void
grid_clear(struct grid *grid)
{
    for (size_t i = 0; i < grid->n_cells; i++)
        free(grid->cells[i]);
    grid->n_cells = 0;
}

static int
compare_rows(const void *a, const void *b, void *context)
{
    char *const *left = a;
    char *const *right = b;
    const size_t n = *(const size_t *)context;

    for (size_t i = 0; i < n; i++) {
        int order = strverscmp(left[i], right[i]);

        if (order != 0)
            return order;
    }
    return 0;
}

void
grid_sort(struct grid *grid, size_t n_columns)
{
    if (grid_rows(grid) > 1)
        qsort_r(grid->cells, grid_rows(grid), grid->n_columns * sizeof(*grid->cells), compare_rows,
                &n_columns);
}

size_t
grid_columns(const struct grid *grid)
{
    return grid->n_columns;
}

size_t
grid_rows(const struct grid *grid)
{
    return grid->n_columns > 0 ? grid->n_cells / grid->n_columns : 0;
}

/* ---- The widths ---- */

/* The sum of the columns' least widths, or of their full widths. */
static size_t
sum_widths(const struct grid *grid, size_t gap, bool at_least)
{
    size_t sum = 0;
    size_t n = 0;

    for (size_t i = 0; i < grid->n_columns; i++) {
        const struct column *c = &grid->columns[i];

        if (c->is_hidden)
            continue;
        sum += at_least && c->least > 0 && c->least < c->width ? c->least : c->width;
        n++;
    }
    return n > 0 ? sum + (n - 1) * gap : 0;
}

/* The column with the least weight, the last of equal ones; NULL: no column may
 * be left out.
 */
static struct column *
find_lightest(struct grid *grid)
{
    struct column *lightest = NULL;

    for (size_t i = 0; i < grid->n_columns; i++) {
        struct column *c = &grid->columns[i];

        if (!c->is_hidden && c->weight > 0 && (lightest == NULL || c->weight <= lightest->weight))
            lightest = c;
    }
    return lightest;
}

/* The width to which the column may be cut; at last that of any column of text,
 * because the columns behind it would be lost otherwise.
 */
static size_t
least_width(const struct column *c, bool is_last)
{
    if (c->least > 0)
        return c->least;
    return is_last && !c->is_right ? LAST_LEAST : c->width;
}

/* Cuts the widest column first, so that a long reason does not shorten a short
 * name. Returns the excess that is left.
 */
static size_t
cut_columns(struct grid *grid, size_t excess, bool is_last)
{
    for (; excess > 0; excess--) {
        struct column *widest = NULL;

        for (size_t i = 0; i < grid->n_columns; i++) {
            struct column *c = &grid->columns[i];

            if (!c->is_hidden && c->shown > least_width(c, is_last)
                && (widest == NULL || c->shown >= widest->shown))
                widest = c;
        }
        if (widest == NULL)
            break;
        widest->shown--;
    }
    return excess;
}

static bool
has_text(const struct grid *grid, size_t column)
{
    for (size_t i = column; i < grid->n_cells; i += grid->n_columns)
        if (grid->cells[i][0] != '\0')
            return true;
    return false;
}

/* Marks empty columns; rows added later are printed under the same headings. */
static void
find_empty(struct grid *grid)
{
    for (size_t i = 0; i < grid->n_columns; i++)
        grid->columns[i].is_empty = grid->n_cells > 0 && !has_text(grid, i);
}

/* Sets the printed widths; returns the number of spaces between columns. */
static size_t
fit(struct grid *grid)
{
    size_t gap = grid->gap;
    size_t sum;

    for (size_t i = 0; i < grid->n_columns; i++) {
        grid->columns[i].shown = grid->columns[i].width;
        grid->columns[i].is_hidden = false;
    }
    if (grid->limit == 0 || sum_widths(grid, gap, false) <= grid->limit)
        return gap;
    if (gap > SMALL_GAP)
        gap = SMALL_GAP;
    for (size_t i = 0; i < grid->n_columns && sum_widths(grid, gap, false) > grid->limit; i++)
        grid->columns[i].is_hidden = grid->columns[i].is_spare || grid->columns[i].is_empty;
    while (sum_widths(grid, LEAST_GAP, true) > grid->limit) {
        struct column *lightest = find_lightest(grid);

        if (lightest == NULL)
            break;
        lightest->is_hidden = true;
    }
    if (sum_widths(grid, gap, true) > grid->limit)
        gap = LEAST_GAP;
    sum = sum_widths(grid, gap, false);
    if (sum > grid->limit)
        cut_columns(grid, cut_columns(grid, sum - grid->limit, false), true);
    return gap;
}

/* ---- Text ---- */

static void
add_spaces(struct strbuf *out, size_t count)
{
    strbuf_printf(out, "%*s", (int)count, "");
}

/* A line being printed, and how many columns of it are used. */
struct grid_line {
    struct strbuf *out;
    size_t at;
    size_t owed; /* spaces to print before the next text */
    size_t limit;
};

/* Prints as much of the text as fits, with a mark if it was cut. */
static void
print_cell(const struct grid *grid, struct grid_line *line, const struct column *column,
           const char *text, bool is_heading)
{
    const size_t width = text_width(text);
    size_t room = column->shown;
    size_t length = strlen(text);
    size_t taken = width;
    enum terminal_colour colour = COLOUR_PLAIN;
    bool is_cut;

    if (line->limit > 0) {
        const size_t before = line->at + line->owed;
        const size_t left = line->limit > before ? line->limit - before : 0;

        if (left < room)
            room = left;
    }
    is_cut = width > room;
    if (is_cut) {
        length = room > 0 ? text_width_cut(text, room - 1) : 0;
        taken = room;
    }
    if (taken == 0 && width > 0)
        return; /* the line is full */
    if (grid->has_colours && is_heading)
        colour = COLOUR_BOLD;
    else if (grid->has_colours && column->is_state)
        colour = terminal_colour_of_state(text);
    if (column->is_right && taken < room)
        line->owed += room - taken;
    if (width == 0) {
        line->owed += column->is_right ? 0 : room;
        return;
    }
    add_spaces(line->out, line->owed);
    line->at += line->owed + taken;
    line->owed = column->is_right || taken >= room ? 0 : room - taken;
    if (colour != COLOUR_PLAIN)
        strbuf_add_text(line->out, terminal_colour_start(colour));
    strbuf_add(line->out, text, length);
    if (is_cut)
        strbuf_add_char(line->out, '+');
    if (colour != COLOUR_PLAIN)
        strbuf_add_text(line->out, terminal_colour_end);
}

static void
print_line(const struct grid *grid, char *const *cells, size_t gap, struct strbuf *out)
{
    struct grid_line line = {.out = out, .limit = grid->limit};
    bool is_first = true;

    for (size_t i = 0; i < grid->n_columns; i++) {
        const struct column *column = &grid->columns[i];

        if (column->is_hidden)
            continue;
        if (!is_first)
            line.owed += gap;
        is_first = false;
        print_cell(grid, &line, column, cells != NULL ? cells[i] : column->name, cells == NULL);
    }
    strbuf_add_char(out, '\n');
}

void
grid_print(struct grid *grid, bool with_headings, struct strbuf *out)
{
    size_t gap;

    if (grid->n_columns == 0)
        return;
    if (with_headings)
        find_empty(grid);
    gap = fit(grid);
    if (with_headings)
        print_line(grid, NULL, gap, out);
    for (size_t i = 0; i < grid->n_cells; i += grid->n_columns)
        print_line(grid, grid->cells + i, gap, out);
}
