/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/node_chart_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print/node_chart.h"
#include "cli/print/terminal_colour.h"
#include "cli/print/text_width.h"
#include "lib/base/alloc.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

#define LANES_MOST 6u /* lines per node */
#define NAME_MOST  24u
#define GAP        2u

/* Colours of the 256-colour palette on which dark text is readable. */
static const unsigned char palette[] = {75, 114, 180, 176, 80, 216, 147, 150, 222, 109, 211, 187};

struct glyphs {
    const char *begin, *fill, *end, *goes_on;
};

static const struct glyphs glyphs[][2] = {
    [CHART_RUNS] = {{"┣", "━", "┫", "▶"}, {"[", "=", "]", ">"}},
    [CHART_STANDS] = {{"┣", "╌", "┫", "▶"}, {"[", "s", "]", ">"}},
    [CHART_PLANNED] = {{"┠", "┄", "┨", "▷"}, {"(", ".", ")", ">"}},
    [CHART_RESERVED] = {{"▒", "▒", "▒", "▒"}, {"/", "/", "/", "/"}},
};

/* One character of the picture. `text` is NULL for the second column of a wide
 * character.
 */
struct cell {
    const char *text;
    unsigned length;
    const struct node_chart_bar *bar; /* or NULL */
};

struct canvas {
    const struct node_chart *chart;
    const struct node_chart_style *style;
    struct strbuf *out;
    unsigned name_width, cpus_width, width; /* in columns; `width`: of the
                                             * picture */
    struct cell *cells;                     /* of one line */
    bool *is_mark;                          /* columns with a time mark */
};

bool
node_chart_is_ascii(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *value = getenv(names[i]);

        if (value != NULL && value[0] != '\0')
            return strcasestr(value, "utf-8") == NULL && strcasestr(value, "utf8") == NULL;
    }
    return true;
}

/* ---- Columns ---- */

static int64_t
column_of(const struct canvas *c, int64_t us)
{
    const struct node_chart *chart = c->chart;
    double share =
        ((double)us - (double)chart->from_us) / ((double)chart->until_us - (double)chart->from_us);

    if (share < 0)
        return -1;
    return share >= 1 ? c->width : (int64_t)(share * c->width);
}

static void
format_cpus(const struct node_chart *chart, const struct node_chart_row *row, char out[48])
{
    int64_t used = row->kept_milli;

    for (size_t i = 0; i < row->n_bars; i++)
        if (row->bars[i].kind <= CHART_STANDS && !row->bars[i].has_lent
            && row->bars[i].from_us <= chart->now_us)
            used += row->bars[i].cpu_milli;
    snprintf(out, 48, "%g/%g", (double)used / 1000, (double)row->cpu_milli / 1000);
}

static void
measure(struct canvas *c)
{
    c->name_width = 4;
    c->cpus_width = 4;
    for (size_t i = 0; i < c->chart->n_rows; i++) {
        const struct node_chart_row *row = &c->chart->rows[i];
        size_t width = text_width(row->name);
        char cpus[48];

        if (width > c->name_width)
            c->name_width = width < NAME_MOST ? (unsigned)width : NAME_MOST;
        format_cpus(c->chart, row, cpus);
        if (strlen(cpus) > c->cpus_width)
            c->cpus_width = (unsigned)strlen(cpus);
    }
    c->width = c->style->width - c->name_width - c->cpus_width - 2 * GAP;
    if (c->style->width < c->name_width + c->cpus_width + 2 * GAP + 20)
        c->width = 20;
}

static void
add_padded(struct strbuf *out, const char *text, unsigned width, bool is_right)
{
    size_t length = text_width_cut(text, width), has;
    CLEANUP_FREE char *cut = xstrndup(text, length);

    has = text_width(cut);
    if (is_right)
        strbuf_printf(out, "%*s%s", (int)(width - has), "", cut);
    else
        strbuf_printf(out, "%s%*s", cut, (int)(width - has), "");
}

/* ---- The heading ---- */

static void
add_heading(struct canvas *c)
{
    int64_t step = node_chart_step_us(c->chart, c->width / 11);
    CLEANUP_FREE char *line = xmalloc(c->width + NODE_CHART_TIME_SIZE + 1);
    int64_t now = column_of(c, c->chart->now_us);
    size_t end;

    memset(line, ' ', c->width + NODE_CHART_TIME_SIZE);
    for (int64_t at = node_chart_first_us(c->chart, step); at < c->chart->until_us; at += step) {
        char text[NODE_CHART_TIME_SIZE];
        int64_t column = column_of(c, at);

        node_chart_format_time(at, text);
        if (column < 0 || column + (int64_t)strlen(text) > (int64_t)c->width)
            continue;
        c->is_mark[column] = true;
        /* Leave the space of "now" free. */
        if (column < now + 4 && column + (int64_t)strlen(text) >= now)
            continue;
        memcpy(line + column, text, strlen(text));
    }
    if (now >= 0 && now + 3 <= (int64_t)c->width)
        memcpy(line + now, "now", 3);
    for (end = c->width; end > 0 && line[end - 1] == ' ';)
        end--;
    line[end] = '\0';
    add_padded(c->out, "NODE", c->name_width + GAP, false);
    add_padded(c->out, "CPUS", c->cpus_width, true);
    strbuf_printf(c->out, "%*s%s\n", (int)GAP, "", line);
}

/* ---- Bars ---- */

static void
put(struct canvas *c, int64_t column, const char *text, size_t length,
    const struct node_chart_bar *bar)
{
    if (column >= 0 && column < (int64_t)c->width)
        c->cells[column] = (struct cell){text, (unsigned)length, bar};
}

/* Puts as much of the label as fits between both ends of the bar. */
static void
put_label(struct canvas *c, const struct node_chart_bar *bar, int64_t from, int64_t until)
{
    const char *at = bar->label;

    while (*at != '\0' && from < until) {
        size_t length = text_width_cut(at, 1), width = 1;

        if (length == 0) {
            width = 2;
            length = text_width_cut(at, 2);
            if (length == 0 || from + 1 >= until)
                return;
        }
        put(c, from, at, length, bar);
        if (width == 2)
            put(c, from + 1, NULL, 0, bar);
        from += (int64_t)width;
        at += length;
    }
    if (from < until && bar->kind != CHART_RESERVED)
        put(c, from, " ", 1, bar);
}

static void
put_bar(struct canvas *c, const struct node_chart_bar *bar)
{
    const struct glyphs *g = &glyphs[bar->kind][c->style->is_ascii];
    int64_t from = column_of(c, bar->from_us);
    int64_t until = bar->until_us == INT64_MAX ? (int64_t)c->width : column_of(c, bar->until_us);
    bool goes_on = bar->until_us == INT64_MAX || bar->until_us > c->chart->until_us;
    int64_t last;

    if (from >= (int64_t)c->width || until < 0)
        return;
    if (until <= from)
        until = from + 1;
    last = until - 1;
    for (int64_t i = from; i < until; i++)
        put(c, i, c->style->has_colours && bar->kind == CHART_RUNS ? " " : g->fill,
            c->style->has_colours && bar->kind == CHART_RUNS ? 1 : strlen(g->fill), bar);
    if (!c->style->has_colours || bar->kind != CHART_RUNS)
        put(c, from, g->begin, strlen(g->begin), bar);
    if (goes_on)
        put(c, last, g->goes_on, strlen(g->goes_on), bar);
    else if (last > from && (!c->style->has_colours || bar->kind != CHART_RUNS))
        put(c, last, g->end, strlen(g->end), bar);
    put_label(c, bar, from < 0 ? 1 : from + 1, last);
}

static void
put_background(struct canvas *c)
{
    const int64_t now = column_of(c, c->chart->now_us);

    for (unsigned i = 0; i < c->width; i++) {
        const char *text = i == now        ? c->style->is_ascii ? "|" : "│"
                           : c->is_mark[i] ? c->style->is_ascii ? "." : "·"
                                           : " ";

        c->cells[i] = (struct cell){text, (unsigned)strlen(text), NULL};
    }
}

/* ---- A line ---- */

static void
begin_colour(const struct canvas *c, const struct cell *cell)
{
    const struct node_chart_bar *bar = cell->bar;
    unsigned colour;

    if (bar == NULL || bar->kind == CHART_RESERVED) {
        strbuf_add_text(c->out, terminal_colour_start(COLOUR_DIM));
        return;
    }
    colour = palette[node_chart_colour(c->chart, bar->user, ARRAY_SIZE(palette))];
    strbuf_printf(c->out, bar->kind == CHART_RUNS ? "\033[30;48;5;%um" : "\033[38;5;%um", colour);
}

/* Writes the line without trailing spaces. */
static void
add_cells(struct canvas *c)
{
    unsigned end = c->width;
    bool is_open = false;

    while (end > 0 && c->cells[end - 1].bar == NULL && c->cells[end - 1].text != NULL
           && c->cells[end - 1].text[0] == ' ')
        end--;
    for (unsigned i = 0; i < end; i++) {
        const struct cell *cell = &c->cells[i];
        const bool begins = i == 0 || cell->bar != cell[-1].bar;

        if (c->style->has_colours && begins) {
            if (is_open)
                strbuf_add_text(c->out, terminal_colour_end);
            begin_colour(c, cell);
            is_open = true;
        }
        if (cell->text != NULL)
            strbuf_add(c->out, cell->text, cell->length);
    }
    if (is_open)
        strbuf_add_text(c->out, terminal_colour_end);
    strbuf_add_char(c->out, '\n');
}

static void
put_text(struct canvas *c, const char *text)
{
    const struct node_chart_bar none = {.label = text, .kind = CHART_RESERVED};
    int64_t from = column_of(c, c->chart->now_us) + 2;

    put_label(c, &none, from, (int64_t)c->width);
    for (unsigned i = 0; i < c->width; i++)
        if (c->cells[i].bar == &none)
            c->cells[i].bar = NULL;
}

/* Writes the lines of the node's bars, and after them a line with the number of
 * hidden bars and the node's state, if any.
 */
static void
add_row(struct canvas *c, const struct node_chart_row *row)
{
    unsigned lanes = row->n_lanes < LANES_MOST ? row->n_lanes : LANES_MOST;
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    size_t hidden = row->n_more;
    char cpus[48];

    for (size_t i = 0; i < row->n_bars; i++)
        hidden += row->bars[i].lane >= lanes;
    if (hidden > 0)
        strbuf_printf(&words, "and %zu more%s", hidden, row->state != NULL ? "; " : "");
    if (row->state != NULL)
        strbuf_add_text(&words, row->state);
    format_cpus(c->chart, row, cpus);
    for (unsigned lane = 0; lane == 0 || lane < lanes + (words.length > 0); lane++) {
        put_background(c);
        for (size_t i = 0; i < row->n_bars; i++)
            if (row->bars[i].lane == lane && lane < lanes)
                put_bar(c, &row->bars[i]);
        if (lane >= lanes)
            put_text(c, words.text);
        add_padded(c->out, lane == 0 ? row->name : "", c->name_width, false);
        strbuf_printf(c->out, "%*s", (int)GAP, "");
        add_padded(c->out, lane == 0 ? cpus : "", c->cpus_width, true);
        strbuf_printf(c->out, "%*s", (int)GAP, "");
        add_cells(c);
    }
}

static void
add_sample(struct canvas *c, enum node_chart_kind kind, const char *words, bool is_first)
{
    const struct glyphs *g = &glyphs[kind][c->style->is_ascii];

    strbuf_add_text(c->out, is_first ? "" : "   ");
    if (kind == CHART_RUNS && c->style->has_colours)
        strbuf_printf(c->out, "\033[7m    %s", terminal_colour_end);
    else
        strbuf_printf(c->out, "%s%s%s%s", g->begin, g->fill, g->fill, g->end);
    strbuf_printf(c->out, " %s", words);
}

/* Explains only the kinds of bars in the chart. */
static void
add_legend(struct canvas *c)
{
    static const char *const words[] = {
        [CHART_RUNS] = "running, until its time limit",
        [CHART_STANDS] = "suspended (S)",
        [CHART_PLANNED] = "waiting, with a reservation",
        [CHART_RESERVED] = "reservation",
    };
    bool has[ARRAY_SIZE(words)] = {false}, is_first = true;

    for (size_t i = 0; i < c->chart->n_rows; i++)
        for (size_t b = 0; b < c->chart->rows[i].n_bars; b++)
            has[c->chart->rows[i].bars[b].kind] = true;
    for (unsigned kind = 0; kind < ARRAY_SIZE(words); kind++) {
        if (!has[kind])
            continue;
        if (is_first)
            strbuf_add_char(c->out, '\n');
        add_sample(c, kind, words[kind], is_first);
        is_first = false;
    }
    if (!is_first)
        strbuf_add_char(c->out, '\n');
}

void
node_chart_text_print(const struct node_chart *chart, const struct node_chart_style *style,
                      struct strbuf *out)
{
    struct canvas c = {.chart = chart, .style = style, .out = out};

    measure(&c);
    c.cells = xnew_array(struct cell, c.width);
    c.is_mark = xnew_array(bool, c.width);
    add_heading(&c);
    for (size_t i = 0; i < chart->n_rows; i++)
        add_row(&c, &chart->rows[i]);
    add_legend(&c);
    free(c.cells);
    free(c.is_mark);
}
