/* SPDX-License-Identifier: Apache-2.0 */
/* SchedulingGates - keeps a pod out of the queue until its last gate is removed
 *
 * Extension points:  pre-enqueue
 * Woken by:          the removal of the pod's own gates
 */
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "lib/api/pod/pod.h"
#include "lib/base/strbuf.h"

static int
scheduling_gates_make(struct handle *handle, const struct json *args, void **ret_self,
                      struct error *err)
{
    (void)args, (void)err;
    *ret_self = handle;
    return 0;
}

static enum verdict
scheduling_gates_pre_enqueue(void *self, const struct pod_view *pod, uint32_t *ret_reason)
{
    const struct pod_spec *spec = &pod->pod->spec;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (spec->scheduling_gates.count == 0)
        return VERDICT_OK;
    strbuf_add_text(&text, "waiting for scheduling gates: [");
    for (unsigned i = 0; i < spec->scheduling_gates.count; i++)
        strbuf_printf(&text, "%s%s", i > 0 ? " " : "", spec->scheduling_gates.items[i].name);
    strbuf_add_char(&text, ']');
    *ret_reason = handle_reason(self, text.text);
    return VERDICT_NEVER;
}

static bool
scheduling_gates_hint(void *self, const struct pod_view *pod, const struct object *old_object,
                      const struct object *new_object)
{
    (void)self, (void)old_object;
    return pod_view_is_of(pod, new_object);
}

static const struct wake wakes[] = {
    {EVENT_POD, ACTION_UPDATE_POD_GATES_ELIMINATED, scheduling_gates_hint},
};

const struct plugin scheduling_gates_plugin = {
    .name = "SchedulingGates",
    .make = scheduling_gates_make,
    .pre_enqueue = scheduling_gates_pre_enqueue,
    .wakes = wakes,
    .n_wakes = ARRAY_SIZE(wakes),
};
