/* SPDX-License-Identifier: Apache-2.0 */
/* node_chart.h - the data of a chart of nodes over time: who has which node,
 * from when until when
 *
 * The caller fills in and owns this plain data; node_chart_text.h and
 * node_chart_svg.h draw it. Times are of the real clock, in microseconds.
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum node_chart_kind {
    CHART_RUNS,
    CHART_STANDS,   /* suspended on the node */
    CHART_PLANNED,  /* pending, with a reservation of these CPUs */
    CHART_RESERVED, /* kept free of jobs, or for some of them */
};

struct node_chart_bar {
    enum node_chart_kind kind;
    const char *label;  /* "12 alice"; truncated to the space */
    const char *detail; /* the full text, shown as a tooltip */
    const char *user;   /* "": no user */
    int64_t from_us;
    int64_t until_us; /* INT64_MAX: it has no end */
    int64_t cpu_milli;
    bool has_lent; /* suspended, and other jobs use its CPUs now */

    /* Set by node_chart_lay_out: bars in one lane do not overlap. */
    unsigned lane;
    int64_t above_milli; /* CPUs of the node that are drawn above the bar */
};

struct node_chart_row {
    const char *name;
    const char *state;  /* why it accepts no jobs; or NULL */
    int64_t cpu_milli;  /* all CPUs of the node */
    int64_t kept_milli; /* CPUs of suspended jobs that no other job uses */
    struct node_chart_bar *bars;
    size_t n_bars;
    size_t n_more; /* number of bars left out */
    unsigned n_lanes;
};

struct node_chart {
    struct node_chart_row *rows;
    size_t n_rows;
    int64_t from_us, until_us, now_us;
    const char **users; /* unique and sorted; set by node_chart_lay_out */
    size_t n_users;
};

struct arena;

/* Sorts the bars, assigns their lanes, and collects the users. */
void node_chart_lay_out(struct node_chart *chart, struct arena *arena);

/* The distance between time marks, so that there are at most `most`; and the
 * first mark, a round time in the reader's zone.
 */
int64_t node_chart_step_us(const struct node_chart *chart, unsigned most);
int64_t node_chart_first_us(const struct node_chart *chart, int64_t step_us);

/* "17:30", or "Nov 24" at midnight. */
#define NODE_CHART_TIME_SIZE 32
void node_chart_format_time(int64_t us, char out[NODE_CHART_TIME_SIZE]);

/* The user's colour, from 0 to n_colours - 1: always the same, unless another
 * user of the chart already has it.
 */
unsigned node_chart_colour(const struct node_chart *chart, const char *user, unsigned n_colours);
