/* SPDX-License-Identifier: Apache-2.0 */
/* table_plain.c - the columns of kinds that need little code:
 * configuration, leases, namespaces, priority classes
 */
#include "controller/apiserver/table/table.h"
#include "lib/api/cluster/lease.h"
#include "lib/api/cluster/namespace.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/policy/priority_class.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

static const struct table_column config_map_columns[] = {
    TABLE_NAME,
    {"Data", "string", NULL, 0, "How many entries it has."},
    TABLE_AGE,
};

static void
add_config_map_cells(struct table_row *row, const struct object *object)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *tree = object_tree(object, arena);

    table_cell(row, object->meta->name);
    table_cell_int(row,
                   (int64_t)json_count(json_get(tree, "data"))
                       + json_count(json_get(tree, "binaryData")));
    table_cell_age(row, object->meta->created_at_us);
}

const struct table config_map_table = {
    .kind = &config_map_kind,
    .columns = config_map_columns,
    .n_columns = ARRAY_SIZE(config_map_columns),
    .add_cells = add_config_map_cells,
};

static const struct table_column lease_columns[] = {
    TABLE_NAME,
    {"Holder", "string", NULL, 0, "Who holds it now."},
    TABLE_AGE,
};

static void
add_lease_cells(struct table_row *row, const struct object *object)
{
    const struct lease *lease = lease_of(object);

    table_cell(row, lease->meta.name);
    table_cell(row, lease->spec.holder);
    table_cell_age(row, lease->meta.created_at_us);
}

const struct table lease_table = {
    .kind = &lease_kind,
    .columns = lease_columns,
    .n_columns = ARRAY_SIZE(lease_columns),
    .add_cells = add_lease_cells,
};

static const struct table_column namespace_columns[] = {
    TABLE_NAME,
    {"Status", "string", NULL, 0, "Active, or Terminating while it empties."},
    TABLE_AGE,
};

static void
add_namespace_cells(struct table_row *row, const struct object *object)
{
    const struct namespace_ *namespace = namespace_of(object);

    table_cell(row, namespace->meta.name);
    table_cell(row, namespace->phase);
    table_cell_age(row, namespace->meta.created_at_us);
}

const struct table namespace_table = {
    .kind = &namespace_kind,
    .columns = namespace_columns,
    .n_columns = ARRAY_SIZE(namespace_columns),
    .add_cells = add_namespace_cells,
};

static const struct table_column priority_class_columns[] = {
    TABLE_NAME,
    {"Value", "integer", NULL, 0, "The priority itself; higher goes first."},
    {"Global-Default",
     "boolean",
     NULL,
     0,
     "Whether pods without a class get it."},
    TABLE_AGE,
    {"PreemptionPolicy", "string", NULL, 0, "Never, or PreemptLowerPriority."},
};

static void
add_priority_class_cells(struct table_row *row, const struct object *object)
{
    const struct priority_class *class = priority_class_of(object);

    table_cell(row, class->meta.name);
    table_cell_int(row, class->value);
    table_cell_bool(row, class->global_default);
    table_cell_age(row, class->meta.created_at_us);
    table_cell(row, class->preemption_policy);
}

const struct table priority_class_table = {
    .kind = &priority_class_kind,
    .columns = priority_class_columns,
    .n_columns = ARRAY_SIZE(priority_class_columns),
    .add_cells = add_priority_class_cells,
};
