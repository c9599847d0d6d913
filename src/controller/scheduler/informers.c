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

struct watched_informer {
    struct informers *all;
    const struct watched *of;
    struct informer *informer;
};

struct informers {
    struct scheduler *scheduler;
    struct watched_informer each[ARRAY_SIZE(watched)];
    bool has_synced;
    void (*synced)(void *context);
    void *context;
};

static void
on_changed(const struct object *old_object, const struct object *new_object, void *context)
{
    const struct watched_informer *w = context;

    w->of->changed(w->all->scheduler, old_object, new_object);
}

static void
on_synced(void *context)
{
    struct informers *all = ((struct watched_informer *)context)->all;

    for (size_t i = 0; i < ARRAY_SIZE(watched); i++)
        if (all->each[i].informer == NULL || !informer_has_synced(all->each[i].informer))
            return;
    if (all->has_synced)
        return;
    all->has_synced = true;
    if (all->synced != NULL)
        all->synced(all->context);
}

struct informers *
informers_new(struct scheduler *scheduler, struct client *client, void (*synced)(void *context),
              void *context)
{
    struct informers *all = xnew(struct informers);

    all->scheduler = scheduler;
    all->synced = synced;
    all->context = context;
    for (size_t i = 0; i < ARRAY_SIZE(watched); i++) {
        all->each[i] = (struct watched_informer){.all = all, .of = &watched[i]};
        all->each[i].informer = informer_new(&(struct informer_settings){
            .client = client,
            .kind = watched[i].kind,
            .changed = on_changed,
            .synced = on_synced,
            .context = &all->each[i],
        });
    }
    return all;
}

void
informers_free(struct informers *all)
{
    if (all == NULL)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(watched); i++)
        informer_free(all->each[i].informer);
    free(all);
}

bool
informers_has_synced(const struct informers *all)
{
    return all->has_synced;
}
