/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of pods in the queue, with events in any order. */
#include "controller/scheduler/queue/queued_group.h"

#include <stdio.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/queue/queue_policy.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/random.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/suite.h"
#include "testsuite/lib/upstream_profile.h"

#define PODS    12
#define GROUPS  4
#define FLIGHTS 3
#define STEPS   30000

/* Pods that were popped together. */
struct flight {
    struct queued_pod *pods[QUEUED_GROUP_MAX];
    unsigned count;
};

struct model {
    struct fake_clock time;
    struct random_source dice;
    struct handle handle;
    struct string_ids *signatures;
    struct profile *profile;
    struct queue *queue;
    struct fake_client *api;
    struct flight flights[FLIGHTS];
    unsigned pops, told;
};

static unsigned
roll(struct model *m, unsigned below)
{
    return (unsigned)random_below(&m->dice, below);
}

/* Splits the label "group", such as "g1.3", into "g1" and 3. */
static void
group_of(const struct object *pod, struct group_terms *ret_terms, void *context)
{
    const char *label = string_map_find(&pod_of(pod)->meta.labels, "group");
    static char name[3];

    (void)context;
    if (label == NULL)
        return;
    snprintf(name, sizeof(name), "%s", label);
    *ret_terms =
        (struct group_terms){.name = name, .wanted = (unsigned)strtoul(label + 3, NULL, 10)};
}

static void
note_told(const struct queued_pod *pod, void *context)
{
    struct model *m = context;

    ck_assert_int_eq(pod->state, QUEUE_IN_GROUP);
    ck_assert(queued_group_is_held(pod->queued_group));
    m->told++;
}

static struct model *
model_new(bool is_sharing)
{
    static const struct queue_policy policy = {.group_of = group_of, .held = note_told};
    static const struct fake_clock clock = FAKE_CLOCK;
    struct model *m = xnew(struct model);

    m->time = clock;
    m->dice.state = 7;
    m->signatures = string_ids_new();
    m->api = fake_client_new();
    m->handle = (struct handle){
        .resources = string_ids_new(),
        .reasons = string_ids_new(),
        .clock = &m->time.clock,
        .random = &m->dice,
        .nominator = nominator_new(),
    };
    ck_assert_int_eq(profile_new(
                         &(struct profile_settings){
                             .scheduler_name = "default-scheduler",
                             .plugins = upstream_profile,
                             .n_plugins = ARRAY_SIZE(upstream_profile),
                             .handle = &m->handle,
                         },
                         &m->profile, NULL),
                     0);
    m->queue = queue_new(&(struct queue_settings){
        .clock = &m->time.clock,
        .nominator = m->handle.nominator,
        .signatures = m->signatures,
        .is_sharing = is_sharing,
        .policy = &policy,
        .context = m,
    });
    return m;
}

static const struct object *
put_pod(struct model *m, const char *name)
{
    static const char *const gates[] = {
        "",
        ",\"schedulingGates\":[{\"name\":\"x\"}]",
    };
    unsigned group = roll(m, GROUPS);
    char label[64] = "";
    CLEANUP_FREE char *json = NULL;

    if (group > 0)
        snprintf(label, sizeof(label), "\"group\":\"g%u.%u\"", group, group + roll(m, 12) / 11);
    json = xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"d\","
                     "\"labels\":{%s}},\"spec\":{\"priority\":%u,"
                     "\"containers\":[{\"name\":\"c\",\"resources\":{"
                     "\"requests\":{\"cpu\":\"%u\"}}}]%s}}",
                     name, label, roll(m, 3), 1 + roll(m, 2), gates[roll(m, 10) == 0]);
    return fake_client_put(m->api, &pod_kind, json);
}

static void
add_or_update(struct model *m)
{
    char name[8];
    const struct object *old, *new;
    struct pod_view *pod;

    snprintf(name, sizeof(name), "p%u", roll(m, PODS));
    old = fake_client_find(m->api, &pod_kind, "d", name);
    if (old != NULL)
        object_ref(old);
    new = put_pod(m, name);
    pod = pod_view_new(new, m->handle.resources);
    if (old != NULL && queue_find(m->queue, "d", name) != NULL)
        queue_update(m->queue, old, pod, m->profile);
    else
        queue_add(m->queue, pod, m->profile);
    pod_view_unref(pod);
    object_unref(old);
}

static void
remove_one(struct model *m)
{
    char name[8];

    snprintf(name, sizeof(name), "p%u", roll(m, PODS));
    queue_remove(m->queue, "d", name);
    for (unsigned f = 0; f < FLIGHTS; f++)
        for (unsigned i = 0; i < m->flights[f].count; i++)
            if (strcmp(m->flights[f].pods[i]->pod->name, name) == 0)
                m->flights[f].pods[i]->is_deleted = true;
}

static void
pop(struct model *m)
{
    struct flight *f = &m->flights[roll(m, FLIGHTS)];
    struct queued_pod *first;

    if (f->count > 0)
        return;
    first = queue_pop(m->queue);
    if (first == NULL)
        return;
    m->pops++;
    f->pods[0] = first;
    f->count = 1;
    if (first->queued_group == NULL)
        return;
    f->count = queued_group_flying(first->queued_group, f->pods);
    ck_assert_uint_ge(f->count, first->queued_group->wanted);
    ck_assert_int_eq(first->state, QUEUE_IN_FLIGHT);
}

static void
land(struct model *m)
{
    struct flight *f = &m->flights[roll(m, FLIGHTS)];
    unsigned fate = roll(m, 3), count = f->count;
    plugin_set fit = PLUGIN_BIT(profile_find(m->profile, "NodeResourcesFit"));

    if (count == 0)
        return;
    if (roll(m, 3) > 0)
        f->pods[roll(m, count)]->unschedulable = fit;
    f->count = 0;
    if (fate == 0) {
        for (unsigned i = 0; i < count; i++)
            queue_fail(m->queue, f->pods[i]);
        return;
    }
    for (unsigned i = 0; i < count; i++)
        queue_leave(m->queue, f->pods[i]);
    if (fate == 1) {
        queue_return_all(m->queue, f->pods, count);
        return;
    }
    for (unsigned i = 0; i < count; i++)
        queued_pod_free(f->pods[i]);
}

static void
let_time_pass(struct model *m)
{
    fake_clock_advance(&m->time, 1000 * (int64_t)roll(m, 2000));
    queue_flush_backoff(m->queue);
    if (roll(m, 10) == 0)
        queue_flush_leftover(m->queue);
    queue_notify_held(m->queue);
}

static void
happen(struct model *m)
{
    char name[8];

    snprintf(name, sizeof(name), "p%u", roll(m, PODS));
    if (roll(m, 8) == 0)
        queue_activate(m->queue, "d", name);
    else
        queue_event(m->queue, &event_assigned_pod_delete, NULL, NULL);
}

/* The queue's counts, computed anew. */
struct recount {
    size_t active, backoff, unschedulable, gated, in_group;
};

static void
check_group(const struct queued_group *g)
{
    uint32_t n_ready = 0, n_flying = 0;

    for (uint32_t i = 0; i < g->count; i++) {
        ck_assert_ptr_eq(g->members[i]->queued_group, g);
        ck_assert_uint_eq(g->members[i]->member_place, i);
        n_flying += g->members[i]->state == QUEUE_IN_FLIGHT;
        n_ready += g->members[i]->state == QUEUE_IN_GROUP || g->members[i] == g->leader;
    }
    ck_assert_uint_eq(g->n_ready, n_ready);
    ck_assert_uint_eq(g->n_flying, n_flying);
    if (g->n_flying == 0)
        ck_assert_int_eq(g->leader != NULL, g->n_ready >= g->wanted);
    else
        ck_assert_ptr_null(g->leader);
    if (g->leader != NULL)
        ck_assert(g->leader->state == QUEUE_ACTIVE || g->leader->state == QUEUE_BACKOFF
                  || g->leader->state == QUEUE_UNSCHEDULABLE);
}

static void
count_pod(const struct queued_pod *p, void *context)
{
    struct recount *c = context;
    const struct queued_group *g = p->queued_group;
    bool is_leader = g == NULL || g->leader == p;

    if (g != NULL)
        check_group(g);
    switch (p->state) {
    case QUEUE_ACTIVE:
        c->active++;
        ck_assert(is_leader);
        break;
    case QUEUE_BACKOFF:
        c->backoff++;
        ck_assert(is_leader);
        break;
    case QUEUE_UNSCHEDULABLE:
        c->unschedulable++;
        ck_assert(is_leader);
        break;
    case QUEUE_GATED:
        c->gated++;
        break;
    case QUEUE_IN_GROUP:
        ck_assert_ptr_nonnull(g);
        ck_assert(!is_leader);
        if (g->leader == NULL && g->n_flying == 0)
            c->gated++;
        else
            c->in_group++;
        break;
    case QUEUE_IN_FLIGHT:
        break;
    }
}

static void
check(const struct model *m)
{
    struct queue_counts counts = queue_count(m->queue);
    struct recount c = {0};

    queue_visit(m->queue, count_pod, &c);
    ck_assert_uint_eq(counts.active, c.active);
    ck_assert_uint_eq(counts.backoff, c.backoff);
    ck_assert_uint_eq(counts.unschedulable, c.unschedulable);
    ck_assert_uint_eq(counts.gated, c.gated);
    ck_assert_uint_eq(counts.in_group, c.in_group);
}

static void
model_free(struct model *m)
{
    for (unsigned f = 0; f < FLIGHTS; f++)
        for (unsigned i = 0; i < m->flights[f].count; i++)
            queue_fail(m->queue, m->flights[f].pods[i]);
    check(m);
    queue_free(m->queue);
    profile_free(m->profile);
    nominator_free(m->handle.nominator);
    string_ids_free(m->handle.resources);
    string_ids_free(m->handle.reasons);
    string_ids_free(m->signatures);
    fake_client_free(m->api);
    free(m);
}

static void
run(bool is_sharing)
{
    static void (*const steps[])(struct model * m) = {
        add_or_update, add_or_update, remove_one, pop, pop, pop, land, land, let_time_pass, happen,
    };
    struct model *m = model_new(is_sharing);

    for (unsigned i = 0; i < STEPS; i++) {
        steps[roll(m, ARRAY_SIZE(steps))](m);
        check(m);
    }
    ck_assert_uint_gt(m->pops, STEPS / 50);
    ck_assert_uint_gt(m->told, STEPS / 50);
    model_free(m);
}

START_TEST(a_group_is_one_decision_whatever_happens)
{
    run(true);
}
END_TEST

START_TEST(a_group_is_one_decision_without_sharing_too)
{
    run(false);
}
END_TEST

/* Deleting and adding a pod costs the same in a group of any size. */
START_TEST(a_large_group_that_is_refused_costs_each_member_the_same)
{
    struct model *m = model_new(true);
    unsigned count = 20000;

    for (unsigned i = 0; i < count; i++) {
        CLEANUP_FREE char *json = xasprintf("{\"metadata\":{\"name\":\"q%u\",\"namespace\":\"d\","
                                            "\"labels\":{\"group\":\"g1.%u\"}},\"spec\":{}}",
                                            i, count);
        struct pod_view *pod =
            pod_view_new(fake_client_put(m->api, &pod_kind, json), m->handle.resources);

        queue_add(m->queue, pod, m->profile);
        pod_view_unref(pod);
    }
    ck_assert_uint_eq(queue_count(m->queue).gated, count);
    ck_assert_ptr_null(queue_pop(m->queue));
    for (unsigned i = 0; i < count; i++) {
        char name[16];

        snprintf(name, sizeof(name), "q%u", i);
        queue_remove(m->queue, "d", name);
    }
    ck_assert_uint_eq(queue_count(m->queue).gated, 0);
    model_free(m);
}
END_TEST

SUITE("pod groups", a_group_is_one_decision_whatever_happens,
      a_group_is_one_decision_without_sharing_too,
      a_large_group_that_is_refused_costs_each_member_the_same)
