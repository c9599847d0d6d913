/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/queue/queued_group.h"

#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

struct queued_group *
queued_group_new(const char *key, const char *name)
{
    struct queued_group *g = xnew(struct queued_group);

    g->key = xstrdup(key);
    g->name = xstrdup(name);
    list_init(&g->untold);
    return g;
}

void
group_preemption_clear(struct group_preemption *p)
{
    for (uint32_t i = 0; i < p->n_victims; i++)
        pod_view_unref(p->victims[i]);
    for (uint32_t i = 0; i < p->n_promised; i++) {
        pod_view_unref(p->promised[i].pod);
        free(p->promised[i].node);
    }
    free(p->victims);
    free(p->promised);
    *p = (struct group_preemption){0};
}

void
queued_group_free(struct queued_group *g)
{
    if (g == NULL)
        return;
    list_remove(&g->untold);
    group_preemption_clear(&g->preemption);
    free(g->members);
    free(g->name);
    free(g->key);
    free(g);
}

void
queued_group_add(struct queued_group *g, struct queued_pod *pod)
{
    pod->queued_group = g;
    pod->member_place = g->count;
    xgrow(g->members, g->count, g->capacity);
    g->members[g->count++] = pod;
}

/* The last member moves to the removed one's index. */
void
queued_group_remove(struct queued_group *g, struct queued_pod *pod)
{
    struct queued_pod *last = g->members[--g->count];

    g->members[pod->member_place] = last;
    last->member_place = pod->member_place;
    pod->queued_group = NULL;
    if (g->rejected == pod)
        g->rejected = NULL;
}

static int
compare(const void *a, const void *b)
{
    const struct queued_pod *const *x = a, *const *y = b;

    if (profile_less((*x)->profile, *x, *y))
        return -1;
    return profile_less((*x)->profile, *y, *x) ? 1 : 0;
}

void
queued_group_sort(struct queued_group *g)
{
    qsort(g->members, g->count, sizeof(*g->members), compare);
    for (uint32_t i = 0; i < g->count; i++)
        g->members[i]->member_place = i;
}

unsigned
queued_group_flying(const struct queued_group *g, struct queued_pod **out)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < g->count && count < g->n_flying; i++)
        if (g->members[i]->state == QUEUE_IN_FLIGHT)
            out[count++] = g->members[i];
    return count;
}

bool
queued_group_is_held(const struct queued_group *g)
{
    return g->leader == NULL && g->n_flying == 0;
}

/* All members get the same text, and it does not change as members come: each
 * change is written to the API.
 */
void
queued_group_format_hold(const struct queued_group *g, struct strbuf *out)
{
    if (g->refusal != NULL)
        strbuf_printf(out, "the pods of its group '%s' cannot be placed: %s", g->name, g->refusal);
    else
        strbuf_printf(out,
                      "it waits for the other pods of its group '%s'; all %u "
                      "are placed together",
                      g->name, g->wanted);
}
