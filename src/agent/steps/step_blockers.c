/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/steps/step_blockers.h"

#include <stdlib.h>

#include "lib/base/alloc.h"

struct step_blockers {
    struct list waiting[STEP_BLOCKER_ANY + 1];
};

struct step_blockers *
step_blockers_new(void)
{
    struct step_blockers *b = xnew(struct step_blockers);

    for (unsigned i = 0; i <= STEP_BLOCKER_ANY; i++)
        list_init(&b->waiting[i]);
    return b;
}

void
step_blockers_free(struct step_blockers *b)
{
    free(b);
}

void
step_blockers_add(struct step_blockers *b, struct step_blocked *w, unsigned blocker)
{
    w->blocker = blocker;
    list_add_last(&b->waiting[blocker], &w->link);
}

void
step_blockers_remove(struct step_blocked *w)
{
    list_remove(&w->link);
}

/* In their order: one that finds the same CPU busy stays the first. */
static void
wake(struct step_blockers *b, unsigned blocker, step_blockers_try_fn *try, void *context)
{
    struct list *l = &b->waiting[blocker];
    const struct list *last = l->prev;
    bool is_last = false;

    while (!list_is_empty(l) && !is_last) {
        struct step_blocked *w = container_of(l->next, struct step_blocked, link);

        is_last = &w->link == last;
        list_remove(&w->link);
        if (!try(w, context) || w->blocker != blocker || blocker == STEP_BLOCKER_ANY)
            continue;
        list_remove(&w->link);
        list_add_first(l, &w->link);
        return;
    }
}

void
step_blockers_wake(struct step_blockers *b, const struct bitset *cpus, const struct bitset *gpus,
                   step_blockers_try_fn *try, void *context)
{
    bitset_foreach(cpu, cpus) wake(b, cpu, try, context);
    bitset_foreach(gpu, gpus) wake(b, STEP_BLOCKER_GPU(gpu), try, context);
    wake(b, STEP_BLOCKER_ANY, try, context);
}
