/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/plugins/preemption/disruption_budget.h"

#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

struct budget {
    const char *namespace;
    struct label_selector selector;
    int64_t allowed;
    int64_t left;
    const struct json *disrupted; /* pods that are counted already */
};

struct budgets {
    struct arena *arena;
    struct budget *items;
    unsigned count, capacity;
};

static bool
add_budget(const struct object *object, void *context)
{
    struct budgets *b = context;
    struct json *tree = object_tree(object, b->arena);
    struct json *selector = json_get_path(tree, "spec.selector");
    struct budget *budget;

    if (selector == NULL)
        return true;
    xgrow(b->items, b->count, b->capacity);
    budget = &b->items[b->count];
    memset(budget, 0, sizeof(*budget));
    record_decode(&label_selector_record, b->arena, selector, &budget->selector);
    /* An empty selector protects no pods. */
    if (budget->selector.match_labels.count == 0 && budget->selector.match_expressions.count == 0)
        return true;
    budget->namespace = arena_strdup(b->arena, object->meta->namespace);
    budget->allowed = json_get_int(json_get(tree, "status"), "disruptionsAllowed", 0);
    budget->disrupted = json_get_path(tree, "status.disruptedPods");
    b->count++;
    return true;
}

struct budgets *
disruption_budgets_new(const struct handle *handle)
{
    struct budgets *b = xnew(struct budgets);

    b->arena = arena_new(0);
    if (handle->visit != NULL)
        handle->visit(handle->owner, "PodDisruptionBudget", NULL, add_budget, b);
    return b;
}

void
disruption_budgets_free(struct budgets *b)
{
    if (b == NULL)
        return;
    arena_free(b->arena);
    free(b->items);
    free(b);
}

void
budgets_reset(struct budgets *b)
{
    for (unsigned i = 0; i < b->count; i++)
        b->items[i].left = b->items[i].allowed;
}

bool
disruption_budgets_violate(struct budgets *b, const struct pod_view *pod)
{
    const struct string_map *labels = &pod->pod->meta.labels;
    bool is_violated = false;

    for (unsigned i = 0; i < b->count && labels->count > 0; i++) {
        struct budget *budget = &b->items[i];

        if (strcmp(budget->namespace, pod->namespace) != 0
            || !label_selector_matches(&budget->selector, labels)
            || json_get(budget->disrupted, pod->name) != NULL)
            continue;
        if (--budget->left < 0)
            is_violated = true;
    }
    return is_violated;
}
