/* SPDX-License-Identifier: Apache-2.0 */
/* Removes command, environment, paths and output; keeps shape, state, owner,
 * node and times.
 */
#include "lib/api/object/meta.h"
#include "lib/api/pod/pod_strategy.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

static const char *const of_pod_spec[] = {
    "execution",
    "volumes",
    "hostname",
    "subdomain",
};

static const char *const of_container[] = {
    "args",          "command",        "env",          "envFrom",       "lifecycle",
    "livenessProbe", "readinessProbe", "startupProbe", "volumeDevices", "volumeMounts",
    "workingDir",
};

static void
drop(struct json *object, const char *const *names, size_t count)
{
    for (size_t i = 0; json_is(object, JSON_OBJECT) && i < count; i++)
        json_remove(object, names[i]);
}

static void
redact_containers(struct json *list)
{
    for (uint32_t i = 0; i < json_count(list); i++)
        drop(json_at(list, i), of_container, ARRAY_SIZE(of_container));
}

static void
redact_pod_spec(struct json *spec)
{
    drop(spec, of_pod_spec, ARRAY_SIZE(of_pod_spec));
    redact_containers(json_get(spec, "containers"));
    redact_containers(json_get(spec, "initContainers"));
}

void
pod_template_redact(struct arena *arena, struct json *template)
{
    meta_redact(arena, template);
    redact_pod_spec(json_get(template, "spec"));
}

/* The termination message is output of the process, and a process that waits
 * may wait for a path: both are redacted, in every state.
 */
static void
redact_states(struct json *statuses)
{
    static const char *const messages[] = {
        "state.waiting",     "state.running",     "state.terminated",
        "lastState.waiting", "lastState.running", "lastState.terminated",
    };

    for (uint32_t i = 0; i < json_count(statuses); i++)
        for (unsigned k = 0; k < ARRAY_SIZE(messages); k++) {
            struct json *state = json_get_path(json_at(statuses, i), messages[k]);

            if (state != NULL)
                json_remove(state, "message");
        }
}

void
pod_redact(struct arena *arena, struct json *pod)
{
    struct json *status = json_get(pod, "status");

    pod_template_redact(arena, pod);
    /* The agent's message names paths that it could not open. */
    if (status != NULL)
        json_remove(status, "message");
    redact_states(json_get(status, "containerStatuses"));
    redact_states(json_get(status, "initContainerStatuses"));
}
