/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/grid.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/print/sanitize_text.h"
#include "cli/print/terminal_colour.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

#define GAP 3

struct column {
    char *name; /* in capitals */
    size_t width;
    bool is_state;
};

struct grid {
    bool has_colours;
    struct column *columns;
    size_t n_columns;
    size_t columns_capacity;
    char **cells; /* row by row */
    size_t n_cells;
    size_t cells_capacity;
};

static size_t
width_of(const char *text)
{
    size_t n = 0;

    for (; *text != '\0'; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static bool
is_state(const char *name)
{
    static const char *const names[] = {"Status",
                                        "State",
                                        "Phase",
                                        "Type",
                                        "Ready"};

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
    return grid;
}

void
grid_add_column(struct grid *grid, const char *name)
{
    struct column column = {.name = sanitize_text_dup(name)};

    column.is_state = is_state(name);
    for (char *p = column.name; *p != '\0'; p++)
        *p = (char)toupper((unsigned char)*p);
    column.width = width_of(column.name);
    xgrow(grid->columns, grid->n_columns, grid->columns_capacity);
    grid->columns[grid->n_columns++] = column;
}

void
grid_add_row(struct grid *grid, const char *const *cells)
{
    for (size_t i = 0; i < grid->n_columns; i++) {
        char *cell = sanitize_text_dup(cells[i]);
        size_t width = width_of(cell);

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
        qsort_r(grid->cells,
                grid_rows(grid),
                grid->n_columns * sizeof(*grid->cells),
                compare_rows,
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

static void
print_cell(const struct grid *grid,
           size_t at,
           const char *text,
           bool is_heading,
           struct strbuf *out)
{
    const struct column *column = &grid->columns[at];
    const size_t width = width_of(text);
    enum terminal_colour colour = COLOUR_PLAIN;

    if (grid->has_colours && is_heading)
        colour = COLOUR_BOLD;
    else if (grid->has_colours && column->is_state)
        colour = terminal_colour_of_state(text);
    if (colour != COLOUR_PLAIN)
        strbuf_printf(out,
                      "%s%s%s",
                      terminal_colour_start(colour),
                      text,
                      terminal_colour_end);
    else
        strbuf_add_text(out, text);
    strbuf_printf(out, "%*s", (int)(column->width - width + GAP), "");
}

/* Nothing stands behind the last word of a line. */
static void
end_line(struct strbuf *out)
{
    size_t length = out->length;

    while (length > 0 && out->text[length - 1] == ' ')
        length--;
    strbuf_truncate(out, length);
    strbuf_add_char(out, '\n');
}

void
grid_print(struct grid *grid, bool with_headings, struct strbuf *out)
{
    if (grid->n_columns == 0)
        return;
    for (size_t i = 0; with_headings && i < grid->n_columns; i++)
        print_cell(grid, i, grid->columns[i].name, true, out);
    if (with_headings)
        end_line(out);
    for (size_t i = 0; i < grid->n_cells; i++) {
        print_cell(grid, i % grid->n_columns, grid->cells[i], false, out);
        if ((i + 1) % grid->n_columns == 0)
            end_line(out);
    }
}
