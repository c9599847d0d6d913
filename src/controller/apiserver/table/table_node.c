/* SPDX-License-Identifier: Apache-2.0 */
/* table_node.c - the columns of nodes, upstream's and Kiln's */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/request/indexes.h"
#include "controller/apiserver/request/view.h"
#include "controller/apiserver/table/table.h"
#include "controller/store/store.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/cpuset.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define ROLE_PREFIX "node-role.kubernetes.io/"
#define ROLE_LABEL  "kubernetes.io/role"

static const struct table_column columns[] = {
    TABLE_NAME,
    {"Status", "string", NULL, 0, "Whether it is ready, and open for work."},
    {"Roles", "string", NULL, 0, "What it is for, by its labels."},
    TABLE_AGE,
    {"Version", "string", NULL, 0, "Of its agent."},
    {"Internal-IP", "string", NULL, 1, "Its address within the cluster."},
    {"External-IP", "string", NULL, 1, "Its address from outside."},
    {"OS-Image", "string", NULL, 1, "The operating system it runs."},
    {"Kernel-Version", "string", NULL, 1, "The kernel it runs."},
    {"Container-Runtime", "string", NULL, 1, "What starts processes there."},
};

static void
format_status(const struct node *node, struct strbuf *out)
{
    const struct node_condition *ready = node_find_condition(node, "Ready");

    if (ready == NULL)
        strbuf_add_text(out, "Unknown");
    else
        strbuf_add_text(out,
                        ready->status != NULL
                                && strcmp(ready->status, "True") == 0
                            ? "Ready"
                            : "NotReady");
    if (node->spec.unschedulable)
        strbuf_add_text(out, ",SchedulingDisabled");
}

static int
compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void
format_roles(const struct node *node, struct strbuf *out)
{
    const struct string_map *labels = &node->meta.labels;
    const char **roles = xnew_array(const char *, labels->count + 1);
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
            strbuf_printf(out, "%s%s", i > 0 ? "," : "", roles[i]);
    if (n == 0)
        strbuf_add_text(out, "<none>");
    free(roles);
}

static const char *
find_address(const struct node *node, const char *type)
{
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
add_cells(struct table_row *row, const struct object *object)
{
    const struct node *node = node_of(object);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    table_cell(row, node->meta.name);
    format_status(node, &text);
    table_cell(row, text.text);
    strbuf_truncate(&text, 0);
    format_roles(node, &text);
    table_cell(row, text.text);
    table_cell_age(row, node->meta.created_at_us);
    table_cell(row, node->status.info.agent_version);
    table_cell(row, find_address(node, "InternalIP"));
    table_cell(row, find_address(node, "ExternalIP"));
    table_cell(row, or_unknown(node->status.info.os_image));
    table_cell(row, or_unknown(node->status.info.kernel_version));
    table_cell(row, or_unknown(node->status.info.container_runtime));
}

const struct table node_table = {
    .kind = &node_kind,
    .columns = columns,
    .n_columns = ARRAY_SIZE(columns),
    .add_cells = add_cells,
};

static const struct table_column kiln_columns[] = {
    TABLE_NAME,
    {"State", "string", NULL, 0, "Whether it is ready, and open for work."},
    {"CPUs", "string", NULL, 0, "Given to pods, and all there are."},
    {"Memory", "string", NULL, 0, "Given to pods, and all there is."},
    {"Pods", "integer", NULL, 0, "How many run or are starting."},
    {"Partition", "string", NULL, 0, "The set of nodes it belongs to."},
    TABLE_AGE,
    {"Taints", "string", NULL, 1, "What keeps ordinary pods away."},
    {"Agent", "string", NULL, 1, "The version of its agent."},
    {"Kernel", "string", NULL, 1, "The kernel it runs."},
};

/* The sum of what the pods of a node hold. */
struct use {
    int64_t cpus;
    int64_t memory_bytes;
    int64_t pods;
};

static int64_t
count_cpus(const char *list)
{
    struct bitset set;

    if (list == NULL || cpuset_parse(list, &set, NULL) < 0)
        return 0;
    return bitset_count(&set);
}

static void
add_allocation(const struct allocation *a, struct use *use)
{
    use->cpus += count_cpus(a->cpus) + count_cpus(a->withheld);
    for (unsigned i = 0; i < a->memory.count; i++)
        use->memory_bytes += quantity_text_value(a->memory.items[i].bytes);
}

static bool
add_use(const struct object *object, void *context)
{
    const struct pod *pod = pod_of(object);
    const struct allocation *a = pod->status.allocation;
    struct use *use = context;

    if (pod_is_finished(pod))
        return true;
    use->pods++;
    if (a != NULL)
        add_allocation(a, use);
    return true;
}

/* "12Gi", "1.5Gi", "512Mi", "0": what people compare. */
static void
format_bytes(int64_t bytes, struct strbuf *out)
{
    const int64_t gi = (int64_t)1 << 30;

    if (bytes == 0)
        strbuf_add_char(out, '0');
    else if (bytes >= 10 * gi)
        strbuf_printf(out, "%" PRId64 "Gi", bytes / gi);
    else if (bytes >= gi)
        strbuf_printf(out,
                      "%" PRId64 ".%" PRId64 "Gi",
                      bytes / gi,
                      bytes % gi * 10 / gi);
    else
        strbuf_printf(out, "%" PRId64 "Mi", bytes >> 20);
}

static void
format_taints(const struct node *node, struct strbuf *out)
{
    for (unsigned i = 0; i < node->spec.taints.count; i++) {
        const struct taint *taint = &node->spec.taints.items[i];

        strbuf_printf(out,
                      "%s%s:%s",
                      i > 0 ? "," : "",
                      taint->key,
                      taint->effect);
    }
}

static void
add_kiln_cells(struct table_row *row, const struct object *object)
{
    const struct node *node = node_of(object);
    const struct string_map *total = &node->status.allocatable;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct use use = {0};

    if (row->view->store != NULL)
        store_visit_index(row->view->store,
                          INDEX_PODS_BY_NODE,
                          STORE_PUBLISHED,
                          node->meta.name,
                          add_use,
                          &use);
    for (unsigned i = 0; i < node->status.remnants.count; i++)
        if (node->status.remnants.items[i].value.allocation != NULL)
            add_allocation(node->status.remnants.items[i].value.allocation,
                           &use);
    table_cell(row, node->meta.name);
    format_status(node, &text);
    table_cell(row, text.text);
    strbuf_truncate(&text, 0);
    strbuf_printf(&text,
                  "%" PRId64 "/%" PRId64,
                  use.cpus,
                  quantity_text_value(string_map_find(total, "cpu")));
    table_cell(row, text.text);
    strbuf_truncate(&text, 0);
    format_bytes(use.memory_bytes, &text);
    strbuf_add_char(&text, '/');
    format_bytes(quantity_text_value(string_map_find(total, "memory")), &text);
    table_cell(row, text.text);
    table_cell_int(row, use.pods);
    table_cell(row, string_map_find(&node->meta.labels, LABEL_PARTITION));
    table_cell_age(row, node->meta.created_at_us);
    strbuf_truncate(&text, 0);
    format_taints(node, &text);
    table_cell(row, text.text);
    table_cell(row, node->status.info.agent_version);
    table_cell(row, node->status.info.kernel_version);
}

const struct table node_kiln_table = {
    .kind = &node_kind,
    .columns = kiln_columns,
    .n_columns = ARRAY_SIZE(kiln_columns),
    .add_cells = add_kiln_cells,
};
