/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/namespace.h"
#include "lib/api/kind.h"
#include "lib/api/object.h"
#include "lib/api/rows.h"

/* clang-format off */
static const struct field namespace_condition_fields[] = {
    OPAQUE(STRING, "status", ALWAYS | REQUIRED),
    OPAQUE(STRING, "type", ALWAYS | REQUIRED),
    OPAQUE(TIME, "lastTransitionTime", ALWAYS),
    OPAQUE(STRING, "message", 0),
    OPAQUE(STRING, "reason", 0),
};
static OPAQUE_RECORD(namespace_condition,
       "io.k8s.api.core.v1.NamespaceCondition");

static const struct field namespace_spec_fields[] = {
    LIST(STRING, "finalizers", namespace_, spec_finalizers, 0),
};
static RECORD(namespace_spec, namespace_, "io.k8s.api.core.v1.NamespaceSpec");

static const struct field namespace_status_fields[] = {
    OPAQUE_OBJECTS("conditions", namespace_condition, 0, BY_KEY("type")),
    STRING("phase", namespace_, phase, 0, ONE_OF("Active", "Terminating")),
};
static RECORD(namespace_status, namespace_,
       "io.k8s.api.core.v1.NamespaceStatus");

static const struct field namespace_fields[] = {
    TYPE_META,
    METADATA(namespace_),
    WITHIN("spec", namespace_spec, ALWAYS),
    WITHIN("status", namespace_status, ALWAYS),
};
RECORD(namespace, namespace_, "io.k8s.api.core.v1.Namespace");
/* clang-format on */

const struct namespace_ *
namespace_of(const struct object *object)
{
    return object->view;
}

static const char *
select_phase(const struct object *object, char buffer[64])
{
    const char *phase = namespace_of(object)->phase;

    (void)buffer;
    return phase != NULL ? phase : "";
}

static const struct selectable_field selectable[] = {
    {"status.phase", select_phase},
};

const struct kind namespace_kind = {
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .name = "Namespace",
    .list_name = "NamespaceList",
    .plural = "namespaces",
    .singular = "namespace",
    .short_names = (const char *const[]){"ns", NULL},
    .flags = KIND_HAS_STATUS | KIND_UNCONDITIONAL_UPDATE,
    .record = &namespace_record,
    .selectable = selectable,
    .n_selectable = ARRAY_SIZE(selectable),
};
