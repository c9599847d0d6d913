/* SPDX-License-Identifier: Apache-2.0 */
/* node_rows.h - the nodes of /kiln/v1/nodes as a table: a row for each, or for
 * each group of similar ones
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json;
struct strbuf;

extern const char *const node_rows_states[];
extern const size_t node_rows_n_states;

struct node_rows_style {
    bool groups;
    bool no_headings;
    bool has_colours;
    bool is_wide;
    unsigned width; /* 0: unlimited */
};

/* The sum of several nodes; the free amounts are only of nodes that accept
 * jobs.
 */
struct node_sum {
    int64_t nodes, open;
    int64_t cpus, cpus_used, cpus_free;
    int64_t memory, memory_used, memory_free;
    int64_t gpus, gpus_used, gpus_free;
};

void node_sum_add(struct node_sum *sum, const struct json *node);

/* Formats a list of names as "n[1-3],head". */
void node_rows_format_names(const struct json *names, struct strbuf *out);

void node_rows_print(const struct json *nodes, const struct node_rows_style *style,
                     struct strbuf *out);
