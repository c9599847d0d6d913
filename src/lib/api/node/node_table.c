/* SPDX-License-Identifier: Apache-2.0 */
/* node_table.c - the columns of nodes, the same as upstream's */
#include <stdlib.h>
#include <string.h>

#include "lib/api/node/node.h"
#include "lib/api/node/node_tables.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

#define ROLE_PREFIX "node-role.kubernetes.io/"
#define ROLE_LABEL  "kubernetes.io/role"

void
node_table_add_status(struct table_row *row)
{
    const struct node *node = node_of(row->object);
    const struct node_condition *ready = node_find_condition(node, "Ready");
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    if (ready == NULL)
        strbuf_add_text(&out, "Unknown");
    else
        strbuf_add_text(&out, ready->status != NULL && strcmp(ready->status, "True") == 0
                                  ? "Ready"
                                  : "NotReady");
    if (node->spec.unschedulable)
        strbuf_add_text(&out, ",SchedulingDisabled");
    table_cell(row, out.text);
}

static int
compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void
add_roles(struct table_row *row)
{
    const struct string_map *labels = &row->object->meta->labels;
    const char **roles = arena_new_array(row->arena, const char *, labels->count + 1);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    unsigned n = 0;

    for (unsigned i = 0; i < labels->count; i++) {
        const char *key = labels->items[i].key;
        const char *value = labels->items[i].value;

        if (strncmp(key, ROLE_PREFIX, strlen(ROLE_PREFIX)) == 0)
            key += strlen(ROLE_PREFIX);
        else if (strcmp(key, ROLE_LABEL) == 0)
            key = value;
        else
            continue;
        if (key != NULL && key[0] != '\0')
            roles[n++] = key;
    }
    qsort(roles, n, sizeof(*roles), compare_texts);
    for (unsigned i = 0; i < n; i++)
        if (i == 0 || strcmp(roles[i], roles[i - 1]) != 0)
            strbuf_printf(&out, "%s%s", i > 0 ? "," : "", roles[i]);
    if (n == 0)
        strbuf_add_text(&out, "<none>");
    table_cell(row, out.text);
}

static const char *
find_address(const struct object *object, const char *type)
{
    const struct node *node = node_of(object);

    for (unsigned i = 0; i < node->status.addresses.count; i++)
        if (strcmp(node->status.addresses.items[i].type, type) == 0)
            return node->status.addresses.items[i].address;
    return "<none>";
}

static const char *
or_unknown(const char *text)
{
    return text != NULL && text[0] != '\0' ? text : "<unknown>";
}

static void
add_internal_address(struct table_row *row)
{
    table_cell(row, find_address(row->object, "InternalIP"));
}

static void
add_external_address(struct table_row *row)
{
    table_cell(row, find_address(row->object, "ExternalIP"));
}

void
node_table_add_version(struct table_row *row)
{
    table_cell(row, node_of(row->object)->status.info.agent_version);
}

static void
add_os_image(struct table_row *row)
{
    table_cell(row, or_unknown(node_of(row->object)->status.info.os_image));
}

static void
add_kernel(struct table_row *row)
{
    table_cell(row, or_unknown(node_of(row->object)->status.info.kernel_version));
}

static void
add_runtime(struct table_row *row)
{
    table_cell(row, or_unknown(node_of(row->object)->status.info.container_runtime));
}

/* clang-format off */
static const struct table_column columns[] = {
    TABLE_NAME,
    COLUMN("Status", node_table_add_status,
        "Whether it is ready, and accepts jobs."),
    COLUMN("Roles", add_roles, "Its roles, from its labels."),
    TABLE_AGE,
    COLUMN("Version", node_table_add_version, "Of its agent."),
    COLUMN("Internal-IP", add_internal_address,
        "Its address within the cluster.", WIDE),
    COLUMN("External-IP", add_external_address,
        "Its address from outside.", WIDE),
    COLUMN("OS-Image", add_os_image, "The operating system it runs.", WIDE),
    COLUMN("Kernel-Version", add_kernel, "The kernel it runs.", WIDE),
    COLUMN("Container-Runtime", add_runtime,
        "What starts processes there.", WIDE),
};
/* clang-format on */

const struct table node_table = {TABLE_COLUMNS(columns)};
