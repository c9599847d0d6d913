/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of the scheduling queue: order, backoff, and traces of its states. */
#include "controller/scheduler/queue/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/plugins/plugin_registry.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/map.h"
#include "lib/json/json.h"
#include "testsuite/conformance/cases/cases.h"

static bool
hint_yes(void *self, const struct pod_view *pod, const struct object *old_object,
         const struct object *new_object)
{
    (void)self, (void)pod, (void)old_object, (void)new_object;
    return true;
}

static bool
hint_no(void *self, const struct pod_view *pod, const struct object *old_object,
        const struct object *new_object)
{
    (void)self, (void)pod, (void)old_object, (void)new_object;
    return false;
}

static const struct named_event {
    const char *name;
    struct cluster_event event;
} named_events[] = {
    {"AssignedPodAdd", {EVENT_POD, ACTION_ADD, "AssignedPodAdd"}},
    {"AssignedPodUpdate", {EVENT_POD, ACTION_UPDATE_POD_LABEL, "AssignedPodUpdate"}},
    {"AssignedPodDelete", {EVENT_POD, ACTION_DELETE, "AssignedPodDelete"}},
    {"NodeAdd", {EVENT_NODE, ACTION_ADD, "NodeAdd"}},
    {"NodeDelete", {EVENT_NODE, ACTION_DELETE, "NodeDelete"}},
    {"NodeUpdateAllocatable",
     {EVENT_NODE, ACTION_UPDATE_NODE_ALLOCATABLE, "NodeUpdateAllocatable"}},
    {"NodeUpdateCondition", {EVENT_NODE, ACTION_UPDATE_NODE_CONDITION, "NodeUpdateCondition"}},
    {"NodeUpdateLabel", {EVENT_NODE, ACTION_UPDATE_NODE_LABEL, "NodeUpdateLabel"}},
    {"NodeUpdateTaint", {EVENT_NODE, ACTION_UPDATE_NODE_TAINT, "NodeUpdateTaint"}},
};

#define MAX_ACTORS 24
#define MAX_WAKES  32
#define MAX_EVENTS 12 /* in addition to the named ones */
#define MAX_LISTED 512

/* The plugins reject when a step says so, and register the events of the case.
 */
struct stage {
    struct fake_clock time;
    struct random_source random;
    struct handle handle;
    struct string_ids *signatures;
    struct profile *profile;
    struct queue *queue;
    struct plugin actors[MAX_ACTORS];
    struct wake wakes[MAX_ACTORS][MAX_WAKES];
    unsigned n_actors;
    const char *events[MAX_EVENTS];
    unsigned n_events;
    struct map *pods;    /* name to struct json, as last added */
    struct map *flights; /* name to struct queued_pod */
    struct trial *trial;
};

static void
give_up(const struct stage *s, const char *what)
{
    printf("Bail out! %s: more than the runner has room for: %s\n", s->trial->name, what);
    exit(EXIT_FAILURE);
}

/* Creates the actor if it does not exist. NULL for a plugin that Kiln has,
 * because the real one is used.
 */
static struct plugin *
find_actor(struct stage *s, const char *name)
{
    struct plugin *actor;

    if (plugin_find(name) != NULL)
        return NULL;
    for (unsigned i = 0; i < s->n_actors; i++)
        if (strcmp(s->actors[i].name, name) == 0)
            return &s->actors[i];
    if (s->n_actors == MAX_ACTORS)
        give_up(s, "plugins");
    actor = &s->actors[s->n_actors];
    actor->name = name;
    actor->wakes = s->wakes[s->n_actors++];
    return actor;
}

/* Each unknown name becomes an event of its own. */
static struct cluster_event
find_event(struct stage *s, const char *name)
{
    unsigned at = 0;

    for (size_t e = 0; e < ARRAY_SIZE(named_events); e++)
        if (strcmp(named_events[e].name, name) == 0)
            return named_events[e].event;
    while (at < s->n_events && strcmp(s->events[at], name) != 0)
        at++;
    if (at == MAX_EVENTS)
        give_up(s, "events");
    s->events[at] = name;
    s->n_events += at == s->n_events;
    return (struct cluster_event){EVENT_POD_GROUP, 1U << at, name};
}

/* Every answer except QueueSkip, errors included, means Queue. */
static void
add_wake(struct stage *s, const char *plugin, const struct cluster_event *event, const char *answer)
{
    struct plugin *actor = find_actor(s, plugin);

    if (actor == NULL)
        return;
    if (actor->n_wakes == MAX_WAKES)
        give_up(s, "hints");
    s->wakes[actor - s->actors][actor->n_wakes++] = (struct wake){
        event->resource,
        event->actions,
        strcmp(answer, "QueueSkip") == 0 ? hint_no : hint_yes,
    };
}

static void
read_hints(struct stage *s, const struct json *hints)
{
    for (uint32_t i = 0; i < json_count(hints); i++) {
        const struct json *plugins = hints->members[i].value;
        struct cluster_event event = find_event(s, hints->members[i].name);

        for (uint32_t p = 0; p < json_count(plugins); p++)
            add_wake(s, plugins->members[p].name, &event, json_text(plugins->members[p].value));
    }
}

/* Includes rejectors that no event helps. */
static void
read_rejectors(struct stage *s, const struct json *steps)
{
    static const char *const lists[] = {"rejectedBy", "pendingBy"};

    for (uint32_t i = 0; i < json_count(steps); i++)
        for (size_t l = 0; l < ARRAY_SIZE(lists); l++) {
            const struct json *names = json_get(json_at(steps, i), lists[l]);

            for (uint32_t n = 0; n < json_count(names); n++)
                (void)find_actor(s, json_text(json_at(names, n)));
        }
}

static void
stage_init(struct stage *s, struct trial *t)
{
    struct profile_plugin plugins[MAX_ACTORS + 2];
    unsigned n = 0;

    memset(s, 0, sizeof(*s));
    s->trial = t;
    s->time.clock = (struct clock){fake_clock_monotonic_us, fake_clock_real_us};
    s->signatures = string_ids_new();
    s->pods = map_new();
    s->flights = map_new();
    s->handle = (struct handle){
        .resources = string_ids_new(),
        .reasons = string_ids_new(),
        .clock = &s->time.clock,
        .random = &s->random,
        .nominator = nominator_new(),
    };
    read_hints(s, json_get(t->line, "hints"));
    read_rejectors(s, json_get(t->line, "steps"));
    plugins[n++] = (struct profile_plugin){.plugin = plugin_find("SchedulingGates")};
    plugins[n++] = (struct profile_plugin){.plugin = plugin_find("PrioritySort")};
    for (unsigned i = 0; i < s->n_actors; i++)
        plugins[n++] = (struct profile_plugin){.plugin = &s->actors[i]};
    profile_new(
        &(struct profile_settings){
            .scheduler_name = "x", .plugins = plugins, .n_plugins = n, .handle = &s->handle},
        &s->profile, NULL);
    s->queue = queue_new(&(struct queue_settings){
        .clock = &s->time.clock,
        .nominator = s->handle.nominator,
        .signatures = s->signatures,
    });
}

static void
stage_fini(struct stage *s)
{
    size_t at = 0;
    void *value;

    while (map_next(s->flights, &at, NULL, &value)) {
        queue_leave(s->queue, value);
        queued_pod_free(value);
    }
    queue_free(s->queue);
    profile_free(s->profile);
    nominator_free(s->handle.nominator);
    string_ids_free(s->handle.resources);
    string_ids_free(s->handle.reasons);
    string_ids_free(s->signatures);
    map_free(s->pods);
    map_free(s->flights);
}

static struct json *
make_pod(struct trial *t, const char *name, const struct json *priority, bool is_gated)
{
    struct json *pod = json_object(t->arena);
    struct json *meta = json_make_object(t->arena, pod, "metadata");
    struct json *spec = json_make_object(t->arena, pod, "spec");

    json_set_string(t->arena, meta, "name", name);
    json_set_string(t->arena, meta, "namespace", "default");
    json_set_string(t->arena, meta, "uid", name);
    if (priority != NULL)
        json_set(t->arena, spec, "priority", json_dup(t->arena, priority));
    if (is_gated) {
        struct json *gates = json_array(t->arena);
        struct json *gate = json_object(t->arena);

        json_set_string(t->arena, gate, "name", "example.com/gate");
        json_append(t->arena, gates, gate);
        json_set(t->arena, spec, "schedulingGates", gates);
    }
    return pod;
}

static struct pod_view *
view_of(struct stage *s, const struct json *pod)
{
    const struct object *object = sandbox_object(s->trial, &pod_kind, pod);
    struct pod_view *view = pod_view_new(object, s->handle.resources);

    object_unref(object);
    return view;
}

static void
add(struct stage *s, const struct json *step, const char *name)
{
    struct json *pod =
        make_pod(s->trial, name, json_get(step, "priority"), json_is_true(json_get(step, "gated")));
    CLEANUP(pod_view_unrefp) struct pod_view *view = view_of(s, pod);

    map_put(s->pods, name, pod);
    queue_add(s->queue, view, s->profile);
}

static void
ungate(struct stage *s, const char *name)
{
    struct json *old_pod = map_find(s->pods, name);
    struct json *new_pod = make_pod(s->trial, name, json_get_path(old_pod, "spec.priority"), false);
    const struct object *old_object = sandbox_object(s->trial, &pod_kind, old_pod);
    CLEANUP(pod_view_unrefp) struct pod_view *view = view_of(s, new_pod);

    map_put(s->pods, name, new_pod);
    queue_update(s->queue, old_object, view, s->profile);
    object_unref(old_object);
}

static void
pop(struct stage *s, const struct json *step)
{
    struct queued_pod *p = queue_pop(s->queue);

    want_text(s->trial, "popped", json_get_text(step, "popped"), p != NULL ? p->pod->name : "");
    if (p == NULL)
        return;
    want_number(s->trial, "attempts", json_get_int(step, "attempts", 0), p->attempts);
    map_put(s->flights, p->pod->name, p);
}

static plugin_set
plugins_of(struct stage *s, const struct json *names)
{
    plugin_set set = 0;

    for (uint32_t i = 0; i < json_count(names); i++)
        set |= PLUGIN_BIT(profile_find(s->profile, json_text(json_at(names, i))));
    return set;
}

static void
fail(struct stage *s, const struct json *step, const char *name)
{
    struct queued_pod *p = map_remove(s->flights, name);

    if (p == NULL)
        return;
    p->unschedulable = plugins_of(s, json_get(step, "rejectedBy"));
    p->pending = plugins_of(s, json_get(step, "pendingBy"));
    queue_fail(s->queue, p);
}

static void
done(struct stage *s, const char *name)
{
    struct queued_pod *p = map_remove(s->flights, name);

    if (p == NULL)
        return;
    queue_leave(s->queue, p);
    queued_pod_free(p);
}

static void
event(struct stage *s, const char *name)
{
    const struct object *any =
        sandbox_object(s->trial, &pod_kind, make_pod(s->trial, "any", NULL, false));
    struct cluster_event happened = find_event(s, name);

    /* The hints of these plugins ignore the object. */
    queue_event(s->queue, &happened, NULL, any);
    object_unref(any);
}

static void
drain(struct stage *s, const struct json *step)
{
    const struct json *wanted = json_get(step, "popped");
    struct queued_pod *p;
    uint32_t i = 0;

    while ((p = queue_pop(s->queue)) != NULL) {
        want_text(s->trial, "drained", json_text(json_at(wanted, i++)), p->pod->name);
        map_put(s->flights, p->pod->name, p);
    }
    want_number(s->trial, "drained", json_count(wanted), i);
}

struct listing {
    struct stage *stage;
    const char *names[3][MAX_LISTED];
    unsigned counts[3];
};

static void
list_pod(const struct queued_pod *p, void *context)
{
    static const unsigned place[] = {
        [QUEUE_ACTIVE] = 0,
        [QUEUE_BACKOFF] = 1,
        [QUEUE_UNSCHEDULABLE] = 2,
        [QUEUE_GATED] = 2,
    };
    struct listing *l = context;

    if (p->state != QUEUE_IN_FLIGHT && l->counts[place[p->state]] < MAX_LISTED)
        l->names[place[p->state]][l->counts[place[p->state]]++] = p->pod->name;
}

static void
want_state(struct stage *s, const struct json *state)
{
    static const char *const names[] = {"active", "backoff", "unschedulable"};
    struct listing l = {.stage = s};

    if (state == NULL)
        return;
    queue_visit(s->queue, list_pod, &l);
    for (unsigned i = 0; i < 3; i++)
        want_names(s->trial, names[i], json_get(state, names[i]), l.names[i], l.counts[i]);
}

static void
run_step(struct stage *s, const struct json *step)
{
    const char *op = json_get_text(step, "op");
    const char *pod = json_get_text(step, "pod");

    s->time.monotonic_us = json_get_int(step, "atMs", 0) * 1000;
    if (strcmp(op, "add") == 0)
        add(s, step, pod);
    else if (strcmp(op, "pop") == 0)
        pop(s, step);
    else if (strcmp(op, "fail") == 0)
        fail(s, step, pod);
    else if (strcmp(op, "done") == 0)
        done(s, pod);
    else if (strcmp(op, "event") == 0)
        event(s, json_get_text(step, "event"));
    else if (strcmp(op, "ungate") == 0)
        ungate(s, pod);
    else if (strcmp(op, "activate") == 0)
        queue_activate(s->queue, "default", pod);
    else if (strcmp(op, "delete") == 0)
        queue_remove(s->queue, "default", pod);
    else if (strcmp(op, "drain") == 0)
        drain(s, step);
    else if (strcmp(op, "advance") != 0)
        mismatch(s->trial, "step '%s' is not known", op);
    if (strcmp(op, "advance") == 0) {
        queue_flush_backoff(s->queue);
        queue_flush_leftover(s->queue);
    }
    want_state(s, json_get(step, "state"));
}

static void
run_trace(struct trial *t)
{
    const struct json *steps = json_get(t->line, "steps");
    struct stage s;

    stage_init(&s, t);
    for (uint32_t i = 0; i < json_count(steps) && t->mismatches == 0; i++) {
        run_step(&s, json_at(steps, i));
        if (t->mismatches > 0)
            mismatch(t, "at step %u (%s)", i, json_get_text(json_at(steps, i), "op"));
    }
    stage_fini(&s);
}

static void
run_sort(struct trial *t)
{
    const struct json *adds = json_get(t->line, "adds");
    const struct json *pops = json_get(t->expect, "pops");
    struct stage s;

    stage_init(&s, t);
    for (uint32_t i = 0; i < json_count(adds); i++) {
        const struct json *step = json_at(adds, i);

        s.time.monotonic_us = json_get_int(step, "atMs", 0) * 1000;
        add(&s, step, json_get_text(step, "name"));
    }
    for (uint32_t i = 0; i < json_count(pops); i++) {
        struct queued_pod *p = queue_pop(s.queue);

        want_text(t, "pop", json_text(json_at(pops, i)), p != NULL ? p->pod->name : "");
        if (p != NULL)
            map_put(s.flights, p->pod->name, p);
    }
    stage_fini(&s);
}

static void
run_backoff(struct trial *t)
{
    const struct json *wanted = json_get(t->expect, "durationMsByAttempts");
    int64_t first = json_get_int(t->line, "initialMs", 0);
    int64_t most = json_get_int(t->line, "maxMs", 0);

    for (uint32_t i = 0; i < json_count(wanted); i++) {
        int64_t ms = 0;

        json_to_int(json_at(wanted, i), &ms);
        want_number(t, arena_printf(t->arena, "after %u attempts", i), ms * 1000,
                    queue_backoff_us(first * 1000, most * 1000, i));
    }
}

void
queue_case(struct trial *t)
{
    const char *kind = json_get_text(t->line, "kind");

    if (strcmp(kind, "trace") == 0)
        run_trace(t);
    else if (strcmp(kind, "sort") == 0)
        run_sort(t);
    else
        run_backoff(t);
}
