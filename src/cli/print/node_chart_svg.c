/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/node_chart_svg.h"

#include <stdio.h>
#include <string.h>

#include "cli/print/node_chart.h"
#include "cli/print/svg_text.h"
#include "cli/print/text_width.h"
#include "lib/base/alloc.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

/* All sizes are in pixels. */
#define PAD         16.0
#define TITLE       34.0
#define AXIS        24.0
#define PICTURE     1000.0 /* the width of the time axis */
#define ROW_GAP     6.0
#define LEGEND      22.0
#define LETTER      6.1 /* approximate width of a letter in a bar's label */
#define NAME_LETTER 7.4
#define LABEL_LEAST 11.0 /* the least height of a bar with a label */
#define BAR_LEAST   2.0
#define MARKS_MOST  10u
#define COLOURS     24u

struct chart_drawing {
    const struct node_chart *chart;
    struct strbuf *out;
    double left, top, row; /* of the chart; `row`: height of a node */
    double width, height;  /* of the page */
};

/* ---- Positions ---- */

static double
x_of(const struct chart_drawing *d, int64_t us)
{
    const struct node_chart *c = d->chart;
    double share = ((double)us - (double)c->from_us) / ((double)c->until_us - (double)c->from_us);

    share = share < 0 ? 0 : share > 1 ? 1 : share;
    return d->left + share * PICTURE;
}

static double
y_of(const struct chart_drawing *d, size_t row)
{
    return d->top + (double)row * (d->row + ROW_GAP);
}

static double
bottom_of(const struct chart_drawing *d)
{
    return y_of(d, d->chart->n_rows) - ROW_GAP;
}

static void
measure(struct chart_drawing *d)
{
    const struct node_chart *c = d->chart;
    double names = 60;

    for (size_t i = 0; i < c->n_rows; i++) {
        double width = (double)text_width(c->rows[i].name) * NAME_LETTER;

        if (width > names)
            names = width;
    }
    d->left = PAD + names + 12;
    d->top = PAD + TITLE + AXIS;
    d->row = c->n_rows <= 4 ? 84 : c->n_rows <= 12 ? 56 : c->n_rows <= 40 ? 34 : 22;
    d->width = d->left + PICTURE + PAD;
    d->height = bottom_of(d) + 18 + LEGEND * (double)((c->n_users + 7) / 8 + 1) + PAD;
}

/* ---- Colours ---- */

static unsigned
hue_of(const struct chart_drawing *d, const char *user)
{
    return node_chart_colour(d->chart, user, COLOURS) * 360 / COLOURS;
}

/* Adjacent hues differ in lightness too. */
static unsigned
light_of(const struct chart_drawing *d, const char *user)
{
    return node_chart_colour(d->chart, user, COLOURS) % 2 == 0 ? 72 : 62;
}

static void
add_patterns(const struct chart_drawing *d)
{
    strbuf_add_text(d->out, "<defs>\n<pattern id=\"reserved\" width=\"8\" height=\"8\" "
                            "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
                            "<rect width=\"8\" height=\"8\" fill=\"#f1f2f4\"/>"
                            "<rect width=\"3\" height=\"8\" fill=\"#9aa3ae\"/></pattern>\n");
    for (size_t i = 0; i < d->chart->n_users; i++) {
        unsigned hue = hue_of(d, d->chart->users[i]);
        unsigned light = light_of(d, d->chart->users[i]);

        strbuf_printf(d->out,
                      "<pattern id=\"p%zu\" width=\"7\" height=\"7\" "
                      "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
                      "<rect width=\"7\" height=\"7\" fill=\"hsl(%u,60%%,96%%)\"/>"
                      "<rect width=\"2\" height=\"7\" fill=\"hsl(%u,55%%,%u%%)\"/>"
                      "</pattern>\n",
                      i, hue, hue, light + 12);
        strbuf_printf(d->out,
                      "<linearGradient id=\"g%zu\"><stop offset=\"0.8\" "
                      "stop-color=\"hsl(%u,62%%,%u%%)\"/><stop offset=\"1\" "
                      "stop-color=\"hsl(%u,62%%,%u%%)\" stop-opacity=\"0.15\"/>"
                      "</linearGradient>\n",
                      i, hue, light, hue, light);
    }
    strbuf_add_text(d->out, "</defs>\n");
}

static size_t
user_at(const struct chart_drawing *d, const char *user)
{
    size_t i = 0;

    while (i < d->chart->n_users && strcmp(d->chart->users[i], user) != 0)
        i++;
    return i;
}

static void
add_fill(const struct chart_drawing *d, const struct node_chart_bar *bar)
{
    const size_t user = user_at(d, bar->user);
    const bool is_nobodys = user == d->chart->n_users;
    unsigned hue = is_nobodys ? 0 : hue_of(d, bar->user);
    unsigned light = is_nobodys ? 70 : light_of(d, bar->user);

    if (bar->kind == CHART_RESERVED) {
        strbuf_add_text(d->out, "fill=\"url(#reserved)\" stroke=\"#7d8792\"");
        return;
    }
    if (is_nobodys)
        strbuf_add_text(d->out, "fill=\"#ccc\" stroke=\"#888\"");
    else if (bar->kind == CHART_STANDS)
        strbuf_printf(d->out,
                      "fill=\"hsl(%u,30%%,%u%%)\" fill-opacity=\"0.45\" "
                      "stroke=\"hsl(%u,45%%,42%%)\" "
                      "stroke-dasharray=\"1 3\"",
                      hue, light, hue);
    else if (bar->kind == CHART_PLANNED)
        strbuf_printf(d->out,
                      "fill=\"url(#p%zu)\" stroke=\"hsl(%u,50%%,45%%)\" "
                      "stroke-dasharray=\"4 3\"",
                      user, hue);
    else if (bar->until_us == INT64_MAX)
        strbuf_printf(d->out, "fill=\"url(#g%zu)\" stroke=\"hsl(%u,45%%,42%%)\"", user, hue);
    else
        strbuf_printf(d->out, "fill=\"hsl(%u,62%%,%u%%)\" stroke=\"hsl(%u,45%%,42%%)\"", hue, light,
                      hue);
}

/* ---- Parts ---- */

static void
add_text(const struct chart_drawing *d, double x, double y, const char *class, const char *text)
{
    strbuf_printf(d->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
    svg_text_add(d->out, text);
    strbuf_add_text(d->out, "</text>\n");
}

static void
add_axis(const struct chart_drawing *d)
{
    int64_t step = node_chart_step_us(d->chart, MARKS_MOST);

    for (int64_t at = node_chart_first_us(d->chart, step); at <= d->chart->until_us; at += step) {
        char text[NODE_CHART_TIME_SIZE];
        double x = x_of(d, at);

        node_chart_format_time(at, text);
        strbuf_printf(d->out,
                      "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
                      "class=\"mark\"/>\n",
                      x, d->top - 6, x, bottom_of(d));
        add_text(d, x, d->top - 10, "time", text);
    }
}

static void
add_now(const struct chart_drawing *d)
{
    double x = x_of(d, d->chart->now_us);

    strbuf_printf(d->out,
                  "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
                  "class=\"now\"/>\n",
                  x, d->top - 6, x, bottom_of(d) + 6);
    add_text(d, x, bottom_of(d) + 18, "nowtext", "now");
}

/* The rectangle of a bar on the page. */
struct box {
    double x, y, width, height;
};

/* A truncated job name is useless, but the job's number is not. "": no label.
 */
static char *
cut_label(const struct node_chart_bar *bar, double width)
{
    size_t room = width > 8 ? (size_t)((width - 8) / LETTER) : 0;
    size_t length = text_width_cut(bar->label, room);
    const char *space = strchr(bar->label, ' ');

    if (bar->label[length] == '\0')
        return xstrdup(bar->label);
    if (bar->kind == CHART_RESERVED)
        return room < 4
                   ? xstrdup("")
                   : xasprintf("%.*s\u2026", (int)text_width_cut(bar->label, room - 1), bar->label);
    if (space == NULL || (size_t)(space - bar->label) > length)
        return xstrdup("");
    return xstrndup(bar->label, (size_t)(space - bar->label));
}

/* The label of a reservation is at its bottom, because jobs may be drawn over
 * it.
 */
static void
add_label(const struct chart_drawing *d, const struct node_chart_bar *bar, const struct box *box)
{
    CLEANUP_FREE char *text = cut_label(bar, box->width);
    double y =
        bar->kind == CHART_RESERVED ? box->y + box->height - 5 : box->y + box->height / 2 + 4;

    if (box->height < LABEL_LEAST || text[0] == '\0')
        return;
    add_text(d, box->x + 5, y, bar->kind == CHART_RUNS ? "bar" : "bar halo", text);
}

/* False: the bar is outside the picture. */
static bool
find_box(const struct chart_drawing *d, const struct node_chart_row *row,
         const struct node_chart_bar *bar, double top, struct box *ret)
{
    double all = row->cpu_milli > 0 ? (double)row->cpu_milli : 1;

    if (bar->until_us <= d->chart->from_us || bar->from_us >= d->chart->until_us)
        return false;
    ret->x = x_of(d, bar->from_us);
    ret->width = x_of(d, bar->until_us) - ret->x;
    ret->y = top + (double)bar->above_milli / all * d->row;
    ret->height = (double)bar->cpu_milli / all * d->row;
    if (bar->kind == CHART_RESERVED && bar->cpu_milli == 0) {
        ret->y = top;
        ret->height = d->row;
    }
    if (ret->height < BAR_LEAST)
        ret->height = BAR_LEAST;
    if (ret->y + ret->height > top + d->row)
        ret->height = top + d->row - ret->y;
    if (ret->width < BAR_LEAST)
        ret->width = BAR_LEAST;
    if (ret->x > d->left + PICTURE - ret->width)
        ret->x = d->left + PICTURE - ret->width;
    return true;
}

static void
begin_rectangle(const struct chart_drawing *d, const struct box *box)
{
    strbuf_printf(d->out,
                  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                  "height=\"%.1f\" rx=\"%.1f\" ",
                  box->x + 0.5, box->y + 0.5, box->width > 1.5 ? box->width - 1 : box->width,
                  box->height > 1.5 ? box->height - 1 : box->height, box->height > 10 ? 3.0 : 1.0);
}

static void
add_bar(const struct chart_drawing *d, const struct node_chart_row *row,
        const struct node_chart_bar *bar, double top)
{
    struct box box;

    if (!find_box(d, row, bar, top, &box))
        return;
    strbuf_add_text(d->out, "<g><title>");
    svg_text_add(d->out, bar->detail);
    strbuf_add_text(d->out, "</title>");
    begin_rectangle(d, &box);
    add_fill(d, bar);
    strbuf_add_text(d->out, "/>\n");
    if (bar->kind != CHART_RESERVED)
        add_label(d, bar, &box);
    strbuf_add_text(d->out, "</g>\n");
}

/* Jobs may cover all of a reservation except its outline. */
static void
add_outline(const struct chart_drawing *d, const struct node_chart_row *row,
            const struct node_chart_bar *bar, double top)
{
    struct box box;

    if (!find_box(d, row, bar, top, &box))
        return;
    begin_rectangle(d, &box);
    strbuf_add_text(d->out, "class=\"outline\"/>\n");
    add_label(d, bar, &box);
}

static void
add_row(const struct chart_drawing *d, size_t at)
{
    const struct node_chart_row *row = &d->chart->rows[at];
    double top = y_of(d, at);
    char more[64];

    strbuf_printf(d->out,
                  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                  "rx=\"3\" class=\"%s\"/>\n",
                  d->left, top, PICTURE, d->row, row->state != NULL ? "closed" : "node");
    add_text(d, d->left - 10, top + d->row / 2 + 4, "name", row->name);
    if (row->state != NULL)
        add_text(d, d->left + PICTURE - 6, top + d->row / 2 + 4, "state", row->state);
    /* Draw reservations behind the jobs that run in them. */
    for (unsigned turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < row->n_bars; i++)
            if ((row->bars[i].kind == CHART_RESERVED) == (turn == 0))
                add_bar(d, row, &row->bars[i], top);
    for (size_t i = 0; i < row->n_bars; i++)
        if (row->bars[i].kind == CHART_RESERVED)
            add_outline(d, row, &row->bars[i], top);
    if (row->n_more > 0) {
        snprintf(more, sizeof(more), "and %zu more", row->n_more);
        add_text(d, d->left + PICTURE - 6, top + d->row - 4, "state", more);
    }
}

static void
add_sample(const struct chart_drawing *d, double x, double y, const char *fill, const char *text)
{
    strbuf_printf(d->out,
                  "<rect x=\"%.1f\" y=\"%.1f\" width=\"22\" height=\"12\" "
                  "rx=\"3\" %s/>\n",
                  x, y - 10, fill);
    add_text(d, x + 28, y, "legend", text);
}

static bool
has_reservations(const struct node_chart *chart)
{
    for (size_t i = 0; i < chart->n_rows; i++)
        for (size_t b = 0; b < chart->rows[i].n_bars; b++)
            if (chart->rows[i].bars[b].kind == CHART_RESERVED)
                return true;
    return false;
}

static void
add_legend(const struct chart_drawing *d)
{
    double y = bottom_of(d) + 18 + LEGEND;
    double x = d->left;

    for (size_t i = 0; i < d->chart->n_users; i++) {
        CLEANUP_STRBUF struct strbuf fill = STRBUF_INIT;
        size_t length = text_width_cut(d->chart->users[i], 12);
        CLEANUP_FREE char *name = xstrndup(d->chart->users[i], length);

        if (i > 0 && i % 8 == 0) {
            x = d->left;
            y += LEGEND;
        }
        strbuf_printf(&fill, "fill=\"hsl(%u,62%%,%u%%)\" stroke=\"hsl(%u,45%%,42%%)\"",
                      hue_of(d, d->chart->users[i]), light_of(d, d->chart->users[i]),
                      hue_of(d, d->chart->users[i]));
        add_sample(d, x, y, fill.text, name);
        x += PICTURE / 8;
    }
    y += LEGEND;
    x = d->left;
    add_sample(d, x, y, "fill=\"#d5dae0\" stroke=\"#6b7580\"", "running, until its time limit");
    add_sample(d, x + 180, y, "fill=\"#fff\" stroke=\"#6b7580\" stroke-dasharray=\"4 3\"",
               "waiting, with a reservation");
    if (!has_reservations(d->chart))
        return;
    add_sample(d, x + 400, y, "fill=\"url(#reserved)\" stroke=\"#7d8792\"", "reservation");
}

void
node_chart_svg_print(const struct node_chart *chart, const char *title, struct strbuf *out)
{
    struct chart_drawing d = {.chart = chart, .out = out};

    measure(&d);
    strbuf_printf(out,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
                  "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
                  "font-family=\"Helvetica,Arial,sans-serif\">\n"
                  "<style>text{fill:#2c343d}.title{font-size:16px;font-weight:bold}"
                  ".name{font-size:13px;text-anchor:end}"
                  ".time{font-size:11px;fill:#6b7580;text-anchor:middle}"
                  ".bar{font-size:11px}"
                  ".halo{paint-order:stroke;stroke:#fff;stroke-width:3px;"
                  "stroke-linejoin:round}"
                  ".outline{fill:none;stroke:#5d6772;pointer-events:none}"
                  ".legend{font-size:12px}"
                  ".state{font-size:11px;fill:#8a4b3a;text-anchor:end}"
                  ".mark{stroke:#dfe3e8}.now{stroke:#d1382f;stroke-width:1.5}"
                  ".nowtext{font-size:11px;fill:#d1382f;text-anchor:middle}"
                  ".node{fill:#f5f7f9;fill-opacity:0.75}"
                  ".closed{fill:#f6e9e5;fill-opacity:0.75}</style>\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                  d.width, d.height, d.width, d.height);
    add_patterns(&d);
    add_text(&d, PAD, PAD + 16, "title", title);
    add_axis(&d);
    for (size_t i = 0; i < chart->n_rows; i++)
        add_row(&d, i);
    add_now(&d);
    add_legend(&d);
    strbuf_add_text(out, "</svg>\n");
}
