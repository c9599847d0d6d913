/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/step_grant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/value/cpuset.h"
#include "lib/api/value/rows.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "lib/step/step_request.h"

#define VALUES_MOST 65536u

/* Lists are texts of ranges, because a step may have many tasks, mostly in order. */
struct grant_node {
    const char *name, *tasks, *cpus, *gpus;
};

struct grant_text {
    int64_t step_id, node, tasks, cpus_per_task;
    bool is_bound;
    const char *task_prolog;
    LIST_OF(struct grant_node) nodes;
};

static const struct field node_fields[] = {
    STRING("name", grant_node, name, REQUIRED),
    STRING("tasks", grant_node, tasks, 0),
    STRING("cpus", grant_node, cpus, 0),
    STRING("gpus", grant_node, gpus, 0),
};
static const struct record node_record = {
    .name = "StepNode",
    .size = sizeof(struct grant_node),
    RECORD_FIELDS(node_fields),
};

static const struct field grant_fields[] = {
    INT64("stepID", grant_text, step_id, 0),
    INT64("node", grant_text, node, 0),
    INT64("tasks", grant_text, tasks, 0),
    INT64("cpusPerTask", grant_text, cpus_per_task, 0),
    BOOL("bound", grant_text, is_bound, 0),
    STRING("taskProlog", grant_text, task_prolog, 0),
    OBJECTS("nodes", grant_text, nodes, node, 0),
};
static const struct record grant_record = {
    .name = "StepGrant",
    .size = sizeof(struct grant_text),
    RECORD_FIELDS(grant_fields),
};

static const char *
format_tasks(struct arena *arena, const struct step_layout_node *n)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    for (unsigned i = 0, j; i < n->n_tasks; i = j) {
        for (j = i + 1; j < n->n_tasks && n->tasks[j] == n->tasks[j - 1] + 1; j++)
            ;
        strbuf_printf(&text, "%s%u", i > 0 ? "," : "", n->tasks[i]);
        if (j - i > 1)
            strbuf_printf(&text, "-%u", n->tasks[j - 1]);
    }
    return arena_strndup(arena, text.text, text.length);
}

static const char *
format_set(struct arena *arena, const struct bitset *set)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    cpuset_format(set, &text);
    return arena_strndup(arena, text.text, text.length);
}

void
step_grant_encode(const struct step_grant *grant, struct strbuf *out)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct step_layout *l = &grant->layout;
    struct grant_text g = {
        .step_id = grant->step_id,
        .node = grant->node,
        .tasks = l->n_tasks,
        .cpus_per_task = l->cpus_per_task,
        .is_bound = grant->is_bound,
        .task_prolog = grant->task_prolog,
    };

    g.nodes.items = arena_new_array(arena, struct grant_node, l->n_nodes);
    for (unsigned i = 0; i < l->n_nodes; i++)
        g.nodes.items[g.nodes.count++] = (struct grant_node){
            .name = l->nodes[i].name,
            .tasks = format_tasks(arena, &l->nodes[i]),
            .cpus = format_set(arena, &l->nodes[i].cpus),
            .gpus = format_set(arena, &l->nodes[i].gpus),
        };
    json_print(record_encode(&grant_record, arena, &g), out);
}

/* One range at a time: "3" or "0-7". */
static int
parse_range(const char **at, unsigned long *ret_first, unsigned long *ret_last)
{
    char *end;

    *ret_first = *ret_last = strtoul(*at, &end, 10);
    if (end == *at)
        return -EBADMSG;
    if (*end == '-') {
        *at = end + 1;
        *ret_last = strtoul(*at, &end, 10);
        if (end == *at)
            return -EBADMSG;
    }
    if (*end != '\0' && *end != ',')
        return -EBADMSG;
    *at = *end == ',' ? end + 1 : end;
    return *ret_last < *ret_first || *ret_last >= STEP_TASKS_MOST ? -EBADMSG : 0;
}

/* A few bytes may name many tasks: `left` bounds those of all nodes. */
static int
parse_tasks(struct arena *arena, const char *text, unsigned *left, struct step_layout_node *n)
{
    unsigned long first, last;
    unsigned count = 0;

    for (const char *at = text; *at != '\0';) {
        if (parse_range(&at, &first, &last) < 0 || last - first >= *left - count)
            return -EBADMSG;
        count += (unsigned)(last - first + 1);
    }
    *left -= count;
    n->tasks = arena_new_array(arena, unsigned, count);
    for (const char *at = text; *at != '\0';) {
        (void)parse_range(&at, &first, &last);
        for (unsigned long task = first; task <= last; task++)
            n->tasks[n->n_tasks++] = (unsigned)task;
    }
    return 0;
}

static int
take_node(struct arena *arena, const struct grant_node *from, unsigned *left,
          struct step_layout_node *n)
{
    n->name = from->name;
    if ((from->cpus != NULL && cpuset_parse(from->cpus, &n->cpus, NULL) < 0)
        || (from->gpus != NULL && cpuset_parse(from->gpus, &n->gpus, NULL) < 0))
        return -EBADMSG;
    return from->tasks != NULL ? parse_tasks(arena, from->tasks, left, n) : 0;
}

int
step_grant_decode(struct arena *arena, const char *text, size_t length,
                  struct step_grant *ret_grant, struct error *err)
{
    struct json *tree = json_parse_bounded(arena, text, length, VALUES_MOST, NULL, err);
    struct record_notes notes = {0};
    struct grant_text g = {0};
    struct step_layout l = {0};
    unsigned left = STEP_TASKS_MOST;

    if (tree == NULL)
        return error_wrap(err, -EBADMSG, "the grant of a step");
    if (record_normalize(&grant_record, arena, tree, &notes, err) < 0)
        return -EBADMSG;
    record_decode(&grant_record, arena, tree, &g);
    if (g.nodes.count > STEP_NODES_MOST)
        return error_set(err, -EBADMSG, "the grant of a step: it has too many nodes");
    l.nodes = arena_new_array(arena, struct step_layout_node, g.nodes.count);
    l.n_nodes = g.nodes.count;
    l.n_tasks = (unsigned)g.tasks;
    l.cpus_per_task = (unsigned)g.cpus_per_task;
    for (unsigned i = 0; i < l.n_nodes; i++)
        if (take_node(arena, &g.nodes.items[i], &left, &l.nodes[i]) < 0)
            return error_set(err, -EBADMSG, "the grant of a step: node %u is malformed", i);
    if (g.node < 0 || g.node >= l.n_nodes || g.tasks < 0 || g.tasks > STEP_TASKS_MOST
        || g.cpus_per_task < 0 || g.cpus_per_task > STEP_CPUS_MOST)
        return error_set(err, -EBADMSG, "the grant of a step: a number is out of range");
    *ret_grant = (struct step_grant){
        .step_id = g.step_id,
        .node = (unsigned)g.node,
        .is_bound = g.is_bound,
        .task_prolog = g.task_prolog,
        .layout = l,
    };
    return 0;
}
