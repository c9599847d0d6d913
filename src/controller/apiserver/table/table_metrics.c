/* SPDX-License-Identifier: Apache-2.0 */
/* table_metrics.c - the columns of what nodes and pods take just now, those
 * of upstream's metrics-server
 */
#include "controller/apiserver/table/table.h"
#include "lib/api/cluster/metrics.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/macro.h"

static const struct table_column columns[] = {
    TABLE_NAME,
    {"cpu",
     "string",
     "quantity",
     0,
     "Cores in use, as the mean of the window."},
    {"memory", "string", "quantity", 0, "The working set."},
    {"Window", "string", "duration", 0, "How long it was looked."},
};

static void
add_cells(struct table_row *row,
          const char *name,
          const struct string_map *usage,
          const char *window)
{
    table_cell(row, name);
    table_cell(row, string_map_find(usage, "cpu"));
    table_cell(row, string_map_find(usage, "memory"));
    table_cell(row, window);
}

static void
add_node_cells(struct table_row *row, const struct object *object)
{
    const struct node_metrics *m = node_metrics_of(object);

    add_cells(row, m->meta.name, &m->usage, m->window);
}

/* A pod here is one process: its first container is all of it. */
static void
add_pod_cells(struct table_row *row, const struct object *object)
{
    static const struct string_map nothing;
    const struct pod_metrics *m = pod_metrics_of(object);

    add_cells(row,
              m->meta.name,
              m->containers.count > 0 ? &m->containers.items[0].usage
                                      : &nothing,
              m->window);
}

const struct table node_metrics_table = {
    .kind = &node_metrics_kind,
    .columns = columns,
    .n_columns = ARRAY_SIZE(columns),
    .add_cells = add_node_cells,
};

const struct table pod_metrics_table = {
    .kind = &pod_metrics_kind,
    .columns = columns,
    .n_columns = ARRAY_SIZE(columns),
    .add_cells = add_pod_cells,
};
