/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/node_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print/grid.h"
#include "cli/print/human.h"
#include "cli/print/local_time.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define MAX_COLUMNS 16
#define MAX_LIST    120 /* bytes of names of a group */

/* The order in which groups are printed. */
const char *const node_rows_states[] = {
    "Idle", "Mixed",  "Full", "Tainted", "Draining", "Drained",
    "New",  "Faulty", "Down", "Silent",  "Fenced",
};
const size_t node_rows_n_states = ARRAY_SIZE(node_rows_states);

static const char *
text_of(const struct json *node, const char *name)
{
    const char *text = json_get_text(node, name);

    return text != NULL ? text : "";
}

static bool
takes_jobs(const struct json *node)
{
    const char *state = text_of(node, "state");

    return strcmp(state, "Idle") == 0 || strcmp(state, "Mixed") == 0 || strcmp(state, "Full") == 0;
}

static int64_t
free_of(int64_t total, int64_t used)
{
    return total > used ? total - used : 0;
}

void
node_sum_add(struct node_sum *sum, const struct json *node)
{
    const int64_t cpus = json_get_int(node, "cpus", 0);
    const int64_t cpus_used = json_get_int(node, "cpusUsed", 0);
    const int64_t memory = json_get_int(node, "memory", 0);
    const int64_t memory_used = json_get_int(node, "memoryUsed", 0);
    const int64_t gpus = json_get_int(node, "gpus", 0);
    const int64_t gpus_used = json_get_int(node, "gpusUsed", 0);

    sum->nodes++;
    sum->cpus += cpus;
    sum->cpus_used += cpus_used;
    sum->memory += memory;
    sum->memory_used += memory_used;
    sum->gpus += gpus;
    sum->gpus_used += gpus_used;
    if (!takes_jobs(node))
        return;
    sum->open++;
    sum->cpus_free += free_of(cpus, cpus_used);
    sum->memory_free += free_of(memory, memory_used);
    sum->gpus_free += free_of(gpus, gpus_used);
}

/* ---- Groups ---- */

static size_t
rank_of(const char *state)
{
    size_t i = 0;

    while (i < node_rows_n_states && strcmp(node_rows_states[i], state) != 0)
        i++;
    return i;
}

/* Orders by partition, state, reason, and the user who gave the reason. */
static int
compare_kinds(const struct json *a, const struct json *b)
{
    const size_t x = rank_of(text_of(a, "state"));
    const size_t y = rank_of(text_of(b, "state"));
    int order = strcmp(text_of(a, "partition"), text_of(b, "partition"));

    if (order != 0)
        return order;
    if (x != y)
        return x < y ? -1 : 1;
    order = strcmp(text_of(a, "reason"), text_of(b, "reason"));
    return order != 0 ? order : strcmp(text_of(a, "by"), text_of(b, "by"));
}

static int
compare_in_groups(const void *a, const void *b)
{
    const struct json *x = *(const struct json *const *)a;
    const struct json *y = *(const struct json *const *)b;
    const int order = compare_kinds(x, y);

    return order != 0 ? order : strverscmp(text_of(x, "name"), text_of(y, "name"));
}

static int
compare_names(const void *a, const void *b)
{
    const struct json *x = *(const struct json *const *)a;
    const struct json *y = *(const struct json *const *)b;
    const int order = strcmp(text_of(x, "partition"), text_of(y, "partition"));

    return order != 0 ? order : strverscmp(text_of(x, "name"), text_of(y, "name"));
}

/* Adds "head,n[1-3,7]". */
static void
format_names(const struct json *const *nodes, size_t count, struct strbuf *out)
{
    CLEANUP_FREE const char **names = xnew_array(const char *, count + 1);

    for (size_t i = 0; i < count; i++)
        names[i] = text_of(nodes[i], "name");
    hostlist_format(names, count, MAX_LIST, out);
}

void
node_rows_format_names(const struct json *names, struct strbuf *out)
{
    const uint32_t count = json_count(names);
    CLEANUP_FREE const char **texts = xnew_array(const char *, count + 1);
    size_t n = 0;

    for (uint32_t i = 0; i < count; i++) {
        const char *name = json_text(json_at(names, i));

        if (name != NULL)
            texts[n++] = name;
    }
    hostlist_format(texts, n, MAX_LIST, out);
}

/* ---- Rows ---- */

/* "new fan (root, Nov 22 23:15)" */
static void
format_reason(const struct json *node, struct strbuf *out)
{
    const char *reason = text_of(node, "reason");
    const char *by = text_of(node, "by");
    const char *since = text_of(node, "since");
    char time[LOCAL_TIME_SIZE] = "";
    int64_t us;

    if (since[0] != '\0' && time_parse(since, &us) == 0)
        local_time_format_brief(us, clock_real_us(&clock_system), time);
    strbuf_add_text(out, reason);
    if (by[0] == '\0' && time[0] == '\0')
        return;
    strbuf_printf(out, "%s(%s%s%s)", reason[0] != '\0' ? " " : "", by,
                  by[0] != '\0' && time[0] != '\0' ? ", " : "", time);
}

static void
format_pair(int64_t free, int64_t total, struct strbuf *out)
{
    strbuf_printf(out, "%" PRId64 "/%" PRId64, free, total);
}

static void
format_bytes_pair(int64_t free, int64_t total, struct strbuf *out)
{
    char text[HUMAN_TEXT_SIZE];

    human_bytes(free, text);
    strbuf_printf(out, "%s/", free > 0 ? text : "0");
    human_bytes(total, text);
    strbuf_add_text(out, text);
}

static bool
has_gpus(const struct json *nodes)
{
    for (uint32_t i = 0; i < json_count(nodes); i++)
        if (json_get_int(json_at(nodes, i), "gpus", 0) > 0)
            return true;
    return false;
}

static struct grid *
make_grid(const struct node_rows_style *style, bool has_devices)
{
    struct grid *grid = grid_new(style->has_colours);

    grid_add_styled(grid, &(struct grid_column){.name = "Partition", .least = 6, .weight = 3});
    grid_add_column(grid, "State");
    if (style->groups)
        grid_add_styled(grid, &(struct grid_column){.name = "Nodes", .is_right = true});
    else
        grid_add_styled(grid, &(struct grid_column){.name = "Node"});
    grid_add_styled(grid,
                    &(struct grid_column){.name = "CPUs free", .is_right = true, .weight = 6});
    grid_add_styled(grid,
                    &(struct grid_column){.name = "Memory free", .is_right = true, .weight = 4});
    if (has_devices)
        grid_add_styled(grid,
                        &(struct grid_column){.name = "GPUs free", .is_right = true, .weight = 5});
    if (!style->groups)
        grid_add_styled(grid, &(struct grid_column){
                                  .name = "Pods", .is_right = true, .weight = 1, .is_spare = true});
    else
        grid_add_styled(grid, &(struct grid_column){.name = "Names", .least = 8});
    if (style->is_wide)
        grid_add_column(grid, "Agent");
    grid_add_styled(grid, &(struct grid_column){.name = "Reason", .least = 10, .weight = 3});
    grid_set_gap(grid, 2);
    grid_set_width(grid, style->width);
    return grid;
}

/* Adds the row of one node, or of `count` similar ones. */
static void
add_row(struct grid *grid, const struct json *const *nodes, size_t count,
        const struct node_rows_style *style, bool has_devices)
{
    CLEANUP_STRBUF struct strbuf cpus = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf memory = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf gpus = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf names = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf reason = STRBUF_INIT;
    const char *partition = text_of(nodes[0], "partition");
    const char *texts[MAX_COLUMNS];
    char number[24];
    struct node_sum sum = {0};
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        node_sum_add(&sum, nodes[i]);
    format_pair(sum.cpus_free, sum.cpus, &cpus);
    format_bytes_pair(sum.memory_free, sum.memory, &memory);
    if (sum.gpus > 0)
        format_pair(sum.gpus_free, sum.gpus, &gpus);
    format_reason(nodes[0], &reason);
    texts[n++] = partition[0] != '\0' ? partition : "-";
    texts[n++] = text_of(nodes[0], "state");
    snprintf(number, sizeof(number), "%" PRId64,
             style->groups ? (int64_t)count : json_get_int(nodes[0], "pods", 0));
    texts[n++] = style->groups ? number : text_of(nodes[0], "name");
    texts[n++] = cpus.text;
    texts[n++] = memory.text;
    if (has_devices)
        texts[n++] = gpus.length > 0 ? gpus.text : "";
    if (style->groups) {
        format_names(nodes, count, &names);
        texts[n++] = names.text;
    } else
        texts[n++] = number;
    if (style->is_wide)
        texts[n++] = text_of(nodes[0], "agent");
    texts[n++] = reason.length > 0 ? reason.text : "";
    grid_add_row(grid, texts);
}

void
node_rows_print(const struct json *nodes, const struct node_rows_style *style, struct strbuf *out)
{
    const size_t count = json_count(nodes);
    const bool has_devices = has_gpus(nodes);
    CLEANUP(grid_freep) struct grid *grid = make_grid(style, has_devices);
    CLEANUP_FREE const struct json **sorted = xcalloc(count + 1, sizeof(*sorted));

    for (uint32_t i = 0; i < count; i++)
        sorted[i] = json_at(nodes, i);
    if (count > 1)
        qsort(sorted, count, sizeof(*sorted), style->groups ? compare_in_groups : compare_names);
    for (size_t i = 0, n; i < count; i += n) {
        for (n = 1; style->groups && i + n < count && compare_kinds(sorted[i], sorted[i + n]) == 0;)
            n++;
        add_row(grid, sorted + i, n, style, has_devices);
    }
    grid_print(grid, !style->no_headings, out);
}
