/* SPDX-License-Identifier: Apache-2.0 */
/* node_chart.h - nodes down, time across: what is drawn of who has nodes, from
 * when until when
 *
 * Plain data, which its maker fills in and owns; node_chart_text.h and
 * node_chart_svg.h draw it. Times are points of the real clock, in microseconds.
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum node_chart_kind {
    CHART_RUNS,
    CHART_STANDS,   /* it is there, and suspended */
    CHART_PLANNED,  /* it waits, and this is reserved for it */
    CHART_RESERVED, /* kept free of jobs, or for some of them */
};

struct node_chart_bar {
    enum node_chart_kind kind;
    const char *label;  /* "12 alice": cut where there is less room */
    const char *detail; /* all of it, for who points at it */
    const char *user;   /* "" for nobody's */
    int64_t from_us;
    int64_t until_us; /* INT64_MAX: it has no end */
    int64_t cpu_milli;
    bool has_lent; /* it stands still, and its CPUs are others' now */

    /* By node_chart_lay_out: bars of a lane do not overlap. */
    unsigned lane;
    int64_t above_milli; /* CPUs of the node that are drawn above it */
};

struct node_chart_row {
    const char *name;
    const char *state;  /* why it takes no jobs; or NULL */
    int64_t cpu_milli;  /* all that it has */
    int64_t kept_milli; /* for bars that have lent theirs: what nobody took */
    struct node_chart_bar *bars;
    size_t n_bars;
    size_t n_more; /* bars that are left out */
    unsigned n_lanes;
};

struct node_chart {
    struct node_chart_row *rows;
    size_t n_rows;
    int64_t from_us, until_us, now_us;
    const char **users; /* each once, sorted; by node_chart_lay_out */
    size_t n_users;
};

struct arena;

/* Sorts the bars, gives them their lanes, and collects the users. */
void node_chart_lay_out(struct node_chart *chart, struct arena *arena);

/* The distance between marks of time, so that there are at most so many; and the
 * first mark, which is a round time where the reader is.
 */
int64_t node_chart_step_us(const struct node_chart *chart, unsigned most);
int64_t node_chart_first_us(const struct node_chart *chart, int64_t step_us);

/* "17:30", or "Nov 24" at midnight. */
#define NODE_CHART_TIME_SIZE 32
void node_chart_format_time(int64_t us, char out[NODE_CHART_TIME_SIZE]);

/* The user's colour, of so many: the same next time, unless another user of the
 * chart has it already.
 */
unsigned node_chart_colour(const struct node_chart *chart,
                           const char *user,
                           unsigned n_colours);
