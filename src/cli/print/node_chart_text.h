/* SPDX-License-Identifier: Apache-2.0 */
/* node_chart_text.h - draws a chart of nodes as text
 *
 *   NODE  CPUS  |17:05      17:30       18:00
 *   n1     4/4  [12 alice=======](14 bob...)
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>

struct node_chart;
struct strbuf;

struct node_chart_style {
    unsigned width; /* columns, at least 40 */
    bool has_colours;
    bool is_ascii;
};

/* Whether the user's locale supports only ASCII. */
bool node_chart_is_ascii(void);

void node_chart_text_print(const struct node_chart *chart, const struct node_chart_style *style,
                           struct strbuf *out);
