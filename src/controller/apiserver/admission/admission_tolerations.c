/* SPDX-License-Identifier: Apache-2.0 */
/* admission_tolerations.c - keeps users' jobs off a node that is drained,
 * broken or not approved, whatever taints they tolerate
 *
 * Upstream lets everybody tolerate every taint. In Kiln only the taints below
 * keep jobs off a node that somebody works on.
 */
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/request/request.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

static const char *const reserved[] = {
    TAINT_UNSCHEDULABLE, TAINT_OUT_OF_SERVICE, TAINT_NOT_APPROVED,        TAINT_HARDWARE_MISSING,
    TAINT_HOOK_FAILED,   TAINT_CHECK_FAILED,   TAINT_HEALTH_CHECK_FAILED,
};

/* The reserved key that the toleration has; "" for a toleration of all keys,
 * NULL when users may have it.
 */
static const char *
reserved_key(const struct json *toleration)
{
    const char *key = json_get_text(toleration, "key");
    const char *effect = json_get_text(toleration, "effect");

    if (effect != NULL && strcmp(effect, "PreferNoSchedule") == 0)
        return NULL; /* no reserved taint has this effect */
    if (key == NULL || key[0] == '\0')
        return "";
    for (unsigned i = 0; i < ARRAY_SIZE(reserved); i++)
        if (strcmp(key, reserved[i]) == 0)
            return reserved[i];
    return NULL;
}

static bool
contains(const struct json *list, const struct json *item)
{
    for (uint32_t i = 0; i < json_count(list); i++)
        if (json_equals(json_at(list, i), item))
            return true;
    return false;
}

static bool
refuse(struct request *q, const struct json *tree, const char *key)
{
    reply_forbidden(&q->reply, q->route.kind, json_path_text(tree, "metadata.name"),
                    "Tolerations: %s is for operators, because nodes with that taint are "
                    "under maintenance; name the keys of the taints that you mean",
                    key[0] != '\0' ? arena_printf(q->arena, "a toleration of the taint '%s'", key)
                                   : "a toleration of every taint (without a key)");
    return false;
}

bool
tolerations_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const struct json *list = json_get(admission_pod_spec(q, tree), "tolerations");
    const struct json *before = NULL;

    if (q->principal->type != PRINCIPAL_USER || q->route.subresource != SUBRESOURCE_NONE)
        return true;
    if (old_object != NULL)
        before = json_get(admission_old_pod_spec(q, old_object), "tolerations");
    for (uint32_t i = 0; i < json_count(list); i++) {
        const char *key = reserved_key(json_at(list, i));

        if (key != NULL && !contains(before, json_at(list, i)))
            return refuse(q, tree, key);
    }
    return true;
}
