/* SPDX-License-Identifier: Apache-2.0 */
/* node_chart_svg.h - a chart of nodes as an SVG picture
 *
 * A bar is as high as its share of the node's CPUs.
 *
 * Thread: any.
 */
#pragma once

struct node_chart;
struct strbuf;

/* The title is above all. */
void node_chart_svg_print(const struct node_chart *chart,
                          const char *title,
                          struct strbuf *out);
