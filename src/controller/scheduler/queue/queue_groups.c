/* SPDX-License-Identifier: Apache-2.0 */
/* How the members of a pod group change their state together. */
#include <stdio.h>
#include <string.h>

#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/queue/in_flight.h"
#include "controller/scheduler/queue/queue_state.h"
#include "controller/scheduler/queue/queued_group.h"
#include "lib/api/object/object.h"
#include "lib/base/map.h"

static const char too_many[] = "the group has more than the 512 pods that one request can bind";
_Static_assert(QUEUED_GROUP_MAX == 512, "the words say so");

#define GROUP_KEY_SIZE (OBJECT_KEY_SIZE + 12)

/* Membership */

/* False: the pod is placed by itself. */
static bool
find_group(const struct queue *q, const struct pod_view *pod, struct group_terms *ret_terms,
           char key[GROUP_KEY_SIZE])
{
    *ret_terms = (struct group_terms){0};
    if (q->policy->group_of == NULL)
        return false;
    q->policy->group_of(pod->object, ret_terms, q->settings.context);
    if (ret_terms->obstacle == NULL && ret_terms->wanted < 2)
        return false;
    snprintf(key, GROUP_KEY_SIZE, "%s/%s/%u", pod->namespace, ret_terms->name, ret_terms->owner);
    return true;
}

static bool
has_terms(const struct queued_group *g, const struct group_terms *terms)
{
    return g->wanted == terms->wanted && g->obstacle == terms->obstacle
           && g->is_one_per_node == terms->is_one_per_node;
}

bool
queue_has_other_group(const struct queue *q, const struct queued_pod *p, const struct pod_view *pod)
{
    char key[GROUP_KEY_SIZE];
    struct group_terms terms;
    const struct queued_group *g = p->queued_group;

    if (!find_group(q, pod, &terms, key))
        return g != NULL;
    return g == NULL || !has_terms(g, &terms) || strcmp(key, g->key) != 0;
}

bool
queue_goes_one_per_node(const struct queue *q, const struct queued_pod *p)
{
    char key[GROUP_KEY_SIZE];
    struct group_terms terms;

    (void)find_group(q, p->pod, &terms, key);
    return terms.is_one_per_node;
}

/* The group as a whole */

static bool
is_ready(const struct queued_group *g, const struct queued_pod *p)
{
    return p->state == QUEUE_IN_GROUP || p == g->leader;
}

/* The plugins that rejected a member are identified by their index in the
 * profile, so all members must have the same profile.
 */
static const char *
find_refusal_of(const struct queue *q, const struct queued_group *g, const struct queued_pod *p)
{
    if (p->profile != g->members[0]->profile)
        return "they name different schedulers";
    return q->policy->refuse_group != NULL
               ? q->policy->refuse_group(p->pod, p->profile, q->settings.context)
               : NULL;
}

static const char *
find_refusal(const struct queue *q, const struct queued_group *g)
{
    const char *words = g->wanted > QUEUED_GROUP_MAX ? too_many : g->obstacle;

    for (uint32_t i = 0; i < g->count && words == NULL; i++)
        if (is_ready(g, g->members[i]))
            words = find_refusal_of(q, g, g->members[i]);
    return words;
}

static bool
is_complete(const struct queued_group *g)
{
    return g->n_ready > 0 && g->n_ready >= g->wanted && g->refusal == NULL;
}

/* The leader is the first member in the order. It takes over the attempts and
 * the failure time of the member that was tried most often, so that a new
 * member does not shorten the backoff.
 */
static struct queued_pod *
choose_leader(struct queue *q, const struct queued_group *g)
{
    uint32_t first = 0;
    struct queued_pod *leader, *oldest;

    while (g->members[first]->state != QUEUE_IN_GROUP)
        first++;
    leader = oldest = g->members[first];
    for (uint32_t i = first; i < g->count; i++) {
        struct queued_pod *p = g->members[i];

        if (p->state != QUEUE_IN_GROUP)
            continue;
        if (p->attempts > oldest->attempts)
            oldest = p;
        if (profile_less(p->profile, p, leader))
            leader = p;
    }
    for (uint32_t i = 0; i < g->count; i++) {
        if (g->members[i]->state == QUEUE_IN_GROUP)
            list_remove(&g->members[i]->link); /* no longer held */
        if (g->members[i] != leader)
            queue_wake_next(q, g->members[i]);
    }
    leader->attempts = oldest->attempts;
    leader->failed_at_us = oldest->failed_at_us;
    return leader;
}

/* The whole group waits for the plugins that rejected one member. */
static void
lead(struct queue *q, struct queued_group *g, enum wake_strategy strategy)
{
    struct queued_pod *leader = choose_leader(q, g);
    const struct queued_pod *rejected = g->rejected;

    g->leader = leader;
    list_remove(&g->untold);
    q->n_in_group--;
    leader->unschedulable = rejected != NULL ? rejected->unschedulable : 0;
    leader->pending = rejected != NULL ? rejected->pending : 0;
    queue_requeue(q, leader, strategy);
}

static void
depose(struct queue *q, struct queued_group *g)
{
    struct queued_pod *leader = g->leader;

    queue_take_out(q, leader);
    queue_wake_next(q, leader);
    queue_count_rejectors(leader, 0);
    leader->unschedulable = leader->pending = 0;
    leader->state = QUEUE_IN_GROUP;
    q->n_in_group++;
    g->leader = NULL;
    g->rejected = NULL;
}

/* The members are notified later: more may have come or gone by then, and a
 * group whose members all go would be walked for each of them.
 */
static void
note_held(struct queue *q, struct queued_group *g, struct queued_pod *joined)
{
    struct list *list = joined != NULL ? &q->untold : &q->untold_groups;
    struct list *link = joined != NULL ? &joined->link : &g->untold;

    list_remove(link);
    list_add_last(list, link);
}

static void
notify_held(struct queue *q, struct queued_pod *p)
{
    list_remove(&p->link);
    if (q->policy->held != NULL)
        q->policy->held(p, q->settings.context);
}

void
queue_notify_held(struct queue *q)
{
    while (!list_is_empty(&q->untold_groups)) {
        struct queued_group *g = container_of(q->untold_groups.next, struct queued_group, untold);

        list_remove(&g->untold);
        for (uint32_t i = 0; g->leader == NULL && i < g->count; i++)
            if (g->members[i]->state == QUEUE_IN_GROUP)
                notify_held(q, g->members[i]);
    }
    while (!list_is_empty(&q->untold))
        notify_held(q, container_of(q->untold.next, struct queued_pod, link));
}

/* Gives the group a leader or takes it away, as the states of its members
 * require. `joined`: the only member whose state is new, or NULL.
 */
static void
settle_leader(struct queue *q, struct queued_group *g, enum wake_strategy strategy,
              struct queued_pod *joined)
{
    bool was_led = g->leader != NULL;

    if (g->n_flying > 0)
        return;
    if (!was_led && g->n_ready >= g->wanted)
        g->refusal = find_refusal(q, g);
    if (was_led && !is_complete(g)) {
        g->refusal = g->n_ready >= g->wanted ? find_refusal(q, g) : NULL;
        depose(q, g);
    } else if (!was_led && is_complete(g)) {
        lead(q, g, strategy);
    }
    q->n_held -= g->n_held;
    g->n_held = g->leader == NULL ? g->n_ready : 0;
    q->n_held += g->n_held;
    if (g->leader == NULL)
        note_held(q, g, was_led ? NULL : joined);
}

/* Members */

/* The last pod to join sets the size of the group. */
void
queue_join_group(struct queue *q, struct queued_pod *p)
{
    char key[GROUP_KEY_SIZE];
    struct group_terms terms;
    struct queued_group *g;

    if (!find_group(q, p->pod, &terms, key))
        return;
    g = map_find(q->queued_groups, key);
    if (g == NULL) {
        g = queued_group_new(key, terms.name);
        map_put(q->queued_groups, g->key, g);
    }
    if (!has_terms(g, &terms)) {
        g->wanted = terms.wanted;
        g->is_one_per_node = terms.is_one_per_node;
        g->obstacle = g->refusal = terms.obstacle;
        settle_leader(q, g, WAKE_AFTER_BACKOFF, NULL);
    }
    queued_group_add(g, p);
}

void
queue_leave_group(struct queue *q, struct queued_pod *p)
{
    struct queued_group *g = p->queued_group;

    if (g == NULL)
        return;
    if (p->state == QUEUE_IN_FLIGHT) {
        g->n_flying--;
    } else if (g->leader == p) {
        g->leader = NULL;
        g->n_ready--;
    }
    queued_group_remove(g, p);
    if (g->count == 0) {
        q->n_held -= g->n_held;
        map_remove(q->queued_groups, g->key);
        queued_group_free(g);
        return;
    }
    settle_leader(q, g, WAKE_AFTER_BACKOFF, NULL);
}

static void
put_in_group(struct queue *q, struct queued_pod *p)
{
    p->state = QUEUE_IN_GROUP;
    queue_enter_order(q, p);
    q->n_in_group++;
    p->queued_group->n_ready++;
}

void
queue_enter_group(struct queue *q, struct queued_pod *p)
{
    struct queued_group *g = p->queued_group;

    put_in_group(q, p);
    if (g->leader != NULL)
        g->refusal = find_refusal_of(q, g, p);
    settle_leader(q, g, WAKE_AFTER_BACKOFF, p);
}

/* The leader was gated. */
void
queue_lose_leader(struct queue *q, struct queued_group *g)
{
    g->leader = NULL;
    g->n_ready--;
    settle_leader(q, g, WAKE_AFTER_BACKOFF, NULL);
}

/* For a member that is not the leader: its change may help the group. */
void
queue_update_member(struct queue *q, struct queued_pod *p, const struct cluster_event *event,
                    const struct object *old_object, const struct object *new_object)
{
    struct queued_group *g = p->queued_group;
    enum wake_strategy strategy;

    if (g->leader == NULL) {
        settle_leader(q, g, WAKE_AFTER_BACKOFF, p);
        return;
    }
    if (g->leader->state != QUEUE_UNSCHEDULABLE)
        return;
    strategy = wake_strategy(g->leader, event, old_object, new_object);
    if (strategy == WAKE_SKIP)
        return;
    queue_take_out(q, g->leader);
    queue_requeue(q, g->leader, strategy);
}

/* The leader was popped, and the other members that may be placed go with it,
 * as many as one request binds.
 */
void
queue_fly_group(struct queue *q, struct queued_group *g)
{
    unsigned room = QUEUED_GROUP_MAX - 1; /* besides the leader */

    queued_group_sort(g);
    for (uint32_t i = 0; i < g->count; i++) {
        struct queued_pod *p = g->members[i];

        if (!is_ready(g, p) || (p != g->leader && room == 0))
            continue;
        room -= p != g->leader;
        q->n_in_group -= p != g->leader;
        g->n_ready--;
        g->n_flying++;
        queue_begin_flight(q, p);
    }
    g->leader = NULL;
    g->rejected = NULL;
    g->strategy = WAKE_SKIP;
}

static void
note_rejected(struct queued_group *g, struct queued_pod *p, enum wake_strategy strategy)
{
    if ((p->unschedulable | p->pending) == 0)
        return;
    if (g->rejected == NULL)
        g->rejected = p;
    if (strategy > g->strategy)
        g->strategy = strategy;
}

/* If no member was rejected, there was an error, and the group is tried again
 * after its backoff.
 */
static void
settle_failed(struct queue *q, struct queued_group *g)
{
    settle_leader(q, g, g->rejected != NULL ? g->strategy : WAKE_AFTER_BACKOFF, NULL);
}

void
queue_land_member(struct queue *q, struct queued_pod *p, enum wake_strategy strategy)
{
    struct queued_group *g = p->queued_group;

    g->n_flying--;
    put_in_group(q, p);
    note_rejected(g, p, strategy);
    settle_failed(q, g);
}

/* The pod had left the queue. Other members that left may still come back, so
 * queue_settle_group follows.
 */
void
queue_rejoin_member(struct queue *q, struct queued_pod *p)
{
    put_in_group(q, p);
    note_rejected(p->queued_group, p, WAKE_SKIP);
}

void
queue_settle_group(struct queue *q, struct queued_group *g)
{
    settle_failed(q, g);
}
