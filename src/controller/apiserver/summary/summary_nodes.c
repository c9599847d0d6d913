/* SPDX-License-Identifier: Apache-2.0 */
/* summary_nodes.c - a short description of each node:
 *
 *   {"nodes": [{"name": "n1", "partition": "all,gpu", "state": "Mixed",
 *      "reason": "new fan", "by": "root", "since": "2026-...",
 *      "cpus": 64, "cpusUsed": 12, "memory": ..., "memoryUsed": ...,
 *      "gpus": 4, "gpusUsed": 1, "pods": 3, "agent": "..."}, ...]}
 *
 * `cpusKept`, omitted when it is 0, are CPUs that a suspended job has yielded
 * and no other job uses. `state` is a state of batch systems. `reason` says why
 * a node takes no jobs; `by` and `since` say who set that, and when.
 */
#include <string.h>

#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/request/time_slice.h"
#include "controller/apiserver/summary/node_uses.h"
#include "controller/apiserver/summary/summary.h"
#include "controller/store/store.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/partition.h"
#include "lib/api/value/quantity.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define PER_GO 16

#define DRAIN_REASON "kiln.hpc/drain-reason"
#define CORDONED_BY  "kiln.hpc/cordoned-by"
#define CORDONED_AT  "kiln.hpc/cordoned-at"
#define FENCED_BY    "kiln.hpc/fenced-by"
#define FENCED_AT    "kiln.hpc/fenced-at"

struct nodes_summary {
    struct time_slice time_slice;
    struct request *q;
    struct json *nodes;
    int64_t revision;
    size_t left; /* objects left in this slice */
    char after[OBJECT_KEY_SIZE];
};

/* Why a node takes no jobs, or only some. */
struct trouble {
    const char *state; /* NULL: none */
    const char *reason;
    const char *by;
    const char *since;
};

static const char *
annotation(const struct node *node, const char *name)
{
    return string_map_find(&node->meta.annotations, name);
}

static bool
has_taint(const struct node *node, const char *key)
{
    for (unsigned i = 0; i < node->spec.taints.count; i++)
        if (strcmp(node->spec.taints.items[i].key, key) == 0)
            return true;
    return false;
}

static const char *
format_time(struct arena *arena, int64_t us)
{
    char text[TIME_TEXT_SIZE];

    if (us == 0)
        return NULL;
    time_format(us, false, text);
    return arena_strdup(arena, text);
}

/* A condition that keeps jobs off the node, and its message. */
static bool
find_condition(const struct node *node, const char *type, struct arena *arena, struct trouble *t)
{
    const struct node_condition *c = node_find_condition(node, type);

    if (c == NULL || c->status == NULL || strcmp(c->status, "True") != 0)
        return false;
    t->reason = c->message != NULL ? c->message : c->reason;
    t->since = format_time(arena, c->last_transition_at_us);
    return true;
}

/* A taint that keeps jobs off the node which do not tolerate it; NULL: none. */
static const struct taint *
find_taint(const struct node *node)
{
    for (unsigned i = 0; i < node->spec.taints.count; i++) {
        const struct taint *t = &node->spec.taints.items[i];

        if (t->effect != NULL
            && (strcmp(t->effect, "NoSchedule") == 0 || strcmp(t->effect, "NoExecute") == 0))
            return t;
    }
    return NULL;
}

static struct trouble
describe_taint(const struct taint *taint, struct arena *arena)
{
    const bool has_value = taint->value != NULL && taint->value[0] != '\0';

    return (struct trouble){.state = "Tainted",
                            .reason = arena_printf(arena, "only for jobs that tolerate %s%s%s",
                                                   taint->key, has_value ? "=" : "",
                                                   has_value ? taint->value : ""),
                            .since = format_time(arena, taint->added_at_us)};
}

/* The most important trouble comes first: an administrator has to act on that.
 */
static struct trouble
find_trouble(const struct node *node, int64_t pods, struct arena *arena)
{
    const struct node_condition *ready = node_find_condition(node, "Ready");
    struct trouble t = {0};

    if (node_is_fenced(node))
        return (struct trouble){"Fenced", "its pods were given up", annotation(node, FENCED_BY),
                                annotation(node, FENCED_AT)};
    if (has_taint(node, TAINT_NOT_APPROVED))
        return (struct trouble){"New", "waits for approval", NULL,
                                format_time(arena, node->meta.created_at_us)};
    if (!node_is_ready(node)) {
        const bool is_silent =
            ready == NULL || ready->status == NULL || strcmp(ready->status, "Unknown") == 0;

        t.state = is_silent ? "Silent" : "Down";
        if (ready != NULL) {
            t.reason = ready->message != NULL ? ready->message : ready->reason;
            t.since = format_time(arena, ready->last_transition_at_us);
        }
        if (is_silent)
            t.reason = "its agent does not answer";
        return t;
    }
    if (find_condition(node, NODE_HOOK_FAILED, arena, &t)
        || find_condition(node, NODE_CHECK_FAILED, arena, &t)
        || find_condition(node, NODE_HEALTH_CHECK_FAILED, arena, &t)
        || find_condition(node, NODE_HARDWARE_MISSING, arena, &t)) {
        t.state = "Faulty";
        return t;
    }
    if (node->spec.unschedulable)
        return (struct trouble){pods > 0 ? "Draining" : "Drained", annotation(node, DRAIN_REASON),
                                annotation(node, CORDONED_BY), annotation(node, CORDONED_AT)};
    if (find_taint(node) != NULL)
        return describe_taint(find_taint(node), arena);
    return t;
}

static void
set_text(struct arena *arena, struct json *tree, const char *name, const char *value)
{
    if (value != NULL && value[0] != '\0')
        json_set_string(arena, tree, name, value);
}

static bool
note_lending(const struct object *object, void *context)
{
    node_lending_note(context, pod_of(object));
    return true;
}

static struct node_use
sum_use(const struct request *q, const struct node *node)
{
    const struct node_uses *uses = q->server->node_uses;
    struct node_use use =
        uses != NULL ? node_uses_get(uses, node->meta.name) : (struct node_use){0};
    struct node_lending lending = {0};

    if (use.n_yielded > 0) {
        store_visit_index(q->server->store, &pod_kind, POD_BY_NODE, STORE_PUBLISHED,
                          node->meta.name, note_lending, &lending);
        node_use_add_kept(&use, &lending, node);
    }
    node_use_add_remnants(&use, node);
    return use;
}

struct membership_of_node {
    const struct node *node;
    struct strbuf names;
};

static bool
add_partition(const struct object *object, void *context)
{
    struct membership_of_node *m = context;

    if (partition_has_node(partition_of(object), &m->node->meta.labels))
        strbuf_printf(&m->names, "%s%s", m->names.length > 0 ? "," : "", object->meta->name);
    return true;
}

/* Formats "all,gpu". */
static const char *
list_partitions(const struct request *q, const struct node *node)
{
    struct membership_of_node m = {.node = node, .names = STRBUF_INIT};
    const char *text;

    store_list(q->server->store, &partition_kind, NULL, NULL, 0, add_partition, &m);
    text = arena_strdup(q->arena, m.names.text);
    strbuf_fini(&m.names);
    return text;
}

struct json *
summary_describe_node(struct request *q, const struct node *node)
{
    struct arena *arena = q->arena;
    const struct string_map *total = &node->status.allocatable;
    const struct node_use use = sum_use(q, node);
    const struct trouble t = find_trouble(node, use.pods, arena);
    const int64_t cpus = quantity_text_value(string_map_find(total, "cpu"));
    const int64_t used = node_use_cpus(&use);
    const char *gpus = string_map_find(total, "kiln.hpc/gpu");
    struct json *tree = json_object(arena);

    json_set_string(arena, tree, "name", node->meta.name);
    set_text(arena, tree, "partition", list_partitions(q, node));
    json_set_string(arena, tree, "state",
                    t.state != NULL            ? t.state
                    : use.pods == 0            ? "Idle"
                    : used >= cpus && used > 0 ? "Full"
                                               : "Mixed");
    set_text(arena, tree, "reason", t.reason);
    set_text(arena, tree, "by", t.by);
    set_text(arena, tree, "since", t.since);
    json_set_int(arena, tree, "cpus", cpus);
    json_set_int(arena, tree, "cpusUsed", used);
    if (use.kept > 0)
        json_set_int(arena, tree, "cpusKept", use.kept);
    json_set_int(arena, tree, "memory", quantity_text_value(string_map_find(total, "memory")));
    json_set_int(arena, tree, "memoryUsed", use.memory_bytes);
    if (gpus != NULL) {
        json_set_int(arena, tree, "gpus", quantity_text_value(gpus));
        json_set_int(arena, tree, "gpusUsed", use.gpus);
    }
    json_set_int(arena, tree, "pods", use.pods);
    set_text(arena, tree, "agent", node->status.info.agent_version);
    return tree;
}

static bool
add_node(const struct object *object, void *context)
{
    struct nodes_summary *s = context;

    json_append(s->q->arena, s->nodes, summary_describe_node(s->q, node_of(object)));
    object_key(object, s->after);
    return --s->left > 0;
}

static bool
run_slice(struct time_slice *time_slice)
{
    struct nodes_summary *s = container_of(time_slice, struct nodes_summary, time_slice);
    struct request *q = s->q;
    char after[OBJECT_KEY_SIZE];
    struct json *tree;
    int r;

    memcpy(after, s->after, sizeof(after));
    s->left = PER_GO;
    r = store_list(q->server->store, &node_kind, NULL, after[0] != '\0' ? after : NULL, s->revision,
                   add_node, s);
    if (r == 0 && s->left == 0)
        return true;
    if (r < 0)
        reply_fail(&q->reply, &(struct reply_failure){
                                  .code = 503,
                                  .reason = "ServiceUnavailable",
                                  .message = "the nodes changed too much in the "
                                             "meantime; ask again",
                                  .retry_after_s = 1,
                              });
    else {
        tree = json_object(q->arena);
        json_set(q->arena, tree, "nodes", s->nodes);
        reply_tree(&q->reply, 200, tree);
    }
    request_finish(q);
    return false;
}

void
summary_nodes(struct request *q)
{
    struct nodes_summary *s = arena_alloc(q->arena, sizeof(*s));

    memset(s, 0, sizeof(*s));
    s->q = q;
    s->nodes = json_array(q->arena);
    s->revision = store_revision(q->server->store);
    time_slices_add(q->server->time_slices, &s->time_slice, run_slice);
}
