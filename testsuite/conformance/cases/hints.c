/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of queueing hints: which plugin requeues a waiting pod. */
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "testsuite/conformance/cases/cases.h"

static bool
starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* The event as the scheduler passes it to plugins: one or several, in order. */
static unsigned
make_events(const char *kind, const struct object *old_object, const struct object *new_object,
            struct cluster_event out[EVENTS_OF_UPDATE])
{
    static const struct cluster_event *const plain[] = {
        &event_node_add,
        &event_node_delete,
        &event_assigned_pod_add,
        &event_assigned_pod_delete,
    };

    for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
        if (strcmp(plain[i]->label, kind) == 0) {
            out[0] = *plain[i];
            return 1;
        }
    if (strcmp(kind, "NodeUpdate") == 0)
        return events_of_node_update(old_object, new_object, out);
    return events_of_pod_update(old_object, new_object, starts_with(kind, "Assigned"), out);
}

static const char *
ask(const struct profile_entry *e, const struct pod_view *pod, const struct cluster_event *event,
    const struct object *old_object, const struct object *new_object)
{
    const char *answer = "NotRegistered";

    for (unsigned i = 0; i < e->plugin->n_wakes; i++) {
        const struct wake *w = &e->plugin->wakes[i];

        if (!event_is_covered(w->resource, w->actions, event))
            continue;
        if (w->hint == NULL || w->hint(e->self, pod, old_object, new_object))
            return "Queue";
        answer = "QueueSkip";
    }
    return answer;
}

static void
run_hint(struct trial *t)
{
    CLEANUP(sandbox_freep) struct sandbox *s = sandbox_new(t);
    CLEANUP(pod_view_unrefp)
    struct pod_view *pod = sandbox_pod(s, json_get(t->line, "pod"), NULL);
    const struct json *event = json_get(t->line, "event");
    const struct json *wanted = json_get(t->expect, "events");
    const char *kind = json_get_text(event, "kind");
    const struct kind *of = starts_with(kind, "Node") ? &node_kind : &pod_kind;
    const struct object *old_object = NULL, *new_object = NULL;
    struct cluster_event events[EVENTS_OF_UPDATE];
    unsigned n;

    if (json_get(event, "old") != NULL)
        old_object = sandbox_object(t, of, json_get(event, "old"));
    if (json_get(event, "new") != NULL)
        new_object = sandbox_object(t, of, json_get(event, "new"));
    n = make_events(kind, old_object, new_object, events);
    want_number(t, "events", json_count(wanted), n);
    for (unsigned i = 0; i < n && t->mismatches == 0; i++) {
        const struct json *w = json_at(wanted, i);
        const struct json *plugins = json_get(w, "plugins");

        want_text(t, "event", json_get_text(w, "event"), events[i].label);
        for (uint32_t p = 0; p < json_count(plugins); p++) {
            const char *name = plugins->members[p].name;
            unsigned plugin = profile_find(s->profile, name);

            if (plugin == PLUGIN_NONE) {
                trial_skip(t, name);
                continue;
            }
            want_text(t, arena_printf(t->arena, "%s on %s", name, events[i].label),
                      json_text(plugins->members[p].value),
                      ask(&s->profile->entries[plugin], pod, &events[i], old_object, new_object));
        }
    }
    object_unref(old_object);
    object_unref(new_object);
}

static const struct action_name {
    enum event_resource resource;
    unsigned action;
    const char *resource_name, *name;
} action_names[] = {
    {EVENT_NODE, ACTION_ADD, "Node", "Add"},
    {EVENT_NODE, ACTION_DELETE, "Node", "Delete"},
    {EVENT_NODE, ACTION_UPDATE_NODE_ALLOCATABLE, "Node", "UpdateNodeAllocatable"},
    {EVENT_NODE, ACTION_UPDATE_NODE_LABEL, "Node", "UpdateNodeLabel"},
    {EVENT_NODE, ACTION_UPDATE_NODE_TAINT, "Node", "UpdateNodeTaint"},
    {EVENT_POD, ACTION_ADD, "Pod", "Add"},
    {EVENT_POD, ACTION_DELETE, "Pod", "Delete"},
    {EVENT_POD, ACTION_UPDATE_POD_LABEL, "Pod", "UpdatePodLabel"},
    {EVENT_POD, ACTION_UPDATE_POD_TOLERATIONS, "Pod", "UpdatePodTolerations"},
    {EVENT_POD, ACTION_UPDATE_POD_GATES_ELIMINATED, "Pod", "UpdatePodSchedulingGatesEliminated"},
};

static bool
wants_action(const struct json *wanted, const struct action_name *a)
{
    const struct json *list = json_get(wanted, a->resource_name);

    for (uint32_t i = 0; i < json_count(list); i++)
        if (strcmp(json_text(json_at(list, i)), a->name) == 0)
            return true;
    return false;
}

static void
run_registrations(struct trial *t)
{
    CLEANUP(sandbox_freep) struct sandbox *s = sandbox_new(t);

    for (uint32_t i = 0; i < json_count(t->expect); i++) {
        const struct json_member *m = &t->expect->members[i];
        unsigned p = profile_find(s->profile, m->name);
        const struct plugin *plugin;

        if (p == PLUGIN_NONE)
            continue;
        plugin = s->profile->entries[p].plugin;
        for (size_t a = 0; a < ARRAY_SIZE(action_names); a++) {
            bool is_registered = false;

            for (unsigned w = 0; w < plugin->n_wakes; w++) {
                const struct cluster_event event = {action_names[a].resource,
                                                    action_names[a].action, ""};

                is_registered |=
                    event_is_covered(plugin->wakes[w].resource, plugin->wakes[w].actions, &event);
            }
            want_number(t,
                        arena_printf(t->arena, "%s %s/%s", m->name, action_names[a].resource_name,
                                     action_names[a].name),
                        wants_action(m->value, &action_names[a]), is_registered);
        }
    }
}

void
hints_case(struct trial *t)
{
    if (strcmp(json_get_text(t->line, "kind"), "registrations") == 0)
        run_registrations(t);
    else
        run_hint(t);
}
