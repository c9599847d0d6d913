/* SPDX-License-Identifier: Apache-2.0 */
/* node_kiln_table.c - the columns of nodes for people who watch a cluster: what
 * each node has, and how much of it is allocated
 *
 * The file is not in the folder of nodes because it counts the pods of a node,
 * and the pods' folder depends on the nodes' folder.
 */
#include <inttypes.h>
#include <string.h>

#include "lib/api/node/node.h"
#include "lib/api/node/node_tables.h"
#include "lib/api/node_use.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/quantity.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

static bool
add_pod(const struct object *object, void *context)
{
    node_use_add_pod(context, pod_of(object));
    return true;
}

static bool
note_lending(const struct object *object, void *context)
{
    node_lending_note(context, pod_of(object));
    return true;
}

/* Short forms that are easy to compare: "12Gi", "1.5Gi", "512Mi", "0". */
static void
format_bytes(int64_t bytes, struct strbuf *out)
{
    const int64_t gi = (int64_t)1 << 30;

    if (bytes == 0)
        strbuf_add_char(out, '0');
    else if (bytes >= 10 * gi)
        strbuf_printf(out, "%" PRId64 "Gi", bytes / gi);
    else if (bytes >= gi)
        strbuf_printf(out, "%" PRId64 ".%" PRId64 "Gi", bytes / gi, bytes % gi * 10 / gi);
    else
        strbuf_printf(out, "%" PRId64 "Mi", bytes >> 20);
}

static const void *
summarize(struct table_row *row)
{
    struct node_use *use = arena_alloc(row->arena, sizeof(*use));
    const struct node *node = node_of(row->object);
    struct node_lending lending = {0};

    table_visit(row, &pod_kind, POD_BY_NODE, node->meta.name, add_pod, use);
    if (use->n_yielded > 0) {
        table_visit(row, &pod_kind, POD_BY_NODE, node->meta.name, note_lending, &lending);
        node_use_add_kept(use, &lending, node);
    }
    node_use_add_remnants(use, node);
    return use;
}

static int64_t
total_of(const struct table_row *row, const char *resource)
{
    return quantity_text_value(
        string_map_find(&node_of(row->object)->status.allocatable, resource));
}

static void
add_cpus(struct table_row *row)
{
    const struct node_use *use = row->summary;

    table_cell(row, arena_printf(row->arena, "%" PRId64 "/%" PRId64, node_use_cpus(use),
                                 total_of(row, "cpu")));
}

static void
add_memory(struct table_row *row)
{
    const struct node_use *use = row->summary;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    format_bytes(use->memory_bytes, &text);
    strbuf_add_char(&text, '/');
    format_bytes(total_of(row, "memory"), &text);
    table_cell(row, text.text);
}

static void
add_pods(struct table_row *row)
{
    const struct node_use *use = row->summary;

    table_cell_int(row, use->pods);
}

static void
add_partition(struct table_row *row)
{
    table_cell(row, string_map_find(&row->object->meta->labels, LABEL_PARTITION));
}

static void
add_taints(struct table_row *row)
{
    const struct node *node = node_of(row->object);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    for (unsigned i = 0; i < node->spec.taints.count; i++) {
        const struct taint *taint = &node->spec.taints.items[i];

        strbuf_printf(&text, "%s%s:%s", i > 0 ? "," : "", taint->key, taint->effect);
    }
    table_cell(row, text.text);
}

static void
add_kernel(struct table_row *row)
{
    table_cell(row, node_of(row->object)->status.info.kernel_version);
}

/* clang-format off */
static const struct table_column columns[] = {
    TABLE_NAME,
    COLUMN("State", node_table_add_status,
        "Whether it is ready, and accepts jobs."),
    COLUMN("CPUs", add_cpus, "Allocated to pods, and in total."),
    COLUMN("Memory", add_memory, "Allocated to pods, and in total."),
    COLUMN("Pods", add_pods, "How many run or are starting.", INTEGER),
    COLUMN("Partition", add_partition, "The set of nodes it belongs to."),
    TABLE_AGE,
    COLUMN("Taints", add_taints, "The taints of the node.", WIDE),
    COLUMN("Agent", node_table_add_version, "The version of its agent.", WIDE),
    COLUMN("Kernel", add_kernel, "The kernel it runs.", WIDE),
};
/* clang-format on */

const struct table node_kiln_table = {
    TABLE_COLUMNS(columns),
    .summarize = summarize,
};
