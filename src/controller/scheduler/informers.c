/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/informers.h"

#include <stddef.h>

#include "controller/scheduler/scheduler.h"
#include "lib/api/object/kind.h"
#include "lib/base/alloc.h"
#include "lib/client/informer.h"

typedef void changed_fn(struct scheduler *s, const struct object *a, const struct object *b);

/* The kinds that are watched, with their event handlers. Nodes come first, so
 * that most pods find their node.
 */
static const struct watched {
    const struct kind *kind;
    changed_fn *changed;
} watched[] = {
    {&node_kind, scheduler_node_changed},
    {&partition_kind, scheduler_partition_changed},
    {&reservation_kind, scheduler_reservation_changed},
    {&namespace_kind, scheduler_object_changed},
    {&pod_disruption_budget_kind, scheduler_object_changed},
    {&priority_class_kind, scheduler_class_changed},
    {&pod_group_kind, scheduler_pod_group_changed},
    {&storage_class_kind, scheduler_storage_changed},
    {&persistent_volume_kind, scheduler_storage_changed},
    {&persistent_volume_claim_kind, scheduler_storage_changed},
    {&pod_kind, scheduler_pod_changed},
};

struct tap {
    struct informers *all;
    const struct watched *of;
    struct informer *informer;
};

struct informers {
    struct scheduler *scheduler;
    struct tap each[ARRAY_SIZE(watched)];
    bool has_synced;
    void (*synced)(void *context);
    void *context;
};

static void
tap_changed(const struct object *old_object, const struct object *new_object, void *context)
{
    const struct tap *tap = context;

    tap->of->changed(tap->all->scheduler, old_object, new_object);
}

static void
tap_synced(void *context)
{
    struct informers *t = ((struct tap *)context)->all;

    for (size_t i = 0; i < ARRAY_SIZE(watched); i++)
        if (t->each[i].informer == NULL || !informer_has_synced(t->each[i].informer))
            return;
    if (t->has_synced)
        return;
    t->has_synced = true;
    if (t->synced != NULL)
        t->synced(t->context);
}

struct informers *
informers_new(struct scheduler *scheduler, struct client *client, void (*synced)(void *context),
              void *context)
{
    struct informers *t = xnew(struct informers);

    t->scheduler = scheduler;
    t->synced = synced;
    t->context = context;
    for (size_t i = 0; i < ARRAY_SIZE(watched); i++) {
        t->each[i] = (struct tap){.all = t, .of = &watched[i]};
        t->each[i].informer = informer_new(&(struct informer_settings){
            .client = client,
            .kind = watched[i].kind,
            .changed = tap_changed,
            .synced = tap_synced,
            .context = &t->each[i],
        });
    }
    return t;
}

void
informers_free(struct informers *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(watched); i++)
        informer_free(t->each[i].informer);
    free(t);
}

bool
informers_has_synced(const struct informers *t)
{
    return t->has_synced;
}
