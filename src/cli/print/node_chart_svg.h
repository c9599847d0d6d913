/* SPDX-License-Identifier: Apache-2.0 */
/* node_chart_svg.h - draws a chart of nodes as SVG
 *
 * The height of a bar is its share of the node's CPUs.
 *
 * Thread: any.
 */
#pragma once

struct node_chart;
struct strbuf;

/* The title is at the top. */
void node_chart_svg_print(const struct node_chart *chart, const char *title, struct strbuf *out);
