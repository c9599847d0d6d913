/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of reservations: those that a reservation may use once they have room,
 * and those that other pods may use again.
 */
#include <string.h>

#include "controller/scheduler/explain/shortage.h"
#include "controller/scheduler/framework/cluster_event.h"
#include "controller/scheduler/framework/diagnosis.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/scheduler_state.h"
#include "lib/allocator/occupancy.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"

/* ---- Nodes that other pods may use again ---- */

void
scheduler_note_freed(struct scheduler *s, const struct node_view *node)
{
    struct freed_places *f = &s->freed;
    unsigned at = 0;

    if (node->node == NULL)
        return;
    while (at < f->count && strcmp(f->nodes[at], node->name) != 0)
        at++;
    if (at < f->count)
        return;
    if (f->count < FREED_PLACES_MOST)
        f->nodes[f->count++] = xstrdup(node->name);
    else
        f->is_overfull = true;
}

void
scheduler_forget_freed(struct scheduler *s)
{
    for (unsigned i = 0; i < s->freed.count; i++)
        free(s->freed.nodes[i]);
    s->freed = (struct freed_places){0};
}

void
scheduler_tell_freed(struct scheduler *s)
{
    struct freed_places *f = &s->freed;

    if (f->count == 0)
        return;
    queue_event_of_rooms(s->queue, &event_reservation_moved, (const char *const *)f->nodes,
                         f->is_overfull ? 0 : f->count);
    scheduler_forget_freed(s);
}

/* ---- Nodes that a reservation may use ---- */

/* How many kinds of nodes are remembered, the most recent ones. */
#define SIZES 8u

/* Whether the pod fits on an empty node of the same size: its cores and NUMA
 * nodes may be too small even if its amounts are not.
 */
struct node_sizes {
    struct what_if what_if;
    struct {
        struct node_view *node;
        bool fits;
    } known[SIZES];
    unsigned count;
};

static bool
has_same(const struct node_view *a, const struct node_view *b)
{
    const struct amounts *x = &a->allocatable, *y = &b->allocatable;
    const struct occupancy *of_a = a->ledger.occupancy;
    const struct occupancy *of_b = b->ledger.occupancy;

    if ((of_a != NULL ? of_a->topology_index : NULL) != (of_b != NULL ? of_b->topology_index : NULL)
        || a->allowed_pods != b->allowed_pods || x->cpu_milli != y->cpu_milli
        || x->memory_bytes != y->memory_bytes || x->ephemeral_bytes != y->ephemeral_bytes
        || x->n_scalars != y->n_scalars)
        return false;
    for (uint32_t i = 0; i < x->n_scalars; i++)
        if (x->scalars[i].resource != y->scalars[i].resource
            || x->scalars[i].value != y->scalars[i].value)
            return false;
    return true;
}

static bool
fits_when_empty(struct node_sizes *sizes, struct node_view *node)
{
    unsigned count = sizes->count < SIZES ? sizes->count : SIZES;
    unsigned at = 0;

    while (at < count && !has_same(sizes->known[at].node, node))
        at++;
    if (at == count) {
        at = sizes->count++ % SIZES;
        sizes->known[at].node = node;
        sizes->known[at].fits = timeline_room(&sizes->what_if, node, INT64_MAX, INT64_MAX, 1) > 0;
    }
    return sizes->known[at].fits;
}

/* Whether the pod lacks only free room or time there. A node that another pod of
 * its group has is closed: as long as that pod runs, no room there helps.
 */
static bool
may_come(const struct reservation *r, const struct shortage *shortage, struct node_sizes *sizes,
         struct node_view *node, struct answer a)
{
    plugin_set room = r->profile->rooms | r->profile->timed;

    if (node->is_closed)
        return false;
    return a.verdict == VERDICT_OK
           || (a.plugin < r->profile->n_entries && (room & PLUGIN_BIT(a.plugin)) != 0
               && !shortage_is_of_size(shortage, node)
               && (a.verdict == VERDICT_REJECT || (r->profile->timed & PLUGIN_BIT(a.plugin)) != 0)
               && fits_when_empty(sizes, node));
}

bool
scheduler_find_open_nodes(const struct scheduler *s, const struct diagnosis *d,
                          struct reservation *r)
{
    const struct snapshot *snapshot = &s->snapshot;
    struct cycle cycle;
    struct shortage shortage = {
        .profile = r->profile,
        .cycle = &cycle,
        .resources = s->resources,
        .volumes = s->handle.volumes,
        .scratch_bytes = pod_spec_scratch_bytes(&r->members[0]->pod->spec),
    };
    struct node_sizes sizes = {
        .what_if = {.profile = r->profile,
                    .filters = r->profile->rooms,
                    .cycle = &cycle,
                    .now_us = clock_real_us(s->settings.clock)},
    };
    bool is_any = false;

    timeline_init_cycle(&cycle, r->profile, r->members[0], snapshot);
    free(r->may_come);
    r->n_slots = snapshot->n_slots;
    r->may_come = xnew_array(bool, r->n_slots + 1);
    for (uint32_t i = 0; i < snapshot->n_nodes; i++) {
        struct node_view *node = snapshot->nodes[i];

        r->may_come[node->slot] = may_come(r, &shortage, &sizes, node, diagnosis_answer(d, node));
        is_any |= r->may_come[node->slot];
    }
    cycle_fini(&cycle);
    return is_any;
}

bool
scheduler_are_alike(struct scheduler *s, const struct profile *profile,
                    struct pod_view *const *members, unsigned count)
{
    uint32_t first = profile_sign(profile, members[0], s->signatures);

    for (unsigned i = 1; i < count; i++)
        if (first == SIGNATURE_NONE || profile_sign(profile, members[i], s->signatures) != first
            || timeline_limit_us(members[i]) != timeline_limit_us(members[0]))
            return false;
    return true;
}
