/* SPDX-License-Identifier: Apache-2.0 */
/* Owner - a pod starts only while its owner is the user who submitted it,
 * belongs to its account, and may use its priority class
 *
 * Kiln's own. A user may be removed while a job waits, and the number may be
 * given to somebody else. The user database does not say when it changes, so a
 * pod that is refused is tried again with the leftovers of the queue.
 *
 * Extension points:  prefilter
 * Woken by:          a node joining; a change of the pod's namespace, of its
 *                    priority class or of the default class
 */
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/priority_class.h"
#include "lib/base/strbuf.h"

struct owner_self {
    struct handle *handle;
    uint32_t reason;
};

static int
owner_make(struct handle *handle, UNUSED const struct json *args, void **ret_self,
           UNUSED struct error *err)
{
    struct owner_self *self = xnew(struct owner_self);

    self->handle = handle;
    self->reason = handle_reason(handle, "the pod's owner is no longer a user");
    *ret_self = self;
    return 0;
}

static bool
refuses(const struct owner_self *me, const struct pod_view *pod, struct strbuf *why)
{
    const struct handle *h = me->handle;

    return h->refuse != NULL && h->refuse(pod->pod, NULL, NULL, why, h->refuse_context);
}

/* Pods that are refused are a group only with those of the same owner that are
 * refused for the same reason.
 */
static bool
owner_sign_prefilter(void *self, const struct pod_view *pod, struct strbuf *out)
{
    CLEANUP_STRBUF struct strbuf why = STRBUF_INIT;

    if (refuses(self, pod, &why)) {
        strbuf_add_int(out, pod->owner);
        strbuf_add_text(out, why.text);
    }
    return true;
}

static enum verdict
owner_prefilter(void *self, struct cycle *c, UNUSED struct prefilter_result *ret_result,
                uint32_t *ret_reason)
{
    const struct owner_self *me = self;
    CLEANUP_STRBUF struct strbuf why = STRBUF_INIT;

    if (!refuses(me, c->pod, &why))
        return VERDICT_SKIP;
    cycle_set_message(c, "not allowed: %s", why.text);
    *ret_reason = me->reason;
    return VERDICT_NEVER;
}

/* ---- Hints ---- */

static bool
is_in_namespace(UNUSED void *self, const struct pod_view *pod,
                UNUSED const struct object *old_object, const struct object *new_object)
{
    return new_object != NULL && strcmp(pod->namespace, new_object->meta->name) == 0;
}

/* Also a change of the default: what is not above it is for everybody. */
static bool
concerns_class(UNUSED void *self, const struct pod_view *pod, const struct object *old_object,
               const struct object *new_object)
{
    const struct object *sides[] = {old_object, new_object};
    const char *name = pod->pod->spec.priority_class_name;

    for (size_t i = 0; i < ARRAY_SIZE(sides); i++)
        if (sides[i] != NULL
            && (priority_class_of(sides[i])->global_default
                || (name != NULL && strcmp(name, sides[i]->meta->name) == 0)))
            return true;
    return false;
}

static const struct wake wakes[] = {
    {EVENT_NODE, ACTION_ADD, NULL},
    {EVENT_NAMESPACE, ACTION_ALL, is_in_namespace},
    {EVENT_PRIORITY_CLASS, ACTION_ALL, concerns_class},
};

const struct plugin owner_plugin = {
    .name = "Owner",
    .make = owner_make,
    .drop = free,
    .wakes = wakes,
    .n_wakes = ARRAY_SIZE(wakes),
    .sign_prefilter = owner_sign_prefilter,
    .prefilter = owner_prefilter,
};
