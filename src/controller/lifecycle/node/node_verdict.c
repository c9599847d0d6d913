/* SPDX-License-Identifier: Apache-2.0 */
/* Pure functions, so that every combination of silent, back, fenced and unhealthy is a line of
 * a test. They return nothing when an object is as it should be already, so the loop may ask
 * about a node after every event.
 */
#include "controller/lifecycle/node/node_verdict.h"

#include <string.h>

#include "controller/lifecycle/node/node_health.h"
#include "lib/api/node/node.h"
#include "lib/api/node/node_hardware.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

static void
set_time(struct arena *arena, struct json *o, const char *name, int64_t us)
{
    char text[TIME_TEXT_SIZE];

    if (us == 0)
        return;
    time_format(us, false, text);
    json_set_string(arena, o, name, text);
}

static const struct taint *
find_taint(const struct node *node, const char *key, const char *effect)
{
    for (unsigned i = 0; i < node->spec.taints.count; i++) {
        const struct taint *t = &node->spec.taints.items[i];

        if (strcmp(t->key, key) == 0 && strcmp(t->effect, effect) == 0)
            return t;
    }
    return NULL;
}

static struct json *
condition_tree(struct arena *arena, const struct node_condition *c)
{
    struct json *o = json_object(arena);

    json_set_string(arena, o, "type", c->type);
    json_set_string(arena, o, "status", c->status);
    set_time(arena, o, "lastHeartbeatTime", c->last_heartbeat_at_us);
    set_time(arena, o, "lastTransitionTime", c->last_transition_at_us);
    if (c->reason != NULL)
        json_set_string(arena, o, "reason", c->reason);
    if (c->message != NULL)
        json_set_string(arena, o, "message", c->message);
    return o;
}

struct json *
node_verdict_status(struct arena *arena, const struct node *node, bool silent, int64_t now_us)
{
    const struct node_condition *ready = node_find_condition(node, "Ready");
    struct node_condition unknown = {
        .type = "Ready",
        .status = "Unknown",
        .reason = REASON_NODE_STATUS_UNKNOWN,
        .message = "Agent stopped posting node status.",
        .last_heartbeat_at_us = ready ? ready->last_heartbeat_at_us : 0,
        .last_transition_at_us = now_us,
    };
    struct json *body, *conditions;

    if (!silent || (ready != NULL && strcmp(ready->status, "Unknown") == 0))
        return NULL;
    body = json_object(arena);
    conditions = json_array(arena);
    for (unsigned i = 0; i < node->status.conditions.count; i++) {
        const struct node_condition *c = &node->status.conditions.items[i];

        if (c != ready)
            json_append(arena, conditions, condition_tree(arena, c));
    }
    json_append(arena, conditions, condition_tree(arena, &unknown));
    json_set(arena, json_make_object(arena, body, "status"), "conditions", conditions);
    return body;
}

static struct json *
taint_tree(struct arena *arena, const struct taint *t)
{
    struct json *o = json_object(arena);

    json_set_string(arena, o, "key", t->key);
    if (t->value != NULL && *t->value != '\0')
        json_set_string(arena, o, "value", t->value);
    json_set_string(arena, o, "effect", t->effect);
    set_time(arena, o, "timeAdded", t->added_at_us);
    return o;
}

static bool
is_true(const struct node *node, const char *type)
{
    const struct node_condition *c = node_find_condition(node, type);

    return c != NULL && strcmp(c->status, "True") == 0;
}

/* Before the first health check of an agent its node is what it was. */
static bool
is_unhealthy(const struct node *node)
{
    const struct node_condition *c = node_find_condition(node, NODE_HEALTH_CHECK_FAILED);

    if (c != NULL && strcmp(c->status, "Unknown") == 0)
        return find_taint(node, TAINT_HEALTH_CHECK_FAILED, "NoSchedule") != NULL;
    return c != NULL && strcmp(c->status, "True") == 0;
}

static bool
misses_hardware(const struct node *node)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;

    return node_hardware_is_missing(node, &words);
}

struct json *
node_verdict_hardware(struct arena *arena, const struct node *node)
{
    CLEANUP_FREE char *expected = node_hardware_learn(node);
    struct json *body, *meta;

    if (expected == NULL)
        return NULL;
    body = json_object(arena);
    meta = json_make_object(arena, body, "metadata");
    json_set_string(arena, json_make_object(arena, meta, "annotations"),
                    ANNOTATION_EXPECTED_HARDWARE, arena_strdup(arena, expected));
    return body;
}

struct json *
node_verdict_taints(struct arena *arena, const struct node *node, bool silent, int64_t now_us)
{
    const struct node_condition *ready = node_find_condition(node, "Ready");
    bool is_unready = !silent && (ready == NULL || strcmp(ready->status, "True") != 0);
    const struct {
        const char *key;
        const char *effect;
        bool wanted;
    } rules[] = {
        {TAINT_UNREACHABLE, "NoSchedule", silent},
        {TAINT_UNREACHABLE, "NoExecute", silent},
        {TAINT_NOT_READY, "NoSchedule", is_unready},
        {TAINT_NOT_READY, "NoExecute", is_unready},
        {TAINT_HOOK_FAILED, "NoSchedule", is_true(node, NODE_HOOK_FAILED)},
        {TAINT_CHECK_FAILED, "NoSchedule", is_true(node, NODE_CHECK_FAILED)},
        {TAINT_HEALTH_CHECK_FAILED, "NoSchedule", is_unhealthy(node)},
        {TAINT_HARDWARE_MISSING, "NoSchedule", misses_hardware(node)},
    };
    struct json *taints = json_array(arena);
    struct json *body;
    bool changed = false;

    for (unsigned i = 0; i < node->spec.taints.count; i++) {
        const struct taint *t = &node->spec.taints.items[i];
        bool keep = true;

        for (unsigned j = 0; j < ARRAY_SIZE(rules); j++)
            if (strcmp(t->key, rules[j].key) == 0 && strcmp(t->effect, rules[j].effect) == 0)
                keep = rules[j].wanted;
        if (keep)
            json_append(arena, taints, taint_tree(arena, t));
        changed = changed || !keep;
    }
    for (unsigned j = 0; j < ARRAY_SIZE(rules); j++) {
        struct taint t = {
            .key = rules[j].key,
            .effect = rules[j].effect,
            .added_at_us = now_us,
        };

        if (!rules[j].wanted || find_taint(node, t.key, t.effect) != NULL)
            continue;
        json_append(arena, taints, taint_tree(arena, &t));
        changed = true;
    }
    if (!changed)
        return NULL;
    body = json_object(arena);
    json_set(arena, json_make_object(arena, body, "spec"), "taints", taints);
    return body;
}

struct json *
node_verdict_fence(struct arena *arena, const struct node *node, int64_t now_us)
{
    const struct taint fence = {
        .key = TAINT_OUT_OF_SERVICE,
        .value = "fenced",
        .effect = "NoExecute",
        .added_at_us = now_us,
    };
    struct json *taints, *body;

    if (node_is_fenced(node))
        return NULL;
    taints = json_array(arena);
    for (unsigned i = 0; i < node->spec.taints.count; i++)
        json_append(arena, taints, taint_tree(arena, &node->spec.taints.items[i]));
    json_append(arena, taints, taint_tree(arena, &fence));
    body = json_object(arena);
    json_set(arena, json_make_object(arena, body, "spec"), "taints", taints);
    return body;
}

struct json *
node_verdict_remnants(struct arena *arena, const struct node *node)
{
    struct json *body, *remnants;

    if (node->status.remnants.count == 0 || !node_is_fenced(node))
        return NULL;
    body = json_object(arena);
    remnants = json_make_object(arena, json_make_object(arena, body, "status"), "remnants");
    for (unsigned i = 0; i < node->status.remnants.count; i++)
        json_set(arena, remnants, node->status.remnants.items[i].key, json_null(arena));
    return body;
}

/* The pod's conditions with the given one, which replaces one of its type. */
static struct json *
with_condition(struct arena *arena, const struct pod *pod, const char *type, const char *status,
               const char *reason, const char *message, int64_t now_us)
{
    struct json *list = json_array(arena);
    struct json *c;

    for (unsigned i = 0; i < pod->status.conditions.count; i++) {
        const struct pod_condition *old = &pod->status.conditions.items[i];

        if (strcmp(old->type, type) == 0)
            continue;
        c = json_object(arena);
        json_set_string(arena, c, "type", old->type);
        json_set_string(arena, c, "status", old->status);
        set_time(arena, c, "lastProbeTime", old->last_probe_at_us);
        set_time(arena, c, "lastTransitionTime", old->last_transition_at_us);
        if (old->reason != NULL)
            json_set_string(arena, c, "reason", old->reason);
        if (old->message != NULL)
            json_set_string(arena, c, "message", old->message);
        json_append(arena, list, c);
    }
    c = json_object(arena);
    json_set_string(arena, c, "type", type);
    json_set_string(arena, c, "status", status);
    set_time(arena, c, "lastTransitionTime", now_us);
    json_set_string(arena, c, "reason", reason);
    json_set_string(arena, c, "message", message);
    json_append(arena, list, c);
    return list;
}

int64_t
node_verdict_fence_left_us(const struct pod *pod, int64_t silent_us)
{
    const struct execution *e = pod->spec.execution;
    int64_t left_us;

    if (silent_us == 0 || e == NULL || e->fence_after_s == 0)
        return -1;
    left_us = (e->fence_after_s + FENCE_MARGIN_S) * 1000000 - silent_us;
    return left_us > 0 ? left_us : 0;
}

struct json *
node_verdict_pod(struct arena *arena, const struct node *node, const struct pod *pod,
                 int64_t silent_us, int64_t now_us)
{
    bool has_fenced_itself = node_verdict_fence_left_us(pod, silent_us) == 0;
    bool lost = node == NULL || node_is_fenced(node) || has_fenced_itself;
    const char *phase = pod->status.phase ? pod->status.phase : "Pending";
    const char *why = has_fenced_itself ? "Its node has not reported for longer than "
                                          "fenceAfterSeconds, and has ended it by itself."
                                        : "Its node was declared out of service.";
    struct json *body, *status;

    if (pod_is_finished(pod) || (!lost && silent_us == 0))
        return NULL;
    if (!lost && strcmp(phase, "Running") != 0)
        return NULL;
    body = json_object(arena);
    status = json_make_object(arena, body, "status");
    json_set_string(arena, status, "phase", lost ? "Failed" : "Unknown");
    json_set_string(arena, status, "reason", REASON_NODE_LOST);
    json_set_string(arena, status, "message",
                    lost ? why
                         : "Its node has stopped reporting; the pod keeps "
                           "its resources until the node reports again or is "
                           "fenced.");
    json_set(
        arena, status, "conditions",
        lost ? with_condition(arena, pod, "DisruptionTarget", "True", REASON_NODE_LOST, why, now_us)
             : with_condition(arena, pod, "Ready", "Unknown", REASON_NODE_STATUS_UNKNOWN,
                              "Its node has stopped reporting.", now_us));
    return body;
}
